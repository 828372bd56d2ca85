//! Chatkeep: backs up chat groups, makes them searchable, and replies by rules.
//!
//! The binary's modules: [`app`] assembles a process and mounts its surfaces. `services` are the
//! use cases without a surface; the edges on them are [`api`], the REST surface, `mcp`, the surface
//! for models, `console`, the web pages for people, and [`cli`], the command line. `http` has what
//! all HTTP surfaces share, `html` escapes texts in pages. [`ingress`] receives webhooks, `login`
//! is sign-in with a browser, `oauth` the authorization server for MCP clients, [`rate_limit`] rate
//! limits, [`server`] HTTP connections and their bounds, [`ops`] health and metrics. [`search`]
//! finds an index wherever there is one, [`doctor`] checks and repairs, `transfer` exports and
//! imports, [`saved_searches`] compares new messages with saved searches, `maintenance`, `orphan_sweep`, `retention` and `removals` delete, `event_renderer`
//! renders outbox events, `view` has the DTOs shared by all surfaces. `decode` reads requests,
//! `when` times in them, `sanitize` cleans texts of people, [`random`] makes secrets and ids,
//! `heavy` runs CPU-bound work apart from the runtime, `out` is the output of commands, `private`
//! protects files from other users of the machine, `disk` reads their free space, [`demo`] is the demonstration.

#![warn(clippy::print_stdout, clippy::print_stderr)]
#![expect(missing_docs, reason = "the binary's own parts; the libraries are documented in full")]

pub mod api;
pub mod app;
pub mod cli;
mod console;
mod decode;
pub mod demo;
mod disk;
pub mod doctor;
mod event_renderer;
mod heavy;
mod html;
mod http;
pub mod ingress;
mod login;
mod maintenance;
mod mcp;
mod mcp_clients;
mod oauth;
pub mod ops;
mod orphan_sweep;
mod out;
mod private;
mod pseudonyms;
pub mod random;
pub mod rate_limit;
mod removals;
mod retention;
mod sanitize;
pub mod saved_searches;
pub mod search;
pub mod server;
mod services;
mod transfer;
mod view;
mod when;
