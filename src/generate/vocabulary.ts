/**
 * The words and phrases of generated names and texts, as small grammars.
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
  num: `{d}|2×{dd}|{year}|{d*3}|{d*4}|{d*5}`,
  year: `2000 1999 2001 1998 2002 2003 1997 2004 1996 2005 1995 2006 1994 1993 2007 1992 1990 1989 2008 1985 1987 1984 1980`,
  few: `2 4 3 5 6 8`,
  many: `16 20 8 10 12 24 30 32 40 64 80 50 60 15 25`,
  emoji: `✨ 🌸 🎮 🌙 🎉 ⭐ 😂 🎵 🦊 😎 💫 👻 🐺 🍀 💜 🚀 🐉 🎨 🍜 🌌 🐰 💀 ☕ 🦄 🎃 🐻 ❄️ 🍓 🤖 🐧 🦋 ⚔️ 🏰 🐼 💎 🏎️ 🛸 🏔️ 🧊 🪩 🪼 🫠`,
  joined: `👩‍🚀 🧑‍🎤 👨‍👩‍👧 🏳️‍🌈 🐈‍⬛ ❤️‍🔥 👩🏽‍💻 🧙‍♂️ 🧝‍♀️ 🏴‍☠️ 🧑🏻‍🚀 🐻‍❄️ 👁️‍🗨️ 👩‍❤️‍👩 🇯🇵 🇰🇷 🇩🇪 👍🏿 ✌🏻 7️⃣`,
  decoration: `3×{emoji}|{emoji}{emoji}|{joined}`,
  name: `890×{plain}|10×{decoration}{plain}{decoration}|10×{plain}{decoration}|10×{decoration} {plain}|10×{plain} {decoration}|14×{wide plain}|
    20×{styled plain}|30×{decomposed plain}|4×{upper plain}`,
  on: `k m s r l t n v d z b h th sh y f p g j w br kr st tr ch dr gl x qu sk ph`,
  nu: `a i o e u ai ia y ei oa ou ae io ee`,
  co: `n r l s x th m k nd ss rd v sh lt z st rk q`,
  coined: `{on}{nu}{co}{nu}|{on}{nu}{on}{nu}|{on}{nu}{on}{nu}{co}|{on}{nu}{co}|{nu}{on}{nu}{co}|{on}{nu}{on}{nu}{on}{nu}|{on}{nu}{co}{nu}{on}`,
};

/**
 * What most languages share: shapes of names, and what a description has besides its sentences: ornaments, lists, and words that
 * no other text has. A language adds its words, its sentences, and `scene`: a place with an adjective.
 */
