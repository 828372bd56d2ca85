//! Tests of the whole on real servers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answering;
mod api;
mod assistants;
mod blobs;
mod demo;
mod finder;
mod harness;
mod harness_tests;
mod ingress;
mod limit;
mod limit_rest;
mod login;
mod media;
mod openapi;
mod permissions;
mod pipeline;
mod program;
mod rest;
mod schema;
mod stack;
mod store;
mod transfer;
