/**
 * Words of generated names and texts, by language, common ones first. A share is in thousandths of users and hundredths of
 * worlds; `space` is the text between two words, a space when absent.
 */
export const LANGUAGES = [
  {
    share: { users: 390, worlds: 42 },
    names: `James Michael Sophia Sarah Hannah Tom Ben Luke Lily Liam Owen Oscar Luna Hugo Priya Layla Kofi Wei Niamh Zoë Thérèse Łukasz Åsa Matěj João Márton Snežana Brown Evans
      Wright Hughes Wood Martin Turner Morris Watson Allen Miller Campbell O'Connor Blackwood Ahmed Nguyen Tanaka Dubois Kowalski Halloran Horváth`,
    words: `cat moon rose robot rider mage sparrow gecko squid thunder pebble ivy toast prism hidden endless happy lunar midnight silent glass mossy arctic curious vivid room
      garden shrine arena mansion canyon bridge observatory bazaar orchard dojo archive games secrets books pillows ladders coins posters balloons teacups constellations
      dancers artists racers locals build escape relax chat sail chatting exploring studying gardening`,
  },
  {
    share: { users: 200, worlds: 19 },
    space: "",
    names: `翔太 健太 拓也 結衣 悠真 陽葵 莉子 杏 直樹 真由美 千尋 あかり はると 龍之介 田中 渡辺 加藤 山田 井上 斎藤 橋本 石川 後藤 西村 藤原 髙橋 一 みるく ことり たぬき ぽんず くらげ レン ハル シロ アリス ガイア ヴァイス haru ren hikari akira mochi kitsune tsuki umi hana kotaro`,
    words: `部屋 庭 カフェ クラブ 家 温泉 城 教室 酒場 水族館 洞窟 廃墟 劇場 湖 路地裏 銭湯 月 狐 ワールド 小さな 夜の 古い 懐かしい 不思議な 黒い 広い 雨の 春の 真夜中の 和風の レトロな 空飛ぶ 鏡 音楽 椅子 花火 料理 本 ギミック 焚き火 布団 魚 灯り 宝物 望遠鏡 友達 初心者 少人数 フレンド 旅人
      写真好き 雑談 睡眠 探索 勉強 演奏 かくれんぼ 瞑想 ダンス 謎解き`,
  },
  {
    share: { users: 80, worlds: 8 },
    names: `김 박 정 조 장 한 서 권 안 류 홍 문 손 백 유 심 하 성 주 구 진 채 천 공 서하 준아 우규 수현 은재 예채 연기 유윤 승태 성다 경영 정호 혜나 동민 희도 선상 시율 건진 인미 빈소 온지 솔주 훈원 찬별`,
    words: `고양이 방 카페 마을 학교 섬 하늘 달 여우 성 도서관 토끼 늑대 용 구름 옥상 골목 극장 한옥 우주선 떡볶이 작은 푸른 비밀의 행복한 하얀 밤의 아름다운 귀여운 차가운 졸린 떠다니는 외로운 빛나는 음악 의자 사진 퍼즐 책 영화 모닥불 피아노 조명 카드 낚싯대 그네 비밀방 모두와 연인과 가족과
      여러분과 수다 휴식 탐험 공부 노래 잠자기 방탈출 연주 명상`,
  },
  {
    share: { users: 80, worlds: 8 },
    space: "",
    names: `王 刘 杨 赵 周 孙 朱 何 高 郑 谢 唐 韩 彭 田 袁 蒋 叶 魏 陳 劉 歐陽 司马 伟敏 娜霞 丽宇 磊海 洋杰 艳国 涛诗 超伟 平华 英涵 玉月 红洋 国兰 梅然 雨静 怡平 涵欣 然天 轩强 琪英 嘉琪 天芳 梦超 云晓 海佳`,
    words: `房间 花园 咖啡馆 小镇 学校 岛 星空 月亮 猫 湖 公园 山谷 竹林 书店 洞穴 飞船 夜市 瀑布 遊樂園 龍宮 安静的 古老的 蓝色的 遗忘的 温暖的 快乐的 漂浮的 梦幻的 深夜的 飘雪的 隱藏的 镜子 音乐 椅子 烟花 美食 书 篝火 钢琴 灯光 宝藏 画笔 秋千 机关 彩蛋 大家 陌生人 新手 伙伴 摄影爱好者 同学
      放松 拍照 钓鱼 跳舞 睡觉 捉迷藏 阅读 散步 发呆`,
  },
  {
    share: { users: 55, worlds: 6 },
    names: `Anna Lena Jonas Sophie Felix Paul Käthe Müslüm Jörg Sören Heike Uwe Sabine Ursula Hans Helga Rüdiger Götz Änne Frauke Kurt Karl-Heinz Brünhilde Müller Schmidt Fischer
      Weber Becker Schäfer Bauer Wolf Schröder Zimmermann Krüger Köhler König Jäger Preuß Heß Löwe Großmann Straßburger Öztürk`,
    words: `Wald Turm Hof Markt Hafen Saal Fluss Freizeitpark Friedhof Süßwarenladen Schlosshof alt neu still blau rot frostig neblig versunken leuchtend friedlich steinern Stadt
      Insel Höhle Brücke Hütte Werkstatt Sternwarte Kirche Terrasse Fabrik Großstadt Spiele Spiegel Freunde Lichter Lieder Bilder Züge Kostüme Getränke Grüße Bäume alle
      Anfänger Nachtschwärmer Künstler Fotografen Rätselfreunde Müßiggänger Reden Schlafen Malen Lesen Feiern Klettern Basteln Wandern Grübeln`,
  },
  {
    share: { users: 65, worlds: 7 },
    names: `José María Juan Luis Ana Carlos Sofía Jesús Javier Andrés Álvaro Íñigo Begoña Ramón Nuria Óscar Iván Verónica Rubén Ángela Mateo Iñaki Uxía García González Fernández
      Martínez Sánchez Gómez Ruiz Díaz Álvarez Gutiérrez Torres Ramos Gil Ortega Cortés Cruz Peña León Güell Zúñiga Quiñones`,
    words: `mundo jardín parque cuarto cine faro laberinto sueño río patio volcán taller ciudad cueva montaña plaza fiesta mina cocina estrella piscina viña canción espejos
      secretos estrellas peces gatos canciones monedas máscaras montañas búhos todos parejas principiantes soñadores músicos jugadores compañeros explorar jugar charlar
      soñar pescar leer volar correr cocinar aprender antiguo encantado tranquilo blanco negro helado abandonado iluminado maravilloso extraño`,
  },
  {
    share: { users: 50, worlds: 6 },
    names: `Алексей Мария Дмитрий Анна Сергей Ольга Иван Екатерина Артём Пётр Юлия Никита Андрей Семён Кирилл Алёна Фёдор Полина Олександр Їжак Ґанна Ђорђе Љубица Шевченко Черных
      Коваленко Мельник Седых Бондарчук Живаго Лысенко Гайдай Долгих Ткач Белых Мороз Чубейко Ярёменко Юрьенко Йовович Їжакевич Ђоковић`,
    words: `лес дом сад замок парк музей двор вокзал завод чердак зал мост берег подвал трамвай лабиринт каток край тихий тёмный ночной синий волшебный забытый далёкий снежный
      звёздный тёплый пустой стеклянный весёлый сонный зеркала игры книги огни качели картины рыбы загадки гирлянды подушки самолёты ёлки щенки друзей всех художников
      мечтателей музыкантов путешественников гулять танцевать болтать спать петь читать отдыхать мечтать искать`,
  },
  {
    share: { users: 40, worlds: 4 },
    names: `محمد فاطمة أحمد ليلى يوسف نور سارة عمر خالد مريم علي زينب إبراهيم هدى حسن آية كريم سلمى عبدالله رنا طارق مُحَمَّد لَيْلى محمـــد یاسر کیان مهسا العلي حداد الخطيب
      منصور النجار المصري الشامي خوري الحسن صالح درويش البغدادي القاسم الفارسي شاهین`,
    words: `عالم مقهى قصر سوق بستان مسرح جبل شاطئ كهف برج ملعب قطار مصنع مطعم ميناء حيّ وادٍ هادئ قديم مظلم جميل سري أزرق أخضر ليلي سحري ثلجي منسي غريب مضيء عجيب ذهبي ألعاب كتب
      نجوم أسرار أغانٍ أسماك كنوز ألغاز قطط وسائد زهور أقنعة الأصدقاء الجميع المبتدئين العائلات المسافرين الحالمين اللاعبين الرقص الرسم النوم الغناء القراءة اللعب الاسترخاء الاستكشاف الدردشة`,
  },
  {
    // Further scripts, odd widths, very short and very common names; no world has them.
    share: { users: 40, worlds: 0 },
    names: `İlker İrem Oğuz Ayşe İbrahim Barış Çetin Ilgaz Şahin Öztürk Aydın Kılıç Γιώργος Οδυσσέας Αλέξανδρος Σωκράτης Αφροδίτη Θάλεια Βλάχος สมชาย มาลี พลอย อรุณ ﾈｺ ﾕｷ ﾊﾞﾅﾅ
      ﾄﾞﾗｺﾞﾝ ﾗｰﾒﾝ ｸﾗｹﾞ ｷﾞｮｰｻﾞ ｱﾘｽ K Z 愛 龍 ね ㅋ Я π Ω İ ♪ ? Player 名無しさん user 익명 Anonymous`,
  },
];

export const EMOJI = `✨ 🌸 🎮 🌙 🎉 ⭐ 😂 🎵 🦊 😎 💫 👻 🐺 🍀 💜 🚀 🐉 🎨 🍜 🌌 🐰 💀 ☕ 🦄 🎃 🐻 ❄️ 👩‍🚀 🧑‍🎤 👨‍👩‍👧 🏳️‍🌈 🐈‍⬛ ❤️‍🔥 👩🏽‍💻 🧙‍♂️`;

/** Parts of syllables, for coined words that hardly any other text has. */
export const ONSETS = `k m s r l t n v d z b h th sh y f p g j w br kr st tr ch dr gl x qu sk ph`;
export const NUCLEI = `a i o e u ai ia y ei oa ou ae io ee an or el us`;