const spoken = {
  ...common,
  plain: `{nick}|{person}`,
  person: `3×{given} {family}|{given}|{given} {given} {family}|{given} {family}-{family}`,
  nick: `2×{tight scene}|{tight scene}{num}|2×{under scene}|{under scene}{dd}|{noun}{num}|{noun}_{noun}|{given}{num}|{given}_{noun}|{given} {family}{dd}|
    {given} & {noun}|{family}{dd}|{coined}_{noun}|{given} {^coined}`,
  title: `6×{^scene}|{^scene} {dd}|{^scene} {^coined}|{^noun} {given}|{given}: {scene}|{^noun} & {noun}|[WIP] {^scene}|{^coined}: {scene}|{^scene}, {scene}`,
  worldName: `76×{title}|6×{decoration} {title}|4×{title} {decoration}|{wide title}|{decomposed title}|3×{upper title}|3×{lower title}|2×{styled title}|
    4×{title} {title}`,
  bar: `━━━━━━━━━━━━|────────────────|═══════════|⋆｡°✩⋆｡°✩⋆｡°✩|・・・・・・・・・・|~~~~~~~~~~~~~~~~~~~~|--------------------|░▒▓█▓▒░|╔══════════╗|꒷꒦꒷꒦꒷꒦꒷`,
  kaomoji: `(๑•̀ㅂ•́)و✧|( ´ ▽ \` )ﾉ|(=^･ω･^=)|( ˘ω˘ )ｽﾔｧ|¯\\_(ツ)_/¯|(╯°□°）╯︵ ┻━┻|ʕ•ᴥ•ʔ|♪(´▽｀)|<3|:3|xD|ㅠㅠ|ㅋㅋㅋ|www|草`,
  topic: `8×{title}|Controls|Credits|FAQ|Rules|更新履歴|注意|업데이트|Обновления|تحديث`,
  dated: `{recent}/{month}/{day} {version}|{recent}-{month}-{day} {version}|{day}.{month}.{recent} {version}|{recent}年{month}月{day}日 {version}`,
  recent: `2025 2026 2024 2023 2022 2021 2020`,
  month: `0{few}|10|11|12`,
  day: `0{few}|1{d}|2{few}`,
  version: `v{d}.{d}|v{d}.{d}.{d}|Ver{d}.{dd}|ver.{d}.{d}.{dd}|{d}.{d}.{d}|rev{dd}|beta {d}.{d}`,
  spec: `SDK{d}.{d}.{d}|{dd}MB|{d}{dd} MB|{dd}{d} players|{d}K poly|PC/Quest|Android OK|{dd} FPS`,
  proper: `{^on}{nu}{co}{on}{nu}{co}|{^on}{nu}{on}{nu}{co}{on}{nu}|{^coined}{coined}|{^on}{nu}{co}{nu}{on}{nu}`,
  handle: `@{proper}|@{coined}_{proper}|@{proper}{dd}|{proper}#{d*4}|@{coined}_{d}{d}{dd}|{proper}_{coined}`,
  tag: `#{proper}|#{coined}{coined}|＃{proper}|#{coined}{recent}|#{proper}_{dd}`,
  song: `{proper} - {proper}|"{proper}" by {proper}|「{proper}」 {proper}|{proper} ({proper} Remix)`,
  heading: `【{topic}】|『{topic}』|≪{topic}≫|✦ {topic} ✦|== {topic} ==|♦ {topic} ♦|{styled topic}|{wide topic}|{upper topic}|{topic}\n{bar}|{bar}\n{topic}`,
  hex: `0 1 2 3 4 5 6 7 8 9 a b c d e f`,
  sign: `A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9 - _`,
  uuid: `{hex*8}-{hex*4}-4{hex*3}-{hex*4}-{hex*12}`,
  id: `{hex*7}|sha1:{hex*40}|{hex*32}|{uuid}|ID:{sign*10}|#{upper hex*6}`,
  address: `https://discord.example.com/{sign*8}|https://www.example.com/watch?v={sign*11}|https://v.example.com/{sign*11}?si={sign*16}|
    https://worlds.example.com/home/world/{uuid}|https://{coined}.shop.example.org/items/{d*7}|social.example.net/{proper}/status/{d*19}|
    https://git.example.org/{proper}/{coined}-{coined}|https://docs.example.com/d/{sign*44}/edit?usp=sharing|www.{proper}.example.com`,
  label: `2×→ |Discord: |Join us: |Music: |Credits: |Bugs: |Made by |Thanks to |BGM: |X: |More: `,
  mention: `6×{label}{address}|4×{label}{handle}|2×{handle} {handle}|3×{label}{song}|2×{id}|{tag}|{tag} {tag}|{tag} {tag} {tag}|
    2×{label}{proper}, {proper}, {proper}|2×{label}{proper}, {proper}, {proper}, {proper}, {proper}`,
  gap: `82× |18×\n`,
  separator: `9×\n|7× |2× / |2×\n\n`,
  item: `{mention}|{dated} {sentence}|{sentence}|{proper}: {sentence}`,
  list: `・{item}\n・{item}\n・{item}|- {item}\n- {item}\n- {item}\n- {item}|★ {item}\n★ {item}\n★ {item}\n★ {item}|→ {item}\n→ {item}|{item}\n{item}\n{item}\n{item}\n{item}`,
  section: `{heading}\n{list}`,
  extra: `17×{mention}|{kaomoji}|{decoration}|2×{dated}|{spec}|{bar}`,
  brief: `{version}|{kaomoji}|{title}|{sentence}`,
};

