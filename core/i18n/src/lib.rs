//! The message catalogue: the texts of the console, of the consent pages, of the notices and of the
//! demo in every supported language, as Project Fluent files under `locales/`.
//!
//! Texts are looked up by key ([`Language::text`], [`Language::format`]). All languages have the
//! same keys with the same variables, which the tests check.

mod catalogue;
mod date;
mod language;
#[cfg(test)]
mod tests;

pub use catalogue::{Value, grouped};
pub use date::DateForm;
pub use language::Language;
