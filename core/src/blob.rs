//! Names of media files by their content.

use std::fmt;

/// A blob's name: the SHA-256 of its content in lower-case hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(String);

impl BlobId {
    /// Returns the name of the content with that SHA-256.
    pub fn from_digest(digest: &[u8; 32]) -> Self {
        Self(hex::encode(digest))
    }

    /// Parses a name; `None` if it is not 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == 64 && text.bytes().all(hex)).then(|| Self(text.to_owned()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_the_name_that_parses() {
        let id = BlobId::from_digest(&[0xa0; 32]);
        assert_eq!(id.as_str(), "a0".repeat(32));
        assert_eq!(BlobId::parse(id.as_str()), Some(id));
        assert_eq!(BlobId::parse(&"A0".repeat(32)), None);
        assert_eq!(BlobId::parse("a0"), None);
    }
}
