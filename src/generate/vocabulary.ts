/**
 * The words and phrases of generated names and texts, as small grammars. The file is long because it is a list of words.
 *
 * A grammar maps names to symbols. A symbol with a `|` or a `{` is a list of phrases, split at each `|`, all equally likely; a
 * newline and the indentation after a `|` are no part of it. `3×` in front of a phrase counts it three times. Any other
 * symbol is a list of words, split at white space, common ones first: early words are drawn more often, as in real text.
 *
 * In a phrase, `{noun}` draws from a symbol, `{^noun}` does so with a capital first letter, `{a noun}` with the English article,
 * `{upper noun}` with another change of `text.ts`, and `{hex*8}` eight times.
 */

/** Symbols by name. */
export type Grammar = Readonly<Record<string, string>>;

/** Symbols of every grammar. There are a few thousand coined words, each rare. */
const common = {
  d: `7 1 2 3 0 9 5 8 4 6`,
  dd: `{d}{d}`,
  num: `{d}|2×{dd}|{year}|{d}{d}{d}|{d}{d}{d}{d}|{d}{d}{d}{d}{d}`,
  year: `2000 1999 2001 1998 2002 2003 1997 2004 1996 2005 1995 2006 1994 1993 2007 1992 1991 1990 1989 2008 1988 1985 1987 1986 2009 1984 1980 1983 1982 1981`,
  few: `2 4 3 5 6 8`,
  many: `16 20 8 10 12 24 30 32 40 64 80 50 60 15 25`,
  hour: `21 20 22 19 18 23 17 15`,
  emoji: `✨ 🌸 🎮 🌙 🎉 ⭐ 😂 🎵 🦊 😎 💫 👻 🐺 🍀 💜 🚀 🐉 🎨 🍜 🍵 🌌 🐰 💀 ☕ 🦄 🎃 🐻 ❄️ 🍓 🤖 🐧 🎂 🦋 ⚔️ 🏰 🐼 💎 🍄 🏎️ 🛸 🦖 🍣 🎹 🏔️ 🧊 🥑 🪩 🪼 🫠`,
  joined: `👩‍🚀 🧑‍🎤 👨‍👩‍👧 🏳️‍🌈 🐈‍⬛ ❤️‍🔥 👩🏽‍💻 🧙‍♂️ 🧜‍♀️ 🧝‍♀️ 🏴‍☠️ 👨‍🍳 🧑🏻‍🚀 🐻‍❄️ 👁️‍🗨️ 👩‍❤️‍👩 🇯🇵 🇰🇷 🇩🇪 🇲🇽 👍🏿 ✌🏻 7️⃣`,
  decoration: `3×{emoji}|{emoji}{emoji}|{joined}`,
  name: `890×{plain}|10×{decoration}{plain}{decoration}|10×{plain}{decoration}|10×{decoration} {plain}|10×{plain} {decoration}|14×{wide plain}|
    20×{styled plain}|30×{decomposed plain}|4×{upper plain}`,
  on: `k m s r l t n v d z b h th sh y f p g j w br kr st tr ch dr gl x qu sk ph`,
  nu: `a i o e u ai ia y ei oa ou ae io ee`,
  co: `n r l s x th m k nd ss rd v sh lt z st rk q`,
  coined: `{on}{nu}{co}{nu}|{on}{nu}{on}{nu}|{on}{nu}{on}{nu}{co}|{on}{nu}{co}|{nu}{on}{nu}{co}|{on}{nu}{on}{nu}{on}{nu}|{on}{nu}{co}{nu}{on}`,
};

