//! SHA-256 of several parts.

use sha2::{Digest as _, Sha256};

/// Returns the hash of parts, each after its length, so that none runs into the next.
pub fn of_parts<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_tells_where_a_part_ends() {
        assert_ne!(of_parts(["ab", "c"]), of_parts(["a", "bc"]));
        assert_ne!(of_parts(["a", ""]), of_parts(["a"]));
    }

    /// Such hashes are stored, and tokens are made of them.
    #[test]
    fn a_hash_never_changes() {
        let known = "601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f";
        assert_eq!(hex::encode(of_parts(["ab", "c"])), known);
    }
}
