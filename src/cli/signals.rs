//! Signals of a process: SIGTERM and Ctrl-C stop it, SIGHUP has it read its secrets again, or stops
//! it when its terminal is gone. A process that was started to ignore SIGHUP, as by nohup, is never
//! stopped by it.

use std::fs::File;
use std::sync::Arc;

use chatkeep_core::panics;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Controlling terminal of the process.
const TERMINAL: &str = "/dev/tty";

/// Returns a token that SIGTERM, Ctrl-C or SIGHUP cancels; a second SIGTERM or Ctrl-C ends the
/// process at once.
///
/// # Errors
/// Returns an error if the signals cannot be watched.
pub(crate) fn on_signal() -> std::io::Result<CancellationToken> {
    watch(None)
}

/// Returns the same token for a process that reads its secrets again on SIGHUP, of which `reload`
/// is notified, unless its terminal is gone. Started to outlive its terminal, it also reads them then.
///
/// # Errors
/// Returns an error if the signals cannot be watched.
pub(super) fn on_signal_or_reload(reload: Arc<Notify>) -> std::io::Result<CancellationToken> {
    watch(Some(reload))
}

fn watch(reload: Option<Arc<Notify>>) -> std::io::Result<CancellationToken> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // Before a handler takes its place. The kernel sends the same signal when the terminal closes:
    // a process started by nohup outlives that, and reading its secrets once more is harmless.
    let outlives_terminal = ignores_hangup();
    let is_heeded = reload.is_some() || !outlives_terminal;
    let mut hangup = is_heeded.then(|| signal(SignalKind::hangup())).transpose()?;
    let had_terminal = has_terminal();
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    panics::spawn("signals", async move {
        loop {
            let name = tokio::select! {
                _ = term.recv() => "SIGTERM",
                _ = int.recv() => "SIGINT",
                () = next(hangup.as_mut()) => "SIGHUP",
            };
            if name == "SIGHUP"
                && let Some(reload) = &reload
                && (outlives_terminal || has_terminal() || !had_terminal)
            {
                reload.notify_one();
            } else if !cancelled.is_cancelled() {
                info!(signal = name, "stopping: draining");
                cancelled.cancel();
            } else if name != "SIGHUP" {
                // A terminal that goes away sends its signal more than once.
                warn!("second signal: stopping at once");
                std::process::exit(130);
            }
        }
    });
    Ok(stop)
}

async fn next(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Returns whether the process has a terminal, which cannot be opened any more once it is gone.
fn has_terminal() -> bool {
    File::open(TERMINAL).is_ok()
}

/// Returns whether the process was started so that it outlives its terminal.
fn ignores_hangup() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & HANGUP != 0)
}