/** Parts of a description besides its sentences: ornaments, lists, and words that no other text has. */
const spoken = {
  ...common,
  bar: `━━━━━━━━━━━━|────────────────|═══════════|▬▬▬▬▬▬▬▬▬▬|⋆｡°✩⋆｡°✩⋆｡°✩|◇◆◇◆◇◆◇◆◇◆|・・・・・・・・・・|~~~~~~~~~~~~~~~~~~~~|--------------------|
    ＊＊＊＊＊＊＊＊|░▒▓█▓▒░|･ﾟ: *✧･ﾟ:*|╔══════════╗|╚══════════╝|┏━━━━━━━━┓|┗━━━━━━━━┛|꒷꒦꒷꒦꒷꒦꒷|♪┈┈┈┈┈┈┈♪`,
  bullet: `2×・|2×- |• |★ |▶ |◆|✔ |→ |■|♡ `,
  kaomoji: `(๑•̀ㅂ•́)و✧|( ´ ▽ \` )ﾉ|ヽ(•̀ω•́ )ゝ|(=^･ω･^=)|(｡♥‿♥｡)|( ˘ω˘ )ｽﾔｧ|¯\\_(ツ)_/¯|(╯°□°）╯︵ ┻━┻|\\(^o^)/|ʕ•ᴥ•ʔ|♪(´▽｀)|(っ˘ω˘ς )|<3|:3|xD|^^|ㅠㅠ|
    ㅋㅋㅋ|www|草`,
  topic: `{theme}|{title}`,
  theme: `Controls|Credits|Update|更新履歴|注意|Features|FAQ|Rules|更新|업데이트|Notes|Changelog|機能|お知らせ`,
  date: `{year2}/{month}/{day}|{year2}-{month}-{day}|{year2}.{month}.{day}|{day}.{month}.{year2}|{month}/{day}|{year2}年{month}月{day}日`,
  year2: `2025 2026 2024 2023 2022 2021 2020`,
  month: `01 02 03 04 05 06 07 08 09 10 11 12`,
  day: `01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28`,
  version: `v{d}.{d}|v{d}.{d}.{d}|Ver{d}.{dd}|ver.{d}.{d}.{dd}|{d}.{d}.{d}|rev{dd}|beta {d}.{d}`,
  spec: `SDK{d}.{d}.{d}|{dd}MB|{d}{dd} MB|{dd}{d} players|{d}K poly|PC/Quest|Android OK|iOS|{d}{dd}k tris|{dd} FPS`,
  proper: `{^on}{nu}{co}{on}{nu}{co}|{^on}{nu}{on}{nu}{co}{on}{nu}|{^coined}{coined}|{^on}{nu}{co}{nu}{on}{nu}`,
  handle: `@{proper}|@{coined}_{proper}|@{proper}{dd}|{proper}#{d}{d}{d}{d}|@{coined}_{d}{d}{dd}|{proper}_{coined}`,
  tag: `#{proper}|#{coined}{coined}|＃{proper}|#{coined}{year2}|#{proper}_{dd}`,
  song: `{proper} - {proper}|"{proper}" by {proper}|「{proper}」 {proper}|{proper} ({proper} Remix)|{proper} / {proper}`,
  frame: `【{topic}】|『{topic}』|≪{topic}≫|┃{topic}┃|✦ {topic} ✦|▓ {topic} ▓|◤{topic}◢|〔{topic}〕|== {topic} ==|♦ {topic} ♦`,
  heading: `3×{frame}|{styled topic}|{wide topic}|{upper topic}|{topic}\n{bar}|{bar}\n{topic}`,
  dated: `{date} {version}`,
  hex: `0 1 2 3 4 5 6 7 8 9 a b c d e f`,
  sign: `A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9 - _`,
  uuid: `{hex*8}-{hex*4}-4{hex*3}-{hex*4}-{hex*12}`,
  id: `{hex*7}|sha1:{hex*40}|{hex*32}|{uuid}|ID:{sign*10}|#{upper hex*6}`,
  address: `https://discord.example.com/{sign*8}|https://discord.example.com/invite/{sign*10}|https://www.example.com/watch?v={sign*11}|
    https://v.example.com/{sign*11}?si={sign*16}|https://worlds.example.com/home/world/{uuid}|https://{coined}.shop.example.org/items/{d*7}|
    https://social.example.net/{proper}/status/{d*19}|social.example.net/{proper}|https://git.example.org/{proper}/{coined}-{coined}|
    https://docs.example.com/d/{sign*44}/edit?usp=sharing|www.{proper}.example.com`,
  names: `{proper}, {proper}, {proper}|{proper}, {proper}, {proper}, {proper}, {proper}`,
  mention: `6×{label}{address}|4×{label}{handle}|2×{handle} {handle}|3×{label}{song}|2×{id}|4×{label}{names}|{tag}|{tag} {tag}|{tag} {tag} {tag}`,
  gap: `82× |18×\n`,
  separator: `9×\n|7× |2× / |2×\n\n`,
  item: `{mention}|{dated} {sentence}|{sentence}|{proper}: {sentence}`,
  worldName: `76×{title}|6×{decoration} {title}|4×{title} {decoration}|{wide title}|{decomposed title}|3×{upper title}|3×{lower title}|2×{styled title}|
    4×{title} {title}`,
  brief: `{version}|{kaomoji}|{title}|{sentence}`,
};

