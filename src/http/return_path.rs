//! Paths to return to after a login, which stay inside of this service.

/// Maximum length of a path to return to.
const MAX_PATH: usize = 2000;

/// Returns true if a redirect to `path` stays on this service: `//host` and `/\host` lead
/// elsewhere, and browsers drop control characters before they parse.
pub fn is_local(path: &str) -> bool {
    let mut characters = path.chars();
    characters.next() == Some('/')
        && !matches!(characters.next(), Some('/' | '\\'))
        && path.len() <= MAX_PATH
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_service_are_local() {
        for path in ["/", "/console", "/a/b?c=d&e=%2F#f", "/x//y", "/%E6%97%A5"] {
            assert!(is_local(path), "{path}");
        }
        let foreign = ["", "x", "//evil.example", "/\\evil.example", "/\t/evil.example"];
        for path in foreign.into_iter().chain(["https://evil.example", "/a b", "/日", "/a\\b"]) {
            assert!(!is_local(path), "{path}");
        }
        assert!(!is_local(&format!("/{}", "a".repeat(2000))));
    }
}
