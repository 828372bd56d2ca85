//! End-to-end tests on real servers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "tests join what they spawn, and read the clock")]

mod accounts;
mod agreement;
mod alerts;
mod answering;
mod api;
mod archives;
mod assistants;
mod blobs;
mod bots;
mod bots_apart;
mod clients;
mod clock;
mod commands;
mod console;
mod dashboard;
mod demo;
mod doctor;
mod erasure;
mod failover;
mod harness;
mod harness_tests;
mod hooks;
mod indexing;
mod ingress;
mod kubernetes;
mod layering;
mod limit;
mod limit_rest;
mod line_check;
mod login;
mod mcp;
mod media;
mod metrics;
mod openapi;
mod opted_out;
mod packaging;
mod permissions;
mod pipeline;
mod platform;
mod program;
mod replicas;
mod rest;
mod rotation;
mod saved_searches;
mod schema;
mod search;
mod slow;
mod snapshots;
mod stack;
mod store;
mod traces;
mod transfer;
mod updates;