const english = {
  ...spoken,
  plain: `5×{nick}|3×{person}`,
  label: `Discord: |Join us: |Group: |Credits: |Music: |Bugs: |Twitter: |Made by |Thanks to |Patreon: |More: |→ `,
  adj: `little dark cozy hidden night golden endless ancient lonely tiny happy haunted peaceful electric lunar retro emerald midnight sunny dreamy gentle silent
    forgotten crystal wooden glass hollow sacred enchanted mossy purple ivory pastel digital pixel synthetic stellar arctic southern western summer spring late
    remote open deep high royal humble lazy curious grumpy funky mellow rough sweet spicy warm icy shining drifting restless nameless weightless crooked winding
    hexagonal vivid faint radiant opaque tame chaotic symmetrical unlikely whimsical majestic urban coastal subterranean interstellar clockwork unfinished`,
  noun: `cat fox star dragon shadow bear storm rose ninja rabbit bunny queen gamer robot angel reaper rider dreamer runner baker sailor ranger mage monk phoenix
    kraken falcon eagle sparrow robin crane badger hedgehog lynx leopard cobra gecko frog newt whale squid lobster koi trout beetle spider bee comet pulsar
    nebula planet eclipse thunder rain frost flame smoke breeze river pebble amber onyx ruby topaz coral maple pine ivy clover lily daisy poppy pumpkin waffle
    dumpling biscuit toast taco mango cherry lime berry potato pepper cinnamon espresso pixel vector static echo rune prism candle compass anvil blade shield`,
  place: `world room forest cafe club lake village beach shrine cave museum gallery arena lobby cabin mansion dungeon labyrinth valley canyon oasis swamp reef
    bridge subway airport observatory factory workshop stage arcade mall bazaar kitchen diner inn hospital orchard vineyard mill zoo playground stadium dojo
    sauna spa crypt chapel citadel colony archive vault attic balcony plaza alley archipelago lagoon tundra prairie crater abyss nebula`,
  thing: `games friends avatars puzzles secrets couches fireworks books drinks boats swings pillows telescopes pianos guitars ladders levers treasures bosses
    coins butterflies statues posters cassettes pinballs surfboards balloons bathtubs sculptures waterfalls teacups typewriters bonsais mosaics constellations`,
  who: `friends strangers players beginners dancers families musicians sleepers artists gamers dreamers cosplayers racers stargazers newcomers locals pilots`,
  verb: `explore enjoy visit build meet discover solve escape wander draw relax sleep swim climb chat rest fish ride sail unlock defend decorate remember`,
  doing: `chatting sleeping dancing exploring singing swimming fishing studying roleplaying building reading practising gardening cooking eavesdropping`,
  time: `night day morning evening weekend sunset midnight dawn winter summer spring Friday Saturday Sunday dusk noon holiday birthday Halloween Christmas`,
  np: `the {adj} {place}|the {place}|{a adj} {place}|{a place}|the {place} of {^coined}|this {place}`,
  sentence: `{^np} for {who}.|{A adj} {place} where you can {verb} and {verb} with {who}.|The {place} is {adj} and the {thing} are {adj}.|
    Come and {verb} in {np}.|This is {a adj} world with {thing}, {thing} and {a adj} {place}.|Best with {few} to {many} players.|
    Made for {doing} with {who} at {time}.|Perfect for {doing} on {a adj} {time}.|Inspired by {a adj} dream of the {place}.|
    Work in progress, more {thing} to come!|Update {d}.{d}: added {thing} and fixed the {thing}.|Thanks to {^coined} for the {thing}.|
    The {noun} sleeps in {np}, so be quiet.|{A adj} game of {thing} and {thing} for up to {many} people.|It's {a place}. It has {thing}. What else do you want?|
    PC and mobile. The {thing} may be heavy on older devices.|Optimized for everyone; turn the {thing} off with the switch in the {place}.|
    Home of the {^noun} {^place} community, {doing} since {year}.|Find all {many} {thing} to {verb} the {adj} {noun}.|Audio by {^coined} & {^coined}.|
    Don't look at the {noun}.|Just {a adj} {place} to {verb} and do nothing at all.|A walk through the {adj} {place}, the {place} and the {adj} {place}.`,
  title: `The {^adj} {^place}|2×{^adj} {^place}|{^noun} {^place}|{^noun}'s {^place}|{^coined}|{^coined} {^place}|The {^place} of {^coined}|
    {^place} of the {^adj} {^noun}|{^adj} {^noun} {^place}|{^doing} {^place}|{^place} {dd}|{^place}|{^verb} the {^place}|{^coined}'s {^adj} {^place}|
    {^noun} and {^noun}|{^time} at the {^place}|[WIP] {^adj} {^place}|{^place} - {^time} Edition|{^given}'s {^place}|{^place} v{d}.{d}`,
  given: `James John Michael David Sophia Emily Sarah Laura Hannah Megan Jack Tom Sam Ben Matt Luke Adam Zoe Lily Ruby Isla Freya Ivy Liam Ethan Mason Logan
    Owen Henry Oscar Hazel Aurora Luna Stella Willow Iris Miles Hugo Rufus Otis Ezra Amos Desmond Priya Ananya Fatima Layla Aisha Ama Chidi Thabo Kofi Linh Thao
    Wei Ravi Deepa Niamh Rhys Angus Declan Callum Isobel Renée Zoë Noël Thérèse Gaël Łukasz Zofia Åsa Ingrid Matěj Ștefan João Inês Márton Dávid Snežana`,
  family: `Smith Brown Wilson Evans Johnson Wright Thompson Hughes Green Wood Lewis Martin Clarke Turner Scott Morris Moore Watson Harrison Patel Allen James
    Phillips Bell Davis Miller Shaw Hunter Campbell Stewart Reid Ross Murphy Ryan O'Connor Doyle Quinn Flynn Finch Fox Hawkins Ashdown Pemberton Blackwood
    Underhill Singh Ahmed Chowdhury Mensah Nguyen Pham Wong Tanaka Rossi Dubois Beaumont Novák Kowalski Nilsson Lindqvist Halloran de-Vries Horváth`,
  nick: `{^adj}{^noun}|2×{^adj}{^noun}{num}|{adj}_{noun}|{noun}_{dd}|{noun}{num}|{^noun}{^noun}|{adj}.{noun}|{adj}-{noun}-{dd}|xX{^noun}Xx|{adj}{noun}{dd}|
    {given}_{noun}{dd}|2×{^coined}{num}|{coined}.{coined}|xX_{^adj}{^noun}_Xx|{^coined}|{coined}_{noun}|{coined}{dd}|{^coined}{^noun}|{^coined} {^coined}|
    {given}{num}|{given}The{^noun}|The{^adj}{^noun}|The {^adj} {^noun}|{^noun} of {^coined}|Captain {^noun}|Dr. {^noun}|i_{verb}_{thing}|not{noun}|Real{given}|
    {^adj} {given}|{given} {num}`,
  person: `{given} {given} {family}|{given} '{^noun}' {family}|{given} {family}-{family}|3×{given} {family}|{given}|{given} {^on}. {family}|
    {family}, {given}`,
};

