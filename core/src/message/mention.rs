//! Mentions in texts: of people, of the bot, and of everybody.

use serde::{Deserialize, Serialize};

use crate::id::UserId;

/// Names by which a message mentions everybody, without the @, for mentions of which nobody has told
/// whom they are of.
const EVERYBODY: [&str; 6] = ["all", "everyone", "全員", "全员", "所有人", "ทุกคน"];

/// A mention in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mention {
    /// Mentioned user; null for "all" and for people whose id is hidden.
    pub user_id: Option<UserId>,
    /// Start in the text, in UTF-16 units.
    pub start: u32,
    /// Length in the text, in UTF-16 units.
    pub length: u32,
    /// `true` if the bot itself is mentioned.
    #[serde(default)]
    pub is_self: bool,
    /// Of a mention without a user: `true` if everybody is mentioned, `false` if it is a person whose
    /// id is hidden. Absent where the platform did not tell, as in what earlier versions stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_all: Option<bool>,
}

impl Mention {
    /// Returns whether a mention in this text is of everybody: as the platform tells, else by its
    /// words.
    pub fn is_of_everybody(&self, text: &str) -> bool {
        let is_nobody = self.user_id.is_none() && !self.is_self;
        is_nobody && self.is_all.unwrap_or_else(|| Self::names_everybody(&self.words(text)))
    }

    /// Returns whether these words of a mention are a name for everybody.
    pub fn names_everybody(words: &str) -> bool {
        let name = words.trim().trim_start_matches(['@', '＠']).to_lowercase();
        EVERYBODY.contains(&name.as_str())
    }

    /// Returns the words of the mention in this text.
    fn words(&self, text: &str) -> String {
        let units = text.encode_utf16().skip(self.start as usize).take(self.length as usize);
        String::from_utf16_lossy(&units.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_who_the_platform_says_or_else_the_words() {
        let mention =
            |start, is_all| Mention { user_id: None, start, length: 4, is_self: false, is_all };
        // The emoji is two units long.
        let text = "👋 @All @모두들";
        for (start, is_all, expected) in [
            (3, None, true),
            (3, Some(false), false),
            (8, None, false),
            (8, Some(true), true),
            (30, None, false),
        ] {
            let mention = mention(start, is_all);
            assert_eq!(mention.is_of_everybody(text), expected, "{mention:?}");
        }
        let bot = Mention { is_self: true, ..mention(3, Some(true)) };
        let ann = Mention { user_id: Some("U1".into()), ..mention(3, Some(true)) };
        assert!(!bot.is_of_everybody(text) && !ann.is_of_everybody(text));
    }

    #[test]
    fn what_earlier_versions_stored_is_read() {
        let stored = r#"{"userId":null,"start":0,"length":4,"isSelf":false}"#;
        let mention: Mention = serde_json::from_str(stored).unwrap();
        assert_eq!(mention.is_all, None);
        assert_eq!(serde_json::to_string(&mention).unwrap(), stored);
    }
}
