/** Names that exercise text handling: other scripts, odd widths, very short and very common ones. */

import { common } from "./common.ts";

/** See the file's comment. */
export const other = {
  ...common,
  turkish: `İlker Işıl İrem Çağla Oğuz Şule Ömer Ayşe Gökçe İbrahim Yıldız Barış Tuğçe Çetin Ufuk Ilgaz`,
  turkishFamily: `Yılmaz Kaya Demir Şahin Çelik Yıldız Öztürk Aydın Özdemir Arslan Doğan Kılıç İnan Işık`,
  greek: `Νίκος Γιώργος Ελένη Οδυσσέας Μαρία Αλέξανδρος Σωκράτης Κώστας Φοίβος Αφροδίτη ΟΔΥΣΣΕΥΣ Στέφανος Θάλεια Χρήστος`,
  greekFamily: `Παπαδόπουλος Βλάχος Αγγελόπουλος Οικονόμου Νικολάου Γεωργίου Δημητρίου Καραγιάννης`,
  russian: `Алексей Мария Дмитрий Анна Сергей Ольга Иван Екатерина Артём Пётр Юлия Никита Андрей Семён`,
  russianFamily: `Иванов Смирнов Кузнецов Попов Соколов Лебедев Морозов Волков Новиков Фёдоров`,
  thai: `สมชาย มาลี ณัฐ พลอย กิตติ อรุณ`,
  arabic: `محمد فاطمة أحمد ليلى يوسف نور سارة عمر`,
  person: [
    "{turkish} {turkishFamily}",
    "{turkish}{num}",
    "{greek} {greekFamily}",
    "{greek}",
    "{greek}{dd}",
    "{russian} {russianFamily}",
    "{russian}{num}",
    "{russian}",
    "{thai}{num}",
    "{arabic} {num}",
  ],
  half: `ｻｸﾗ ﾈｺ ﾕｷ ﾐｸ ﾊﾞﾅﾅ ﾎﾟﾁ ﾄﾞﾗｺﾞﾝ ﾍﾟﾝｷﾞﾝ ﾗｰﾒﾝ ｶｹﾞ ﾋｶﾘ ｿﾗ ｸﾗｹﾞ ﾀﾇｷ ｷﾞｮｰｻﾞ ﾌﾟﾘﾝ ﾓｶ ｺｺｱ ｱﾘｽ ﾚｲ`,
  halfwidth: ["{half}", "{half}{num}", "{half}ﾁｬﾝ", "{half}_{half}", "{half}･{half}"],
  single: `a K x Z 1 7 愛 夢 龍 猫 空 月 あ ね ん ア ㅋ 용 π Ω é ß İ ★ ♪ _ ? 🦊 🌸 👻 👩‍🚀 🏳️‍🌈`,
  frequent: [
    "Guest",
    "Guest",
    "Player",
    "名無しさん",
    "test",
    "user",
    "John Smith",
    "ゲスト",
    "익명",
    "匿名",
    "Anonymous",
    "NightOwl",
    "sakura_77",
  ],
} as const;
