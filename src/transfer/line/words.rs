//! What the LINE app writes in place of what is not text, in the languages that exports come in.

use chatkeep_core::message::{Content, MediaInfo, Sticker};

/// What stands for a message that is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Image,
    Video,
    Audio,
    File,
    Sticker,
}

/// In brackets, on phones.
const BRACKETED: [(Stand, &[&str]); 5] = [
    (
        Stand::Image,
        &["photo", "photos", "照片", "圖片", "图片", "写真", "画像", "รูป", "รูปภาพ", "ภาพ", "รูปถ่าย"],
    ),
    (Stand::Video, &["video", "videos", "影片", "视频", "動画", "วิดีโอ", "วีดีโอ"]),
    (
        Stand::Audio,
        &[
            "voice message",
            "audio",
            "語音訊息",
            "语音信息",
            "語音",
            "ボイスメッセージ",
            "音声",
            "ข้อความเสียง",
            "เสียง",
        ],
    ),
    (Stand::File, &["file", "檔案", "文件", "ファイル", "ไฟล์"]),
    (Stand::Sticker, &["sticker", "stickers", "貼圖", "贴图", "スタンプ", "สติกเกอร์", "สติ๊กเกอร์"]),
];

/// Bare, on computers.
const BARE: [(Stand, &[&str]); 5] = [
    (Stand::Image, &["photo", "photos", "圖片", "照片", "写真", "画像", "รูป", "รูปภาพ"]),
    (Stand::Video, &["video", "videos", "影片", "動画", "วิดีโอ"]),
    (Stand::Audio, &["audio", "voice message", "語音訊息", "ボイスメッセージ", "ข้อความเสียง"]),
    (Stand::File, &["file", "檔案", "ファイル", "ไฟล์"]),
    (Stand::Sticker, &["sticker", "stickers", "貼圖", "スタンプ", "สติกเกอร์"]),
];

/// A message that its sender took back, where the export still names them.
const TAKEN_BACK: [&str; 9] = [
    "message unsent.",
    "message unsent",
    "unsent a message.",
    "已收回訊息",
    "已收回訊息。",
    "訊息已收回",
    "メッセージの送信を取り消しました",
    "送信取り消し済み",
    "ยกเลิกข้อความ",
];

/// How lines begin that stand before the first day: title and time of saving.
const HEADINGS: [&str; 13] = [
    "[line]",
    "chat history ",
    "saved on",
    "儲存日期",
    "儲存時間",
    "保存日期",
    "保存日時",
    "บันทึกเมื่อ",
    "บันทึกวันที่",
    "วันที่บันทึก",
    "ประวัติการแชท",
    "ประวัติการสนทนา",
    "export date",
];

/// How a line ends that tells what happened in the chat instead of what somebody said. Needed
/// where names end at a space only, so that "A left the group" is not A saying "left the group".
const HAPPENED: [&str; 38] = [
    "joined the group.",
    "joined the chat.",
    "left the group.",
    "left the chat.",
    "unsent a message.",
    "made an announcement.",
    "changed the group's profile photo.",
    "created a group.",
    "to the group.",
    "from the group.",
    "to the chat.",
    "已加入群組。",
    "已加入群組",
    "加入聊天",
    "加入聊天。",
    "加入群組。",
    "已退出群組。",
    "已退出群組",
    "退出群組。",
    "離開群組。",
    "離開聊天。",
    "已離開群組",
    "已收回訊息",
    "已收回訊息。",
    "更改群組圖片。",
    "がグループに参加しました。",
    "が参加しました。",
    "がグループを退会しました。",
    "が退会しました。",
    "が退出しました。",
    "をグループに招待しました。",
    "を招待しました。",
    "をグループに追加しました。",
    "メッセージの送信を取り消しました",
    "เข้าร่วมกลุ่ม",
    "เข้าร่วมกลุ่มแล้ว",
    "ออกจากกลุ่ม",
    "ยกเลิกข้อความ",
];

