//! The message catalogue: every text that people read, in every supported language, as Project
//! Fluent files under `locales/`. The console and the notices use it.
//!
//! Texts are looked up by key ([`Language::text`], [`Language::format`]). All languages have the
//! same keys with the same variables, which the tests check.

mod catalogue;
mod language;

pub use catalogue::Value;
pub use language::Language;
