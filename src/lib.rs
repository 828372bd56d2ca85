//! Chatkeep: keeps what chat groups say, and answers them.
//!
//! The binary's parts: [`app`] puts a process together, [`ingress`] takes webhooks, [`api`] is the
//! REST surface, `view` the form in which things are shown, [`ops`] health and metrics, [`cli`] the command line, [`demo`] the demonstration
//! with its LINE emulator.

#![expect(missing_docs, reason = "the binary's own parts; the libraries are documented in full")]

pub mod api;
pub mod app;
pub mod cli;
pub mod demo;
pub mod ingress;
pub mod ops;
mod transfer;
mod view;
