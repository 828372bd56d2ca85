//! Ids as names of files and of places in pages.

use std::fmt::Write as _;

/// Returns an injective name of ASCII letters, digits, `-` and `_`: other bytes of an id are written
/// as `_` and two hexadecimal digits.
pub(crate) fn escaped(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "_{byte:02x}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_differ_as_ids_do() {
        assert_eq!(escaped("468789577898262530"), "468789577898262530");
        assert_eq!(escaped("import:ab\""), "import_3aab_22");
        assert_ne!(escaped("a b"), escaped("a_20b"));
    }
}