const english = {
  ...spoken,
  adj: `little dark cozy hidden night golden endless ancient lonely tiny happy haunted peaceful electric lunar retro emerald midnight sunny dreamy gentle silent
    forgotten crystal wooden glass hollow sacred enchanted mossy purple digital arctic summer deep humble curious grumpy restless crooked vivid clockwork`,
  noun: `cat fox star dragon moon shadow bear storm rose ninja rabbit queen robot angel reaper rider dreamer baker sailor mage phoenix kraken falcon sparrow crane
    badger lynx gecko frog whale squid koi beetle comet thunder frost smoke breeze pebble amber maple ivy clover pumpkin waffle toast taco espresso pixel prism`,
  place: `world room forest cafe club garden lake village beach shrine cave museum gallery arena lobby cabin mansion dungeon labyrinth valley canyon oasis swamp
    reef bridge subway airport observatory factory arcade mall bazaar kitchen diner inn orchard mill zoo stadium dojo crypt colony archive attic balcony lagoon`,
  thing: `games friends avatars puzzles secrets couches fireworks books drinks boats swings pillows telescopes pianos guitars ladders levers treasures bosses coins
    butterflies statues posters cassettes pinballs surfboards balloons bathtubs sculptures waterfalls teacups typewriters bonsais constellations`,
  who: `friends strangers players beginners dancers families musicians sleepers artists gamers dreamers cosplayers racers stargazers newcomers locals`,
  verb: `explore enjoy visit build meet discover solve escape wander draw relax sleep swim climb chat rest fish ride sail unlock decorate remember`,
  doing: `chatting sleeping dancing exploring singing swimming fishing studying roleplaying building reading gardening cooking eavesdropping`,
  scene: `the {adj} {place}|the {place}|{a adj} {place}|{a place}|the {place} of {^coined}|this {place}`,
  sentence: `{^scene} for {who}.|{A adj} {place} where you can {verb} and {verb} with {who}.|The {place} is {adj} and the {thing} are {adj}.|
    Come and {verb} in {scene}.|This is {a adj} world with {thing}, {thing} and {a adj} {place}.|Best with {few} to {many} players.|
    Made for {doing} and {doing} with {who}.|Work in progress, more {thing} to come!|Update {d}.{d}: added {thing} and fixed the {thing}.|
    Thanks to {^coined} for the {thing}.|The {noun} sleeps in {scene}, so be quiet.|It's {a place}. It has {thing}. What else do you want?|
    PC and Quest. The {thing} may be heavy on older devices.|Don't look at the {noun}.|Just {a adj} {place} to {verb} and do nothing at all.`,
  title: `The {^adj} {^place}|3×{^adj} {^place}|2×{^noun} {^place}|{^noun}'s {^place}|2×{^coined} {^place}|The {^place} of {^coined}|{^adj} {^noun} {^place}|
    {^doing} {^place}|{^place} {dd}|{^verb} the {^place}|{^coined}'s {^adj} {^place}|[WIP] {^adj} {^place}|{given}'s {^place}|{^place} v{d}.{d}`,
  given: `James John Michael David Sophia Emily Sarah Laura Hannah Jack Tom Sam Ben Matt Luke Adam Lily Ruby Liam Ethan Owen Henry Oscar Hazel Luna Iris Hugo Otis
    Priya Fatima Layla Chidi Kofi Linh Wei Ravi Niamh Renée Zoë Noël Thérèse Gaël Łukasz Zofia Åsa Ingrid Matěj Ștefan João Inês Márton Dávid Snežana`,
  family: `Smith Brown Wilson Evans Johnson Wright Thompson Hughes Green Wood Lewis Martin Clarke Turner Scott Morris Moore Watson Patel Allen Bell Miller Hunter
    Campbell Reid O'Connor Quinn Blackwood Singh Ahmed Mensah Nguyen Wong Tanaka Rossi Dubois Novák Kowalski Nilsson Halloran de-Vries Horváth`,
  nick: `3×{^adj}{^noun}{num}|{^adj}{^noun}|{adj}_{noun}|{noun}_{dd}|{noun}{num}|{^noun}{^noun}|{adj}.{noun}|{adj}-{noun}-{dd}|xX_{^adj}{^noun}_Xx|{given}_{noun}{dd}|
    2×{^coined}{num}|{coined}.{coined}|{coined}_{noun}|{^coined}{^noun}|{given}{num}|{given}The{^noun}|The {^adj} {^noun}|{^noun} of {^coined}|i_{verb}_{thing}`,
};

