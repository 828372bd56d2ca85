//! Cursor of a periodic job over rows in the order of their keys, a page in each run.

use std::sync::{Mutex, PoisonError};

/// Last key of the page before: the next run goes on there, so that those about whom the platform
/// refuses to tell are in nobody's way.
#[derive(Debug)]
pub(super) struct Cursor<K> {
    /// Maximum number of rows of a page.
    page: u32,
    last: Mutex<Option<K>>,
}

impl<K: Clone> Cursor<K> {
    pub(super) const fn new(page: u32) -> Self {
        Self { page, last: Mutex::new(None) }
    }

    pub(super) fn get(&self) -> Option<K> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves to the end of a page; to the beginning after the last one.
    pub(super) fn pass<T>(&self, page: &[T], key: impl Fn(&T) -> K) {
        let last = page.last().filter(|_| page.len() == self.page as usize);
        let last = last.map(key);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = last;
    }
}
