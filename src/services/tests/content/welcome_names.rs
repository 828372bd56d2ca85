//! Welcome of people whose names cannot be seen, as the preview shows it.

use super::super::Group;

#[tokio::test]
async fn a_name_that_cannot_be_seen_is_none_as_in_the_welcome_that_is_sent() {
    let group = Group::new().await;
    let access = group.settings().await;
    // Names of such characters are popular, for they look like none.
    for unseen in ["\u{3164}", " ", "\u{200b}\u{2060}"] {
        let name = Some(unseen.to_owned());
        let shown = group.assistant.welcome_preview(&access, "Hi {displayName}!", name).await;
        assert_eq!(shown.unwrap(), "Hi friend!", "{unseen:?}");
    }
}
