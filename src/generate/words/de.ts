/**
 * German vocabulary. Adjectives are stems and stand in the dative behind "im"
 * and "in der", or behind "ein" and "eine", where their endings are regular.
 */

import { common } from "./common.ts";

/** German names, titles and sentences. */
export const german = {
  ...common,
  given: `Anna Lukas Lena Jonas Jürgen Sophie Felix Marie Paul Laura Björn Käthe Müslüm Günther Jörg Sören Anke Heike Uwe Petra
    Stefan Sabine Thomas Andrea Michael Julia Christian Katrin Wolfgang Ursula Hans Gisela Klaus Renate Dieter Helga Jürgen Ingrid
    Rüdiger Bärbel Götz Änne Ömer Jannik Finja Malte Wiebke Torben Svenja Henning Frauke Emil Frieda Anton Mathilda Kurt Leni
    Friedrich Wilhelmine Karl-Heinz Anneliese Lieselotte Hannelore Siegfried Brünhilde`,
  family: `Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf Schröder
    Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Krause Werner Lehmann Köhler Maier König Huber Kaiser Fuchs Peters
    Möller Weiß Jung Hahn Vogel Jäger Günther Groß Roth Böhm Strauß Preuß Kühn Voß Heß Löwe Bäcker Förster Schütz Büttner
    Grün Großmann Weißmüller Süßmilch Straßburger Freiherr-von-Tür Öztürk Yılmaz`,
  stem: `alt klein neu verlassen verzaubert geheim still groß vergessen gemütlich blau grün rot schwarz weiß golden frostig nächtlich
    verschneit sonnig neblig ewig wild schwebend versunken brennend leuchtend magisch rätselhaft märchenhaft friedlich unheimlich
    gläsern hölzern steinern süß übermütig`,
  manly: `Wald Garten See Turm Berg Park Hof Keller Bahnhof Strand Markt Hafen Tempel Palast Saal Dachboden Biergarten Marktplatz Schlossgarten
    Fluss Gipfel Leuchtturm Freizeitpark Irrgarten Friedhof Zug Kiosk Süßwarenladen`,
  neutral: `Haus Schloss Dorf Zimmer Café Tal Museum Labor Raumschiff Gasthaus Theater Kino Schwimmbad Gewächshaus Baumhaus Hexenhaus Lagerfeuer
    Wohnzimmer Labyrinth Planetarium Bücherregal Fußballstadion`,
  female: `Stadt Insel Burg Schule Höhle Bibliothek Brücke Straße Küche Hütte Werkstatt Wüste Bar Sternwarte Mühle Kirche Ruine Almhütte Terrasse
    Bücherei Fabrik Tiefgarage Schlucht Großstadt`,
  where: [
    "im {stem}en {manly}",
    "im {stem}en {neutral}",
    "in der {stem}en {female}",
    "im {manly}",
    "in der {female}",
  ],
  what: ["ein {stem}er {manly}", "ein {stem}es {neutral}", "eine {stem}e {female}"],
  things: `Spiele Spiegel Bücher Sterne Freunde Rätsel Fische Lichter Geheimnisse Stühle Lieder Bilder Drachen Kerzen Züge Blumen Schätze
    Kostüme Würfel Getränke Brötchen Grüße Schlüssel Füchse Bäume Häuser`,
  who: `Freunde alle Anfänger Familien Nachtschwärmer Träumer Künstler Entdecker Fotografen Rätselfreunde Musiker Spieler Müßiggänger`,
  doing: `Tanzen Reden Träumen Schlafen Malen Angeln Lesen Singen Feiern Entspannen Klettern Basteln Kochen Wandern Zuhören Grübeln`,
  sentence: [
    "{^what} für {who}.",
    "Hier gibt es {things}, {things} und {what}.",
    "Die Welt ist {stem} und die {things} sind {stem}.",
    "Triff deine Freunde {where} und finde die {things}.",
    "Der perfekte Ort zum {doing} und {doing}.",
    "{^where} wartet {what} auf dich.",
    "Noch nicht fertig, es kommen mehr {things}!",
    "Für {few} bis {many} Spieler.",
    "Wer die {things} findet, darf {where} übernachten.",
    "Seit {year} treffen wir uns {where} zum {doing}.",
    "Bitte die {things} nicht füttern.",
    "Du wachst {where} auf und weißt nicht, warum.",
    "Danke an {given} für die {things} und die Musik.",
    "Das ist {what}, und das ist auch gut so.",
    "Läuft auf dem PC und auf dem Handy.",
  ],
  title: [
    "{^stem}er {manly}",
    "{^stem}es {neutral}",
    "{^stem}e {female}",
    "Der {stem}e {manly}",
    "Das {stem}e {neutral}",
    "Die {stem}e {female}",
    "{things} {where}",
    "{doing} {where}",
    "{neutral} von {given}",
    "{given} und der {manly}",
    "{^where}",
    "{female} {^coined}",
    "{things} und {things}",
    "{neutral} {dd}",
  ],
  person: [
    "{given} {family}",
    "{given} {family}",
    "{given} {family}",
    "{given}",
    "Dr. {given} {family}",
    "{given} {family}-{family}",
  ],
  nick: [
    "{^stem}er{manly}",
    "{^stem}es{neutral}",
    "{family}{num}",
    "{given}_{family}",
    "{neutral}{num}",
    "{given}{num}",
    "{things}freund",
    "{things}_{dd}",
    "{given} aus {^coined}",
    "{stem}_{neutral}",
  ],
} as const;
