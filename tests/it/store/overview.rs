//! Figures of many channels at once.

use chatkeep_core::plan::Plan;
use chatkeep_store::{BackupState, ChannelChange};

use super::{Fixture, at, on_both, picture_by, said};

on_both!(each_channel_has_its_own_figures);

fn picture(channel: &str, id: &str, time: i64) -> ChannelChange {
    picture_by("U1", channel, id, time)
}

async fn each_channel_has_its_own_figures(fixture: Fixture) {
    for (channel, user) in [("C1", "U1"), ("C2", "U2"), ("C3", "U3"), ("C4", "U1")] {
        fixture.group(channel, &[user]).await;
    }
    for (channel, user) in [("C1", "U1"), ("C2", "U2"), ("C4", "U1")] {
        fixture.subscribe(channel, user, 5).await;
    }
    let messages = [
        said("C1", "old", 10, "first"),
        picture("C1", "lost", 20),
        picture("C1", "lost since", 40),
        said("C1", "new", 41, "last"),
        picture("C1", "here", 40),
        said("C2", "only", 30, "alone"),
    ];
    fixture.keep(&messages, 50).await;
    let lost = "UPDATE media SET status = 'failed' WHERE message_id LIKE 'lost%'";
    fixture.run(lost).await;
    fixture.preload("C2", "U2", Plan::Free.quota()).await;

    let channels = ["C1", "C2", "C3"].map(Into::into);
    let newest = fixture.store.messages().newest_messages(&channels).await.unwrap();
    let newest = |channel: &str| newest.get(channel).map(|message| message.id.as_str());
    assert_eq!(["C1", "C2", "C3", "C4"].map(newest), [Some("new"), Some("only"), None, None]);
    let recent = fixture.store.messages().recent_messages(&channels, None, 2).await.unwrap();
    let ids = |channel: &str| -> Vec<_> {
        let messages = recent.get(channel).into_iter().flatten();
        messages.map(|message| message.id.as_str()).collect()
    };
    assert_eq!(
        (ids("C1"), ids("C2"), ids("C3")),
        (vec!["new", "lost since"], vec!["only"], vec![])
    );
    let recent =
        fixture.store.messages().recent_messages(&channels, Some(at(41)), 9).await.unwrap();
    assert_eq!((recent.len(), recent["C1"].len()), (1, 1), "none from before");
    let lost = fixture.store.media().lost_media(&channels, at(30)).await.unwrap();
    assert_eq!((lost.len(), lost.get("C1")), (1, Some(&1)));
    let states = fixture.store.accounts().backup_states(&channels).await.unwrap();
    let state = |channel: &str| states.get(channel).copied();
    let expected =
        [Some(BackupState::Running), Some(BackupState::Paused), Some(BackupState::Off), None];
    assert_eq!(["C1", "C2", "C3", "C4"].map(state), expected);
}
