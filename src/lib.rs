//! Chatkeep: backs up chat groups, makes them searchable, and replies by rules.
//!
//! The program, on the crates in `src/`, which have its use cases and most of its surfaces: [`app`]
//! assembles a process and mounts its surfaces. [`cli`] is the command line, `login` is sign-in
//! with a browser, `oauth` the authorization server for MCP clients, [`ops`] health and metrics,
//! [`demo`] the demonstration. `private` protects files from other users of the machine.

#![warn(clippy::print_stdout, clippy::print_stderr)]
#![expect(missing_docs, reason = "the binary's own parts; the libraries are documented in full")]

pub mod app;
pub mod cli;
pub mod demo;
mod login;
mod oauth;
pub mod ops;
mod private;