/** What the languages of East Asia share; `of` is the particle between two nouns. */
const eastern = {
  ...spoken,
  person: `3×{family}{given}|{family} {given}`,
  scene: `{adj}{noun}`,
  nick: `{tight scene}|{given}|{given}{num}|{noun}{num}|{tight scene}{dd}|{given}_{dd}|{adj}{given}|{noun}{of}{given}|{noun}_{noun}|†{noun}{of}{given}†`,
  title: `3×{scene}|{noun}|{noun}{of}{noun}|{given}{of}{noun}|{doing}{noun}|『{scene}』|{noun} -{^coined}-|{noun}{dd}|【{doing}】{scene}|{noun} Ver.{d}.{d}`,
};

const japanese = {
  ...eastern,
  gap: `70×|12× |18×\n`,
  of: `の`,
  family: `佐藤 鈴木 田中 伊藤 渡辺 山本 小林 加藤 吉田 山田 山口 松本 井上 木村 斎藤 清水 森 橋本 阿部 石川 前田 岡田 後藤 村上 西村 金子 藤原 渡邊 齋藤 髙橋 四月一日 一`,
  given: `翔太 美咲 大輔 健太 さくら 拓也 葵 蓮 結衣 凛 悠真 紬 湊 陽葵 颯太 莉子 海斗 美月 杏 花音 直樹 誠 裕子 真由美 麻衣 千尋 薫 静香 あかり まお はると そら 龍之介`,
  kana: `さくら ゆき ねこ みるく もち ことり うさぎ ましろ たぬき きつね ぽんず わさび ぺんぎん くらげ サクラ レン ルナ ソラ ハル カイト シロ ゼロ リュウ アリス ココア ガイア ドラゴン ヴァイス`,
  romaji: `sakura yuki haru neko ren sora kaito hikari rin akira kuro shiro mochi tanuki kitsune ryu kage tsuki hoshi umi yama kaze hana aoi kotaro sho`,
  nick: `{kana}|{kana}{d}|{kana}さん|{kana}ちゃん|3×{kana}{num}|3×{romaji}{num}|{romaji}_{coined}|2×{adj}{kana}|{kana}の{kana}|{scene}|†{noun}の{kana}†|
    {kana}@{noun}|{romaji}_{dd}|{romaji}_{romaji}|【{kana}】|{noun}好きの{kana}|{kana}・{kana}`,
  adj: `静かな 小さな 夜の 青い 古い 秘密の 懐かしい 美しい 不思議な 白い 黒い 赤い 広い 暗い 雨の 雪の 春の 夏の 真夜中の 忘れられた 和風の レトロな かわいい 空飛ぶ 天空の`,
  noun: `部屋 森 庭 神社 カフェ 学校 クラブ 海 家 島 温泉 図書館 城 夜空 教室 村 酒場 屋上 水族館 洞窟 塔 廃墟 商店街 劇場 灯台 湖 宇宙船 路地裏 電車 銭湯 遺跡 月 猫 狐 喫茶店 ワールド`,
  thing: `鏡 ペン 音楽 ゲーム 椅子 写真 花火 パズル 料理 お酒 本 アバター ギミック 動画 焚き火 布団 ピアノ 魚 星 灯り 謎 宝物 釣り竿 望遠鏡`,
  who: `みんな 友達 恋人 初心者 大人数 少人数 ひとり フレンド 仲間 旅人 写真好き 猫好き`,
  doing: `雑談 撮影 睡眠 集会 探索 お花見 勉強 読書 演奏 飲み会 かくれんぼ 釣り 瞑想 作業 ダンス 脱出 謎解き`,
  sentence: `{scene}のワールドです。|{scene}で{who}と{doing}を楽しめます。|{doing}や{doing}におすすめです。|{thing}と{thing}があります。|Quest対応。|
    {noun}の奥に{scene}があります。|{few}人から{many}人くらいで遊べます。|どこかに{adj}{thing}が隠れています。|{thing}のスイッチは{noun}の入り口です。|
    制作中です。{thing}はまだ増えます！|この{noun}には{kana}が住んでいるらしい……|BGMは{kana}さんの曲をお借りしました。`,
};

