//! Placeholders and phrases that the LINE app writes in place of text, in the languages of exports.

use chatkeep_core::message::{Content, MediaInfo, Sticker};

/// Kind of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Image,
    Video,
    Audio,
    File,
    Sticker,
}

/// Words of each kind, lower case; in brackets on phones, bare on computers.
const STANDS: [(Placeholder, &[&str]); 5] = [
    (
        Placeholder::Image,
        &[
            "photo",
            "photos",
            "照片",
            "圖片",
            "图片",
            "写真",
            "画像",
            "รูป",
            "รูปภาพ",
            "ภาพ",
            "รูปถ่าย",
            "사진",
        ],
    ),
    (
        Placeholder::Video,
        &["video", "videos", "影片", "视频", "動画", "วิดีโอ", "วีดีโอ", "동영상", "비디오"],
    ),
    (
        Placeholder::Audio,
        &[
            "voice message",
            "audio",
            "語音訊息",
            "语音讯息",
            "语音信息",
            "语音消息",
            "語音",
            "ボイスメッセージ",
            "音声",
            "ข้อความเสียง",
            "เสียง",
            "음성 메시지",
            "음성메시지",
        ],
    ),
    (Placeholder::File, &["file", "檔案", "文件", "ファイル", "ไฟล์", "파일"]),
    (
        Placeholder::Sticker,
        &["sticker", "stickers", "貼圖", "贴图", "スタンプ", "สติกเกอร์", "สติ๊กเกอร์", "스티커"],
    ),
];

/// Phrases of a retracted message, where the export still has its sender.
const TAKEN_BACK: &[&str] = &[
    "message unsent.",
    "message unsent",
    "unsent a message.",
    "you unsent a message.",
    "已收回訊息",
    "已收回訊息。",
    "訊息已收回",
    "已收回消息",
    "已撤回消息",
    "已撤回消息。",
    "消息已撤回",
    "メッセージの送信を取り消しました",
    "メッセージの送信を取り消しました。",
    "送信取り消し済み",
    "ยกเลิกข้อความ",
    "ยกเลิกข้อความแล้ว",
    "ยกเลิกการส่งข้อความ",
    "ยกเลิกการส่งข้อความแล้ว",
    "ได้ยกเลิกข้อความ",
    "메시지를 취소했습니다.",
    "메시지 전송을 취소했습니다.",
];

/// Ends of lines that describe an action instead of a message, after the name.
const DID: &[&str] = &[
    "joined the group.",
    "joined the chat.",
    "left the group.",
    "left the chat.",
    "unsent a message.",
    "made an announcement.",
    "made an <u>announcement</u>.",
    "added a new note.",
    "shared a note.",
    "created a group.",
    "changed the group's profile photo.",
    "changed the group's profile picture.",
    "changed the chat's profile photo.",
    "changed the chat's profile picture.",
    "changed the group photo.",
    "added auto-reply to the chat.",
    "group call ended.",
    "group call started.",
    "group voice call started.",
    "group video call started.",
    "已加入群組。",
    "已加入群組",
    "加入聊天",
    "加入聊天。",
    "已加入聊天",
    "加入群組。",
    "加入群組",
    "已退出群組。",
    "已退出群組",
    "退出群組。",
    "退出群組",
    "離開群組。",
    "離開聊天。",
    "離開聊天",
    "已離開群組",
    "已離開聊天",
    "已收回訊息",
    "已收回訊息。",
    "更改群組圖片。",
    "更改了群組圖片。",
    "已加入群组。",
    "已加入群组",
    "加入了群组。",
    "加入群组。",
    "已退出群组。",
    "已退出群组",
    "退出了群组。",
    "退出群组。",
    "已收回消息",
    "已撤回消息",
    "がグループに参加しました。",
    "がグループに参加しました",
    "が参加しました。",
    "がグループを退会しました。",
    "が退会しました。",
    "が退出しました。",
    "をグループに招待しました。",
    "を招待しました。",
    "をグループに追加しました。",
    "がグループのアイコンを変更しました。",
    "がメッセージの送信を取り消しました",
    "メッセージの送信を取り消しました",
    "メッセージの送信を取り消しました。",
    "เข้าร่วมกลุ่ม",
    "เข้าร่วมกลุ่มแล้ว",
    "เข้าร่วมแชท",
    "ออกจากกลุ่ม",
    "ออกจากแชท",
    "เขียนโน้ตใหม่",
    "เพิ่มประกาศ",
    "เพิ่ม<u>ประกาศ</u>",
    "เปลี่ยนรูปโปรไฟล์ของกลุ่ม",
    "ยกเลิกข้อความ",
    "ยกเลิกข้อความแล้ว",
    "ยกเลิกการส่งข้อความ",
    "ยกเลิกการส่งข้อความแล้ว",
    "ได้ยกเลิกข้อความ",
    "님이 그룹에 참여했습니다.",
    "님이 그룹에 참가했습니다.",
    "님이 그룹에서 나갔습니다.",
    "님이 그룹을 나갔습니다.",
    "님이 들어왔습니다.",
    "님이 나갔습니다.",
    "님이 대화에 참여했습니다.",
    "님이 메시지를 취소했습니다.",
    "님이 메시지 전송을 취소했습니다.",
    "님이 그룹 사진을 변경했습니다.",
    "메시지를 취소했습니다.",
];

