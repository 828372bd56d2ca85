//! Check of a citation: whether a message still says what is quoted from it.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::MessageId;
use chatkeep_core::message::Content;
use chatkeep_core::time::Timestamp;
use chatkeep_index::cut::is_between_digits;
use chatkeep_index::fold;
use chatkeep_index::script::Class;
use chatkeep_store::{Sender, StoredMessage};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::sanitize::clean;

use super::ServiceError;
use super::access::{ChannelAccess, Member, ReadMessages};
use super::messages::MessageService;

/// Mark of what is left out of a quoted text.
const LEFT_OUT: [&str; 2] = ["…", "..."];

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CitationVerdict {
    /// The message says it.
    Same,
    /// The message was edited, and does not say it now.
    Edited,
    /// The message does not say it, and was never edited.
    Different,
    /// The sender took the message back.
    Unsent,
    /// The message was erased or deleted, or its sender asked not to be stored.
    Erased,
    /// There is no such message, or the caller may not read it.
    Unreachable,
}

/// Citation that was checked.
#[derive(Debug)]
pub struct CheckedCitation {
    pub verdict: CitationVerdict,
    /// The message as it is now; `None` if it is not stored or may not be read.
    pub message: Option<Masked<StoredMessage>>,
}

impl MessageService {
    /// Checks that a message says `quoted`: somewhere in its text, whatever the case, the width, the
    /// spaces and the invisible characters of both; `…` stands for what is left out, also within a
    /// word, and never within a number. Without a quoted text it need only be there.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn check_citation(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        id: &MessageId,
        quoted: &str,
    ) -> Result<CheckedCitation, ServiceError> {
        let message = match self.one(access, id).await {
            Err(ServiceError::NotFound) => None,
            found => Some(found?),
        };
        let verdict = match &message {
            None if access.not_before().is_some() => CitationVerdict::Unreachable,
            None if self.was_erased(access, id, None).await? => CitationVerdict::Erased,
            None => CitationVerdict::Unreachable,
            Some(gone) if gone.unsent_at.is_some() => {
                let sent = gone.sender.as_ref().map(|sender| (sender, gone.sent_at));
                let erased = self.was_erased(access, id, sent).await?;
                if erased { CitationVerdict::Erased } else { CitationVerdict::Unsent }
            }
            // Texts have the stand-ins of ids, for which ids stand in what was given.
            Some(message) => present(message, &access.caller.mask.outgoing(quoted)),
        };
        Ok(CheckedCitation { verdict, message })
    }

    async fn was_erased(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        id: &MessageId,
        sent: Option<(&Sender, Timestamp)>,
    ) -> Result<bool, ServiceError> {
        let channel = access.without_reading();
        let sent = sent.map(|(sender, at)| (&sender.id, at));
        Ok(self.store.messages().was_erased(channel, id, sent).await?)
    }
}

fn present(message: &Masked<StoredMessage>, quoted: &str) -> CitationVerdict {
    let text = message.content.as_ref().and_then(Content::legible);
    if says(text.as_deref().unwrap_or_default(), quoted) {
        CitationVerdict::Same
    } else if message.edited_at.is_some() {
        CitationVerdict::Edited
    } else {
        CitationVerdict::Different
    }
}

/// Part of a quoted text, folded.
struct QuotedPart {
    words: String,
    /// True if the mark of what is left out touches its first word, which may be the end of one.
    may_begin_in_word: bool,
    /// True if it touches its last word, which may be the beginning of one.
    may_end_in_word: bool,
}

/// Returns true if a text has the parts of a quoted one in turn, each as whole words where words
/// have spaces between them, but for those that touch the mark of what is left out.
fn says(text: &str, quoted: &str) -> bool {
    // Models are shown texts without invisible characters, of which folding leaves some.
    let (text, quoted) = (fold(&clean(text)), clean(quoted).replace(LEFT_OUT[1], LEFT_OUT[0]));
    let parts: Vec<&str> = quoted.split(LEFT_OUT[0]).collect();
    let mut begin = 0;
    parts.iter().enumerate().all(|(nth, part)| {
        let part = QuotedPart {
            words: fold(part).trim().to_owned(),
            may_begin_in_word: nth > 0 && !part.starts_with(char::is_whitespace),
            may_end_in_word: nth + 1 < parts.len() && !part.ends_with(char::is_whitespace),
        };
        let end = part.end_in(&text, begin);
        begin = end.unwrap_or(text.len());
        end.is_some()
    })
}

