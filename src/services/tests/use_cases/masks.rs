//! Masks of readers: whom a reader of pseudonyms may come across.

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_view::pseudonyms::Mask;

use super::super::{GROUP, Group, OTHER, OWNER};
use super::{arrive, call, establish, leave, only};
use crate::masks::of_reader;

/// Returns the mask of the owner's key with these channels.
async fn mask(group: &Group, channels: Option<Vec<ChannelId>>) -> Mask {
    let pseudonyms = Some(PseudonymKey::new([9; 32]));
    let bounds = Bounds { channels, pseudonyms, ..Bounds::full() };
    of_reader(&group.store, &OWNER.into(), &bounds).await.unwrap()
}

/// Returns those of these people whom the reader may come across.
fn known<'a>(mask: &Mask, people: &[&'a str]) -> Vec<&'a str> {
    people.iter().copied().filter(|user| mask.knows(&UserId::from(*user))).collect()
}

#[tokio::test]
async fn a_reader_knows_the_people_of_their_channels_and_themselves() {
    let group = Group::new().await;
    establish(&group, "C2", &["U3", OWNER]).await;
    establish(&group, "C3", &["U4"]).await;
    establish(&group, "C4", &["U5", OWNER]).await;
    leave(&group, "C4", OWNER).await;
    leave(&group, "C2", "U3").await;
    let imported = "INSERT INTO imported_senders (channel_id, user_id) VALUES ('C2', 'U6')";
    group.sql(imported).await;
    let people = [OWNER, OTHER, "U3", "U4", "U5", "U6", "U7"];
    let all = mask(&group, None).await;
    // Also those who left and those of an import: their messages are there.
    assert_eq!(known(&all, &people), [OWNER, OTHER, "U3", "U6"]);
    let here = mask(&group, only(&[GROUP]).channels).await;
    assert_eq!(known(&here, &people), [OWNER, OTHER]);
    let foreign = mask(&group, only(&["C3"]).channels).await;
    assert_eq!(known(&foreign, &people), [OWNER], "a key gives access to nothing");
    let none = mask(&group, Some(Vec::new())).await;
    assert_eq!(known(&none, &people), [OWNER]);
}

#[tokio::test]
async fn a_mask_has_the_names_of_this_moment() {
    let group = Group::new().await;
    call(&group, &[(OWNER, "Xiomara"), (OTHER, "Yolanda")]).await;
    let none = mask(&group, Some(Vec::new())).await;
    let text = none.text("Xiomara and Yolanda".to_owned());
    assert!(!text.contains("Xiomara") && text.ends_with(" and Yolanda"), "{text}");
    let before = mask(&group, None).await;
    arrive(&group, GROUP, &["U8"]).await;
    call(&group, &[("U8", "Zenobia")]).await;
    let after = mask(&group, None).await;
    assert_eq!(known(&before, &["U8"]), [""; 0]);
    assert_eq!(known(&after, &["U8"]), ["U8"]);
    assert_eq!(before.text("Zenobia".to_owned()), "Zenobia");
    assert_ne!(after.text("Zenobia".to_owned()), "Zenobia");
}

#[tokio::test]
async fn who_sees_people_as_they_are_has_no_mask() {
    let group = Group::new().await;
    let plain = of_reader(&group.store, &OWNER.into(), &Bounds::full()).await.unwrap();
    assert!(!plain.is_on());
    assert_eq!(known(&plain, &["U7"]), ["U7"]);
}