const chinese = {
  ...eastern,
  gap: `70×|12× |18×\n`,
  of: `的`,
  family: `王 李 张 刘 陈 杨 黄 赵 吴 周 徐 孙 马 朱 胡 郭 何 林 高 罗 郑 梁 谢 宋 唐 许 韩 冯 曹 彭 肖 田 董 袁 蔡 蒋 余 叶 程 魏 苏 吕 陳 張 劉 黃 歐陽 欧阳 司马 诸葛`,
  syllable: `伟 芳 娜 敏 静 丽 强 磊 军 洋 勇 艳 杰 涛 明 超 秀 霞 平 刚 英 华 玉 兰 红 建 国 文 梅 晓 春 雨 欣 怡 子 涵 浩 然 宇 轩 诗 琪 思 佳 嘉 博 天 雪 梦 月 云 星 海 墨`,
  given: `{syllable}|3×{syllable}{syllable}`,
  adj: `安静的 小小的 古老的 神秘的 蓝色的 美丽的 遗忘的 温暖的 孤独的 快乐的 黑暗的 漂浮的 秘密的 梦幻的 深夜的 下雨的 飘雪的 遥远的 隱藏的 寂靜的`,
  noun: `房间 森林 花园 城市 咖啡馆 海边 小镇 学校 家 岛 图书馆 星空 酒吧 月亮 猫 狐狸 湖 城堡 公园 车站 山谷 竹林 茶馆 书店 灯塔 洞穴 废墟 飞船 夜市 草原 瀑布 火锅店 遊樂園 圖書館 龍宮`,
  thing: `镜子 音乐 游戏 椅子 照片 烟花 谜题 美食 书 电影 篝火 床 钢琴 鱼 灯光 宝藏 卡牌 画笔 望远镜 秋千 灯笼 机关 彩蛋`,
  who: `朋友 大家 恋人 陌生人 家人 新手 伙伴 玩家 摄影爱好者 夜猫子 同学`,
  doing: `聊天 放松 拍照 探索 钓鱼 学习 跳舞 唱歌 睡觉 捉迷藏 密室逃脱 阅读 演奏 散步 喝茶 发呆`,
  sentence: `这是一个{scene}。|你可以和{who}一起在{noun}里{doing}。|适合{doing}和{doing}。|这里有{thing}和{thing}。|{noun}的后面还有一个{scene}。|欢迎来到{scene}！|
    最多支持{many}人。|还在制作中，之后会加入更多的{thing}。|灵感来自{year}年的{noun}。|你在{scene}中醒来，身边只有{thing}。|感谢{given}提供的音乐。|為了{who}而做的{noun}。`,
};

const korean = {
  ...eastern,
  of: `의`,
  family: `김 이 박 최 정 강 조 윤 장 임 한 오 서 신 권 황 안 송 류 전 홍 고 문 양 손 배 백 허 유 남 심 노 하 곽 성 차 주 우 구 민 진 엄 채 원 천 방 공`,
  syllable: `민 서 지 준 현 우 영 수 진 은 하 예 윤 연 도 유 주 승 재 성 호 경 미 정 아 혜 태 동 상 희 원 선 채 시 나 건 소 인 규 빈 다 온 율 솔 별 훈 기 찬`,
  given: `4×{syllable}{syllable}|{noun}`,
  adj: `작은 조용한 푸른 오래된 비밀의 행복한 어두운 하얀 검은 밤의 잊혀진 아름다운 귀여운 따뜻한 차가운 배고픈 졸린 신비한 떠다니는 외로운 용감한 빛나는`,
  noun: `고양이 집 방 숲 카페 바다 마을 학교 정원 섬 도시 하늘 별 달 여우 호수 성 공원 도서관 강아지 토끼 늑대 곰 용 나비 구름 기차 옥상 골목 시장 극장 온천 한옥 동굴 우주선 떡볶이 만두`,
  thing: `거울 음악 게임 의자 사진 불꽃놀이 퍼즐 요리 책 아바타 영화 모닥불 침대 피아노 물고기 조명 보물 카드 낚싯대 망원경 그네 등불 비밀방`,
  who: `친구들과 모두와 연인과 혼자서 가족과 초보자와 여러분과 동료들과`,
  doing: `수다 휴식 촬영 탐험 낚시 공부 춤 노래 잠자기 술래잡기 방탈출 독서 연주 산책 요리 명상`,
  scene: `{adj} {noun}`,
  sentence: `{scene} 월드입니다.|{who} {doing} 하기 좋은 {noun}입니다.|{scene} 안에서 {who} {doing} 시간을 보내세요.|{thing} 그리고 {thing} 있습니다.|모바일 지원.|
    이 {noun} 어딘가에 {adj} {thing} 숨어 있습니다.|{noun} 뒤에 {scene} 있어요.|최대 {many}명까지 즐길 수 있습니다.|{year}년의 {noun} 모습을 담았습니다.|아직 만드는 중입니다!`,
};

