//! The sample groups: their people, and what became of them.

use chatkeep_core::plan::Plan;

/// A sample group.
#[derive(Debug)]
pub(super) struct Cast {
    pub(super) name: &'static str,
    /// Those who are in the group at first; the first one owns it.
    pub(super) founders: &'static [&'static str],
    /// Those who may join later, in this order.
    pub(super) newcomers: &'static [&'static str],
    /// History before the first start; `None` for the group that begins with it.
    pub(super) past: Option<Past>,
}

/// History of a group.
#[derive(Debug)]
pub(super) struct Past {
    /// Script of the conversations.
    pub(super) script: &'static str,
    /// Zone in which its days begin.
    pub(super) zone: &'static str,
    /// Plan of its owner.
    pub(super) plan: Plan,
    /// Average number of conversations in a week.
    pub(super) talks_a_week: usize,
    /// Those who joined that many days ago; everybody else was there from the beginning.
    pub(super) joined: &'static [(&'static str, i64)],
    /// Those who left that many days ago.
    pub(super) left: &'static [(&'static str, i64)],
    /// Days ago between which the bot was not in the group.
    pub(super) absence: Option<(i64, i64)>,
    /// True if recordings of meetings filled its owner's storage for a while.
    pub(super) recordings: bool,
    /// Address of an outgoing webhook that does not work any more.
    pub(super) webhook: Option<&'static str>,
}

/// The sample groups; the page opens with the first one, which is the only one of a small sample.
pub(super) const CASTS: [Cast; 5] = [
    Cast {
        name: "週末讀書會 Weekend Readers",
        founders: &["林小美", "Aiko", "Somchai", "Dave"],
        newcomers: &["王大明", "Yuki", "Niran", "Grace", "陳怡君", "Kenji"],
        past: None,
    },
    Cast {
        name: "景安花園住戶群",
        founders: &[
            "陳淑芬",
            "林小美",
            "張志豪",
            "黃雅婷",
            "吳建國",
            "李佩珊",
            "劉家銘",
            "周阿姨",
            "鄭伯伯",
            "許文傑",
            "王大明",
            "何玉珍",
        ],
        newcomers: &["蔡明哲", "方小姐"],
        past: Some(Past {
            script: include_str!("history/housing.txt"),
            zone: "Asia/Taipei",
            plan: Plan::Free,
            talks_a_week: 4,
            joined: &[("何玉珍", 210), ("王大明", 92)],
            left: &[("蔡明哲", 150)],
            absence: None,
            recordings: true,
            webhook: None,
        }),
    },
    Cast {
        name: "Taipei Dragons FC ⚽",
        founders: &[
            "Dave",
            "林小美",
            "ليلى حداد",
            "Maximilian Alexander von Hohenberg-Wittelsbach (goalkeeper, bring gloves) 🧤🇩🇪",
            "Grace",
            "Tom Okafor",
            "Priya",
            "Niran",
            "Liam O'Connell",
            "Kenji",
        ],
        newcomers: &["Oleksandr", "Beth"],
        past: Some(Past {
            script: include_str!("history/football.txt"),
            zone: "Asia/Taipei",
            plan: Plan::Pro,
            talks_a_week: 4,
            joined: &[("Priya", 240), ("Liam O'Connell", 61)],
            left: &[("Oleksandr", 96)],
            absence: Some((133, 124)),
            recordings: false,
            webhook: None,
        }),
    },
    Cast {
        name: "水曜お料理の会",
        founders: &[
            "Aiko",
            "林小美",
            "佐藤恵子",
            "Yuki",
            "田中裕子",
            "山本さくら",
            "中村誠",
            "小林美咲",
        ],
        newcomers: &["高橋由美"],
        past: Some(Past {
            script: include_str!("history/cooking.txt"),
            zone: "Asia/Tokyo",
            plan: Plan::Standard,
            talks_a_week: 3,
            joined: &[("小林美咲", 120)],
            left: &[("高橋由美", 77)],
            absence: None,
            recordings: false,
            webhook: None,
        }),
    },
    Cast {
        name: "ร้านขนมบ้านสวน 🌸 ลูกค้าประจำ",
        founders: &[
            "Somchai",
            "林小美",
            "พี่หนิง",
            "คุณแม่น้องฟ้า",
            "อรทัย ศรีสุข",
            "แก้ว",
            "มะลิ",
            "ป้าสมร",
            "น้องใบเตย",
        ],
        newcomers: &["วิภาดา"],
        past: Some(Past {
            script: include_str!("history/shop.txt"),
            zone: "Asia/Bangkok",
            plan: Plan::Free,
            talks_a_week: 4,
            joined: &[("มะลิ", 180), ("น้องใบเตย", 33)],
            left: &[("วิภาดา", 58)],
            absence: None,
            recordings: false,
            webhook: Some("https://192.168.1.20/orders/line-chat"),
        }),
    },
];
