//! Tests of the whole on real servers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api;
mod demo;
mod harness;
mod harness_tests;
mod ingress;
mod pipeline;
mod program;
mod stack;
mod store;
mod transfer;
