//! The test bench: real servers, a faulty network and the built program, each owned by the test
//! that starts it and gone when the test run is, however it ends.
//!
//! `cargo test` runs every test of this binary in one process on many threads. Statics are never
//! dropped, so what is shared is cleaned up from outside: servers get a signal from the kernel
//! when this process dies ([`launch`]), folders are removed by a guard process ([`scratch`]).

pub(crate) mod browser;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod launch;
pub(crate) mod nats;
pub(crate) mod numbers;
pub(crate) mod oidc;
pub(crate) mod otlp;
pub(crate) mod ports;
pub(crate) mod postgres;
pub(crate) mod process;
pub(crate) mod prometheus;
pub(crate) mod proxy;
pub(crate) mod s3;
pub(crate) mod scratch;
pub(crate) mod small_disk;
pub(crate) mod sqlite;
pub(crate) mod wait;
