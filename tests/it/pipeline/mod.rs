//! The main path end to end: a group talks, the bot replies, every message is stored. Each test
//! runs on the embedded parts and on NATS with PostgreSQL.

pub(crate) mod conversation;
mod crash;
mod dead;
mod full;
mod media;
mod modes;
mod outage;
mod outage_log;
mod poison;
mod shuffle;
pub(crate) mod state_snapshot;

/// Creates one test per way to run of each function named.
macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::stack::Parts::Embedded).await;
            })*
        }
        mod servers {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::stack::Parts::Servers).await;
            })*
        }
    };
}
pub(crate) use on_both;