/** Adjectives are stems, as in Spanish, used where endings are regular. */
const german = {
  ...spoken,
  given: `Anna Lena Jonas Sophie Felix Paul Käthe Müslüm Jörg Sören Heike Uwe Sabine Ursula Hans Helga Rüdiger Götz Änne Frauke Kurt Karl-Heinz Brünhilde`,
  family: `Müller Schmidt Fischer Weber Becker Schäfer Bauer Wolf Schröder Zimmermann Krüger Köhler König Jäger Preuß Heß Löwe Großmann Straßburger Öztürk`,
  adj: `alt neu verzaubert still vergessen blau rot weiß frostig verschneit neblig wild versunken leuchtend rätselhaft friedlich gläsern steinern übermütig`,
  noun: `Wald See Turm Park Hof Bahnhof Markt Hafen Palast Saal Biergarten Fluss Leuchtturm Freizeitpark Friedhof Zug Süßwarenladen Garten Schlosshof Dachboden`,
  female: `Stadt Insel Schule Höhle Bibliothek Brücke Küche Hütte Werkstatt Bar Sternwarte Mühle Kirche Terrasse Bücherei Fabrik Schlucht Großstadt Straße`,
  scene: `der {adj}e {noun}|die {adj}e {female}|ein {adj}er {noun}|eine {adj}e {female}`,
  thing: `Spiele Spiegel Sterne Freunde Fische Lichter Geheimnisse Lieder Bilder Drachen Züge Blumen Kostüme Würfel Getränke Grüße Schlüssel Bäume Häuser`,
  who: `Freunde alle Anfänger Familien Nachtschwärmer Träumer Künstler Entdecker Fotografen Rätselfreunde Musiker Müßiggänger`,
  doing: `Tanzen Reden Träumen Schlafen Malen Angeln Lesen Singen Feiern Entspannen Klettern Basteln Kochen Wandern Zuhören Grübeln`,
  sentence: `{^scene} für {who}.|Die Welt ist {adj} und die {thing} sind {adj}.|Der perfekte Ort zum {doing} und {doing}.|Hier wartet {scene} auf dich.|
    Für {few} bis {many} Spieler.|Seit {year} treffen wir uns hier zum {doing}.|Bitte die {thing} nicht füttern.|Danke an {given} für die {thing} und die Musik.`,
};

