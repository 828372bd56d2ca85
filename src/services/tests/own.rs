//! One's own data, and the activity log of one's channel.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_core::assistant::QaMode;
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::Content;
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_store::{
    ActivityFilter, ChangeKind, JobStatus, MemberStatus, PresenceEvidenceKind, ReadAction, Reader,
};
use chatkeep_transfer::OwnFormat;
use chatkeep_view::Links;
use chrono_tz::Tz;
use futures_util::TryStreamExt as _;
use serde_json::Value;

use super::super::access::{Admin, Owner, ReadMembers, ReadMessages, WriteBackup};
use super::super::account::AccountService;
use super::super::activity_log::{ActivityLogQuery, ActivityLogService};
use super::super::assistant::{ComparisonRequest, Progress};
use super::super::deletion::DeletionService;
use super::super::documents;
use super::super::messages::MessageService;
use super::super::my_data::MyDataService;
use super::super::{Caller, ServiceError};
use super::scene::sent;
use super::{GROUP, Group, OTHER, OWNER, caller};
use crate::removals::RemovalWorker;

#[tokio::test]
async fn usage_is_that_at_the_end_of_each_month() {
    let group = Group::new().await;
    // The last days of 2023, of January and of February 2024, and the day after.
    group.sql("DELETE FROM usage_days").await;
    let first = "INSERT INTO usage_days (user_id, day, bytes) VALUES ('U1', 1703980800000, 5)";
    group.sql(first).await;
    let account = AccountService::new(group.store.clone(), Arc::clone(&group.clock));
    let months = async |now: &str| {
        let now = Timestamp::parse(now).unwrap();
        group.hands.advance(now.since(group.clock.now()));
        let months = account.usage_by_month(&caller(OWNER), 3).await.unwrap();
        let months = months.iter().map(|month| format!("{} {}", month.first, month.bytes));
        months.collect::<Vec<_>>()
    };
    assert_eq!(months("2024-01-15T00:00:00Z").await, ["2023-12-01 5", "2024-01-01 5"]);
    let later = "INSERT INTO usage_days (user_id, day, bytes)
                 VALUES ('U1', 1706659200000, 7), ('U1', 1709164800000, 11), ('U1', 1709251200000, 3)";
    group.sql(later).await;
    // On the last day of a long month, and a moment later.
    let march = months("2024-03-31T23:59:59.999Z").await;
    assert_eq!(march, ["2024-01-01 7", "2024-02-01 11", "2024-03-01 3"]);
    let april = months("2024-04-01T00:00:00Z").await;
    assert_eq!(april, ["2024-02-01 11", "2024-03-01 3", "2024-04-01 3"]);
}

impl Group {
    pub(super) fn my_data(&self) -> MyDataService {
        let (store, clock) = (|| self.store.clone(), || Arc::clone(&self.clock));
        let messages = MessageService::new(store(), Tz::UTC);
        let worker = RemovalWorker::new(store(), clock());
        let deletion = DeletionService::new(store(), clock(), messages, worker);
        let (permits, links) = (documents::permits(), Links::default());
        MyDataService::new(store(), clock(), deletion, Tz::UTC, permits, links)
    }

    /// Stores a message of each of the two.
    async fn say(&self, id: &str) {
        let now = self.clock.now();
        let changes = [OWNER, OTHER].map(|user| {
            let text = Content::text(format!("<{id} of {user}>"));
            sent(GROUP, &format!("{id}-{user}"), Some(user), now, &text)
        });
        self.store.messages().ingest(&changes, now).await.unwrap();
    }

    async fn exported(&self, format: OwnFormat) -> String {
        let access = self.access.scoped::<ReadMessages>(caller(OTHER)).unwrap();
        let document = self.my_data().export(&access, format, Language::English).await.unwrap();
        let parts: Vec<Bytes> = document.try_collect().await.unwrap();
        String::from_utf8(parts.concat()).unwrap()
    }
}

