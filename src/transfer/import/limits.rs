//! Limits on what an import reads, so that no file that somebody sends can fill memory or disk:
//! archives that expand to many times their size, above all.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::TransferError;

/// Entries of an archive, at most.
const ENTRIES: usize = 1_000_000;
/// Bytes that an archive may expand to, at most: more than the largest plan's quota.
const EXPANDED: u64 = 1 << 40;
/// How many times its own size an archive may expand to, at most. Chats come to 5 to 20 times,
/// archives made to fill disks to 1,000 times and more.
const RATIO: u64 = 200;
/// What any archive may expand to, however small it is.
const FREE: u64 = 64 * 1_024 * 1_024;
/// Bytes of a text exported by the LINE app, at most. It is read twice, and what names it may hold
/// is kept in memory; a chat of ten years has a few dozen megabytes.
pub(super) const LINE_TEXT: u64 = 512 * 1_024 * 1_024;

/// What is left of what an archive may expand to; shared by all of its entries.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    left: Arc<AtomicU64>,
    whole: u64,
}

/// An archive expands to more than it may.
#[derive(Debug, thiserror::Error)]
#[error("it expands to more than {0} bytes, far more than any export does for its size")]
struct Exhausted(u64);

/// Reads within a [`Budget`].
pub(super) struct Bounded<R> {
    input: R,
    budget: Budget,
}

impl Budget {
    /// For an archive of that many bytes.
    pub(super) fn of_archive(bytes: u64) -> Self {
        Self::new(bytes.saturating_mul(RATIO).clamp(FREE, EXPANDED))
    }

    fn new(whole: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(whole)), whole }
    }

    /// Refuses an archive by what it says of itself: its entries, and the bytes that they expand to
    /// together. Nothing is believed that it says too little of: [`Bounded`] counts.
    pub(super) fn check(
        &self,
        path: &Path,
        entries: usize,
        declared: Option<u128>,
    ) -> Result<(), TransferError> {
        let refused = |why: String| Err(TransferError::TooLarge { path: path.to_owned(), why });
        if entries > ENTRIES {
            return refused(format!("it has {entries} entries; at most {ENTRIES} are read"));
        }
        if declared.is_some_and(|bytes| bytes > u128::from(self.whole)) {
            return refused(Exhausted(self.whole).to_string());
        }
        Ok(())
    }

    /// Reads `input` within what is left.
    pub(super) fn bounded<R>(&self, input: R) -> Bounded<R> {
        Bounded { input, budget: self.clone() }
    }

    fn spend(&self, bytes: u64) -> io::Result<()> {
        let spent = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        spent.map(drop).map_err(|_| io::Error::other(Exhausted(self.whole)))
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.budget.spend(length as u64)?;
        Ok(length)
    }
}

/// Refuses a text of the LINE app that is too large.
pub(super) fn check_line_text(path: &Path, bytes: u64) -> Result<(), TransferError> {
    if bytes <= LINE_TEXT {
        return Ok(());
    }
    let why = format!("texts of the LINE app are read up to {LINE_TEXT} bytes, and it has {bytes}");
    Err(TransferError::TooLarge { path: path.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_share_what_is_left() {
        let budget = Budget::new(10);
        let read = |bytes: usize| {
            budget.bounded(io::repeat(b'x').take(bytes as u64)).read_to_end(&mut Vec::new())
        };
        assert_eq!(read(6).unwrap(), 6);
        assert_eq!(read(4).unwrap(), 4);
        let error = read(1).unwrap_err();
        assert!(error.to_string().contains("more than 10 bytes"), "{error}");
    }

    #[test]
    fn what_an_archive_says_of_itself_is_looked_at_first() {
        let path = Path::new("a.zip");
        let small = Budget::of_archive(1_000);
        assert_eq!(small.whole, FREE);
        assert_eq!(Budget::of_archive(1 << 20).whole, 200 << 20);
        assert_eq!(Budget::of_archive(1 << 50).whole, EXPANDED);
        assert!(small.check(path, ENTRIES, Some(FREE.into())).is_ok());
        assert!(small.check(path, 1, None).is_ok());
        for (entries, declared) in [(ENTRIES + 1, 0), (1, u128::from(FREE) + 1)] {
            let refused = small.check(path, entries, Some(declared)).unwrap_err();
            assert!(refused.to_string().contains("a.zip"), "{refused}");
        }
        assert!(check_line_text(path, LINE_TEXT).is_ok());
        let refused = check_line_text(path, LINE_TEXT + 1).unwrap_err().to_string();
        assert!(refused.contains("536870912 bytes"), "{refused}");
    }
}