const spanish = {
  ...spoken,
  given: `José María Juan Luis Ana Carlos Sofía Jesús Javier Andrés Álvaro Íñigo Begoña Ramón Nuria Óscar Iván Verónica Rubén Ángela Mateo Iñaki Uxía`,
  family: `García González Fernández Martínez Sánchez Gómez Ruiz Díaz Álvarez Gutiérrez Torres Ramos Gil Ortega Cortés Cruz Peña León Güell Zúñiga Quiñones`,
  adj: `pequeñ antigu perdid encantad secret tranquil nuev blanc negr roj helad solitari abandonad congelad iluminad silencios maravillos lejan extrañ`,
  noun: `mundo bosque jardín café parque lago cuarto mar cine teatro faro desierto laberinto sueño puerto río tren patio callejón volcán baño taller`,
  female: `casa ciudad playa cueva montaña torre plaza estación fiesta luna mina nave cocina azotea estrella piscina calle viña pirámide canción`,
  scene: `el {noun} {adj}o|la {female} {adj}a|un {noun} {adj}o|una {female} {adj}a`,
  thing: `juegos espejos libros secretos músicas estrellas tesoros peces gatos fotos canciones sillas monedas piñatas máscaras trampas montañas señales búhos`,
  who: `amigos todos parejas familias principiantes artistas soñadores viajeros músicos niños jugadores curiosos compañeros`,
  verb: `explorar bailar jugar descansar charlar cantar soñar dibujar pescar dormir leer nadar volar correr construir cocinar reír aprender`,
  sentence: `{^scene} para {who}.|Ven a {verb} en {scene}.|¡Bienvenidos a esta {female} {adj}a!|Hay {thing}, {thing} y {thing}.|Máximo {many} personas.|
    Aquí se esconde {scene}.|Gracias a {given} por la música y los modelos.|Despiertas en {scene} y no recuerdas nada.|
    No mires atrás: {scene} te espera.|El año pasado era {scene}; mañana será {scene}.`,
};

/** Nouns are masculine and the same as objects; last names have one form. */
const russian = {
  ...spoken,
  given: `Алексей Мария Дмитрий Анна Сергей Ольга Иван Екатерина Артём Пётр Юлия Никита Андрей Семён Кирилл Алёна Фёдор Полина Олександр Їжак Ґанна Ђорђе Љубица`,
  family: `Шевченко Черных Коваленко Мельник Седых Бондарчук Живаго Лысенко Гайдай Долгих Ткач Белых Мороз Чубейко Ярёменко Юрьенко Йовович Їжакевич Ђоковић`,
  adj: `тихий тёмный старый ночной синий зелёный волшебный забытый далёкий маленький снежный звёздный тайный тёплый пустой северный стеклянный весёлый сонный лунный`,
  noun: `лес город дом сад остров замок парк театр музей двор вокзал маяк завод чердак клуб зал мост берег космодром подвал трамвай бар лабиринт каток рынок край`,
  scene: `2×{adj} {noun}|этот {adj} {noun}`,
  thing: `зеркала игры звёзды книги огни качели песни картины рыбы секреты загадки гирлянды коты подушки самолёты ёлки фонари щенки`,
  who: `друзей новичков всех художников мечтателей танцоров музыкантов путешественников полуночников`,
  verb: `гулять танцевать рисовать болтать спать петь рыбачить читать отдыхать играть мечтать искать`,
  sentence: `{^scene} для {who}.|Добро пожаловать в {scene}!|Здесь есть {thing}, {thing} и {scene}.|Приходите {verb} и {verb}.|До {many} игроков.|
    За дверью — {scene}.|Спасибо {^coined} за музыку и {thing}.|Обновление {d}.{d}: новые {thing}.|Мир ещё не готов, скоро появятся {thing}.|
    Работает на ПК и в Quest.|Не трогайте {thing}!|Объект №{dd}: {scene}, {year} год.`,
};

