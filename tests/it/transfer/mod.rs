//! Exports and imports by the program itself, on both databases.

mod files;
mod home;
mod import;
mod line;
mod page;
mod round_trip;

/// The group that everything is about.
pub(crate) const GROUP: &str = "C0123456789abcdef0123456789abcdef";
/// Who subscribes to it.
pub(crate) const OWNER: &str = "U0123456789abcdef0123456789abcdef";

/// Runs a test on an empty home of each kind.
macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::stack::Parts::Embedded).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::stack::Parts::Servers).await;
            })*
        }
    };
}
use on_both;
