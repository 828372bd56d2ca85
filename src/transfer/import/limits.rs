//! Limits of an import, so that no file that somebody sends can exhaust memory or disk: above all
//! archives that expand to many times their size.

use std::error::Error;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::TransferError;

/// Maximum number of entries in an archive: a million files with their previews.
const ENTRIES: usize = 2_000_000;
/// Maximum expanded size of an archive in bytes: more than the largest plan's quota.
const EXPANDED: u64 = 1 << 40;
/// Maximum ratio of an archive's expanded size to its own. Chats reach 5 to 20, decompression bombs
/// 1,000 and more.
const RATIO: u64 = 200;
/// Expanded size in bytes that is allowed for any archive, however small.
const FREE: u64 = 64 * 1_024 * 1_024;
/// Maximum size of a text exported by the LINE app in bytes. It is read twice, and its candidates
/// for names are held in memory; a chat of ten years has a few dozen megabytes.
pub(super) const LINE_TEXT: u64 = 512 * 1_024 * 1_024;

/// Remaining expanded size of an archive; shared by all of its entries.
#[derive(Clone, Debug)]
pub(super) struct ExpansionBudget {
    left: Arc<AtomicU64>,
    whole: u64,
}

/// Error of an archive that expands to more than its limit.
#[derive(Debug, thiserror::Error)]
#[error("it expands to more than {0} bytes, which is implausible for an export of its size")]
struct Exhausted(u64);

/// Reader within a [`ExpansionBudget`].
pub(super) struct Bounded<R> {
    input: R,
    budget: ExpansionBudget,
}

impl ExpansionBudget {
    /// Creates the budget for an archive of that many bytes.
    pub(super) fn of_archive(bytes: u64) -> Self {
        Self::new(bytes.saturating_mul(RATIO).clamp(FREE, EXPANDED))
    }

    fn new(whole: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(whole)), whole }
    }

    /// Rejects an archive by its directory: the number of entries, and their declared sizes
    /// together. A directory that declares too little is no way around it: [`Bounded`] counts.
    pub(super) fn check(
        &self,
        path: &Path,
        entries: usize,
        declared: Option<u128>,
    ) -> Result<(), TransferError> {
        let refused = |why: String| Err(TransferError::TooLarge { path: path.to_owned(), why });
        if entries > ENTRIES {
            return refused(format!("it has {entries} entries; at most {ENTRIES} are allowed"));
        }
        if declared.is_some_and(|bytes| bytes > u128::from(self.whole)) {
            return refused(Exhausted(self.whole).to_string());
        }
        Ok(())
    }

    /// Limits `input` to the rest of the budget.
    pub(super) fn bounded<R>(&self, input: R) -> Bounded<R> {
        Bounded { input, budget: self.clone() }
    }

    /// Returns true if an error is that of a budget that is used up.
    pub(super) fn is_exhausted(error: &(dyn Error + 'static)) -> bool {
        let read = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        matches!(read, Some(cause) if cause.is::<Exhausted>())
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

/// Rejects a text of the LINE app that is too large.
pub(super) fn check_line_text(path: &Path, bytes: u64) -> Result<(), TransferError> {
    if bytes <= LINE_TEXT {
        return Ok(());
    }
    let why =
        format!("texts of the LINE app may have at most {LINE_TEXT} bytes, and it has {bytes}");
    Err(TransferError::TooLarge { path: path.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_share_what_is_left() {
        let budget = ExpansionBudget::new(10);
        let read = |bytes: usize| {
            budget.bounded(io::repeat(b'x').take(bytes as u64)).read_to_end(&mut Vec::new())
        };
        assert_eq!(read(6).unwrap(), 6);
        assert_eq!(read(4).unwrap(), 4);
        let error = read(1).unwrap_err();
        assert!(error.to_string().contains("more than 10 bytes"), "{error}");
        assert!(ExpansionBudget::is_exhausted(&error));
        assert!(!ExpansionBudget::is_exhausted(&io::Error::other("invalid checksum")));
    }

    #[test]
    fn what_an_archive_says_of_itself_is_looked_at_first() {
        let path = Path::new("a.zip");
        let small = ExpansionBudget::of_archive(1_000);
        assert_eq!(small.whole, FREE);
        assert_eq!(ExpansionBudget::of_archive(1 << 20).whole, 200 << 20);
        assert_eq!(ExpansionBudget::of_archive(1 << 50).whole, EXPANDED);
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