/** Some words have vowel marks or a tatweel, some the Persian forms of letters. Nouns are masculine. */
const arabic = {
  ...spoken,
  given: `محمد فاطمة أحمد ليلى يوسف نور سارة عمر خالد مريم علي زينب إبراهيم هدى حسن آية كريم سلمى عبدالله رنا طارق مُحَمَّد لَيْلى محمـــد یاسر کیان مهسا`,
  family: `العلي حداد الخطيب منصور النجار المصري الشامي خوري الحسن صالح درويش البغدادي القاسم الفارسي شاهین`,
  adj: `هادئ قديم صغير مظلم جميل سري أزرق أخضر بعيد ليلي سحري ثلجي منسي دافئ غريب مضيء عجيب ذهبي`,
  noun: `عالم بيت مقهى قصر سوق بستان متحف مسرح جبل شاطئ كهف برج نهر ملعب قطار مصنع مطعم مطار ميناء حيّ وادٍ`,
  scene: `{noun} {adj}|ال{noun} ال{adj}|هذا ال{noun} ال{adj}`,
  thing: `ألعاب مرايا كتب نجوم أسرار أغانٍ صور أسماك كنوز ألغاز قطط وسائد مصابيح زهور أقنعة`,
  who: `الأصدقاء الجميع المبتدئين الفنانين العائلات المسافرين الحالمين اللاعبين الموسيقيين`,
  doing: `الرقص الرسم النوم الغناء القراءة الصيد اللعب الاسترخاء الاستكشاف الدردشة`,
  arabicDigit: `٢ ١ ٣ ٥ ٤ ٧ ٦ ٨ ٩`,
  sentence: `{scene} من أجل {who}.|أهلًا وسهلًا بكم في {scene}!|هنا {thing} و{thing} و{thing}.|مكان مناسب لـ{doing} و{doing}، أليس كذلك؟|
    حتى {arabicDigit}{arabicDigit} لاعبًا.|خلف الباب {scene}.|شكرًا {^coined} على الموسيقى.|التحديث {d}.{d}: {thing} جديدة.|
    العـــالم قيد الإنشاء؛ قريبًا {thing}.|يعمل على الحاسوب وعلى Quest.`,
};

/** Names that exercise text handling: other scripts, odd widths, very short and very common ones. */
const other = {
  ...common,
  plain: `3×{turkish}{num}|2×{turkish}|3×{greek}{num}|2×{greek}|{thai}{num}|2×{half}{num}|{half}ﾁｬﾝ|{half}･{half}|2×{decoration}{joined}|2×{frequent}|{single}`,
  turkish: `İlker Işıl İrem Çağla Oğuz Şule Ayşe Gökçe İbrahim Barış Tuğçe Çetin Ufuk Ilgaz Yılmaz Şahin Çelik Öztürk Aydın Doğan Kılıç`,
  greek: `Νίκος Γιώργος Ελένη Οδυσσέας Μαρία Αλέξανδρος Σωκράτης Φοίβος Αφροδίτη ΟΔΥΣΣΕΥΣ Θάλεια Παπαδόπουλος Βλάχος Οικονόμου`,
  thai: `สมชาย มาลี ณัฐ พลอย กิตติ อรุณ`,
  half: `ｻｸﾗ ﾈｺ ﾕｷ ﾐｸ ﾊﾞﾅﾅ ﾎﾟﾁ ﾄﾞﾗｺﾞﾝ ﾍﾟﾝｷﾞﾝ ﾗｰﾒﾝ ﾋｶﾘ ｸﾗｹﾞ ｷﾞｮｰｻﾞ ﾌﾟﾘﾝ ｱﾘｽ`,
  single: `a K x Z 1 7 愛 夢 龍 猫 空 月 あ ね ん ア ㅋ 용 Я ع π Ω é ß İ ★ ♪ _ ? 🦊 🌸 👻 👩‍🚀 🏳️‍🌈`,
  frequent: `2×Guest|Player|名無しさん|test|user|John Smith|ゲスト|익명|匿名|Anonymous|NightOwl|sakura_77`,
};

/** All languages, each with its share of user names and of worlds. */
export const LANGUAGES: readonly { users: number; worlds: number; grammar: Grammar }[] = [
  { users: 390, worlds: 42, grammar: english },
  { users: 200, worlds: 19, grammar: japanese },
  { users: 80, worlds: 8, grammar: korean },
  { users: 80, worlds: 8, grammar: chinese },
  { users: 55, worlds: 6, grammar: german },
  { users: 65, worlds: 7, grammar: spanish },
  { users: 50, worlds: 6, grammar: russian },
  { users: 40, worlds: 4, grammar: arabic },
  { users: 40, worlds: 0, grammar: other },
];

/** Code points of the capital A of styled alphabets; small letters follow the capitals. */
export const ALPHABETS = [0x1d400, 0x1d4d0, 0x1d56c, 0x1d5d4, 0x1d5d4, 0x1d670, 0x24b6];
export const SMALL_CAPITALS = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡxʏᴢ";

/** Signs and, in the same order, their lookalikes. */
export const SIGNS = '.,/:!?[]()"@#&';
export const LOOKALIKES = "․‚⁄˸ǃ？［］（）＂＠＃＆";
