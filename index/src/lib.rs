//! Finding things in chat text: folding, rule matching and message search for mixed scripts.
//!
//! Text goes in; ids, scores and character ranges come out. No network, no database, no clock.
//!
//! - [`mod@fold`]: what two spellings of the same text have in common;
//! - [`script`]: which characters form words and which scripts write without spaces;
//! - [`keyword`]: which rule, if any, a message asks for;
//! - [`search`]: the message index, its query language, highlights.

pub mod fold;
pub mod keyword;
pub mod script;
pub mod search;

pub use fold::{fold, fold_phrase};
pub use keyword::{KeywordError, KeywordHit, KeywordMatcher, SharedKeyword, duplicates};