#[tokio::test]
async fn everybody_sees_exports_and_erases_what_is_theirs() {
    let group = Group::new().await;
    group.say("one").await;
    let my_data = group.my_data();
    let read = group.access.scoped::<ReadMessages>(caller(OTHER)).unwrap();
    let write = group.access.scoped::<WriteBackup>(caller(OTHER)).unwrap();
    let page = my_data.page(&read, 10, None).await.unwrap();
    assert!(page.kept_everywhere && page.next.is_none());
    let [own] = &page.channels[..] else { panic!("{page:?}") };
    assert_eq!((own.channel.id.as_str(), own.role), (GROUP, Some(Role::Member)));
    assert_eq!((own.status, own.joined_at), (Some(MemberStatus::Active), Some(group.clock.now())));
    assert_eq!((own.messages, own.kept), (1, true));

    let json: Value = serde_json::from_str(&group.exported(OwnFormat::Json).await).unwrap();
    assert_eq!(
        (&json["userId"], &json["channels"][0]["channelId"]),
        (&OTHER.into(), &GROUP.into())
    );
    let texts: Vec<_> = json["channels"][0]["messages"].as_array().unwrap().iter().collect();
    assert_eq!(texts.len(), 1, "nothing of others");
    assert_eq!(texts[0]["content"], "<one of U2>");
    let html = group.exported(OwnFormat::Html).await;
    assert!(html.contains("one of U2") && !html.contains("one of U1"), "{html}");
    for format in [OwnFormat::Json, OwnFormat::Html] {
        assert!(format.content_type().contains(format.extension()));
    }

    let reaches = group.access.reaches(caller(OTHER), GROUP.into()).await.unwrap();
    my_data.set_opted_in(&reaches, false).await.unwrap();
    group.say("two").await;
    let page = my_data.page(&read, 10, None).await.unwrap();
    assert_eq!((page.channels[0].messages, page.channels[0].kept), (1, false));
    my_data.set_opted_in_everywhere(&write, true).await.unwrap();
    let job = my_data.erase(&reaches).await.unwrap();
    assert_eq!((job.status, job.done), (JobStatus::Done, 0), "nothing is older than now");
    assert_eq!(my_data.erase_everywhere(&write).await.unwrap(), [], "nor is then");

    // The later statement counts from the next moment on.
    group.hands.advance(Duration::from_millis(1));
    assert!(my_data.page(&read, 10, None).await.unwrap().channels[0].kept);
}

#[tokio::test]
async fn an_erasure_everywhere_begins_wherever_it_can() {
    let group = Group::new().await;
    group.say("one").await;
    let elsewhere = ChannelId::from("C2");
    group.happened(elsewhere.as_str(), PresenceEvidenceKind::Present(OTHER.into())).await;
    group.hands.advance(Duration::from_millis(1));
    let (my_data, write) = (group.my_data(), group.access.scoped::<WriteBackup>(caller(OTHER)));
    let write = write.unwrap();
    let jobs = my_data.erase_everywhere(&write).await.unwrap();
    let [job] = &jobs[..] else { panic!("one channel has something: {jobs:?}") };
    assert_eq!((job.channel.as_str(), job.status, job.done), (GROUP, JobStatus::Pending, 0));
    let again = my_data.erase_everywhere(&write).await.unwrap();
    assert_eq!(again[0].id, job.id, "it goes on");
    let reads = group.access.reaches(caller(OTHER), GROUP.into()).await.unwrap();
    assert_eq!(my_data.running_erasure(&reads).await.unwrap(), again.into_iter().next());

    // What fails in one channel stops none of the others.
    group.sql("DELETE FROM channel_jobs").await;
    let say =
        "INSERT INTO messages (channel_id, message_id, sent_at, backed_up_at, sender_id, type,
                                     content, skipped, is_bot)
               SELECT 'C2', message_id, sent_at, backed_up_at, sender_id, type, content, 0, 0
               FROM messages WHERE channel_id = 'C1'";
    group.sql(say).await;
    let broken = "CREATE TRIGGER broken BEFORE INSERT ON channel_jobs WHEN NEW.channel_id = 'C1'
                  BEGIN SELECT RAISE(ABORT, 'broken'); END";
    group.sql(broken).await;
    my_data.erase_everywhere(&write).await.unwrap_err();
    let begun = group.store.jobs().running_erasure(&elsewhere, &OTHER.into()).await.unwrap();
    assert_eq!(begun.map(|job| job.total), Some(1));
}

