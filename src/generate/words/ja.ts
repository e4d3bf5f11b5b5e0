/** Japanese vocabulary. */

import { common } from "./common.ts";

/** Japanese names, titles and sentences. */
export const japanese = {
  ...common,
  family: `佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 林 斎藤 清水 山崎 森 池田 橋本
    阿部 石川 山下 中島 石井 小川 前田 岡田 長谷川 藤田 後藤 近藤 村上 遠藤 青木 坂本 斉藤 福田 太田 西村 藤井 金子 岡本 藤原
    三浦 中野 中川 原田 松田 竹内 小野 田村 中山 和田 石田 森田 上田 原 内田 柴田 酒井 宮崎 横山 高木 安藤 宮本 大野 小島 谷口
    今井 工藤 高田 増田 丸山 杉山 村田 大塚 新井 小山 平野 藤本 河野 上野 野口 武田 松井 千葉 菅原 岩崎 久保 木下 佐野 野村
    松尾 市川 菊地 杉本 古川 大西 島田 水野 桜井 渡邊 齋藤 髙橋 四月一日 小鳥遊 月見里 一`,
  given: `翔太 美咲 大輔 陽菜 健太 さくら 拓也 葵 蓮 結衣 大翔 凛 悠真 紬 湊 陽葵 樹 芽依 颯太 莉子 海斗 美月 優斗 杏 陸 花音
    直樹 由美 誠 恵子 健一 裕子 剛 真由美 浩 久美子 亮 麻衣 隼人 彩 千尋 薫 光 望 司 瞳 静香 あかり ひなた ゆい まお りん
    はると そら こはる みお 一郎 次郎 太郎 花子 聡 稔 勇気 奏 律 暁 朔 響 楓 雪乃 千代 文乃 桃子 春樹 夏樹 秋人 冬馬 龍之介`,
  kana: `さくら ゆき ねこ みるく もち きなこ ことり うさぎ ましろ くろ しろ たぬき きつね ぽんず わさび おもち ゆず みかん りんご いちご
    ちょこ あずき まっちゃ とうふ なすび ぺんぎん くらげ かえる ひよこ ぱんだ らっこ しらす いくら ほたる すずめ つばめ めだか まる`,
  kata: `サクラ ユキ ネコ レン ルナ ソラ ハル リン カイト ミク アオイ タクヤ クロ シロ ノア ゼロ レイ アキラ ヒカリ ヨル ツバサ リュウ
    カゲ アリス クロエ ミルク ココア モカ プリン ポチ タマ コタロウ シオン カノン スバル アルト ベガ シリウス オリオン ガイア ドラゴン
    ペンギン クラゲ パンダ バナナ トマト ワサビ ギョーザ ラーメン ヴァイス エルフ ナイト メイジ セイバー ファントム`,
  romaji: `sakura yuki haru neko ren sora kaito hikari rin akira kuro shiro mochi tanuki kitsune ryu kage tsuki hoshi umi
    yama kaze hana ame yoru asahi aoi mizuki nagi shion kotaro daiki takumi yuna mei hina sho riku kenji tomo`,
  person: ["{family}{given}", "{family} {given}", "{family} {given}", "{given}", "{family}"],
  nick: [
    "{kana}",
    "{kana}{d}",
    "{kana}さん",
    "{kana}ちゃん",
    "{kata}",
    "{kata}{num}",
    "{kana}{num}",
    "{romaji}{num}",
    "{romaji}_{coined}",
    "{adj}{kana}",
    "{adj}{kata}",
    "{kana}の{kana}",
    "{adj}{noun}",
    "†{noun}の{kata}†",
    "{kata}@{noun}",
    "{romaji}_{dd}",
    "{romaji}{year}",
    "{romaji}_{romaji}",
    "【{kata}】",
    "{kana}＠{kana}",
    "{noun}好きの{kana}",
    "{kata}・{kata}",
    "{given}@{noun}勢",
  ],
  adj: `静かな 小さな 夜の 青い 古い 秘密の 懐かしい 美しい 不思議な 白い 黒い 赤い 広い 暗い 楽しい 遠い 雨の 雪の 春の 夏の 秋の 冬の
    夕暮れの 真夜中の 星降る 忘れられた 幻想的な 和風の レトロな かわいい 怪しい 空飛ぶ 眠れる 透明な 永遠の 天空の 海底の 異世界の`,
  noun: `部屋 森 庭 街 神社 喫茶店 学校 海 家 駅 島 温泉 図書館 城 夜空 教室 公園 村 酒場 屋上 水族館 美術館 遊園地 洞窟 塔 廃墟 商店街
    居酒屋 書店 劇場 灯台 湖 草原 砂浜 宇宙船 研究所 工場 路地裏 電車 銭湯 茶室 竹林 桜並木 天文台 迷宮 遺跡 花畑 星空 月 猫 狐 龍 雲
    カフェ バー クラブ ステージ プール キャンプ場 ゲームセンター ショッピングモール アパート ロビー ワールド`,
  thing: `鏡 ペン 音楽 ゲーム 椅子 写真 花火 パズル 料理 お酒 本 アバター ギミック 動画 焚き火 布団 ピアノ 魚 星 灯り 謎 宝物 カード
    ボード 釣り竿 望遠鏡 仕掛け 隠し部屋 エレベーター ソファ こたつ 風鈴 金魚 提灯`,
  who: `みんな 友達 恋人 初心者 大人数 少人数 ひとり フレンド 仲間 旅人 写真好き 猫好き 夜型の人`,
  doing: `雑談 撮影 睡眠 集会 探索 お花見 勉強 読書 演奏 飲み会 かくれんぼ 鬼ごっこ 釣り 瞑想 作業 ダンス 脱出 謎解き`,
  sentence: [
    "{adj}{noun}のワールドです。",
    "{adj}{noun}で{who}と{doing}を楽しめます。",
    "{doing}や{doing}におすすめです。",
    "{thing}と{thing}があります。",
    "{noun}の奥に{adj}{noun}があります。",
    "{noun}と{noun}をイメージして作りました。",
    "ゆっくりしていってください。",
    "{few}人から{many}人くらいで遊べます。",
    "{thing}は{noun}にあります。",
    "どこかに{adj}{thing}が隠れています。",
    "Quest対応。",
    "PC専用、少し重いです。",
    "{year}年の{noun}を再現しました。",
    "{thing}のスイッチは{noun}の入り口です。",
    "制作中です。{thing}はまだ増えます！",
    "この{noun}には{kata}が住んでいるらしい……",
    "BGMは{kata}さんの曲をお借りしました。",
    "{doing}は毎週{hour}時から。",
    "あなたは{adj}{noun}で目を覚ます。",
  ],
  title: [
    "{adj}{noun}",
    "{adj}{noun}",
    "{noun}",
    "{kana}の{noun}",
    "{kata}{noun}",
    "{noun}の{noun}",
    "{doing}{noun}",
    "{noun}と{noun}",
    "『{adj}{noun}』",
    "{noun} -{^coined}-",
    "{given}の{noun}",
    "{adj}{adj}{noun}",
    "{noun}ワールド{dd}",
    "【{doing}】{noun}",
    "{noun} Ver.{d}.{d}",
  ],
} as const;
