//! Requests for exports: how many messages they have, and whom they belong to.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_store::{EXPORTS_OF_PERSON, JobStatus};
use chatkeep_transfer::Format;
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use chatkeep_view::when::When;
use chrono::NaiveDate;
use chrono_tz::Tz;
use futures_util::TryStreamExt as _;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::conversation::{access, refusal, store, text, time, unsent};
use crate::access::{ChannelAccess, Member, ReadMessages};
use crate::export_jobs::ExportJobService;
use crate::exports::{ExportRequest, ExportService};
use crate::{Caller, ServiceError};

type Reader = ChannelAccess<Member, ReadMessages>;

/// Group with a message each six hours around the start of a leap day in Taipei.
struct Requests {
    group: Group,
    exports: ExportService,
    jobs: ExportJobService,
}

impl Requests {
    async fn new() -> Self {
        let group = Group::new().await;
        group.hands.set(time("2028-03-05T00:00:00Z"));
        let begin = time("2028-02-27T16:00:00Z");
        let said = (0..12_u32).map(|nth| {
            let at = begin.plus(Duration::from_hours(6) * nth);
            text(&format!("m{nth:02}"), at, &format!("一行\n\"{nth}\", 二行"))
        });
        store(&group, &said.collect::<Vec<_>>()).await;
        store(&group, &[unsent("m03", group.clock.now())]).await;
        let now = group.clock.now();
        let (channels, zone) = (group.store.channels(), Some("Asia/Taipei"));
        channels.set_time_zone(&GROUP.into(), zone, &OWNER.into(), now).await.unwrap();
        let exports = ExportService::new(group.store.clone(), Tz::UTC, Links::default());
        let (data, clock) = (group.store.clone(), group.clock.clone());
        let jobs = ExportJobService::new(data, group.files(), clock, exports.clone());
        Self { group, exports, jobs }
    }

    async fn reader(&self, user: &str) -> Reader {
        access(&self.group, caller(user)).await
    }

    async fn since(&self, earliest: Timestamp) -> Reader {
        let bounds = Bounds { not_before: Some(earliest), ..Bounds::full() };
        access(&self.group, Caller { bounds, ..caller(OWNER) }).await
    }

    async fn document(&self, reader: &Reader, request: ExportRequest) -> String {
        let document = self.exports.document(reader, request).await.unwrap();
        let parts: Vec<_> = document.try_collect().await.unwrap();
        String::from_utf8(parts.concat()).unwrap()
    }
}

fn request(format: Format, from: Option<&str>, to: Option<&str>) -> ExportRequest {
    let when = |text: &str| When::parse(text).unwrap();
    ExportRequest { format, from: from.map(when), to: to.map(when), language: Language::English }
}

#[tokio::test]
async fn an_export_has_as_many_messages_as_it_says() {
    let requests = Requests::new().await;
    let reader = requests.reader(OTHER).await;
    for (from, to, expected) in [
        (None, None, 12),
        (Some("2028-02-29"), None, 8),
        (Some("2028-02-28"), Some("2028-02-29"), 4),
        (Some("2028-02-29T00:00"), Some("2028-03-01T00:00+08:00"), 4),
        (Some("2028-02-28T16:00:00Z"), Some("2028-02-28T16:00:00.001Z"), 1),
        (Some("2028-02-29"), Some("2028-02-29"), 0),
        (Some("2028-03-01"), Some("2028-02-28"), 0),
        (None, Some("9999-12-31"), 12),
        (Some("0000-01-01"), Some("2028-02-28"), 0),
    ] {
        let asked = |format| request(format, from, to);
        let count = requests.exports.count(&reader, asked(Format::Jsonl)).await.unwrap();
        assert_eq!(count, expected, "{from:?} {to:?}");
        let lines = requests.document(&reader, asked(Format::Jsonl)).await;
        let lines = i64::try_from(lines.lines().count()).unwrap();
        assert_eq!(lines, expected, "{from:?} {to:?}: one line for each, tombstones too");
        let page = requests.document(&reader, asked(Format::Html)).await;
        let articles = i64::try_from(page.matches("<article ").count()).unwrap();
        assert_eq!(articles, expected, "{from:?} {to:?}");
        let begun = requests.jobs.begin(&reader, asked(Format::Csv)).await.unwrap();
        assert_eq!(begun.total, expected);
    }
    let far = When::of_day(NaiveDate::from_ymd_opt(12_000, 1, 1).unwrap());
    let far = ExportRequest { from: Some(far), ..request(Format::Csv, None, None) };
    let refused = requests.exports.count(&reader, far).await;
    assert_eq!(refusal(refused).0, "from");
}

#[tokio::test]
async fn an_export_begins_no_earlier_than_its_reader_may_read() {
    let requests = Requests::new().await;
    let earliest = time("2028-02-29T04:00:00Z");
    let reader = requests.since(earliest).await;
    for (from, expected) in [(None, 6), (Some("2028-02-28"), 6), (Some("2028-03-01"), 4)] {
        let asked = request(Format::Jsonl, from, None);
        let count = requests.exports.count(&reader, asked).await.unwrap();
        let lines = requests.document(&reader, asked).await.lines().count();
        assert_eq!((count, lines), (i64::try_from(expected).unwrap(), expected), "{from:?}");
    }
}

