/** English vocabulary. */

import { common } from "./common.ts";

/** English names, titles and sentences. */
export const english = {
  ...common,
  adj: `little quiet dark old cozy lost hidden secret blue night silver golden neon endless floating ancient
    frozen lonely wild tiny giant happy crimson misty haunted magic peaceful abandoned electric cosmic lunar solar
    retro velvet emerald amber midnight rainy snowy sunny stormy dreamy sleepy gentle brave silent broken forgotten
    infinite crystal shadow iron wooden paper glass stone hollow sunken sacred cursed enchanted rusty mossy dusty
    purple scarlet azure ivory obsidian pastel virtual digital analog pixel holographic synthetic quantum stellar
    celestial arctic tropical northern southern eastern western winter summer autumn spring early late distant
    remote nearby open narrow wide deep shallow high low royal noble humble clever lazy hungry curious fluffy
    grumpy chubby fancy funky groovy mellow smooth rough bitter sweet salty spicy fresh warm cold icy burning
    glowing shining fading drifting wandering restless fearless nameless timeless weightless bottomless crooked
    tangled twisted winding spiral hexagonal monochrome vivid muted faint bright radiant luminous opaque feral
    tame savage noisy chaotic orderly symmetrical improbable unlikely peculiar whimsical solemn majestic rustic
    urban suburban coastal alpine volcanic subterranean orbital interstellar mechanical clockwork handmade unfinished`,
  noun: `cat wolf fox moon star owl dragon night shadow raven tiger bear ghost storm fire rose knight ninja panda
    rabbit bird bunny king queen hunter gamer wizard robot pirate samurai angel demon reaper sniper rider racer
    dreamer walker runner maker baker painter sailor pilot ranger rogue archer mage druid monk bard phoenix griffin
    kraken hydra falcon hawk eagle crow sparrow finch robin heron crane swan otter badger ferret hedgehog squirrel
    lynx panther leopard cheetah cobra viper gecko turtle frog toad newt shark whale dolphin orca squid crab
    lobster shrimp koi salmon trout moth beetle mantis spider hornet bee firefly comet meteor nova pulsar quasar
    nebula galaxy planet orbit eclipse aurora thunder lightning rain snow frost ember flame ash smoke mist cloud
    breeze wave river stone pebble crystal amber opal onyx jade ruby sapphire topaz pearl coral willow maple birch
    cedar pine fern ivy moss clover lotus lily tulip daisy violet poppy thistle pumpkin pickle waffle noodle
    dumpling muffin cookie biscuit pancake toast mochi taco burrito mango peach cherry lemon lime melon berry
    coconut potato radish turnip pepper ginger cinnamon mocha espresso latte pixel byte vector glitch static
    signal echo cipher rune sigil prism mirror lantern candle anchor compass hammer anvil arrow blade sword shield`,
  place: `world house room island forest garden cafe city club bar park lake castle village school beach temple
    shrine tower cave station museum library gallery theater arena lounge lobby rooftop apartment cabin cottage
    mansion palace dungeon ruins labyrinth maze valley mountain canyon desert oasis meadow swamp jungle reef harbor
    lighthouse bridge tunnel subway train airport spaceship observatory laboratory factory warehouse workshop
    studio stage cinema arcade casino bowling mall market bazaar bakery kitchen restaurant diner tavern inn hotel
    hospital greenhouse orchard farm vineyard windmill mill barn stable zoo aquarium playground racetrack stadium
    gym dojo onsen sauna pool spa cemetery crypt cathedral chapel monastery citadel fortress outpost colony
    planetarium archive bunker vault sewer attic basement balcony courtyard plaza boulevard alley crossroads
    archipelago peninsula lagoon fjord glacier tundra savanna prairie plateau crater volcano abyss trench nebula`,
  thing: `games mirrors friends melodies avatars pens seats puzzles lights secrets movies couches portals fireworks
    fish books cards drinks stars photos boats trains swings campfires pillows lanterns telescopes instruments
    pianos drums guitars pedestals drones ladders elevators levers keys treasures quests bosses traps coins
    mushrooms flowers butterflies dinosaurs statues paintings posters vinyls cassettes arcades pinballs skateboards
    surfboards snowboards kites balloons hammocks bathtubs jukeboxes sculptures fountains waterfalls whirlpools
    teacups chandeliers typewriters gramophones terrariums bonsais origami mosaics tapestries constellations`,
  who: `friends everyone strangers people players couples beginners creators dancers explorers families photographers
    musicians streamers sleepers students artists gamers readers dreamers roleplayers cosplayers builders
    racers anglers stargazers insomniacs newcomers veterans locals tourists pilots`,
  verb: `explore find enjoy visit play build watch meet discover join solve collect escape wander dance draw
    sing relax sleep race swim fly climb hide chat rest paint fish cook ride sail dive unlock survive defend
    decorate photograph remember`,
  doing: `chatting relaxing sleeping dancing drinking exploring drawing singing racing swimming fishing
    stargazing studying filming roleplaying building climbing reading meditating practising performing gardening
    cooking camping eavesdropping`,
  time: `night day morning evening weekend sunset midnight dawn winter summer autumn spring Friday Saturday Sunday
    dusk noon holiday birthday Halloween Christmas`,
  article: ["the", "the", "a"],
  np: [
    "the {adj} {place}",
    "the {place}",
    "a {adj} {place}",
    "a {place}",
    "the {place} of {^coined}",
    "this {place}",
  ],
  sentence: [
    "{^article} {adj} {place} for {who}.",
    "A {adj} {place} where you can {verb} and {verb} with {who}.",
    "A {place} in the world of {^coined}.",
    "The {place} is {adj} and the {thing} are {adj}.",
    "Come and {verb} in {np}.",
    "{^verb} {np} and {verb} the {adj} {thing}.",
    "This is a {adj} world with {thing}, {thing} and a {adj} {place}.",
    "Best with {few} to {many} players.",
    "There is a {place} behind the {place}, and it is not on the map.",
    "Made for {doing} with {who} at {time}.",
    "Perfect for {doing} on a {adj} {time}.",
    "You wake up in {np}. Can you {verb} before {time}?",
    "Inspired by a {adj} dream of the {place}.",
    "Work in progress, more {thing} to come!",
    "Now with {thing} and a {adj} {place}!",
    "Update {d}.{d}: added {thing} and fixed the {thing}.",
    "Thanks to {^coined} for the {thing}.",
    "The {noun} sleeps in {np}, so be quiet.",
    "Every {time} the {thing} come back to {np}.",
    "A {adj} game of {thing} and {thing} for up to {many} people.",
    "It's a {place}. It has {thing}. What else do you want?",
    "Please {verb} the {thing}, but don't touch the {adj} {noun}.",
    "PC and mobile. The {thing} may be heavy on older devices.",
    "Optimized for everyone; turn the {thing} off with the switch in the {place}.",
    "We used to {verb} here, my {noun} and I, in the {time} of {year}.",
    "Home of the {^noun} {^place} community, {doing} since {year}.",
    "Find all {many} {thing} to {verb} the {adj} {noun}.",
    "No rules in the {place}, but be nice to {who}.",
    "Audio by {^coined} & {^coined}.",
    "Don't look at the {noun}.",
    "The city of {^coined} lies between the {adj} {place} and the {place}.",
    "Just a {adj} {place} to {verb} and do nothing at all.",
    "A walk through the {adj} {place}, the {place} and the {adj} {place}.",
  ],
  title: [
    "The {^adj} {^place}",
    "{^adj} {^place}",
    "{^adj} {^place}",
    "{^noun} {^place}",
    "{^noun}'s {^place}",
    "{^coined}",
    "{^coined} {^place}",
    "The {^place} of {^coined}",
    "{^place} of the {^adj} {^noun}",
    "{^adj} {^noun} {^place}",
    "{^doing} {^place}",
    "{^place} {dd}",
    "{^place}",
    "{^verb} the {^place}",
    "{^coined}'s {^adj} {^place}",
    "{^noun} and {^noun}",
    "{^time} at the {^place}",
    "[WIP] {^adj} {^place}",
    "{^place} - {^time} Edition",
    "{^given}'s {^place}",
    "{^place} v{d}.{d}",
  ],
  given: `James Mary John Emma Michael Olivia David Sophia Daniel Emily Chris Sarah Alex Laura Ryan Hannah Kevin Megan
    Jack Chloe Tom Lucy Sam Grace Ben Ella Matt Ava Luke Mia Adam Zoe Nick Lily Jake Ruby Max Isla Leo Freya Noah
    Ivy Liam Evie Ethan Amelia Mason Harper Logan Scarlett Owen Violet Henry Nora Oscar Hazel Finn Aurora Theo Luna
    Felix Stella Jasper Willow Silas Iris Miles Jade Hugo Opal Rufus Pearl Otis Mabel Ezra Edith Amos Winifred
    Desmond Priya Arjun Ananya Rohan Fatima Omar Layla Yusuf Aisha Kwame Ama Chidi Ngozi Thabo Zanele Kofi Amara
    Linh Minh Thao Nguyen Wei Mei Ravi Deepa Siobhan Niamh Ewan Rhys Cerys Angus Morag Declan Aoife Callum Isobel
    Chloé Renée André Zoë Anaïs Noël Beyza Thérèse Éloïse Gaël François Łukasz Zofia Søren Åsa Bjørn Ingrid Ægir
    Matěj Žofie Ștefan Ioana João Inês Conceição Márton Zsófia Dávid Đorđe Snežana`,
  family: `Smith Jones Brown Taylor Wilson Davies Evans Thomas Johnson Walker Wright Robinson Thompson White Hughes
    Edwards Green Hall Wood Harris Lewis Martin Jackson Clarke Clark Turner Hill Scott Cooper Morris Ward Moore
    King Watson Baker Harrison Morgan Patel Young Allen Mitchell James Anderson Phillips Lee Bell Parker Davis
    Bennett Miller Cook Shaw Cox Hunter Gray Campbell Murray Stewart Fraser Reid Ross Kelly Murphy Byrne Ryan
    O'Brien O'Connor Gallagher Doyle McCarthy Quinn Nolan Flynn Hobbs Finch Crane Fox Swift Hawkins Barlow Ashdown
    Whitlock Pemberton Featherstone Blackwood Thornbury Underhill Winterbourne Singh Khan Ahmed Ali Chowdhury Okafor
    Mensah Dlamini Nguyen Tran Pham Chen Wong Tanaka Silva Rossi Ferrari Dubois Lefèvre Beaumont Côté Novák
    Dvořák Kowalski Wójcik Nilsson Ångström Lindqvist Jørgensen Halloran van-Dijk de-Vries Popescu Horváth`,
  nick: [
    "{^adj}{^noun}",
    "{^adj}{^noun}{num}",
    "{adj}_{noun}",
    "{noun}_{dd}",
    "{noun}{num}",
    "{^noun}{^noun}",
    "{adj}.{noun}",
    "{adj}-{noun}-{dd}",
    "xX{^noun}Xx",
    "{^adj}{^noun}{num}",
    "{adj}{noun}{dd}",
    "{given}_{noun}{dd}",
    "{^coined}{num}",
    "{coined}.{coined}",
    "xX_{^adj}{^noun}_Xx",
    "{^coined}",
    "{^coined}{num}",
    "{coined}_{noun}",
    "{coined}{dd}",
    "{^coined}{^noun}",
    "{^coined} {^coined}",
    "{given}{num}",
    "{given}The{^noun}",
    "The{^adj}{^noun}",
    "The {^adj} {^noun}",
    "{^noun} of {^coined}",
    "Captain {^noun}",
    "Dr. {^noun}",
    "i_{verb}_{thing}",
    "not{noun}",
    "Real{given}",
    "{^adj} {given}",
    "{given} {num}",
  ],
  person: [
    "{given} {given} {family}",
    "{given} '{^noun}' {family}",
    "{given} {family}-{family}",
    "{given} {family}",
    "{given} {family}",
    "{given} {family}",
    "{given}",
    "{given} {initial}. {family}",
    "{family}, {given}",
  ],
  initial: "J M A S R L D E C K T B P W H",
} as const;