const japanese = {
  ...spoken,
  gap: `70×|12× |18×\n`,
  plain: `4×{nick}|3×{person}`,
  label: `作者：|連絡先：|音楽：|協力：|グループ：|ハッシュタグ：|更新履歴：|BGM：|Special Thanks：|X：|詳細はこちら `,
  family: `佐藤 鈴木 田中 伊藤 渡辺 山本 小林 加藤 吉田 山田 山口 松本 井上 木村 斎藤 清水 山崎 森 橋本 阿部 石川 山下 石井 小川 前田 岡田 藤田 後藤 近藤 村上
    青木 坂本 斉藤 太田 西村 藤井 金子 藤原 三浦 中野 中川 松田 竹内 小野 田村 和田 石田 森田 上田 内田 柴田 酒井 宮崎 高木 安藤 宮本 大野 谷口 今井 工藤 増田
    丸山 杉山 村田 新井 小山 平野 藤本 上野 野口 武田 松井 菅原 岩崎 久保 木下 野村 松尾 市川 菊地 古川 大西 島田 水野 渡邊 齋藤 髙橋 四月一日 月見里 一`,
  given: `翔太 美咲 大輔 健太 さくら 拓也 葵 蓮 結衣 凛 悠真 紬 湊 陽葵 芽依 颯太 莉子 海斗 美月 杏 陸 花音 直樹 由美 誠 健一 裕子 剛 真由美 浩 亮 麻衣 隼人 彩
    千尋 薫 望 司 瞳 静香 あかり ゆい まお りん はると そら こはる 一郎 次郎 太郎 花子 聡 勇気 奏 律 暁 朔 楓 雪乃 千代 文乃 桃子 春樹 秋人 冬馬 龍之介`,
  kana: `さくら ゆき ねこ みるく もち きなこ ことり うさぎ ましろ くろ しろ たぬき きつね ぽんず わさび おもち ゆず みかん りんご いちご ちょこ あずき まっちゃ
    とうふ なすび ぺんぎん くらげ かえる ひよこ ぱんだ らっこ しらす いくら ほたる すずめ つばめ めだか まる`,
  kata: `サクラ ユキ レン ルナ ソラ ハル カイト ミク アオイ タクヤ シロ ノア ゼロ レイ ヒカリ ヨル ツバサ リュウ アリス クロエ ミルク ココア プリン ポチ タマ
    コタロウ カノン スバル アルト ベガ オリオン ガイア ドラゴン ペンギン パンダ バナナ トマト ワサビ ラーメン ヴァイス エルフ ナイト セイバー ファントム`,
  romaji: `sakura yuki haru neko ren sora kaito hikari rin akira kuro shiro mochi tanuki kitsune ryu kage tsuki hoshi umi yama kaze hana ame yoru asahi aoi
    mizuki nagi shion kotaro daiki takumi yuna mei hina sho riku kenji tomo`,
  person: `{family}{given}|2×{family} {given}|{given}|{family}`,
  nick: `{kana}|{kana}{d}|{kana}さん|{kana}ちゃん|{kata}|{kata}{num}|{kana}{num}|{romaji}{num}|{romaji}_{coined}|{adj}{kana}|{adj}{kata}|{kana}の{kana}|
    {adj}{noun}|†{noun}の{kata}†|{kata}@{noun}|{romaji}_{dd}|{romaji}{year}|{romaji}_{romaji}|【{kata}】|{kana}＠{kana}|{noun}好きの{kana}|{kata}・{kata}|
    {given}@{noun}勢`,
  adj: `静かな 小さな 夜の 青い 古い 秘密の 懐かしい 美しい 不思議な 白い 黒い 赤い 広い 暗い 楽しい 遠い 雨の 雪の 春の 夏の 秋の 冬の 夕暮れの 真夜中の 星降る
    忘れられた 幻想的な 和風の レトロな かわいい 怪しい 空飛ぶ 眠れる 透明な 永遠の 天空の 海底の 異世界の`,
  noun: `部屋 森 庭 神社 喫茶店 学校 海 家 島 温泉 図書館 城 夜空 教室 村 酒場 屋上 水族館 美術館 洞窟 塔 廃墟 商店街 居酒屋 劇場 灯台 湖 草原 砂浜 宇宙船 工場
    路地裏 電車 銭湯 茶室 桜並木 天文台 迷宮 遺跡 花畑 月 猫 狐 龍 雲 カフェ クラブ ステージ プール キャンプ場 ゲームセンター アパート ロビー ワールド`,
  thing: `鏡 ペン 音楽 ゲーム 椅子 写真 花火 パズル 料理 お酒 本 アバター ギミック 動画 焚き火 布団 ピアノ 魚 星 灯り 謎 宝物 カード ボード 釣り竿 望遠鏡`,
  who: `みんな 友達 恋人 初心者 大人数 少人数 ひとり フレンド 仲間 旅人 写真好き 猫好き 夜型の人`,
  doing: `雑談 撮影 睡眠 集会 探索 お花見 勉強 読書 演奏 飲み会 かくれんぼ 鬼ごっこ 釣り 瞑想 作業 ダンス 脱出 謎解き`,
  sentence: `{adj}{noun}のワールドです。|{adj}{noun}で{who}と{doing}を楽しめます。|{doing}や{doing}におすすめです。|{thing}と{thing}があります。|
    {noun}の奥に{adj}{noun}があります。|{noun}と{noun}をイメージして作りました。|ゆっくりしていってください。|{few}人から{many}人くらいで遊べます。|
    {thing}は{noun}にあります。|どこかに{adj}{thing}が隠れています。|Quest対応。|PC専用、少し重いです。|{year}年の{noun}を再現しました。|
    {thing}のスイッチは{noun}の入り口です。|制作中です。{thing}はまだ増えます！|この{noun}には{kata}が住んでいるらしい……|BGMは{kata}さんの曲をお借りしました。|
    {doing}は毎週{hour}時から。|あなたは{adj}{noun}で目を覚ます。`,
  title: `2×{adj}{noun}|{noun}|{kana}の{noun}|{kata}{noun}|{noun}の{noun}|{doing}{noun}|{noun}と{noun}|『{adj}{noun}』|{noun} -{^coined}-|{given}の{noun}|
    {adj}{adj}{noun}|{noun}ワールド{dd}|【{doing}】{noun}|{noun} Ver.{d}.{d}`,
};