#[tokio::test]
async fn whoever_asks_for_the_same_again_gets_what_is_under_way() {
    let requests = Requests::new().await;
    let (reader, jobs) = (requests.reader(OWNER).await, &requests.jobs);
    let first = jobs.begin(&reader, request(Format::Csv, Some("2028-02-28"), None)).await.unwrap();
    assert_eq!((first.status, first.total, first.done), (JobStatus::Pending, 12, 0));
    requests.group.hands.advance(Duration::from_hours(1));
    let at = requests.group.clock.now().minus(Duration::from_secs(1));
    store(&requests.group, &[text("later", at, "later")]).await;
    // The same moment in other words, and an end that is still to come.
    for (from, to) in [
        (Some("2028-02-28"), None),
        (Some("2028-02-27T16:00:00Z"), None),
        (Some("2028-02-28T00:00"), Some("2030-01-01")),
    ] {
        let again = jobs.begin(&reader, request(Format::Csv, from, to)).await.unwrap();
        assert_eq!(again, first, "as of the first request");
    }
    let thai = ExportRequest {
        language: Language::Thai,
        ..request(Format::Csv, Some("2028-02-28"), None)
    };
    let (other, bounded) =
        (requests.reader(OTHER).await, requests.since(time("2028-02-01T00:00:00Z")).await);
    let whole = || request(Format::Csv, Some("2028-02-28"), None);
    for (reader, request) in [
        (&reader, request(Format::Jsonl, Some("2028-02-28"), None)),
        (&reader, request(Format::Csv, None, None)),
        (&reader, request(Format::Csv, Some("2028-02-28"), Some("2028-03-01"))),
        (&reader, thai),
        (&other, whole()),
        (&bounded, whole()),
    ] {
        let another = jobs.begin(reader, request).await.unwrap();
        assert_ne!(another.id, first.id, "{request:?}");
    }
}

#[tokio::test]
async fn the_oldest_exports_of_a_person_make_room() {
    let requests = Requests::new().await;
    let (reader, other) = (requests.reader(OWNER).await, requests.reader(OTHER).await);
    let theirs = requests.jobs.begin(&other, request(Format::Csv, None, None)).await.unwrap();
    let mut ids = Vec::new();
    for day in 1..=7 {
        requests.group.hands.advance(Duration::from_secs(1));
        let from = format!("2028-02-{day:02}");
        let request = request(Format::Csv, Some(from.as_str()), None);
        ids.push(requests.jobs.begin(&reader, request).await.unwrap().id);
    }
    let listed = requests.jobs.list(&reader).await.unwrap();
    let listed: Vec<_> = listed.into_iter().map(|export| export.id).collect();
    let most = usize::try_from(EXPORTS_OF_PERSON).unwrap();
    let newest: Vec<_> = ids.iter().rev().take(most).cloned().collect();
    assert_eq!(listed, newest, "newest first");
    let gone = requests.jobs.export(&reader, &ids[0]).await;
    assert_eq!(gone, Err(ServiceError::NotFound));
    assert_eq!(requests.jobs.list(&other).await.unwrap(), [theirs], "those of others stay");
}

#[tokio::test]
async fn an_export_is_for_its_person_and_for_no_key_that_reads_less() {
    let requests = Requests::new().await;
    let (owner, other) = (requests.reader(OWNER).await, requests.reader(OTHER).await);
    let (early, late) = (time("2028-02-28T00:00:00Z"), time("2028-02-29T00:00:00Z"));
    let (since_early, since_late) = (requests.since(early).await, requests.since(late).await);
    let asked = request(Format::Jsonl, None, None);
    let all = requests.jobs.begin(&owner, asked).await.unwrap();
    let part = requests.jobs.begin(&since_early, asked).await.unwrap();
    for (reader, export, is_there) in [
        (&owner, &all, true),
        (&owner, &part, true),
        (&since_early, &all, false),
        (&since_early, &part, true),
        (&since_late, &all, false),
        (&since_late, &part, false),
        (&other, &all, false),
    ] {
        let found = requests.jobs.export(reader, &export.id).await;
        let expected = if is_there { Ok(export.clone()) } else { Err(ServiceError::NotFound) };
        assert_eq!(found, expected, "{export:?}");
        let listed = requests.jobs.list(reader).await.unwrap();
        assert_eq!(listed.contains(export), is_there);
        let document = requests.jobs.document(reader, &export.id).await.map(drop);
        let expected = if is_there {
            ServiceError::Conflict("The export is not completed")
        } else {
            ServiceError::NotFound
        };
        assert_eq!(document, Err(expected));
        if !is_there {
            let deleted = requests.jobs.delete(reader, &export.id).await;
            assert_eq!(deleted, Err(ServiceError::NotFound));
        }
    }
    let mask = Mask::of(&PseudonymKey::new([3; 32]), &[]).unwrap();
    let masked: Reader = access(&requests.group, Caller { mask, ..caller(OWNER) }).await;
    let refused = ServiceError::PseudonymousKey;
    assert_eq!(requests.jobs.begin(&masked, asked).await.unwrap_err(), refused);
    assert_eq!(requests.jobs.list(&masked).await.unwrap_err(), refused);
    assert_eq!(requests.jobs.export(&masked, &all.id).await.unwrap_err(), refused);
    assert_eq!(requests.jobs.delete(&masked, &all.id).await.unwrap_err(), refused);
    requests.jobs.delete(&owner, &all.id).await.unwrap();
    assert_eq!(requests.jobs.list(&owner).await.unwrap(), [part]);
}