/// Words before and after the one or two names in such a line.
const DID_TO: &[(&str, &str)] = &[
    ("invited ", " to the group."),
    ("invited ", " to the chat."),
    ("added ", " to the group."),
    ("added ", " to the chat."),
    ("removed ", " from the group."),
    ("removed ", " from the chat."),
    ("changed the group name to ", ""),
    ("changed the name of the group to ", ""),
    ("將群組名稱改為", ""),
    ("更改群組名稱為", ""),
    ("将群组名称改为", ""),
    ("グループ名を", "変更しました。"),
    ("เปลี่ยนชื่อกลุ่มเป็น", ""),
    ("그룹 이름을 ", "변경했습니다."),
];

/// Pronouns of scripts without spaces, by which people tell what they or others did. Of those with
/// the same beginning the longest is first.
const PRONOUNS: &[&str] = &[
    "我們",
    "我们",
    "我",
    "咱們",
    "咱们",
    "他們",
    "他们",
    "他",
    "她們",
    "她们",
    "她",
    "私たち",
    "私達",
    "私",
    "僕たち",
    "僕ら",
    "僕",
    "俺たち",
    "俺ら",
    "俺",
    "彼女たち",
    "彼女ら",
    "彼女",
    "彼ら",
    "彼",
    "わたし",
    "ぼく",
    "おれ",
    "พวกเรา",
    "พวกเขา",
    "พวกผม",
    "เรา",
    "เขา",
    "เธอ",
    "ผม",
    "ดิฉัน",
    "ฉัน",
];

/// Words between such a pronoun and what was done.
const BETWEEN: &[&str] = &[
    "已經",
    "已经",
    "剛剛",
    "刚刚",
    "剛才",
    "刚才",
    "剛",
    "刚",
    "也",
    "都",
    "又",
    "就",
    "才",
    "自己",
    "は",
    "も",
    "が",
    "ได้",
    "เพิ่ง",
    "ก็",
];

/// Senders that are no people: automatic replies of the app.
const AUTOMATIC: &[&str] = &[
    "auto-reply",
    "auto reply",
    "auto-response",
    "自動回應",
    "自動回覆",
    "自动回复",
    "自動応答",
    "ตอบกลับอัตโนมัติ",
    "자동응답",
];

/// Meaning of a line's words.
#[derive(Debug)]
pub(super) enum Meaning {
    /// A message.
    Said(Content),
    /// A retracted message.
    TakenBack,
}

/// Returns the meaning of a message's words. With `bare`, the export writes no brackets. Uncertain
/// kinds (a location without its position, a contact, a note) stay text.
pub(super) fn meaning(words: &str, bare: bool) -> Meaning {
    let trimmed = words.trim();
    let lower = trimmed.to_lowercase();
    if TAKEN_BACK.contains(&lower.as_str()) {
        return Meaning::TakenBack;
    }
    if let Some((stand, rest)) = bracketed(trimmed) {
        return Meaning::Said(content(stand, rest));
    }
    Meaning::Said(match bare.then(|| stand(&lower)).flatten() {
        Some(stand) => content(stand, ""),
        None => Content::text(words),
    })
}

/// Returns the name of the type that a text without brackets is a placeholder of, if it is one.
pub(crate) fn placeholder_kind(text: &str) -> Option<&'static str> {
    let stand = stand(&text.trim().to_lowercase())?;
    Some(content(stand, "").kind().name())
}

/// Returns true for a placeholder, with brackets and without.
pub(super) fn placeholder(words: &str) -> (bool, bool) {
    let trimmed = words.trim();
    (bracketed(trimmed).is_some(), stand(&trimmed.to_lowercase()).is_some())
}

fn stand(lower: &str) -> Option<Placeholder> {
    STANDS.iter().find(|(_, names)| names.contains(&lower)).map(|(stand, _)| *stand)
}

/// Parses `[Photo]`, or `[File] report.pdf`.
fn bracketed(words: &str) -> Option<(Placeholder, &str)> {
    let (inside, rest) = words.strip_prefix('[')?.split_once(']')?;
    let stand = stand(&inside.trim().to_lowercase())?;
    let rest = rest.trim();
    // Only files have a name; anything else continues because somebody typed it.
    (rest.is_empty() || (stand == Placeholder::File && !rest.contains('\n')))
        .then_some((stand, rest))
}

fn content(stand: Placeholder, name: &str) -> Content {
    let file_name = (!name.is_empty()).then(|| name.to_owned());
    let info = MediaInfo { file_name, ..MediaInfo::default() };
    match stand {
        Placeholder::Image => Content::Image(info),
        Placeholder::Video => Content::Video(info),
        Placeholder::Audio => Content::Audio(info),
        Placeholder::File => Content::File(info),
        Placeholder::Sticker => Content::Sticker(Sticker::default()),
    }
}