const korean = {
  ...spoken,
  plain: `4×{nick}|5×{person}`,
  label: `제작: |문의: |음악: |그룹: |도움: |디스코드 `,
  family: `김 이 박 최 정 강 조 윤 장 임 한 오 서 신 권 황 안 송 류 전 홍 고 문 양 손 배 백 허 유 남 심 노 하 곽 성 차 주 우 구 민 나 진 지 엄 채 원 천 방 공`,
  syllable: `민 서 지 준 현 우 영 수 진 은 하 예 윤 연 도 유 주 승 재 성 호 경 미 정 아 혜 태 동 상 희 원 선 채 시 나 건 소 인 규 빈 다 온 율 솔 별 훈 기 찬`,
  given: `4×{syllable}{syllable}|{pure}`,
  pure: `하늘 바다 보라 슬기 아름 빛나 한별 다솜 가람 새봄 나래 이슬 초롱 은하 여름 가을 겨울 소라 단비 해솔`,
  person: `3×{family}{given}|{family} {given}|{given}`,
  adj: `작은 조용한 푸른 오래된 비밀의 행복한 어두운 하얀 검은 밤의 잊혀진 아름다운 귀여운 따뜻한 차가운 배고픈 졸린 신비한 떠다니는 외로운 용감한 빛나는`,
  noun: `고양이 집 방 숲 카페 바다 마을 학교 정원 섬 도시 하늘 별 달 여우 호수 성 공원 도서관 강아지 토끼 늑대 호랑이 곰 용 나비 구름 바람 기차 옥상 골목 시장
    극장 온천 한옥 궁궐 등대 동굴 탑 폐허 우주선 연구소 놀이공원 수족관 미술관 노래방 술집 식당 편의점 지하철 다리 언덕 초원 사막 떡볶이 김밥 만두 라면 호떡`,
  thing: `거울 음악 게임 의자 사진 불꽃놀이 퍼즐 요리 책 아바타 영화 모닥불 침대 피아노 물고기 조명 보물 카드 펜 낚싯대 망원경 그네 등불 비밀방`,
  who: `친구들과 모두와 연인과 혼자서 가족과 초보자와 여러분과 동료들과`,
  doing: `수다 휴식 촬영 탐험 낚시 공부 춤 노래 잠자기 술래잡기 방탈출 독서 연주 산책 요리 명상`,
  sentence: `{adj} {noun} 월드입니다.|{who} {doing} 하기 좋은 {noun}입니다.|{adj} {noun} 안에서 {who} {doing} 시간을 보내세요.|{thing} 그리고 {thing} 있습니다.|
    이 {noun} 어딘가에 {adj} {thing} 숨어 있습니다.|{noun} 뒤에 {adj} {noun} 있어요.|최대 {many}명까지 즐길 수 있습니다.|{year}년의 {noun} 모습을 담았습니다.|
    천천히 쉬다 가세요.|아직 만드는 중입니다!|모바일 지원.|{thing} 스위치는 {noun} 입구에 있습니다.|매주 {hour}시에 {doing} 모임이 열립니다.`,
  title: `2×{adj} {noun}|{noun}|{noun}의 {noun}|{adj} {noun}의 {noun}|{pure}네 {noun}|{doing} {noun}|{noun} {dd}|{noun}과 {noun}|[{doing}] {adj} {noun}|
    {noun} : {^coined}`,
  nick: `{adj}{noun}|{adj} {noun}|{noun}{num}|{given}{num}|{adj}{noun}{dd}|{pure}|{pure}{num}|{noun}_{noun}|{noun}좋아|{pure}이네{noun}|{noun}먹는{noun}|
    ㅇㅇ{num}`,
};

