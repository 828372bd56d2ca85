//! Tables, forms and lists of rules, and the words about them.

mod lists;
mod rule_forms;
mod tables;

use chatkeep_core::assistant::{Rule, RuleDraft};
use chatkeep_core::time::Timestamp;

/// Returns a rule of that id with these keywords and this answer.
fn rule(id: &str, keywords: &[&str], answer: &str) -> Rule {
    let keywords = keywords.iter().map(|&keyword| keyword.to_owned()).collect();
    let draft = RuleDraft { keywords, answer: answer.to_owned(), ..RuleDraft::default() };
    Rule::new(id.into(), draft, Timestamp::default(), "U1".into())
}
