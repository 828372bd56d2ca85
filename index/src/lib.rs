//! Search in chat text: folding, rule matching and message search for mixed scripts.
//!
//! Text goes in; ids, scores and character ranges come out. No network, no database, no clock.
//!
//! - [`WebLink`]: links in text;
//! - [`mod@fold`]: the common form of different spellings of the same text;
//! - [`script`]: characters that form words, and scripts without spaces;
//! - [`cut`]: texts cut between words, and never inside a number;
//! - [`keyword`]: word-for-word matching of rules;
//! - [`fuzzy`]: typo-tolerant matching of rules;
//! - [`answer`]: input and result of the tolerant matchers, with their thresholds;
//! - [`embed`]: texts as vectors;
//! - [`semantic`]: matching of rules by meaning;
//! - [`search`]: the message index, its query language, highlights;
//! - [`ascii_digit`]: digits of every script;
//! - [`Moment`]: times and days as people write them;
//! - [`is_longer`]: lengths as people count them.

mod address;
pub mod answer;
pub mod cut;
mod digits;
pub mod embed;
pub mod fold;
pub mod fuzzy;
pub mod keyword;
mod language;
mod length;
mod link;
mod matrix;
mod moment;
pub mod script;
pub mod search;
pub mod semantic;
#[cfg(test)]
mod tests;

pub use address::without_addresses;
pub use digits::ascii_digit;
pub use fold::{fold, fold_phrase, is_blank};
pub use keyword::{KeywordError, KeywordHit, KeywordMatcher, SharedKeyword, duplicates};
pub use length::{is_longer, length_up_to};
pub use link::{WebLink, web_links};
pub use moment::Moment;