impl QuotedPart {
    /// Returns the end of its first place from `begin` on. Places may overlap: in "aha ha ha" the
    /// words "ha ha" begin within what looks like an earlier place of them.
    fn end_in(&self, text: &str, begin: usize) -> Option<usize> {
        let words = self.words.as_str();
        if words.is_empty() {
            return Some(begin);
        }
        // One pass tells where there is none, however long the beginnings of the part are that repeat.
        let first = begin + text[begin..].find(words)?;
        let mut places = text[first..].char_indices().map(|(at, _)| first + at);
        let at = places.find(|at| text[*at..].starts_with(words) && self.is_whole(text, *at))?;
        Some(at + words.len())
    }

    /// Returns true if no word or number goes on beyond it, of a script that has spaces between words.
    fn is_whole(&self, text: &str, at: usize) -> bool {
        let end = at + self.words.len();
        !goes_on(text, at, self.may_begin_in_word) && !goes_on(text, end, self.may_end_in_word)
    }
}

/// Returns true for a place within a word or a number, or where words may be cut, within a number.
fn goes_on(text: &str, at: usize, may_be_in_word: bool) -> bool {
    if may_be_in_word {
        return is_between_digits(text, at);
    }
    let sides = text[..at].chars().next_back().zip(text[at..].chars().next());
    sides.is_some_and(|(one, other)| is_of_word(one) && is_of_word(other))
}

fn is_of_word(character: char) -> bool {
    Class::of(character) == Class::Word
}

#[cfg(test)]
#[path = "citations_tests.rs"]
mod citations_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_found_in_any_spelling_and_with_omissions() {
        let text = "The train leaves at 8:30,\nnot at 9.  ＭＥＥＴ at gate B…";
        for quoted in [
            "",
            "the train leaves",
            "at 8:30, not at 9. meet AT GATE b",
            "The train … not at 9",
            "…leaves at 8:30...gate B…",
            text,
        ] {
            assert!(says(text, quoted), "{quoted}");
        }
        assert!(!says("The price is 1000", "the price is 100") && says("100 1000 100", "…100…100"));
        assert!(!says("nothing", "no") && says("nothing, no", "no") && says("A座", "a"));
        for quoted in ["at 8:40", "t 8:30", "at 8:3", "gate B … the train", "leaves leaves", "x"]
        {
            assert!(!says(text, quoted), "{quoted}");
        }
        assert!(says("Aha ha ha", "ha ha") && says("ha ha ha", "ha … ha ha"));
        assert!(!says("ha ha", "ha … ha ha") && !says("Aha haha", "ha ha"));
        assert!(says("哈哈哈", "哈…哈哈") && !says("哈哈", "哈…哈哈"));
        assert!(says("привет, мир", "привет") && !says("привет мир", "ривет"));
        assert!(!says("это невозможно", "возможно") && !says("unmöglich", "möglich"));
        assert!(says("Καλημέρα σας", "σας") && !says("Καλημέρα", "μέρα"));
        assert!(says("학교에서 만나요", "학교") && says("ประชุมวันศุกร์", "วันศุกร์"));
        assert!(says("開會改到星期三下午三點", "改到星期三") && !says("", "x") && says("", ""));
    }

    #[test]
    fn what_was_shown_without_invisible_characters_is_found() {
        let text = "pay\u{1b}[1mable\u{7} by\u{85}no\u{202e}on\r\n12\u{fffb}34\t56";
        for quoted in [text, &clean(text), "PAY[1mable by noon 1234 56", "[1mable … 1234"] {
            assert!(says(text, quoted), "{quoted:?}");
        }
        assert!(says("by noon", "by\u{0} no\u{9b}on") && says("by noon", "by.\u{1}.. noon"));
        assert!(!says(text, "payable") && !says(text, "by 1234"));
    }
}
