//! Lengths of texts: in characters of their normalization form C, in which people count.

use icu_normalizer::ComposingNormalizerBorrowed;

/// Bytes that may become one character in NFC: of four characters before, with four bytes each.
const MOST_BYTES: usize = 16;

/// Returns the length of a text in characters (Unicode scalar values after NFC); `None` beyond
/// `max`.
pub fn length_up_to(text: &str, max: usize) -> Option<usize> {
    // Far too much is not normalized first.
    if text.len() > max.saturating_mul(MOST_BYTES) {
        return None;
    }
    let length = ComposingNormalizerBorrowed::new_nfc().normalize(text).chars().count();
    (length <= max).then_some(length)
}

/// Returns true if a text is longer than `max` characters, counted as by [`length_up_to`].
pub fn is_longer(text: &str, max: usize) -> bool {
    length_up_to(text, max).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_count_as_they_are_composed() {
        // Four characters become one.
        let composed = "\u{3b1}\u{313}\u{300}\u{345}";
        assert_eq!(length_up_to(&composed.repeat(10), 10), Some(10));
        assert!(!is_longer(&composed.repeat(10), 10) && is_longer(&composed.repeat(11), 10));
        assert!(!is_longer(&"\u{1f600}".repeat(10), 10));
        assert!(is_longer(&"x".repeat(1_000_000), 10));
    }
}
