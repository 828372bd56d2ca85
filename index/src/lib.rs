//! Finding things in chat text: folding, rule matching and message search for mixed scripts.
//!
//! Text goes in; ids, scores and character ranges come out. No network, no database, no clock.
//!
//! - [`mod@fold`]: what two spellings of the same text have in common;
//! - [`script`]: which characters form words and which scripts write without spaces;
//! - [`keyword`]: which rule, if any, a message asks for;
//! - [`fuzzy`]: which rule it asks for however it is typed;
//! - [`answer`]: what rules are made of, and when the best one answers;
//! - [`embed`]: texts as vectors;
//! - [`semantic`]: which rule means the same as a message;
//! - [`search`]: the message index, its query language, highlights;
//! - [`Moment`]: times and days as people write them.

pub mod answer;
pub mod embed;
pub mod fold;
pub mod fuzzy;
pub mod keyword;
mod language;
mod matrix;
mod moment;
pub mod script;
pub mod search;
pub mod semantic;

pub use fold::{fold, fold_phrase};
pub use keyword::{KeywordError, KeywordHit, KeywordMatcher, SharedKeyword, duplicates};
pub use moment::Moment;
