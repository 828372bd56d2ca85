//! Chatkeep: keeps what chat groups say, and answers them.
//!
//! The binary's parts: [`app`] puts a process together, [`ingress`] takes webhooks, [`api`] is the
//! REST surface, `login` the way in with a browser, `mcp` the surface for models, `oauth` the way
//! in for their programs, [`limit`] how much a caller may ask, [`server`] HTTP connections
//! and their bounds, `heavy` work apart from the runtime,
//! `out` the output of commands, `private` what keeps files from other users of the machine, [`finder`] search, [`doctor`] what
//! checks that records are true, `view` the form in which things are shown, `when` times that callers name, `teller` what is told
//! of what happened, `upkeep` what runs on the side,
//! `removals` what works on erasures and deletions, [`ops`] health and metrics, [`cli`] the command
//! line, [`demo`] the demonstration with its LINE emulator.

#![warn(clippy::print_stdout, clippy::print_stderr)]
#![expect(missing_docs, reason = "the binary's own parts; the libraries are documented in full")]

pub mod api;
pub mod app;
pub mod cli;
pub mod demo;
pub mod doctor;
pub mod finder;
mod heavy;
pub mod ingress;
pub mod limit;
mod login;
mod mcp;
mod oauth;
pub mod ops;
mod out;
mod private;
mod removals;
mod retention;
pub mod server;
mod sweep;
mod teller;
mod transfer;
mod upkeep;
mod view;
mod when;
