//! How far a long command is: a bar on a terminal, else a line every few seconds.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::out::note;

/// Time between two lines where there is no terminal.
const EVERY: Duration = Duration::from_secs(5);

/// Shows progress on standard error.
pub(super) struct Progress {
    /// On a terminal.
    bar: Option<ProgressBar>,
    told: Instant,
}

impl Progress {
    /// Towards `total`, where that is known. `form` says how the bar looks.
    pub(super) fn new(total: Option<u64>, form: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template(form) {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, told: Instant::now() }
    }

    /// It is at `position`; `words` say the rest.
    pub(super) fn at(&mut self, position: u64, words: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_position(position);
            bar.set_message(words());
        } else if self.told.elapsed() >= EVERY {
            self.told = Instant::now();
            note!("chatkeep: {}", words());
        }
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
