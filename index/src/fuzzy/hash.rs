//! A hasher for keys that are hashes already, and for characters.

use std::hash::{BuildHasherDefault, Hasher};

/// Hasher of maps whose keys are characters or hashes of features.
pub(crate) type Hashed = BuildHasherDefault<Identity>;

/// A hasher that uses the key as its hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    /// Fibonacci hashing, for characters.
    fn write_u32(&mut self, key: u32) {
        self.0 = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}
