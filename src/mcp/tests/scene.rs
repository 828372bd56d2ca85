//! A group in which everything occurs that answers tell of, and another channel.

use chatkeep_core::message::{Content, MediaInfo, MessageChange, Sticker};
use chatkeep_store::ChannelChange;

use super::{ANN, BO, GROUP, ToolBench, edited, quoting, said, sent, time, unsent};

/// The other channel, of Ann and somebody who is not in the group.
pub(super) const OTHER: &str = "Cother000000000000000000000000000";
pub(super) const CAT: &str = "Ucat00000000000000000000000000000";

/// Text that is longer than what is shown of one among others.
pub(super) fn long_text() -> String {
    format!("long {}", "日本語の文章。".repeat(100))
}

/// Returns the messages of the group and the other channel, all of them of the last days.
fn messages() -> Vec<ChannelChange> {
    let picture = Content::Image(MediaInfo::default());
    let name = Some("規約 \"v2\".pdf".to_owned());
    let document = Content::File(MediaInfo { file_name: name, ..MediaInfo::default() });
    let place = Content::Location {
        title: Some("Harbour".to_owned()),
        address: None,
        latitude: 25.04,
        longitude: 121.5,
    };
    let keywords = vec!["bicycle".to_owned(), "ride".to_owned()];
    let sticker = Content::Sticker(Sticker { keywords, ..Sticker::default() });
    let mut bot = said("b1", "Ubot", "2026-05-01T08:06:00Z", "lunch is at noon");
    if let MessageChange::Received(received) = &mut bot.change {
        received.is_bot = true;
    }
    let other = |id: &str, minute: &str, words: &str| {
        let sent_at = time(&format!("2026-05-02T01:{minute}:00Z"));
        sent((OTHER, id), CAT, sent_at, &Content::text(words))
    };
    vec![
        said("m1", ANN, "2026-05-01T08:00:00.789Z", "lunch at noon?\nor \"later\"…"),
        quoting(said("m2", BO, "2026-05-01T08:01:00Z", "yes, lunch"), "m1"),
        said("m3", ANN, "2026-05-01T08:02:00Z", "the first text of lunch"),
        said("m4", BO, "2026-05-01T08:03:00Z", "a wrong lunch"),
        said("m5", ANN, "2026-05-01T08:04:00Z", &long_text()),
        said(
            "m6",
            BO,
            "2026-05-01T08:05:00Z",
            "after lunch see https://maps.example/x, who drives?",
        ),
        bot,
        sent((GROUP, "f1"), ANN, time("2026-05-01T08:07:00Z"), &picture),
        sent((GROUP, "f2"), BO, time("2026-05-01T08:08:00Z"), &document),
        sent((GROUP, "f3"), BO, time("2026-05-01T08:09:00Z"), &place),
        sent((GROUP, "f4"), BO, time("2026-05-01T08:10:00Z"), &sticker),
        quoting(said("m7", ANN, "2026-05-01T16:30:00Z", "as m2 says"), "m2"),
        other("o1", "00", "שלום lunch"),
        other("o2", "01", "lunch 👩‍👩‍👧 again"),
        edited("m3", "2026-05-01T09:00:00Z", "the second text of lunch"),
        unsent("m4", "2026-05-01T10:00:00Z"),
    ]
}

/// Fills a bench.
pub(super) async fn fill(bench: &ToolBench) {
    bench.channel(OTHER, &[ANN, CAT]).await;
    for (id, name, zone) in [
        (GROUP, "Family \"A\" \u{1f3e0}", "Asia/Taipei"),
        (OTHER, "العائلة \u{202e}x", "America/New_York"),
    ] {
        bench.name_channel(id, name).await;
        bench.set_zone(id, zone).await;
    }
    for (id, name) in [(ANN, "Ann"), (BO, "Bo\n(the \"second\")"), (CAT, "猫\u{200b}さん")] {
        bench.name_person(id, name).await;
    }
    let (group, owner) = (GROUP.into(), ANN.into());
    let channels = bench.store.channels();
    channels.set_earlier_texts(&group, true, &owner, time("2026-04-01T00:00:00Z")).await.unwrap();
    let (before, after): (Vec<_>, Vec<_>) = messages()
        .into_iter()
        .partition(|message| matches!(message.change, MessageChange::Received(_)));
    bench.keep(&before).await;
    bench.keep(&after).await;
    bench.absent(GROUP, "2026-05-01T12:00:00Z", "2026-05-01T13:00:00Z").await;
}
