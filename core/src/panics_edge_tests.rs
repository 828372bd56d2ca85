//! Tests of panics within panics, of payloads that are no text, and of what is quoted.

use proptest::prelude::*;

use super::*;

#[test]
fn the_innermost_catch_gets_the_panic() {
    let outer = catch_sync("outer", || {
        let inner = catch_sync("inner", || "x".parse::<u32>().unwrap());
        (inner.is_err(), CATCHING.get())
    });
    assert_eq!(outer, Ok((true, 1)));
    assert_eq!(CATCHING.get(), 0);
    let again = catch_sync("outer", || catch_sync("inner", || 5).map(|five| five + 1));
    assert_eq!(again, Ok(Ok(6)));
}

#[test]
fn a_payload_that_is_no_text_has_no_message() {
    let panicked = catch_sync::<()>("test", || std::panic::panic_any(5_u8)).unwrap_err();
    assert_eq!(panicked.message, "no message");
    assert_eq!(panicked.to_string(), "it panicked: no message");
    let text = catch_sync::<()>("test", || std::panic::panic_any("plain".to_owned()));
    assert_eq!(text.unwrap_err().message, "plain");
}

#[tokio::test]
async fn work_on_a_named_runtime_ends_alone_too() {
    let runtime = Handle::current();
    assert_eq!(spawn_on(&runtime, "test", async { 5 }).await.unwrap(), Ok(5));
    let broken = spawn_on(&runtime, "test", async {
        tokio::task::yield_now().await;
        "x".parse::<u32>().unwrap()
    });
    assert!(broken.await.unwrap().is_err());
    assert_eq!(CATCHING.get(), 0, "the thread that polled it catches nothing any more");
}

#[test]
fn a_long_message_ends_between_letters() {
    assert_eq!(without_quotes(&"早".repeat(400)), "早".repeat(MESSAGE));
    assert_eq!(without_quotes(""), "");
    // A quotation that never ends is cut off where it begins.
    assert_eq!(without_quotes("before `after"), "before `");
    assert_eq!(without_quotes("a `b` c \"d\" e"), "a `…` c \"…\" e");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_quoted_is_never_in_the_message(
        before in "[a-m ]{0,40}",
        secret in "[n-z群\"`\\\\]{1,400}",
        after in "[a-m ]{0,40}",
        mark in prop::sample::select(vec!['"', '`']),
    ) {
        let message = without_quotes(&format!("{before}{mark}{secret}{mark}{after}"));
        prop_assert_eq!(message, format!("{before}{mark}…{mark}{after}"));
    }

    #[test]
    fn any_message_is_short_and_hides_what_is_between_its_first_marks(text in ".{0,400}") {
        let message = without_quotes(&text);
        prop_assert!(message.chars().count() <= MESSAGE);
        let start = |text: &str| text.chars().take(MESSAGE).collect::<String>();
        if let Some(first) = text.find(['"', '`']) {
            // Everything up to the first mark is shown, as far as there is room for it.
            prop_assert!(message.starts_with(&start(&text[..=first])));
        } else {
            prop_assert_eq!(message, start(&text));
        }
    }
}
