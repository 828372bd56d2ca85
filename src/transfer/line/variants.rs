//! Test cases of all supported formats of exported texts, by platform, language and version. The
//! texts are made up after public descriptions of the formats.

use super::tests::read_among;

/// Test case: its format, its text, and the expected items.
type Variant = (&'static str, &'static str, &'static [&'static str]);

const VARIANTS: &[Variant] = &[
    (
        "phone, English, 24 hours",
        "[LINE] Chat history with Lunch\nSaved on: 2024/01/06 10:00\n\n2024/01/05(Fri)\n\
         09:31\tAnn\tgood morning\n21:32\tBob Lee\t[Photo]\n21:33\tBob Lee\t[Sticker]\n",
        &[
            "01-05 09:31 Ann|text|good morning",
            "01-05 21:32 Bob Lee|image|[Photo]",
            "01-05 21:33 Bob Lee|sticker|[Sticker]",
        ],
    ),
    (
        "phone, English, 12 hours, month first",
        "[LINE] Chat history in Lunch\nSaved on: 1/6/2023, 10:00\n\nTue, 1/31/2023\n\
         9:31AM\tAnn\thi\n9:32 PM\tBob\tbye\n12:00\u{202f}AM\tBob\tlate\n",
        &["01-31 09:31 Ann|text|hi", "01-31 21:32 Bob|text|bye", "01-31 00:00 Bob|text|late"],
    ),
    (
        "phone, English, day first",
        "[LINE] Chat history with Lunch\n\nTue, 31/01/2023\n09:31\tAnn\thi\n\nWed, 01/02/2023\n\
         09:31\tAnn\tho\n",
        &["01-31 09:31 Ann|text|hi", "02-01 09:31 Ann|text|ho"],
    ),
    (
        "phone, English, Buddhist era",
        "[LINE] Chat history with Lunch\n\nTue, 31/01/2566 BE\n09:31\tAnn\thi\n",
        &["01-31 09:31 Ann|text|hi"],
    ),
    (
        "phone, numbers only, day first",
        "[LINE] Chat history with Lunch\n\n17/01/2024\n09:31\tAnn\thi\n\n01/02/2024\n09:31\tAnn\tho\n",
        &["01-17 09:31 Ann|text|hi", "02-01 09:31 Ann|text|ho"],
    ),
    (
        "phone, English, what happened",
        "2024/01/05(Fri)\n09:31\tAnn\thi\n09:32\t\tBob joined the group.\n\
         09:33\tBob left the group.\n09:34\tAnn\tMessage unsent.\n09:35\tAnn changed the chat's \
         profile photo.\n09:36\tAuto-reply\tWelcome!\n",
        &[
            "01-05 09:31 Ann|text|hi",
            "happened",
            "happened",
            "01-05 09:34 Ann|unsent|Message unsent.",
            "happened",
            "happened",
        ],
    ),
    (
        "phone, several lines in quotation marks",
        "2024/01/05(Fri)\n09:31\tAnn\t\"one\n\"\"two\"\"\n\n2024/01/12(Fri)\nthree\"\n09:32\tBob\t\
         \"just quoted\"\n",
        &[
            "01-05 09:31 Ann|text|one\n\"two\"\n\n2024/01/12(Fri)\nthree",
            "01-05 09:32 Bob|text|\"just quoted\"",
        ],
    ),
    (
        "phone, Traditional Chinese, 12 hours",
        "[LINE] 與午餐的聊天記錄\n儲存日期：2022/09/03 10:00\n\n2022/09/02（五）\n上午09:31\t小明\t早安\n\
         下午12:05\tAmy Chen\t[貼圖]\n下午12:06\t\t小華已加入群組\n下午12:08\t小明已收回訊息\n\
         下午12:09\t小明\t[檔案] 預算.xlsx\n",
        &[
            "09-02 09:31 小明|text|早安",
            "09-02 12:05 Amy Chen|sticker|[貼圖]",
            "happened",
            "happened",
            "09-02 12:09 小明|file|[檔案] 預算.xlsx",
        ],
    ),
    (
        "phone, Traditional Chinese, weekday with 週",
        "[LINE] 午餐的聊天記錄\n\n2022/9/2（週五）\n09:31\t小明\t早安\n",
        &["09-02 09:31 小明|text|早安"],
    ),
    (
        "phone, Traditional Chinese, bare placeholders with tabs",
        "2022/09/02（五）\n09:31\t小明\t圖片\n09:32\t小明\t貼圖\n09:33\t小明\t貼圖真好看\n",
        &[
            "09-02 09:31 小明|image|圖片",
            "09-02 09:32 小明|sticker|貼圖",
            "09-02 09:33 小明|text|貼圖真好看",
        ],
    ),
    (
        "computer, Traditional Chinese, spaces",
        "2023.01.31 星期二\n09:31 小明 早安\n09:32 小美 圖片\n09:33 小明 你好\n09:34 小美已收回訊息\n\
         09:35 小美加入聊天\n",
        &[
            "01-31 09:31 小明|text|早安",
            "01-31 09:32 小美|image|圖片",
            "01-31 09:33 小明|text|你好",
            "happened",
            "happened",
        ],
    ),
    (
        "computer, Traditional Chinese, what people say who seldom write",
        "2023.01.31 星期二\n09:31 小明 早安\n09:32 小華 我已退出群組\n09:33 小美 他已加入群組\n\
         09:34 小美已退出群組\n09:35 阿強 他們都已經退出群組\n",
        &[
            "01-31 09:31 小明|text|早安",
            "01-31 09:32 小華|text|我已退出群組",
            "01-31 09:33 小美|text|他已加入群組",
            "happened",
            "01-31 09:35 阿強|text|他們都已經退出群組",
        ],
    ),
    (
        "computer, Traditional Chinese, tabs",
        "2023.01.31 星期二\n09:31\t小明\t早安\n09:32\t小美\t貼圖\n09:33\t小美已收回訊息\n",
        &["01-31 09:31 小明|text|早安", "01-31 09:32 小美|sticker|貼圖", "happened"],
    ),
    (
        "phone, Simplified Chinese, 12 hours",
        "[LINE] 与午餐的聊天记录\n保存日期：2024/01/06 10:00\n\n2024年1月5日 星期五\n上午9:31\t小明\t早上好\n\
         下午9:32\t小红\t[图片]\n下午9:33\t小红\t[贴图]\n下午9:34\t小红已撤回消息\n下午9:35\t\t小李加入了群组。\n",
        &[
            "01-05 09:31 小明|text|早上好",
            "01-05 21:32 小红|image|[图片]",
            "01-05 21:33 小红|sticker|[贴图]",
            "happened",
            "happened",
        ],
    ),
    (
        "phone, Simplified Chinese, 24 hours",
        "[LINE] 午餐的聊天记录\n\n2024/01/05（周五）\n09:31\t小明\t[语音信息]\n09:32\t小明\t[视频]\n",
        &["01-05 09:31 小明|audio|[语音信息]", "01-05 09:32 小明|video|[视频]"],
    ),
    (
        "computer, Simplified Chinese",
        "2024.01.05 星期五\n09:31 小明 早上好\n09:32 小红 图片\n09:33 小红已撤回消息\n",
        &["01-05 09:31 小明|text|早上好", "01-05 09:32 小红|image|图片", "happened"],
    ),
    (
        "phone, Japanese, 24 hours",
        "[LINE] 週末の会のトーク履歴\n保存日時：2014/10/14 10:00\n\n2014/10/13(月)\n9:31\t山田 太郎\tおはよう\n\
         9:32\t花子\t[写真]\n9:33\t花子がグループ名を「新年会」に変更しました。\n\
         9:34\t花子がメッセージの送信を取り消しました\n",
        &[
            "10-13 09:31 山田 太郎|text|おはよう",
            "10-13 09:32 花子|image|[写真]",
            "happened",
            "happened",
        ],
    ),
    (
        "phone, Japanese, 12 hours",
        "[LINE] 花子とのトーク履歴\n\n2024年1月5日(金)\n午前9:31\t花子\tおはよう\n午後0:05\t花子\t[スタンプ]\n\
         午後11:59\t花子\t[ボイスメッセージ]\n",
        &[
            "01-05 09:31 花子|text|おはよう",
            "01-05 12:05 花子|sticker|[スタンプ]",
            "01-05 23:59 花子|audio|[ボイスメッセージ]",
        ],
    ),
    (
        "computer, Japanese, spaces",
        "2019.12.23 月曜日\n09:31 花子 おはよう\n09:32 花子 スタンプ\n09:33 山田 次郎が参加しました。\n\
         09:34 山田 次郎 よろしく\n09:35 山田 次郎 画像\n",
        &[
            "12-23 09:31 花子|text|おはよう",
            "12-23 09:32 花子|sticker|スタンプ",
            "happened",
            "12-23 09:34 山田 次郎|text|よろしく",
            "12-23 09:35 山田 次郎|image|画像",
        ],
    ),
    (
        "computer, Japanese, what people say who seldom write",
        "2019.12.23 月曜日\n09:31 花子 おはよう\n09:32 次郎 彼が退会しました。\n09:33 次郎が退会しました。\n",
        &["12-23 09:31 花子|text|おはよう", "12-23 09:32 次郎|text|彼が退会しました。", "happened"],
    ),
    (
        "computer, Japanese, name of two words that is given",
        "2019.12.23 月曜日\n09:31 佐藤 健 おはよう\n09:32 佐藤 健 写真\n",
        &["12-23 09:31 佐藤 健|text|おはよう", "12-23 09:32 佐藤 健|image|写真"],
    ),
    (
        "phone, Thai, day first, Buddhist years",
        "[LINE] ประวัติการแชทกับ กลุ่ม\nบันทึกเมื่อ: 28/11/2568 10:00\n\nศ. 28/11/2568\n\
         09:31\tสมชาย\tสวัสดีครับ\n09:32\tน้ำ\t[รูป]\n09:33\tกานดาเข้าร่วมกลุ่ม\n\nส. 29/11/2568\n\
         21:31 น.\tสมชาย\t[สติกเกอร์]\n",
        &[
            "11-28 09:31 สมชาย|text|สวัสดีครับ",
            "11-28 09:32 น้ำ|image|[รูป]",
            "happened",
            "11-29 21:31 สมชาย|sticker|[สติกเกอร์]",
        ],
    ),
    (
        "phone, Thai, year first, Buddhist years",
        "[LINE] ประวัติการสนทนากับ กลุ่ม\n\n2566/01/31(อ.)\n09:31\tสมชาย\tสวัสดี\n",
        &["01-31 09:31 สมชาย|text|สวัสดี"],
    ),
    (
        "phone, Thai, numbers only, Buddhist years",
        "[LINE] ประวัติการแชทกับ กลุ่ม\n\n05/01/2566\n09:31\tสมชาย\tสวัสดี\n",
        &["01-05 09:31 สมชาย|text|สวัสดี"],
    ),
    (
        "computer, Thai",
        "2025.05.15 วันพฤหัสบดี\n09:31 สมชาย สวัสดีครับ\n09:32 น้ำ รูป\n09:33 น้ำ ยกเลิกข้อความ\n\
         09:34 น้ำยกเลิกข้อความแล้ว\n09:35 สมชาย ยกเลิกการส่งข้อความ\n09:36 น้ำ ค่ะ\n",
        &[
            "05-15 09:31 สมชาย|text|สวัสดีครับ",
            "05-15 09:32 น้ำ|image|รูป",
            "happened",
            "happened",
            "happened",
            "05-15 09:36 น้ำ|text|ค่ะ",
        ],
    ),
    (
        "computer, Thai, what people say who seldom write",
        "2025.05.15 วันพฤหัสบดี\n09:31 สมชาย สวัสดีครับ\n09:32 กานดา เขาออกจากกลุ่ม\n\
         09:33 กานดา ออกจากกลุ่ม\n",
        &["05-15 09:31 สมชาย|text|สวัสดีครับ", "05-15 09:32 กานดา|text|เขาออกจากกลุ่ม", "happened"],
    ),
    (
        "phone, Korean, 12 hours",
        "[LINE] 점심님과의 대화\n저장한 날짜 : 2024/01/06 10:00\n\n2024년 1월 5일 금요일\n오전 9:31\t민수\t안녕하세요\n\
         오후 12:05\t지은\t[사진]\n오후 9:32\t지은\t[스티커]\n오후 9:33\t지은님이 메시지를 취소했습니다.\n",
        &[
            "01-05 09:31 민수|text|안녕하세요",
            "01-05 12:05 지은|image|[사진]",
            "01-05 21:32 지은|sticker|[스티커]",
            "happened",
        ],
    ),
    (
        "phone, Korean, 24 hours",
        "[LINE] 점심님과의 대화\n\n2024.01.05(금)\n09:31\t민수\t[음성 메시지]\n09:32\t\t지은님이 그룹에 참여했습니다.\n",
        &["01-05 09:31 민수|audio|[음성 메시지]", "happened"],
    ),
    (
        "computer, Korean",
        "2024.01.05 금요일\n09:31 민수 안녕하세요\n09:32 지은 사진\n09:33 지은님이 나갔습니다.\n",
        &["01-05 09:31 민수|text|안녕하세요", "01-05 09:32 지은|image|사진", "happened"],
    ),
    (
        "computer, English, spaces",
        "2017.09.03 Sunday\n09:31 Tony Chou good morning\nsecond line\n09:32 Tony Chou Photos\n\
         09:33 Tony Chou changed the chat's profile photo.\n09:34 Auto-reply Welcome to the chat\n\
         of ours\n09:35 Tony Chou unsent a message.\n09:36 Tony Chou made an <u>announcement</u>.\n\
         2017.09.04 Monday\n08:00 Tony Chou hi\n",
        &[
            "09-03 09:31 Tony Chou|text|good morning\nsecond line",
            "09-03 09:32 Tony Chou|image|Photos",
            "happened",
            "happened",
            "happened",
            "happened",
            "09-04 08:00 Tony Chou|text|hi",
        ],
    ),
    (
        "computer, English, tabs",
        "2017.09.03 Sunday\n09:31\tTony Chou\tgood morning\n09:32\tTony Chou\tPhotos\n\
         09:33\tTony Chou joined the chat.\n",
        &[
            "09-03 09:31 Tony Chou|text|good morning",
            "09-03 09:32 Tony Chou|image|Photos",
            "happened",
        ],
    ),
    (
        "computer, English, a plan for the day inside of a message",
        "2017.09.03 Sunday\n09:33 Ann plan:\n08:00 breakfast\n09:34 Ann ok\n09:35 Bob left the \
         group.\n09:36 Ann I hope that nobody left the group.\n",
        &[
            "09-03 09:33 Ann|text|plan:\n08:00 breakfast",
            "09-03 09:34 Ann|text|ok",
            "happened",
            "09-03 09:36 Ann|text|I hope that nobody left the group.",
        ],
    ),
    (
        "any, a date that is none",
        "2024/01/05(Fri)\n09:31\tAnn\thi\n\n2024/01/06(Sun)\n09:31\tAnn\tlost\n\n2024/01/07(Sun)\n\
         09:31\tAnn\tho\n",
        &["01-05 09:31 Ann|text|hi", "unknown 4", "unknown 5", "01-07 09:31 Ann|text|ho"],
    ),
    (
        "any, a day in another language",
        "2024.01.05 Friday\n09:31 Ann hi\n2024.01.06 samedi\n09:31 Ann lost\n2024.01.07 Sunday\n\
         09:31 Ann ho\n",
        &["01-05 09:31 Ann|text|hi", "unknown 3", "unknown 4", "01-07 09:31 Ann|text|ho"],
    ),
    (
        "any, a date of another form outside of quotation marks",
        "2024/01/05(Fri)\n09:31\tAnn\thi\n\n2024/01/06(sam.)\n09:31\tAnn\tlost\n",
        &["01-05 09:31 Ann|text|hi", "unknown 4", "unknown 5"],
    ),
    (
        "any, a date that somebody typed",
        "2024.01.05 Friday\n09:31 Ann when?\n12/01/2024\n09:32 Bob ok\n",
        &["01-05 09:31 Ann|text|when?\n12/01/2024", "01-05 09:32 Bob|text|ok"],
    ),
    (
        "any, words before the first date",
        "[LINE] Chat history with Lunch\nsomething else\n09:00\tAnn\tearly\n\n2024/01/05(Fri)\n\
         09:31\tAnn\thi\n",
        &["unknown 2", "unknown 3", "01-05 09:31 Ann|text|hi"],
    ),
    (
        "any, line ends of Windows and a mark at the beginning",
        "\u{feff}[LINE] Chat history with Lunch\r\n\r\n2024/01/05(Fri)\r\n09:31\tAnn\t\"a\r\nb\"\r\n",
        &["01-05 09:31 Ann|text|a\nb"],
    ),
];

fn read(text: &str) -> Vec<String> {
    read_among(&["Tony Chou", "佐藤 健", "Ann", "น้ำ"], "%m-%d %H:%M", text)
}

#[test]
fn every_variant_is_understood() {
    let wrong: Vec<_> = VARIANTS
        .iter()
        .filter(|(_, text, expected)| read(text) != *expected)
        .map(|(name, text, expected)| format!("{name}: {:#?} not {expected:#?}", read(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