/// The same in the middle of the line.
const RENAMED: [&str; 6] = [
    "changed the group name to",
    "changed the name of the group to",
    "將群組名稱改為",
    "更改群組名稱為",
    "グループ名を",
    "เปลี่ยนชื่อกลุ่มเป็น",
];

/// What a line's words stand for.
#[derive(Debug)]
pub(super) enum Meaning {
    /// A message.
    Said(Content),
    /// A message that was taken back.
    TakenBack,
}

/// What the words of a message stand for. `bare` says that the export writes no brackets. What
/// is not known for sure (a place without its position, a contact, a note) stays text.
pub(super) fn meaning(words: &str, bare: bool) -> Meaning {
    let trimmed = words.trim();
    let lower = trimmed.to_lowercase();
    if TAKEN_BACK.contains(&lower.as_str()) {
        return Meaning::TakenBack;
    }
    if let Some((stand, rest)) = bracketed(trimmed) {
        return Meaning::Said(content(stand, rest));
    }
    let found = BARE.iter().find(|(_, names)| bare && names.contains(&lower.as_str()));
    Meaning::Said(match found {
        Some((stand, _)) => content(*stand, ""),
        None => Content::text(words),
    })
}

/// `[Photo]`, or `[File] report.pdf`.
fn bracketed(words: &str) -> Option<(Stand, &str)> {
    let (inside, rest) = words.strip_prefix('[')?.split_once(']')?;
    let inside = inside.trim().to_lowercase();
    let (stand, _) = BRACKETED.iter().find(|(_, names)| names.contains(&inside.as_str()))?;
    let rest = rest.trim();
    // Only files have a name; anything else goes on because somebody typed it.
    (rest.is_empty() || (*stand == Stand::File && !rest.contains('\n'))).then_some((*stand, rest))
}

fn content(stand: Stand, name: &str) -> Content {
    let file_name = (!name.is_empty()).then(|| name.to_owned());
    let info = MediaInfo { file_name, ..MediaInfo::default() };
    match stand {
        Stand::Image => Content::Image(info),
        Stand::Video => Content::Video(info),
        Stand::Audio => Content::Audio(info),
        Stand::File => Content::File(info),
        Stand::Sticker => Content::Sticker(Sticker::default()),
    }
}

/// Whether a line before the first day is one of those every export begins with.
pub(super) fn is_heading(line: &str) -> bool {
    let lower = line.trim().to_lowercase();
    lower.is_empty() || HEADINGS.iter().any(|heading| lower.starts_with(heading))
}

/// Whether a line without a column for the sender tells what happened in the chat.
pub(super) fn is_happening(line: &str) -> bool {
    let line = line.trim();
    HAPPENED.iter().any(|end| line.ends_with(end)) || RENAMED.iter().any(|part| line.contains(part))
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
    fn placeholders_in_four_languages() {
        for (kind_name, all) in [
            ("image", ["[Photo]", "[照片]", "[写真]", "[รูป]"]),
            ("video", ["[Video]", "[影片]", "[動画]", "[วิดีโอ]"]),
            ("audio", ["[Voice message]", "[語音訊息]", "[ボイスメッセージ]", "[ข้อความเสียง]"]),
            ("file", ["[File]", "[檔案] 報告.pdf", "[ファイル]", "[ไฟล์]"]),
            ("sticker", ["[Sticker]", "[貼圖]", "[スタンプ]", "[สติกเกอร์]"]),
            ("text", ["[Location]", "[位置訊息]", "Photos", "[Photo] look!"]),
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
        for line in [
            "Alice joined the group.",
            "小明已加入群組。",
            "アリスがグループを退会しました。",
            "สมชายออกจากกลุ่ม",
            "Bob changed the group name to \"Lunch\".",
        ] {
            assert!(is_happening(line), "{line}");
        }
        assert!(!is_happening("Alice I joined them yesterday"));
    }
}
