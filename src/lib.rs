//! Chatkeep: backs up chat groups, makes them searchable, and replies by rules.
//!
//! The binary's modules: [`app`] assembles a process, [`ingress`] receives webhooks, [`api`] is the
//! REST surface, `login` sign-in with a browser, `mcp` the surface for models, `oauth` the
//! authorization server for their clients, [`rate_limit`] rate limits, [`server`] HTTP connections and
//! their bounds, `heavy` CPU-bound work apart from the runtime, `out` the output of commands,
//! `private` protection of files from other users of the machine, [`search`] the search service,
//! [`doctor`] consistency checks and repairs, `view` the DTOs shared by all surfaces, `when` times
//! in requests, `event_renderer` the event renderer, `maintenance` periodic maintenance, `removals` the jobs of
//! erasures and deletions, [`ops`] health and metrics, [`cli`] the command line, [`demo`] the
//! demonstration with its LINE emulator.

#![warn(clippy::print_stdout, clippy::print_stderr)]
#![expect(missing_docs, reason = "the binary's own parts; the libraries are documented in full")]

pub mod api;
pub mod app;
pub mod cli;
mod decode;
pub mod demo;
pub mod doctor;
mod event_renderer;
mod heavy;
pub mod ingress;
mod login;
mod maintenance;
mod mcp;
mod oauth;
pub mod ops;
mod orphan_sweep;
mod out;
mod private;
pub mod random;
pub mod rate_limit;
mod removals;
mod retention;
pub mod search;
pub mod server;
mod services;
mod transfer;
mod view;
mod when;
