//! The stages in one process: a SQLite file, the embedded bus, a clock that is moved by hand, and
//! the emulated LINE over loopback HTTP. No process is started, and no time is waited for.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "tests join what they spawn")]

mod assistant;
mod backup;
mod bench;
mod dead_letters;
mod faults;
mod gate;
mod media;
mod members;
mod notices;
mod notifier;
mod opt_outs;
mod replica;
mod runner;
#[path = "../../../tests/support/sink.rs"]
#[expect(dead_code, reason = "some responses are for the program's tests")]
mod sink;
mod unknown_events;
#[path = "../../../tests/support/webhooks.rs"]
mod webhooks;