#[tokio::test]
async fn a_request_reads_once_and_a_page_that_refreshes_itself_not_at_all() {
    let mut group = Group::new().await;
    // A page of messages a step.
    group.assistant.examinations.step = Duration::ZERO;
    super::say(&group, &vec!["where is it?".to_owned(); 1_200]).await;
    let read = async || {
        group.store.activity_log().write_reads().await.unwrap();
        let (log, all) = (group.store.activity_log(), ActivityFilter::default());
        let reads = log.reads(&GROUP.into(), &all, None, 10).await.unwrap().into_iter();
        reads.map(|read| (read.action, read.requests)).collect::<Vec<_>>()
    };
    let access = async || {
        let access = group.access.channel::<Admin, ReadMessages>(caller(OWNER), GROUP.into());
        access.await.unwrap()
    };
    let mut steps = 0;
    let found = loop {
        match group.assistant.unanswered_step(&access().await, 30).await.unwrap() {
            Progress::Running(_) => steps += 1,
            Progress::Finished(found) => break found,
        }
    };
    assert_eq!((steps, read().await), (2, vec![(ReadAction::History, 1)]));
    let ids = vec![found.questions[0].representative.clone()];
    group.assistant.listed_messages(&access().await, ids).await.unwrap();
    assert_eq!(read().await, [(ReadAction::History, 2)], "the result is looked at");
    let mode = Some(QaMode::Fuzzy);
    let request = ComparisonRequest { mode, ..ComparisonRequest::default() };
    while let Progress::Running(_) =
        group.assistant.comparison(&access().await, request.clone()).await.unwrap()
    {}
    assert_eq!(read().await, [(ReadAction::History, 3)]);

    let scoped = group.access.scoped::<ReadMessages>(caller(OWNER)).unwrap();
    for _ in 0..2 {
        scoped.record([&ChannelId::from(GROUP)], ReadAction::Search);
    }
    assert_eq!(read().await, [(ReadAction::History, 3), (ReadAction::Search, 1)]);
}

#[tokio::test]
async fn a_restricted_credential_is_not_for_all_channels() {
    let group = Group::new().await;
    let mut restricted: Caller = caller(OTHER);
    restricted.bounds.channels = Some(vec![GROUP.into()]);
    let write = group.access.scoped::<WriteBackup>(restricted).unwrap();
    let denied = Err(ServiceError::PermissionDenied);
    assert_eq!(group.my_data().set_opted_in_everywhere(&write, false).await, denied);
    let erased = group.my_data().erase_everywhere(&write).await;
    assert_eq!(erased.unwrap_err(), ServiceError::PermissionDenied);
    let stranger = group.access.reaches(caller("U9"), GROUP.into()).await.unwrap();
    assert_eq!(group.my_data().set_opted_in(&stranger, false).await, denied);
}

#[tokio::test]
async fn the_owner_pages_through_the_activity_log() {
    let group = Group::new().await;
    let activity = ActivityLogService::new(group.store.clone(), Tz::UTC);
    let access = group.access.channel::<super::Member, ReadMessages>(caller(OTHER), GROUP.into());
    let access = access.await.unwrap();
    for action in [ReadAction::List, ReadAction::Open, ReadAction::List] {
        access.read(action);
    }
    group.store.activity_log().write_reads().await.unwrap();
    let denied = group.access.channel::<Owner, ReadMembers>(caller(OTHER), GROUP.into()).await;
    assert_eq!(denied.unwrap_err(), ServiceError::PermissionDenied);
    let owner = group.access.channel::<Owner, ReadMembers>(caller(OWNER), GROUP.into());
    let owner = owner.await.unwrap();
    let query = |cursor| ActivityLogQuery { kind: None, user: None, day: None, limit: 1, cursor };
    let (first, next) = activity.reads(&owner, &query(None)).await.unwrap();
    let (second, end) = activity.reads(&owner, &query(next)).await.unwrap();
    assert!(end.is_none());
    let told = [&first[0], &second[0]].map(|one| (one.reader.clone(), one.action, one.requests));
    // An action of one request counts once.
    let expected = [(Reader::Person, ReadAction::List, 1), (Reader::Person, ReadAction::Open, 1)];
    assert_eq!(told, expected);
    assert_eq!(first[0].day, Timestamp::from_millis(0));
    let all = ActivityLogQuery { kind: None, user: None, day: None, limit: 10, cursor: None };
    let (changes, end) = activity.changes(&owner, &all).await.unwrap();
    assert!(end.is_none());
    assert_eq!(changes.iter().map(|one| one.kind).collect::<Vec<_>>(), [ChangeKind::Subscription]);
}
