//! Documents that are sent as they are read: to slow readers, and to many at once.

use std::time::Duration;

use bytes::Bytes;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::message::Content;
use chatkeep_core::role::Scope;
use chatkeep_i18n::Language;
use chatkeep_store::{NewGrant, NewKey, PresenceEvidenceKind};
use chatkeep_transfer::{Format, OwnFormat};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use chrono_tz::Tz;
use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _};

use super::super::access::{ChannelAccess, Member, ReadMessages};
use super::super::documents::DocumentError;
use super::super::exports::{ExportRequest, ExportService};
use super::super::live::LiveService;
use super::super::{Caller, Credential, ServiceError};
use super::scene::sent;
use super::{GROUP, Group, OTHER, OWNER, caller, say, session};

type Document = BoxStream<'static, Result<Bytes, DocumentError>>;

/// Most bytes in one piece of a document: a page of contents, and what the format adds.
const MOST: usize = 700 * 1024;

/// Way in which a reader loses their permission.
#[derive(Clone, Copy, Debug)]
enum End {
    SignsOut,
    DeletesKey,
    KeyExpires,
    TakesConsentBack,
    Leaves,
}

const ENDS: [End; 5] =
    [End::SignsOut, End::DeletesKey, End::KeyExpires, End::TakesConsentBack, End::Leaves];

impl Group {
    /// Returns a group with several pages of texts.
    async fn with_pages() -> Self {
        let group = Self::new().await;
        let texts = (0..400).map(|number| format!("{number} {}", "x".repeat(4_000)));
        say(&group, &texts.collect::<Vec<_>>()).await;
        group.hands.advance(Duration::from_mins(1));
        group
    }

    fn exports(&self) -> ExportService {
        ExportService::new(self.store.clone(), Tz::UTC, Links::default())
    }

    async fn reader(&self, caller: Caller) -> ChannelAccess<Member, ReadMessages> {
        self.access.channel(caller, GROUP.into()).await.unwrap()
    }

    /// Returns a caller with the credential that ends in that way.
    async fn caller_until(&self, end: End) -> Caller {
        let (user, now) = (OTHER.into(), self.clock.now());
        match end {
            End::SignsOut | End::Leaves => caller(OTHER),
            End::DeletesKey | End::KeyExpires => {
                let key = NewKey {
                    id: &"key".into(),
                    secret: "ck_secret",
                    user: &user,
                    name: "key",
                    scopes: &[Scope::ReadMessages],
                    channels: None,
                    not_before: None,
                    pseudonyms: None,
                    expires_at: Some(now.plus(Duration::from_mins(30))),
                };
                let key = self.store.keys().add_key(&key, now).await.unwrap().unwrap();
                Caller::of_key(&self.store, key).await.unwrap()
            }
            End::TakesConsentBack => {
                let grant = NewGrant {
                    id: "grant",
                    user: &user,
                    client_id: "client",
                    client_name: "A client",
                    scopes: &[Scope::ReadMessages],
                    channels: None,
                    resource: "https://chat.example.org/mcp",
                    code: "code",
                    code_until: now.plus(Duration::from_mins(1)),
                    redirect_uri: "https://client.example/cb",
                    challenge: "challenge",
                };
                self.store.oauth().add_grant(&grant, now).await.unwrap();
                let (grant, resource) = ("grant".to_owned(), "x".to_owned());
                let credential = Credential::Token { grant, resource };
                Caller { user, credential, bounds: Bounds::full(), mask: Mask::none() }
            }
        }
    }

    async fn come(&self, end: End) {
        let (user, now) = (OTHER.into(), self.clock.now());
        let ended = match end {
            End::SignsOut => self.store.sessions().end_session(&user, &session(OTHER)).await,
            End::DeletesKey => self.store.keys().drop_key(&"key".into(), now).await,
            End::TakesConsentBack => self.store.oauth().revoke_consent(&user, "grant").await,
            End::KeyExpires => {
                self.hands.advance(Duration::from_mins(31));
                Ok(true)
            }
            End::Leaves => {
                self.leaves().await;
                Ok(true)
            }
        };
        assert!(ended.unwrap(), "{end:?}");
    }

    pub(super) async fn leaves(&self) {
        self.hands.advance(Duration::from_secs(1));
        self.happened(GROUP, PresenceEvidenceKind::Left(OTHER.into())).await;
    }

    /// Stores a message that is sent now.
    async fn say_now(&self, text: &str) {
        let now = self.clock.now();
        let said = sent(GROUP, text, Some(OWNER), now, &Content::text(text));
        self.store.messages().ingest(&[said], now).await.unwrap();
    }
}

fn all(format: Format) -> ExportRequest {
    ExportRequest { format, from: None, to: None, language: Language::English }
}

/// Reads the beginning and the first page of a document.
async fn begun(document: &mut Document) {
    let mut bytes = 0;
    while bytes < 4_000 {
        bytes += document.next().await.unwrap().unwrap().len();
    }
}

