//! Waiting for a condition, the only kind of waiting in tests: no fixed sleeps.

use std::cell::RefCell;
use std::fmt::Debug;
use std::io::Write as _;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Timeout of conditions that come true. Only a test that fails waits for it, so it is long enough for
/// an unoptimised build beside many others on a slow machine.
pub(crate) const DEADLINE: Duration = Duration::from_mins(3);

/// Shortest poll interval: short beside any test.
const INTERVAL: Duration = Duration::from_millis(10);
/// Longest poll interval.
const MAX_INTERVAL: Duration = Duration::from_millis(200);
/// Pause after a poll, in times of what it took: polls do not take the processors from what they wait
/// for.
const PAUSE_FACTOR: u32 = 3;

/// Polls `condition` until it holds.
///
/// # Panics
/// Panics if it does not hold within `deadline`, with `what` and the line of the caller.
#[track_caller]
pub(crate) fn until<C>(what: &str, deadline: Duration, condition: C) -> impl Future<Output = ()>
where
    C: AsyncFnMut() -> bool,
{
    holds(Location::caller(), what, deadline, condition, String::new)
}

/// Polls `value` until it is `expected`.
///
/// # Panics
/// Panics as [`until`] does, and with the last value.
#[track_caller]
pub(crate) fn until_is<T, V>(
    what: &str,
    deadline: Duration,
    expected: T,
    mut value: V,
) -> impl Future<Output = ()>
where
    T: PartialEq + Debug,
    V: AsyncFnMut() -> T,
{
    let last = RefCell::new(String::new());
    let caller = Location::caller();
    async move {
        let condition = async || {
            let value = value().await;
            last.replace(format!(": it is {value:?}, and should be {expected:?}"));
            value == expected
        };
        holds(caller, what, deadline, condition, || last.borrow().clone()).await;
    }
}

async fn holds<C>(
    caller: &'static Location<'static>,
    what: &str,
    deadline: Duration,
    mut condition: C,
    last: impl Fn() -> String,
) where
    C: AsyncFnMut() -> bool,
{
    let start = Instant::now();
    let poll = async {
        loop {
            let begun = Instant::now();
            if condition().await {
                break;
            }
            let pause = begun.elapsed().saturating_mul(PAUSE_FACTOR);
            tokio::time::sleep(pause.clamp(INTERVAL, MAX_INTERVAL)).await;
        }
    };
    // The timeout also ends a condition which itself hangs.
    if tokio::time::timeout(deadline, poll).await.is_err() {
        let waited = start.elapsed();
        let failure = format!("{caller}: waited {waited:.1?} in vain for {what}{}", last());
        // Beside the name of the test, too, for logs of which only a part is left: what a panic
        // prints comes at the end of all tests.
        let _ = writeln!(std::io::stderr(), "{failure}");
        panic!("{failure}");
    }
}