const chinese = {
  ...spoken,
  gap: `70×|12× |18×\n`,
  plain: `4×{nick}|5×{person}`,
  label: `作者：|联系：|音乐：|群：|感谢：|更多：`,
  family: `王 李 张 刘 陈 杨 黄 赵 吴 周 徐 孙 马 朱 胡 郭 何 林 高 罗 郑 梁 谢 宋 唐 许 韩 冯 邓 曹 彭 曾 肖 田 董 潘 袁 蔡 蒋 余 于 杜 叶 程 魏 苏 吕 丁 任 卢
    姚 沈 钟 姜 崔 谭 陆 范 汪 廖 石 金 韦 贾 夏 付 方 邹 熊 白 孟 秦 邱 侯 江 尹 薛 闫 雷 龙 陶 史 陳 張 劉 黃 歐陽 欧阳 司马 诸葛 上官`,
  syllable: `伟 芳 娜 敏 静 丽 强 磊 军 洋 勇 艳 杰 娟 涛 明 超 秀 霞 平 刚 桂 英 华 玉 兰 红 建 国 文 梅 晓 春 雨 欣 怡 子 涵 浩 然 宇 轩 梓 诗 琪 思 佳 嘉 俊
    博 天 一 雪 梦 婷 晨 阳 志 鹏 飞 凯 鑫 斌 波 辉 慧 颖 倩 月 云 星 海 山 林 清 若 书 瑶 萱 泽 睿 昊 航 心 安 宁 语 嫣 墨 白`,
  given: `{syllable}|3×{syllable}{syllable}`,
  person: `3×{family}{given}|{family} {given}`,
  adj: `安静的 小小的 古老的 神秘的 蓝色的 美丽的 遗忘的 温暖的 孤独的 快乐的 黑暗的 冰冷的 漂浮的 秘密的 梦幻的 深夜的 下雨的 飘雪的 遥远的 隱藏的 寂靜的`,
  noun: `房间 森林 花园 城市 咖啡馆 海边 小镇 学校 家 岛 图书馆 星空 酒吧 月亮 猫 狐狸 湖 城堡 公园 神社 天台 车站 山谷 竹林 茶馆 书店 剧院 灯塔 洞穴 高塔 废墟
    飞船 实验室 工厂 游乐园 水族馆 美术馆 夜市 胡同 古镇 长城 草原 沙漠 雪山 瀑布 温泉 寺庙 桥 火锅店 面馆 电影院 地铁 教室 宿舍 遊樂園 圖書館 龍宮 書院`,
  thing: `镜子 音乐 游戏 椅子 照片 烟花 谜题 美食 书 虚拟形象 电影 篝火 床 钢琴 鱼 灯光 宝藏 卡牌 画笔 鱼竿 望远镜 秋千 灯笼 密室 机关 彩蛋`,
  who: `朋友 大家 恋人 陌生人 家人 新手 伙伴 玩家 摄影爱好者 夜猫子 同学`,
  doing: `聊天 放松 拍照 探索 钓鱼 学习 跳舞 唱歌 睡觉 捉迷藏 密室逃脱 阅读 演奏 散步 看星星 喝茶 发呆 冥想`,
  sentence: `这是一个{adj}{noun}。|你可以和{who}一起在{noun}里{doing}。|适合{doing}和{doing}。|这里有{thing}和{thing}。|{noun}的后面还有一个{adj}{noun}。|
    欢迎来到{adj}{noun}！|最多支持{many}人。|还在制作中，之后会加入更多的{thing}。|灵感来自{year}年的{noun}。|请和{who}好好相处。|我们在{adj}{noun}里等你。|
    支持手机和电脑。|每周{hour}点在这里{doing}。|你在{adj}{noun}中醒来，身边只有{thing}。|感谢{syllable}{syllable}提供的音乐。|為了{who}而做的{noun}。`,
  title: `2×{adj}{noun}|{noun}|{noun}与{noun}|{noun}里的{noun}|{syllable}{syllable}的{noun}|{doing}{noun}|《{adj}{noun}》|{noun}{dd}号|
    {noun}·{syllable}{syllable}|{adj}{adj}{noun}|【{doing}】{noun}`,
  nick: `{adj}{noun}|{syllable}{syllable}|小{syllable}|阿{syllable}|{syllable}{syllable}{num}|{adj}{syllable}{syllable}|{noun}{num}|爱{doing}的{noun}|
    {syllable}{syllable}不想{doing}|{syllable}{syllable}_{year}|{noun}里的{syllable}|不{doing}的{noun}|丶{syllable}{syllable}`,
};

