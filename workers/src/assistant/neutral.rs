//! Neutral words for unknown names, in the language of a channel.
//!
//! A channel has no setting for its language, so it is detected from its texts, as far as their
//! scripts allow: the text that the word goes into first, then other settings of the channel, then
//! its messages.

use chatkeep_core::event::ChannelKind;

/// Han characters that only simplified Chinese writes, chosen to occur in nearly every text of
/// greetings and rules.
const SIMPLIFIED: &str =
    "们这为欢说时对没请问题发讯员规则谢还让过见习东话语简单网页边从进开关众务团图实护报欢阅";
/// Characters that Vietnamese writes and no other language with Latin letters does.
const VIETNAMESE: &str = "ạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹđơư";

/// A language with neutral words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    TraditionalChinese,
    SimplifiedChinese,
    Japanese,
    Korean,
    Thai,
    Vietnamese,
}

/// Number of characters of a text by script.
#[derive(Default)]
struct Count {
    kana: usize,
    hangul: usize,
    thai: usize,
    han: usize,
    simplified: usize,
    vietnamese: usize,
    latin: usize,
}

impl Language {
    /// Returns the language of a text; `None` if its letters do not show it. Words in Latin letters
    /// say nothing beside letters of another script.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut count = Count::default();
        let mut before = ' ';
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            // Faces are made of single kana between signs.
            let beside = [Some(before), chars.peek().copied()];
            let is_of_face = is_kana(c) && !beside.into_iter().flatten().any(is_japanese);
            if !is_of_face {
                count.add(c);
            }
            before = c;
        }
        let largest = count.kana.max(count.hangul).max(count.thai).max(count.han);
        Some(match count {
            // Japanese writes Han between its kana.
            Count { kana, hangul, thai, .. } if kana > 0 && kana >= hangul.max(thai) => {
                Self::Japanese
            }
            Count { hangul, .. } if hangul > 0 && hangul == largest => Self::Korean,
            Count { thai, .. } if thai > 0 && thai == largest => Self::Thai,
            Count { han, simplified: 0, .. } if han > 0 => Self::TraditionalChinese,
            Count { han, .. } if han > 0 => Self::SimplifiedChinese,
            Count { vietnamese, .. } if vietnamese > 0 => Self::Vietnamese,
            Count { latin, .. } if latin > 0 => Self::English,
            _ => return None,
        })
    }

    /// Returns the word for a person whose name is not known.
    pub(super) const fn person(self) -> &'static str {
        match self {
            Self::English => "friend",
            Self::TraditionalChinese | Self::SimplifiedChinese => "新朋友",
            Self::Japanese => "新メンバー",
            Self::Korean => "새 친구",
            Self::Thai => "เพื่อนใหม่",
            Self::Vietnamese => "bạn mới",
        }
    }

    /// Returns the words for a chat without a name.
    pub(super) const fn chat(self, kind: ChannelKind) -> &'static str {
        let is_group = matches!(kind, ChannelKind::Group);
        match self {
            Self::English if is_group => "our group",
            Self::English => "our chat",
            Self::TraditionalChinese if is_group => "本群組",
            Self::SimplifiedChinese if is_group => "本群",
            Self::TraditionalChinese | Self::SimplifiedChinese => "本聊天室",
            Self::Japanese if is_group => "このグループ",
            Self::Japanese => "このトークルーム",
            Self::Korean if is_group => "우리 그룹",
            Self::Korean => "우리 채팅방",
            Self::Thai if is_group => "กลุ่มของเรา",
            Self::Thai => "ห้องแชทของเรา",
            Self::Vietnamese if is_group => "nhóm của chúng ta",
            Self::Vietnamese => "phòng chat của chúng ta",
        }
    }
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns whether Japanese words are made of `c`.
fn is_japanese(c: char) -> bool {
    is_kana(c) || is_han(c)
}

impl Count {
    fn add(&mut self, c: char) {
        match c {
            // Chinese borrows the first, a kana; the second are its phonetic symbols.
            'の' | '\u{3105}'..='\u{312f}' => self.han += 1,
            c if is_kana(c) => self.kana += 1,
            '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{ac00}'..='\u{d7ff}' => {
                self.hangul += 1;
            }
            '\u{0e01}'..='\u{0e5b}' => self.thai += 1,
            c if is_han(c) => {
                self.han += 1;
                self.simplified += usize::from(SIMPLIFIED.contains(c));
            }
            c if c.is_alphabetic() => {
                self.latin += 1;
                let small = c.to_lowercase().next().unwrap_or(c);
                self.vietnamese += usize::from(VIETNAMESE.contains(small));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_tell_the_language() {
        let cases = [
            ("Hi  in !", Some(Language::English)),
            ("歡迎  加入 LINE group", Some(Language::TraditionalChinese)),
            ("欢迎加入我们的群", Some(Language::SimplifiedChinese)),
            ("さん、ようこそ！", Some(Language::Japanese)),
            ("新規参加の方へ、歓迎します", Some(Language::Japanese)),
            ("美好の時光", Some(Language::TraditionalChinese)),
            ("歡迎  加入 ヽ(✿ﾟ▽ﾟ)ノ", Some(Language::TraditionalChinese)),
            ("歡迎加入 (づ｡◕‿‿◕｡)づ", Some(Language::TraditionalChinese)),
            ("LINEで ようこそ", Some(Language::Japanese)),
            ("ยินดีต้อนรับ สู่", Some(Language::Thai)),
            ("환영합니다", Some(Language::Korean)),
            ("Chào mừng đến với", Some(Language::Vietnamese)),
            (" 🎉 !!! 123", None),
            ("", None),
        ];
        for (text, language) in cases {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }

    #[test]
    fn a_chat_without_a_name_has_a_word_in_every_language() {
        let languages = [
            Language::English,
            Language::TraditionalChinese,
            Language::SimplifiedChinese,
            Language::Japanese,
            Language::Korean,
            Language::Thai,
            Language::Vietnamese,
        ];
        for language in languages {
            let [group, room] =
                [ChannelKind::Group, ChannelKind::Room].map(|kind| language.chat(kind));
            assert!(!group.is_empty() && !room.is_empty() && group != room);
            assert_eq!(Language::of(language.person()).unwrap().person(), language.person());
        }
    }
}
