//! Lines before the first day: the title, with the chat's name, and the time of the export.

/// Words around the chat's name in the title, longer ones first.
const AROUND: &[(&str, &str)] = &[
    ("Chat history with ", ""),
    ("Chat history in ", ""),
    ("與", "的聊天記錄"),
    ("与", "的聊天记录"),
    ("", "的聊天記錄"),
    ("", "的聊天记录"),
    ("", "とのトーク履歴"),
    ("", "のトーク履歴"),
    ("ประวัติการแชทกับ", ""),
    ("ประวัติการสนทนากับ", ""),
    ("ประวัติการแชทใน", ""),
    ("ประวัติการสนทนาใน", ""),
    ("", "님과의 대화"),
    ("", "의 대화"),
];

/// Beginnings of lines with the time of the export, lower case.
const SAVED: &[&str] = &[
    "saved on",
    "export date",
    "儲存日期",
    "儲存時間",
    "保存日期",
    "保存时间",
    "保存日時",
    "บันทึกเมื่อ",
    "บันทึกวันที่",
    "วันที่บันทึก",
    "저장한 날짜",
    "저장 일시",
    "저장일시",
    "저장 날짜",
    "저장일",
    "저장한 일시",
];

/// Beginnings of titles that have no mark, lower case.
const UNMARKED: &[&str] = &["chat history ", "ประวัติการแชท", "ประวัติการสนทนา"];
/// Beginning of most titles.
const MARK: &str = "[LINE]";

/// Returns the chat's name in a title; `None` when the line is no title.
pub(super) fn chat_name(line: &str) -> Option<&str> {
    let line = line.trim();
    let lower = line.to_lowercase();
    let unmarked = || UNMARKED.iter().any(|start| lower.starts_with(start)).then_some(line);
    let title = line.strip_prefix(MARK).or_else(unmarked)?.trim();
    let inside = |(before, after): &(&str, &str)| {
        let rest = title.strip_prefix(before)?.strip_suffix(after)?.trim();
        (!rest.is_empty()).then_some(rest)
    };
    AROUND.iter().find_map(inside).or(Some(title)).filter(|name| !name.is_empty())
}

/// Returns true for a line of the head that every export begins with.
pub(super) fn is_heading(line: &str) -> bool {
    let lower = line.trim().to_lowercase();
    lower.is_empty()
        || lower.starts_with("[line]")
        || UNMARKED.iter().chain(SAVED).any(|start| lower.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_tell_the_name_of_the_chat() {
        for title in [
            "[LINE] Chat history with Lunch",
            "[LINE] Chat history in Lunch",
            "[LINE] 與Lunch的聊天記錄",
            "[LINE] Lunch的聊天记录",
            "[LINE]Lunchのトーク履歴",
            "[LINE] Lunchとのトーク履歴",
            "[LINE] ประวัติการแชทกับ Lunch",
            "[LINE] Lunch님과의 대화",
            "[LINE] Lunch",
        ] {
            assert_eq!(chat_name(title), Some("Lunch"), "{title}");
            assert!(is_heading(title), "{title}");
        }
        assert_eq!(chat_name("Saved on: 2024/01/06"), None);
        assert!(is_heading("저장한 날짜 : 2024/01/06 10:00") && !is_heading("what is this"));
    }
}