#[tokio::test]
async fn a_slow_reader_gets_nothing_more_once_they_may_not() {
    for end in ENDS {
        let group = Group::with_pages().await;
        let reader = group.reader(group.caller_until(end).await).await;
        let exports = group.exports();
        let mut document = exports.document(&reader, all(Format::Jsonl)).await.unwrap();
        begun(&mut document).await;
        group.come(end).await;
        let next = document.next().await.unwrap();
        assert!(matches!(next, Err(DocumentError::Withdrawn)), "{end:?}: {next:?}");
        assert!(document.next().await.is_none(), "{end:?}");
    }
}

#[tokio::test]
async fn ones_own_data_ends_with_the_session_and_not_with_the_membership() {
    let group = Group::with_pages().await;
    let my_data = group.my_data();
    let access = group.access.scoped::<ReadMessages>(caller(OWNER)).unwrap();
    let mut document = my_data.export(&access, OwnFormat::Json, Language::English).await.unwrap();
    begun(&mut document).await;
    group.store.sessions().end_session(&OWNER.into(), &session(OWNER)).await.unwrap();
    let rest: Result<Vec<_>, _> = document.try_collect().await;
    assert!(matches!(rest, Err(DocumentError::Withdrawn)), "{rest:?}");
    let access = group.access.scoped::<ReadMessages>(caller(OTHER)).unwrap();
    let document = my_data.export(&access, OwnFormat::Json, Language::English).await.unwrap();
    group.leaves().await;
    assert!(document.try_collect::<Vec<_>>().await.is_ok());
}

#[tokio::test]
async fn news_end_with_the_session() {
    let group = Group::new().await;
    let live = LiveService::new(group.store.clone());
    let reader = group.reader(caller(OTHER)).await;
    let (_, news) = live.follow(reader, None).await.unwrap();
    let mut news = Box::pin(news);
    group.say_now("first").await;
    assert!(news.next().await.unwrap().newer);
    group.come(End::SignsOut).await;
    group.say_now("second").await;
    assert!(news.next().await.is_none());
}

#[tokio::test]
async fn messages_sent_after_the_request_are_in_no_document() {
    let group = Group::with_pages().await;
    let (exports, reader) = (group.exports(), group.reader(caller(OTHER)).await);
    let mut document = exports.document(&reader, all(Format::Csv)).await.unwrap();
    begun(&mut document).await;
    group.hands.advance(Duration::from_secs(1));
    group.say_now("said later").await;
    let rest: Vec<_> = document.try_collect().await.unwrap();
    let rest = String::from_utf8(rest.concat()).unwrap();
    assert!(rest.contains("399 xxx") && !rest.contains("said later"));
    group.hands.advance(Duration::from_secs(1));
    let again = exports.document(&reader, all(Format::Csv)).await.unwrap();
    let again: Vec<_> = again.try_collect().await.unwrap();
    assert!(String::from_utf8(again.concat()).unwrap().contains("said later"));
}

#[tokio::test]
async fn no_piece_of_a_document_is_large() {
    let group = Group::with_pages().await;
    let (exports, reader) = (group.exports(), group.reader(caller(OWNER)).await);
    let own = group.access.scoped::<ReadMessages>(caller(OWNER)).unwrap();
    let mut documents = vec![
        group.my_data().export(&own, OwnFormat::Json, Language::English).await.unwrap(),
        group.my_data().export(&own, OwnFormat::Html, Language::English).await.unwrap(),
    ];
    for format in [Format::Jsonl, Format::Csv, Format::Html] {
        documents.push(exports.document(&reader, all(format)).await.unwrap());
    }
    for document in documents {
        let pieces: Vec<_> = document.map_ok(|piece| piece.len()).try_collect().await.unwrap();
        assert!(pieces.iter().sum::<usize>() > 400 * 4_000, "{pieces:?}");
        assert!(pieces.iter().all(|piece| *piece < MOST), "{pieces:?}");
    }
}

#[tokio::test]
async fn nobody_has_many_documents_sent_at_once() {
    let group = Group::with_pages().await;
    let (exports, reader) = (group.exports(), group.reader(caller(OTHER)).await);
    let mut documents = Vec::new();
    for _ in 0..4 {
        documents.push(exports.document(&reader, all(Format::Csv)).await.unwrap());
    }
    let refused = exports.document(&reader, all(Format::Csv)).await.err();
    assert_eq!(refused, Some(ServiceError::Unavailable));
    let other = group.reader(caller(OWNER)).await;
    assert!(exports.document(&other, all(Format::Csv)).await.is_ok(), "somebody else");
    let whole: Vec<_> = documents.pop().unwrap().try_collect().await.unwrap();
    assert!(!whole.is_empty());
    assert!(exports.document(&reader, all(Format::Csv)).await.is_ok(), "one is sent");
}
