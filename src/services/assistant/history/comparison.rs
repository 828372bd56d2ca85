//! Comparison of today's answers with those of other settings, on what was said.

use chatkeep_core::assistant::{KeywordMatch, QaMode, Strictness};
use chatkeep_core::id::{MessageId, RuleId};
use chatkeep_core::time::Timestamp;
use chatkeep_index::cut::shortened;
use chatkeep_store::{ReplySource, StoredMessage};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_workers::assistant::{Compiled, Decision, Reply};

use super::super::rules::RuleUpdate;
use super::Said;

/// Maximum number of different answers that are listed.
const DIFFERENT_ANSWERS: usize = 1_000;
/// Maximum number of same answers that are listed.
const SAME_ANSWERS: usize = 200;
/// Maximum length of a listed answer in characters.
const ANSWER: usize = 200;
/// Id of a rule that is not saved yet.
pub(super) const NEW_RULE: &str = "draft_1";

/// Other settings to compare with today's; absent values are today's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ComparisonRequest {
    /// Matching mode.
    pub mode: Option<QaMode>,
    /// Matching of keywords.
    pub keyword_match: Option<KeywordMatch>,
    /// Certainty that a reply of the tolerant modes requires.
    pub strictness: Option<Strictness>,
    /// One rule that is edited or added.
    pub rule: Option<RuleEdit>,
}

/// Rule as it is being edited.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuleEdit {
    /// Rule that it replaces; `None` for a new one.
    pub rule: Option<RuleId>,
    /// Its texts; absent ones, and an empty answer, are those of the rule that it replaces.
    pub texts: RuleUpdate,
}

/// Difference of two answers to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only the other settings answer.
    New,
    /// Only today's settings answer.
    Lost,
    /// Both answer, differently.
    Other,
    /// Both answer the same.
    Same,
}

/// Result of a comparison. What was said is not in it: messages may be unsent later.
#[derive(Debug)]
pub struct Comparison {
    /// Number of messages examined.
    pub scanned: usize,
    /// True when all messages since `from` were examined.
    pub complete: bool,
    /// Beginning of the examined period.
    pub from: Timestamp,
    /// Modes in effect, today's and the other one.
    pub modes: (QaMode, QaMode),
    /// Number of messages with a new answer, a lost one, another one, and the same one.
    counts: [usize; 4],
    /// Newest messages with different answers.
    pub(super) different: Vec<ComparedId>,
    /// Newest messages with the same answer.
    pub(super) same: Vec<ComparedId>,
}

/// Two answers to one message.
#[derive(Clone, Debug)]
pub(super) struct ComparedId {
    pub(super) message: MessageId,
    pub(super) difference: Difference,
    pub(super) today: Option<ComparedAnswer>,
    pub(super) other: Option<ComparedAnswer>,
}

/// Answer to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedAnswer {
    /// Source of the answer.
    pub source: ReplySource,
    /// Rule that gives it, if it is saved.
    pub rule: Option<RuleId>,
    /// Beginning of its text.
    pub text: String,
}

/// Message with both answers.
#[derive(Debug)]
pub struct ComparedMessage {
    /// The message, as it is now.
    pub message: Masked<StoredMessage>,
    /// Difference of the answers.
    pub difference: Difference,
    /// Answer of today's settings.
    pub today: Option<ComparedAnswer>,
    /// Answer of the other settings.
    pub other: Option<ComparedAnswer>,
}

/// Page of compared messages.
#[derive(Debug)]
pub struct ComparedPage {
    /// Messages, those with different answers first.
    pub messages: Vec<ComparedMessage>,
    /// True if there is a further page.
    pub more: bool,
}

impl Comparison {
    pub(super) fn new(from: Timestamp, modes: (QaMode, QaMode)) -> Self {
        let (different, same) = (Vec::new(), Vec::new());
        Self { scanned: 0, complete: false, from, modes, counts: [0; 4], different, same }
    }

    /// Returns the number of messages with that difference.
    pub const fn count(&self, difference: Difference) -> usize {
        self.counts[difference as usize]
    }

    /// Returns the number of messages with different answers.
    pub fn changed(&self) -> usize {
        self.counts.iter().sum::<usize>() - self.count(Difference::Same)
    }

    pub(super) fn add(&mut self, one: ComparedId) {
        self.counts[one.difference as usize] += 1;
        let (list, most) = match one.difference {
            Difference::Same => (&mut self.same, SAME_ANSWERS),
            Difference::New | Difference::Lost | Difference::Other => {
                (&mut self.different, DIFFERENT_ANSWERS)
            }
        };
        if list.len() < most {
            list.push(one);
        }
    }
}

/// Returns the messages that either answers.
pub(super) fn compared(today: &Compiled, other: &Compiled, said: Vec<Said>) -> Vec<ComparedId> {
    let both = |(message, text): Said| {
        let answers = (reply(today, &text), reply(other, &text));
        let difference = match &answers {
            (None, None) => return None,
            (None, Some(_)) => Difference::New,
            (Some(_), None) => Difference::Lost,
            (Some(today), Some(other)) if today == other => Difference::Same,
            (Some(_), Some(_)) => Difference::Other,
        };
        let (today, other) =
            (answers.0.map(ComparedAnswer::from), answers.1.map(ComparedAnswer::from));
        Some(ComparedId { message: message.id, difference, today, other })
    };
    said.into_iter().filter_map(both).collect()
}

fn reply(compiled: &Compiled, text: &str) -> Option<Reply> {
    match compiled.decide(text) {
        Decision::Answer(reply) => Some(reply),
        Decision::NoMatch | Decision::Silent => None,
    }
}

impl From<Reply> for ComparedAnswer {
    fn from(Reply { source, rule, text }: Reply) -> Self {
        let rule = rule.filter(|rule| rule.as_str() != NEW_RULE);
        let text = shortened(&text, ANSWER).into_owned();
        Self { source, rule, text }
    }
}
