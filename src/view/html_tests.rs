//! Tests of escaped texts: what a browser reads is what was written.

use proptest::prelude::*;
use proptest::string::{RegexGeneratorStrategy, string_regex};

use super::*;

/// Returns texts with all that means something in a page, and what looks escaped already.
fn any_text() -> RegexGeneratorStrategy<String> {
    string_regex("(\\PC|[<>&\"'\n\t;#]|&lt;|&#39;|&amp;|\\]\\]>|<!--){0,20}").unwrap()
}

fn escaped(text: &str) -> String {
    let mut page = String::new();
    PageEscaper.write_escaped_str(&mut page, text).unwrap();
    page
}

proptest! {
    #[test]
    fn a_browser_reads_what_was_written(text in any_text()) {
        let page = escaped(&text);
        prop_assert!(!page.contains(['<', '>', '"', '\'']));
        let read = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'")]
            .into_iter()
            .fold(page, |page, (entity, c)| page.replace(entity, c));
        prop_assert_eq!(read.replace("&amp;", "&"), text);
    }

    #[test]
    fn no_character_is_more_than_itself(c in any::<char>()) {
        let page = escaped(&c.to_string());
        let is_kept = page == c.to_string();
        let is_entity = page.starts_with('&') && page.ends_with(';');
        let is_replaced = c.is_control() && (page == "\u{fffd}" || page.is_empty());
        prop_assert!(is_kept || is_entity || is_replaced, "{c:?} became {page:?}");
        // Escaping is of each character by itself.
        prop_assert_eq!(escaped(&format!("{c}{c}a")), format!("{page}{page}a"));
    }
}
