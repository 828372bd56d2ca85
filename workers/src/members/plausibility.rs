//! Plausibility of the platform's responses about many groups or people of one bot.

use tracing::warn;

/// Responses of the platform about groups or people of one bot.
pub(super) struct Responses<T> {
    /// Number of those that it knows.
    pub(super) known: usize,
    /// Those that it does not know.
    pub(super) gone: Vec<T>,
}

impl<T> Default for Responses<T> {
    fn default() -> Self {
        Self { known: 0, gone: Vec::new() }
    }
}

impl<T> Responses<T> {
    /// Returns those that are gone; nobody if the platform knows none of several: the access token may be
    /// that of another bot.
    pub(super) fn plausible(self, bot: &str) -> Vec<T> {
        if self.known > 0 || self.gone.len() < 2 {
            return self.gone;
        }
        warn!(
            bot,
            asked = self.gone.len(),
            "the platform knows none of the groups or people from which nothing came for a day: the \
             access token may be that of another bot"
        );
        Vec::new()
    }
}
