/** Chinese vocabulary, simplified and a little traditional. */

import { common } from "./common.ts";

/** Chinese names, titles and sentences. */
export const chinese = {
  ...common,
  family: `王 李 张 刘 陈 杨 黄 赵 吴 周 徐 孙 马 朱 胡 郭 何 林 高 罗 郑 梁 谢 宋 唐 许 韩 冯 邓 曹 彭 曾 肖 田 董 潘 袁 蔡 蒋 余 于 杜 叶 程
    魏 苏 吕 丁 任 卢 姚 沈 钟 姜 崔 谭 陆 范 汪 廖 石 金 韦 贾 夏 付 方 邹 熊 白 孟 秦 邱 侯 江 尹 薛 闫 雷 龙 陶 史 陳 張 劉 黃 歐陽 欧阳 司马 诸葛 上官`,
  syllable: `伟 芳 娜 敏 静 丽 强 磊 军 洋 勇 艳 杰 娟 涛 明 超 秀 霞 平 刚 桂 英 华 玉 兰 红 建 国 文 梅 晓 春 雨 欣 怡 子 涵 浩 然 宇 轩 梓 诗
    琪 思 佳 嘉 俊 博 天 一 雪 梦 婷 晨 阳 志 鹏 飞 凯 鑫 斌 波 辉 慧 颖 倩 月 云 星 海 山 林 清 若 书 瑶 萱 泽 睿 昊 航 心 安 宁 语 嫣 墨 白`,
  given: ["{syllable}", "{syllable}{syllable}", "{syllable}{syllable}", "{syllable}{syllable}"],
  person: ["{family}{given}", "{family}{given}", "{family}{given}", "{family} {given}"],
  adj: `安静的 小小的 古老的 神秘的 蓝色的 美丽的 遗忘的 温暖的 孤独的 快乐的 黑暗的 冰冷的 漂浮的 秘密的 梦幻的 深夜的 下雨的 飘雪的 遥远的
    无尽的 金色的 破旧的 可爱的 废弃的 闪亮的 慵懒的 奇怪的 透明的 盛夏的 初春的 隱藏的 寂靜的`,
  noun: `房间 森林 花园 城市 咖啡馆 海边 小镇 学校 家 岛 图书馆 星空 酒吧 月亮 猫 狐狸 湖 城堡 公园 神社 天台 车站 山谷 竹林 茶馆 书店 剧院 灯塔
    洞穴 高塔 废墟 飞船 实验室 工厂 游乐园 水族馆 美术馆 夜市 胡同 古镇 长城 草原 沙漠 雪山 瀑布 温泉 寺庙 桥 火锅店 面馆 电影院 地铁 教室 宿舍
    遊樂園 圖書館 龍宮 書院`,
  thing: `镜子 音乐 游戏 椅子 照片 烟花 谜题 美食 书 虚拟形象 电影 篝火 床 钢琴 鱼 灯光 宝藏 卡牌 画笔 鱼竿 望远镜 秋千 灯笼 密室 机关 彩蛋`,
  who: `朋友 大家 恋人 陌生人 家人 新手 伙伴 玩家 摄影爱好者 夜猫子 同学`,
  doing: `聊天 放松 拍照 探索 钓鱼 学习 跳舞 唱歌 睡觉 捉迷藏 密室逃脱 阅读 演奏 散步 看星星 喝茶 发呆 冥想`,
  sentence: [
    "这是一个{adj}{noun}。",
    "你可以和{who}一起在{noun}里{doing}。",
    "适合{doing}和{doing}。",
    "这里有{thing}和{thing}。",
    "{noun}的后面还有一个{adj}{noun}。",
    "欢迎来到{adj}{noun}！",
    "最多支持{many}人。",
    "还在制作中，之后会加入更多的{thing}。",
    "{thing}藏在{noun}的某个地方。",
    "灵感来自{year}年的{noun}。",
    "请和{who}好好相处。",
    "我们在{adj}{noun}里等你。",
    "支持手机和电脑。",
    "每周{hour}点在这里{doing}。",
    "你在{adj}{noun}中醒来，身边只有{thing}。",
    "感谢{syllable}{syllable}提供的音乐。",
    "為了{who}而做的{noun}。",
  ],
  title: [
    "{adj}{noun}",
    "{adj}{noun}",
    "{noun}",
    "{noun}与{noun}",
    "{noun}里的{noun}",
    "{syllable}{syllable}的{noun}",
    "{doing}{noun}",
    "《{adj}{noun}》",
    "{noun}{dd}号",
    "{noun}·{syllable}{syllable}",
    "{adj}{adj}{noun}",
    "【{doing}】{noun}",
  ],
  nick: [
    "{adj}{noun}",
    "{syllable}{syllable}",
    "小{syllable}",
    "阿{syllable}",
    "{syllable}{syllable}{num}",
    "{adj}{syllable}{syllable}",
    "{noun}{num}",
    "爱{doing}的{noun}",
    "{syllable}{syllable}不想{doing}",
    "{syllable}{syllable}_{year}",
    "{noun}里的{syllable}",
    "不{doing}的{noun}",
    "丶{syllable}{syllable}",
  ],
} as const;
