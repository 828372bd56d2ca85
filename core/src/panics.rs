//! Panics of parts of the process: caught, counted as `chatkeep_panics_total{part}`, and logged
//! once.
//!
//! A panic is a defect, never a way to report a failure. It ends the piece of work that it happened
//! in and nothing else: the work's caller gets [`Panicked`] and decides what that means. What runs
//! as long as the process is restarted by the supervisor of the workers crate.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::error;

use crate::metric;

/// Maximum length of a panic's message in the log, in characters.
const MESSAGE: usize = 300;

thread_local! {
    /// Number of catching calls that the thread is in.
    static CATCHING: Cell<u32> = const { Cell::new(0) };
    /// Origin of the thread's last panic that is being caught.
    static ORIGIN: RefCell<Option<Origin>> = const { RefCell::new(None) };
}

/// Place of a panic in the source, and its stack where `RUST_BACKTRACE` asks for it.
#[derive(Debug)]
struct Origin {
    location: String,
    backtrace: Backtrace,
}

/// Work that ended by a panic, which is counted and logged already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// Message of the panic without what it quotes, which may be a text of a user.
    pub message: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it panicked: {}", self.message)
    }
}

impl std::error::Error for Panicked {}

/// Leaves the report of panics that are caught to [`catch`] and [`catch_sync`]: the standard
/// library would write their whole message to standard error, quoted texts included. To be called
/// once, when the process starts.
pub fn install_hook() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if CATCHING.get() == 0 {
            return usual(info);
        }
        let location = info.location().map(ToString::to_string).unwrap_or_default();
        let origin = Origin { location, backtrace: Backtrace::capture() };
        ORIGIN.set(Some(origin));
    }));
}

/// Runs `work` of a part to its end.
///
/// # Errors
/// [`Panicked`] if it panicked; it is counted and logged.
pub async fn catch<T>(part: &str, work: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut work = pin!(work);
    poll_fn(|context| match catch_sync(part, || work.as_mut().poll(context)) {
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panicked) => Poll::Ready(Err(panicked)),
    })
    .await
}

/// Calls `work` of a part.
///
/// # Errors
/// [`Panicked`] if it panicked; it is counted and logged.
pub fn catch_sync<T>(part: &str, work: impl FnOnce() -> T) -> Result<T, Panicked> {
    CATCHING.set(CATCHING.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(CATCHING.get() - 1);
    done.map_err(|payload| report(part, &*payload))
}

/// Spawns a piece of work that may end by itself; nobody has to wait for it. In a task of its own,
/// a panic would be seen by nobody.
#[expect(clippy::disallowed_methods, reason = "the one place for work that ends by itself")]
pub fn spawn<T: Send + 'static>(
    part: &'static str,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Result<T, Panicked>> {
    tokio::spawn(catch(part, boxed(work)))
}

/// Does the same on `runtime`, for a destructor.
#[expect(clippy::disallowed_methods, reason = "the one place for work that ends by itself")]
pub fn spawn_on<T: Send + 'static>(
    runtime: &Handle,
    part: &'static str,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Result<T, Panicked>> {
    runtime.spawn(catch(part, boxed(work)))
}

/// Boxes work that gets a task of its own. The code of a task is compiled for each type of future,
/// and takes longer to compile than most work.
fn boxed<'a, T>(work: impl Future<Output = T> + Send + 'a) -> BoxFuture<'a, T> {
    Box::pin(work)
}

fn report(part: &str, payload: &(dyn Any + Send)) -> Panicked {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = without_quotes(text.unwrap_or("no message"));
    let origin = ORIGIN.take();
    let at = origin.as_ref().map(|origin| origin.location.as_str());
    let stack = origin.as_ref().map(|origin| &origin.backtrace);
    let stack = stack.filter(|stack| stack.status() == BacktraceStatus::Captured);
    metric::PANICS.add([part.to_owned().into()], 1);
    error!(part, at, message, stack = stack.map(tracing::field::display), "a part panicked");
    Panicked { message }
}

/// Returns the start of a message without what it quotes: panics of string operations quote the
/// whole string, and failed `unwrap`s the error with its values.
fn without_quotes(message: &str) -> String {
    let mut text = String::new();
    let mut chars = message.chars();
    while let Some(char) = chars.next() {
        text.push(char);
        if matches!(char, '`' | '"') {
            // The last one ends the quotation: what is quoted may hold quotation marks itself.
            let rest = chars.as_str();
            let Some(end) = rest.rfind(char) else { break };
            text.push('…');
            text.push(char);
            chars = rest[end + char.len_utf8()..].chars();
        }
    }
    text.chars().take(MESSAGE).collect()
}

#[cfg(test)]
#[path = "panics_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_of_the_work_alone() {
        assert_eq!(catch("test", async { 5 }).await, Ok(5));
        let panicked = catch("test", async {
            tokio::task::yield_now().await;
            assert_eq!(CATCHING.get(), 0, "it broke");
        });
        let message = panicked.await.unwrap_err().message;
        assert!(message.contains("it broke"), "{message}");
        assert_eq!(CATCHING.get(), 0);
        assert!(spawn("test", async { panic!("alone") }).await.unwrap().is_err());
    }

    #[test]
    fn texts_of_users_are_not_repeated() {
        let cut = catch_sync("test", || {
            let text = String::from("geheim \" öffentlich `x` ende");
            text[..10].to_owned()
        });
        let message = cut.unwrap_err().message;
        assert!(!message.contains("geheim") && !message.contains("ende"), "{message}");
        let failed: Result<i32, _> = "a \"secret\" text".parse::<i32>().map_err(|_| "\"secret\"");
        let failed = catch_sync("test", || failed.unwrap());
        let message = failed.unwrap_err().message;
        assert!(message.starts_with("called") && !message.contains("secret"), "{message}");
        assert_eq!(without_quotes("in \"open").as_str(), "in \"");
        assert_eq!(without_quotes("plain"), "plain");
    }
}