/** Adjectives are stems, as in Spanish, used where endings are regular: after "im", "in der", "ein" and "eine". */
const german = {
  ...spoken,
  plain: `{nick}|2×{person}`,
  label: `Gruppe: |Fehler melden: |Musik: |Danke an |Von |Mehr: `,
  given: `Anna Lena Jonas Sophie Felix Paul Laura Käthe Müslüm Jörg Sören Heike Uwe Stefan Sabine Andrea Michael Christian Katrin Ursula Hans Klaus Dieter Helga
    Ingrid Rüdiger Götz Änne Jannik Finja Wiebke Torben Henning Frauke Frieda Anton Kurt Leni Wilhelmine Karl-Heinz Lieselotte Hannelore Brünhilde`,
  family: `Müller Schmidt Fischer Weber Wagner Becker Hoffmann Schäfer Bauer Richter Wolf Schröder Schwarz Zimmermann Krüger Hofmann Lange Krause Lehmann Köhler
    König Huber Kaiser Peters Möller Jung Hahn Jäger Günther Roth Böhm Preuß Kühn Heß Löwe Förster Schütz Grün Großmann Süßmilch Straßburger Öztürk Yılmaz`,
  stem: `alt neu verzaubert still vergessen blau rot weiß frostig verschneit neblig wild versunken leuchtend rätselhaft friedlich gläsern steinern übermütig`,
  manly: `Wald See Turm Park Hof Bahnhof Markt Hafen Palast Saal Biergarten Marktplatz Fluss Leuchtturm Freizeitpark Friedhof Zug Süßwarenladen`,
  neutral: `Haus Schloss Zimmer Café Museum Labor Raumschiff Theater Kino Gewächshaus Baumhaus Hexenhaus Wohnzimmer Labyrinth Bücherregal Fußballstadion`,
  female: `Stadt Insel Schule Höhle Bibliothek Brücke Küche Hütte Werkstatt Bar Sternwarte Mühle Kirche Almhütte Terrasse Bücherei Fabrik Schlucht Großstadt`,
  where: `im {stem}en {manly}|im {stem}en {neutral}|in der {stem}en {female}|im {manly}|in der {female}`,
  what: `ein {stem}er {manly}|ein {stem}es {neutral}|eine {stem}e {female}`,
  things: `Spiele Spiegel Sterne Freunde Fische Lichter Geheimnisse Lieder Bilder Drachen Züge Blumen Kostüme Würfel Getränke Grüße Schlüssel Bäume Häuser`,
  who: `Freunde alle Anfänger Familien Nachtschwärmer Träumer Künstler Entdecker Fotografen Rätselfreunde Musiker Spieler Müßiggänger`,
  doing: `Tanzen Reden Träumen Schlafen Malen Angeln Lesen Singen Feiern Entspannen Klettern Basteln Kochen Wandern Zuhören Grübeln`,
  sentence: `{^what} für {who}.|Die Welt ist {stem} und die {things} sind {stem}.|Der perfekte Ort zum {doing} und {doing}.|{^where} wartet {what} auf dich.|
    Für {few} bis {many} Spieler.|Seit {year} treffen wir uns {where} zum {doing}.|Bitte die {things} nicht füttern.|
    Danke an {given} für die {things} und die Musik.|Läuft auf dem PC und auf dem Handy.`,
  title: `{^stem}er {manly}|{^stem}es {neutral}|{^stem}e {female}|Der {stem}e {manly}|Das {stem}e {neutral}|Die {stem}e {female}|{things} {where}|
    {doing} {where}|{neutral} von {given}|{given} und der {manly}|{^where}|{female} {^coined}|{things} und {things}|{neutral} {dd}`,
  person: `3×{given} {family}|{given}|Dr. {given} {family}|{given} {family}-{family}`,
  nick: `{^stem}er{manly}|{^stem}es{neutral}|{family}{num}|{given}_{family}|{neutral}{num}|{given}{num}|{things}freund|{things}_{dd}|{given} aus {^coined}|
    {stem}_{neutral}`,
};

const spanish = {
  ...spoken,
  plain: `2×{nick}|5×{person}`,
  label: `Grupo: |Música: |Errores: |Gracias a |Por |Más: `,
  given: `José María Juan Luis Ana Carlos Miguel Sofía Jesús Paula Javier Andrés Martina Álvaro Íñigo Begoña Ramón Pilar Raúl Sergio Nuria Óscar Iván Verónica
    Rubén Ángela Adrián Víctor Noemí Hernán Mateo Valentina Santiago Camila Joaquín Emiliano Guadalupe Nicolás Tomás Consuelo Iñaki Itziar Joan Xoán Uxía`,
  family: `García González Fernández Martínez Sánchez Gómez Jiménez Ruiz Díaz Moreno Álvarez Romero Gutiérrez Torres Domínguez Ramos Gil Serrano Molina Morales
    Ortega Delgado Ortiz Rubio Sanz Iglesias Medina Cortés Castillo Lozano Cano Prieto Cruz Calvo Peña León Herrera Güell Echeverría Zúñiga Quiñones Logroño`,
  stem: `pequeñ antigu perdid encantad secret tranquil nuev blanc negr roj helad solitari abandonad congelad iluminad silencios maravillos lejan extrañ`,
  manly: `mundo bosque jardín café parque lago cuarto mar cine teatro faro desierto laberinto sueño puerto río tren patio callejón volcán baño taller`,
  female: `casa ciudad playa cueva montaña torre plaza estación fiesta luna mina nave cocina azotea estrella piscina calle montaña viña pirámide canción`,
  what: `un {manly} {stem}o|una {female} {stem}a|este {manly} {stem}o|la {female} {stem}a|un {manly}|una {female}`,
  things: `juegos espejos libros secretos músicas estrellas tesoros peces gatos fotos canciones sillas monedas piñatas máscaras trampas montañas señales búhos`,
  who: `amigos todos parejas familias principiantes artistas soñadores viajeros músicos niños jugadores curiosos compañeros`,
  verb: `explorar bailar jugar descansar charlar cantar soñar dibujar pescar dormir leer nadar volar correr construir cocinar reír aprender`,
  sentence: `{^what} para {who}.|Ven a {verb} en {what}.|¡Bienvenidos a {what}!|Hay {things}, {things} y {what}.|Máximo {many} personas.|
    Detrás de {what} se esconde {what}.|Gracias a {given} por la música y los modelos.|Despiertas en {what} y no recuerdas nada.|
    No mires atrás: {what} te espera.|El año pasado era {what}; mañana será {what}.`,
  title: `El {manly} {stem}o|La {female} {stem}a|{^manly} {stem}o|{^female} {stem}a|El {manly} de {given}|La {female} de {given}|{^manly} y {female}|
    {^things} en la {female}|¡A {verb}!|{^verb} en el {manly}|La {female} de {^coined}|{^manly} {dd}`,
  person: `{given} {family} {family}|2×{given} {family}|{given}|{given} {given} {family}`,
  nick: `El{^manly}{^stem}o|la_{female}_{stem}a|{given}{num}|{manly}{num}|{given}_{family}{dd}|{given} el {stem}o|{given} la {stem}a|Señor {^manly}|don{given}|
    {female}_{stem}a{d}`,
};

