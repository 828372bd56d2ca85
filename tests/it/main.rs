//! Tests of the whole on real servers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod harness;
mod harness_tests;
mod pipeline;
mod stack;
mod store;
