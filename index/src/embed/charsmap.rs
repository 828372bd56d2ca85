//! The `SentencePiece` normalizer: replaces characters by a compiled map, joins white space, and
//! marks the beginning of every word with U+2581.
//!
//! A compiled map is the length of a double array trie in bytes (32 bits, little-endian), the trie,
//! and the replacements, each ended by a zero byte. The keys of the trie are the replaced texts,
//! its values the offsets of the replacements.

use tantivy::directory::OwnedBytes;
use yada::DoubleArray;

use super::ModelError;

/// Character that stands for a space in pieces.
const SPACE: &str = "\u{2581}";

/// Name of the part in errors.
const PART: &str = "charsmap";

/// A compiled map of characters.
pub(super) struct Charsmap {
    trie: DoubleArray<OwnedBytes>,
    replacements: OwnedBytes,
}

impl Charsmap {
    /// Parses the map in `bytes`.
    pub(super) fn new(bytes: &OwnedBytes) -> Result<Self, ModelError> {
        let short = || ModelError::damaged(PART, "it is too short");
        let length =
            bytes.first_chunk().map(|length| u32::from_le_bytes(*length)).ok_or_else(short)?;
        let end = usize::try_from(length).ok().and_then(|length| length.checked_add(4));
        let end = end.filter(|&end| end <= bytes.len()).ok_or_else(short)?;
        let trie = DoubleArray::new(bytes.slice(4..end))
            .map_err(|_| ModelError::damaged(PART, "it has no valid trie"))?;
        Ok(Self { trie, replacements: bytes.slice(end..bytes.len()) })
    }

    /// Returns the normalized form of `text`: empty, or words that each begin with U+2581.
    pub(super) fn normalize(&self, text: &str) -> String {
        let mut normal = String::with_capacity(text.len() + text.len() / 4 + SPACE.len());
        let mut rest = text;
        let mut after_space = true;
        while let Some((replacement, length)) = self.step(rest) {
            rest = &rest[length..];
            let kept = if after_space { replacement.trim_start_matches(' ') } else { replacement };
            if kept.is_empty() {
                continue;
            }
            if normal.is_empty() {
                normal.push_str(SPACE);
            }
            push_marked(&mut normal, kept);
            after_space = kept.ends_with(' ');
        }
        normal.truncate(normal.trim_end_matches(SPACE).len());
        normal
    }

    /// Returns the replacement of a prefix of `text`, and the length of that prefix in bytes.
    fn step<'a>(&'a self, text: &'a str) -> Option<(&'a str, usize)> {
        let first = text.chars().next()?.len_utf8();
        let longest = self.trie.common_prefix_search(text).last();
        let replaced = longest.and_then(|(value, length)| {
            Some((self.replacement(value)?, length)).filter(|_| text.is_char_boundary(length))
        });
        Some(replaced.unwrap_or((&text[..first], first)))
    }

    /// Returns the replacement at offset `place`.
    fn replacement(&self, place: u32) -> Option<&str> {
        let rest = self.replacements.get(usize::try_from(place).ok()?..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        str::from_utf8(&rest[..end]).ok()
    }
}

/// Appends `text` with its spaces marked.
fn push_marked(normal: &mut String, text: &str) {
    for c in text.chars() {
        if c == ' ' {
            normal.push_str(SPACE);
        } else {
            normal.push(c);
        }
    }
}
