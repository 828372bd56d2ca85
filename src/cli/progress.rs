//! Progress of a long command: a bar on a terminal, else a line every few seconds.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use chatkeep_transfer::out::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Interval between two lines where there is no terminal.
const EVERY: Duration = Duration::from_secs(5);

/// Progress display on standard error.
pub(super) struct ProgressReporter {
    /// Bar on a terminal.
    bar: Option<ProgressBar>,
    shown_at: Instant,
}

impl ProgressReporter {
    /// Creates a display towards `total`, where that is known; `form` is the bar's template.
    pub(super) fn new(total: Option<u64>, form: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template(form) {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, shown_at: Instant::now() }
    }

    /// Updates the position; `words` make the rest of the line.
    pub(super) fn at(&mut self, position: u64, words: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_position(position);
            bar.set_message(words());
        } else if self.shown_at.elapsed() >= EVERY {
            self.shown_at = Instant::now();
            note!("chatkeep: {}", words());
        }
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