/** Names that exercise text handling: other scripts, odd widths, very short and very common ones. */
const other = {
  ...common,
  plain: `25×{person}|8×{halfwidth}|4×{decoration}{joined}|3×{frequent}|2×{single}`,
  turkish: `İlker Işıl İrem Çağla Oğuz Şule Ömer Ayşe Gökçe İbrahim Yıldız Barış Tuğçe Çetin Ufuk Ilgaz`,
  turkishFamily: `Yılmaz Kaya Demir Şahin Çelik Yıldız Öztürk Aydın Özdemir Arslan Doğan Kılıç İnan Işık`,
  greek: `Νίκος Γιώργος Ελένη Οδυσσέας Μαρία Αλέξανδρος Σωκράτης Κώστας Φοίβος Αφροδίτη ΟΔΥΣΣΕΥΣ Στέφανος Θάλεια Χρήστος`,
  greekFamily: `Παπαδόπουλος Βλάχος Αγγελόπουλος Οικονόμου Νικολάου Γεωργίου Δημητρίου Καραγιάννης`,
  russian: `Алексей Мария Дмитрий Анна Сергей Ольга Иван Екатерина Артём Пётр Юлия Никита Андрей Семён`,
  russianFamily: `Иванов Смирнов Кузнецов Попов Соколов Лебедев Морозов Волков Новиков Фёдоров`,
  thai: `สมชาย มาลี ณัฐ พลอย กิตติ อรุณ`,
  arabic: `محمد فاطمة أحمد ليلى يوسف نور سارة عمر`,
  person: `{turkish} {turkishFamily}|{turkish}{num}|{greek} {greekFamily}|{greek}|{greek}{dd}|{russian} {russianFamily}|{russian}{num}|{russian}|{thai}{num}|
    {arabic} {num}`,
  half: `ｻｸﾗ ﾈｺ ﾕｷ ﾐｸ ﾊﾞﾅﾅ ﾎﾟﾁ ﾄﾞﾗｺﾞﾝ ﾍﾟﾝｷﾞﾝ ﾗｰﾒﾝ ｶｹﾞ ﾋｶﾘ ｿﾗ ｸﾗｹﾞ ﾀﾇｷ ｷﾞｮｰｻﾞ ﾌﾟﾘﾝ ﾓｶ ｺｺｱ ｱﾘｽ ﾚｲ`,
  halfwidth: `{half}|{half}{num}|{half}ﾁｬﾝ|{half}_{half}|{half}･{half}`,
  single: `a K x Z 1 7 愛 夢 龍 猫 空 月 あ ね ん ア ㅋ 용 π Ω é ß İ ★ ♪ _ ? 🦊 🌸 👻 👩‍🚀 🏳️‍🌈`,
  frequent: `2×Guest|Player|名無しさん|test|user|John Smith|ゲスト|익명|匿名|Anonymous|NightOwl|sakura_77`,
};

/** All languages, each with its share of user names and of worlds. */
export const LANGUAGES: readonly { users: number; worlds: number; grammar: Grammar }[] = [
  { users: 400, worlds: 48, grammar: english },
  { users: 210, worlds: 20, grammar: japanese },
  { users: 80, worlds: 8, grammar: korean },
  { users: 80, worlds: 9, grammar: chinese },
  { users: 60, worlds: 7, grammar: german },
  { users: 70, worlds: 8, grammar: spanish },
  { users: 40, worlds: 0, grammar: other },
];

/** Code points of the capital A of styled alphabets; small letters follow the capitals. */
export const ALPHABETS = [0x1d400, 0x1d4d0, 0x1d56c, 0x1d5d4, 0x1d5d4, 0x1d670, 0x24b6];
export const SMALL_CAPITALS = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡxʏᴢ";

/** Signs and, in the same order, their lookalikes. */
export const SIGNS = '.,/:!?[]()"@#&';
export const LOOKALIKES = "․‚⁄˸ǃ？［］（）＂＠＃＆";