/// Returns true if a sender is no person.
pub(super) fn is_automatic(name: &str) -> bool {
    AUTOMATIC.contains(&name.trim().to_lowercase().as_str())
}

/// Returns the name in a line that describes an action; `None` for any other line.
pub(super) fn who_did(line: &str) -> Option<&str> {
    let line = line.trim();
    let lower = line.to_lowercase();
    let did = DID.iter().find(|did| lower.ends_with(*did));
    let before = match did {
        // Lower case may change the length, but not that of the ending.
        Some(did) => line.get(..line.len().checked_sub(did.len())?).unwrap_or(""),
        None => DID_TO.iter().find_map(|(before, after)| {
            let name = line.strip_suffix(after)?.split_once(before)?.0;
            Some(name)
        })?,
    };
    (!is_told(before)).then_some(before)
}

/// Returns true if the words before an action are a name and a pronoun: in `小華 我已退出群組`,
/// somebody tells it.
fn is_told(before: &str) -> bool {
    let Some((name, words)) = before.rsplit_once(' ') else { return false };
    let Some(mut rest) = PRONOUNS.iter().find_map(|pronoun| words.strip_prefix(*pronoun)) else {
        return false;
    };
    while let Some(shorter) = BETWEEN.iter().find_map(|word| rest.strip_prefix(*word)) {
        rest = shorter;
    }
    rest.is_empty() && !name.trim().is_empty()
}

/// Returns true if words after a name are nothing but a description of an action.
pub(super) fn is_deed(words: &str) -> bool {
    who_did(words).is_some_and(|before| before.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(words: &str, bare: bool) -> &'static str {
        match meaning(words, bare) {
            Meaning::Said(content) => content.kind().name(),
            Meaning::TakenBack => "unsent",
        }
    }

    #[test]
    fn placeholders_in_six_languages() {
        for (kind_name, all) in [
            ("image", ["[Photo]", "[照片]", "[图片]", "[写真]", "[รูป]", "[사진]"]),
            ("video", ["[Video]", "[影片]", "[视频]", "[動画]", "[วิดีโอ]", "[동영상]"]),
            (
                "audio",
                [
                    "[Voice message]",
                    "[語音訊息]",
                    "[语音信息]",
                    "[ボイスメッセージ]",
                    "[ข้อความเสียง]",
                    "[음성 메시지]",
                ],
            ),
            ("file", ["[File]", "[檔案] 報告.pdf", "[文件]", "[ファイル]", "[ไฟล์]", "[파일]"]),
            ("sticker", ["[Sticker]", "[貼圖]", "[贴图]", "[スタンプ]", "[สติกเกอร์]", "[스티커]"]),
            ("text", ["[Location]", "[位置訊息]", "Photos", "[Photo] look!", "photo", "사진"]),
        ] {
            for words in all {
                assert_eq!(kind(words, false), kind_name, "{words}");
            }
        }
        assert_eq!((kind("Photos", true), kind("貼圖", true)), ("image", "sticker"));
        assert_eq!(kind("已收回訊息", false), "unsent");
    }

    #[test]
    fn a_file_keeps_its_name() {
        let Meaning::Said(Content::File(info)) = meaning("[File] report.pdf", false) else {
            panic!("not a file");
        };
        assert_eq!(info.file_name.as_deref(), Some("report.pdf"));
    }

    #[test]
    fn what_happened_is_nobodys_word() {
        for (line, name) in [
            ("Alice joined the group.", "Alice"),
            ("Bob Lee changed the chat's profile photo.", "Bob Lee"),
            ("小明已加入群組。", "小明"),
            ("アリスがグループを退会しました。", "アリス"),
            ("สมชายออกจากกลุ่ม", "สมชาย"),
            ("สมชาย ยกเลิกข้อความแล้ว", "สมชาย"),
            ("민수님이 그룹에 참여했습니다.", "민수"),
            ("Bob changed the group name to \"Lunch\".", "Bob"),
            ("Ann invited Bob Lee to the group.", "Ann"),
        ] {
            assert_eq!(who_did(line).map(str::trim), Some(name), "{line}");
        }
        for (line, name) in [
            ("王 小明已退出群組", "王 小明"),
            ("山田 太郎が参加しました。", "山田 太郎"),
            ("我已收回訊息", "我"),
            ("กานดา เขาใหญ่ออกจากกลุ่ม", "กานดา เขาใหญ่"),
        ] {
            assert_eq!(who_did(line), Some(name), "{line}");
        }
        for told in [
            "小華 我已退出群組",
            "小美 他們都已經退出群組",
            "花子 彼女が退会しました。",
            "花子 私がグループ名を「新年会」に変更しました。",
            "กานดา เขาเพิ่งออกจากกลุ่ม",
        ] {
            assert_eq!(who_did(told), None, "{told}");
        }
        assert_eq!(who_did("Alice I joined them yesterday"), None);
        assert!(is_deed("joined the group.") && !is_deed("I think Bob joined the group."));
        assert!(is_automatic("Auto-reply") && !is_automatic("Auto"));
    }
}
