//! The callers of the permission table, and the channel that they call for.

use chatkeep_api::RouteInfo;
use chatkeep_core::assistant::RuleDraft;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::config::Database;
use chatkeep_core::id::{ChannelId, KeyId, RuleId, SavedSearchId, UserId, WebhookId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::{Role, Scope};
use chatkeep_core::signing;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    JobKind, JobStatus, NewChannelJob, NewExportJob, NewKey, NewSavedSearch, NewWebhook,
    OutboxEventKind, PresenceEvidenceKind, RuleChange, SavedSearchChange, Store, WebhookChange,
    WebhookMade, WebhookMaker,
};
use reqwest::Client;

use super::{CHANNEL, OTHER, TARGET};
use crate::harness::http;
use crate::harness::wait::until;
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};
use crate::store::{at, bounded_key, item, now, said};

/// Name of keys that a call deletes or replaces.
const GONE: &str = "gone";

/// A caller.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that may be so or not")]
pub(super) struct Caller {
    pub(super) name: String,
    /// Complete `Authorization` header.
    pub(super) header: Option<String>,
    /// True for a valid key.
    pub(super) valid: bool,
    pub(super) user: UserId,
    pub(super) key: KeyId,
    pub(super) bounds: Bounds,
    /// True if the key may see the channel.
    pub(super) sees: bool,
    /// Role in the channel; guest for none.
    pub(super) role: Role,
    /// True if the store knows them there.
    pub(super) known: bool,
    /// True if they subscribe to it.
    pub(super) subscribed: bool,
    /// Channel of their requests.
    pub(super) channel: &'static str,
    pub(super) prefix: &'static str,
}

/// Shape of a key.
pub(super) struct Shape {
    scopes: Vec<Scope>,
    channels: Option<Vec<ChannelId>>,
    expires_at: Option<Timestamp>,
    pseudonyms: Option<PseudonymKey>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { scopes: Scope::ALL.to_vec(), channels: None, expires_at: None, pseudonyms: None }
    }
}

/// The stack, its store, and the callers.
pub(super) struct PermissionFixture {
    pub(super) stack: Stack,
    pub(super) store: Store,
    pub(super) http: Client,
    pub(super) callers: Vec<Caller>,
    pub(super) made: usize,
}

impl PermissionFixture {
    pub(super) async fn new() -> Self {
        let mut ground = TestEnv::new(Parts::Embedded).await;
        ground.settings.push(("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0".to_owned()));
        let stack = Stack::on(ground, emulator().await).await;
        let folder = stack.ground.folder.path();
        let store = Store::open(&Database::Sqlite, folder, 2).await.unwrap();
        let mut cast =
            Self { stack, store, http: http::client(DEADLINE), callers: Vec::new(), made: 0 };
        cast.channel().await;
        cast.people().await;
        cast.keys_of_the_owner().await;
        cast.broken_keys().await;
        // Until its replica has caught up, the search is unavailable to everybody.
        cast.stack.drained().await;
        cast
    }

    /// Creates a channel with one of each role, a message and a rule.
    async fn channel(&self) {
        let mut evidence = vec![item(CHANNEL, 1, PresenceEvidenceKind::BotJoined)];
        for user in ["Uowner", "Uadmin", "Umember", "Uguest", "Uauthor", TARGET] {
            evidence.push(item(CHANNEL, 1, PresenceEvidenceKind::Present(user.into())));
        }
        evidence.push(item(CHANNEL, 1, PresenceEvidenceKind::Joined("Uleft".into())));
        evidence.push(item(CHANNEL, 3, PresenceEvidenceKind::Left("Uleft".into())));
        self.store.members().record_presence(&evidence, now()).await.unwrap();
        let (channel, owner) = (ChannelId::from(CHANNEL), UserId::from("Uowner"));
        for user in ["Uowner", "Uleft"] {
            self.store.accounts().subscribe(&channel, &user.into(), now()).await.unwrap();
        }
        for (user, role) in [("Uadmin", Role::Admin), ("Uguest", Role::Guest)] {
            let set =
                self.store.members().set_role(&channel, &owner, &user.into(), role, now()).await;
            set.unwrap();
        }
        self.store.messages().ingest(&[said(CHANNEL, "m1", 10, "kept")], now()).await.unwrap();
        self.rule("qa_kept", true).await;
        let kind = JobKind::Erasure(TARGET.into());
        let (kind, sent_before) = (&kind, at(5));
        let (id, channel, by, worker) = ("job_kept", &channel, &owner, Some("test"));
        let job = NewChannelJob { id, channel, kind, sent_before, by, worker };
        self.store.jobs().begin_job(&job, at(12)).await.unwrap();
    }

    async fn rule(&self, id: &str, there: bool) {
        let draft = RuleDraft {
            keywords: vec!["k".to_owned()],
            answer: "a".to_owned(),
            ..RuleDraft::default()
        };
        let id = RuleId::from(id);
        let change = if there { RuleChange::Add(&id, &draft) } else { RuleChange::Remove(&id) };
        let by = "Uowner".into();
        self.store
            .assistant()
            .change_rule(&CHANNEL.into(), change, None, &by, now())
            .await
            .unwrap();
    }

    /// Adds a caller with a key of that user.
    async fn add(&mut self, name: &str, user: &str, role: Role, shape: Shape) {
        let secret = format!("ck_{}", name.replace('-', "_"));
        let id = KeyId::from(format!("key_{name}"));
        let user = UserId::from(user);
        self.store.accounts().add_user(&user, None, at(1)).await.unwrap();
        // In the test's own words: asking the program would only compare it with itself.
        let sees = shape.channels.as_ref().is_none_or(|only| only.contains(&CHANNEL.into()));
        let Shape { scopes, channels, expires_at, pseudonyms } = shape;
        let bounds = Bounds { scopes, channels, not_before: None, expires_at, pseudonyms };
        let key = bounded_key(&id, &secret, &user, &bounds);
        self.store.keys().add_key(&key, at(1)).await.unwrap();
        let known = self.store.members().member(&CHANNEL.into(), &user).await.unwrap().is_some();
        self.callers.push(Caller {
            name: name.to_owned(),
            header: Some(format!("Bearer {secret}")),
            valid: true,
            subscribed: ["Uowner", "Uleft"].contains(&user.as_str()),
            user,
            key: id,
            bounds,
            sees,
            role,
            known,
            channel: CHANNEL,
            prefix: "/api",
        });
    }

    fn last(&mut self) -> &mut Caller {
        self.callers.last_mut().unwrap()
    }

    async fn people(&mut self) {
        for (name, role) in [
            ("owner", Role::Owner),
            ("admin", Role::Admin),
            ("member", Role::Member),
            ("guest", Role::Guest),
            ("left", Role::Guest),
            ("stranger", Role::Guest),
        ] {
            self.add(name, &format!("U{name}"), role, Shape::default()).await;
        }
        self.add("owner-v1", "Uowner", Role::Owner, Shape::default()).await;
        self.last().prefix = "/api/v1";
        self.add("owner-elsewhere", "Uowner", Role::Owner, Shape::default()).await;
        self.last().channel = "C000000000000000000000000000000unknown";
    }

    async fn keys_of_the_owner(&mut self) {
        for scope in Scope::ALL {
            let name = scope.name().replace(':', "-");
            self.add(
                &name,
                "Uowner",
                Role::Owner,
                Shape { scopes: vec![scope], ..Shape::default() },
            )
            .await;
        }
        // It shows pseudonyms, and has no scope that changes anything, whatever is stored.
        let pseudonyms = Some(PseudonymKey::new([1; 32]));
        let shape = Shape { pseudonyms, ..Shape::default() };
        self.add("pseudonyms", "Uowner", Role::Owner, shape).await;
        for (name, channel) in [("bound-here", CHANNEL), ("bound-elsewhere", OTHER)] {
            let shape = Shape { channels: Some(vec![channel.into()]), ..Shape::default() };
            self.add(name, "Uowner", Role::Owner, shape).await;
        }
    }

    async fn broken_keys(&mut self) {
        let expired = Shape { expires_at: Some(at(2)), ..Shape::default() };
        self.add("expired", "Uowner", Role::Owner, expired).await;
        self.last().valid = false;
        self.add("deleted", "Uowner", Role::Owner, Shape::default()).await;
        self.last().valid = false;
        assert!(self.store.keys().drop_key(&"key_deleted".into(), now()).await.unwrap());
        for (name, header) in [
            ("no-key", None),
            ("basic", Some("Basic Y2tfb3duZXI6")),
            ("no-scheme", Some("ck_owner")),
            ("only-scheme", Some("Bearer ")),
            ("wrong-key", Some("Bearer ck_nobody")),
        ] {
            self.add(name, "Uowner", Role::Owner, Shape::default()).await;
            self.last().valid = false;
            self.last().header = header.map(str::to_owned);
        }
    }

    /// Undoes the changes of a call of that route, so that every call starts from the same state.
    pub(super) async fn prepare(&mut self, route: &RouteInfo, caller: &Caller) -> KeyId {
        let (channel, owner) = (ChannelId::from(CHANNEL), UserId::from("Uowner"));
        match route.id {
            "set_member_role" => {
                let (user, role) = (TARGET.into(), Role::Guest);
                self.store.members().set_role(&channel, &owner, &user, role, now()).await.unwrap();
            }
            "delete_rule" => {
                self.rule("qa_gone", false).await;
                self.rule("qa_gone", true).await;
            }
            "unsubscribe" if caller.subscribed => {
                self.store.accounts().subscribe(&channel, &caller.user, now()).await.unwrap();
            }
            "unsubscribe" => {
                self.store.accounts().unsubscribe(&channel, &caller.user, now()).await.unwrap();
            }
            "delete_key" | "rotate_key" => {
                // Those of earlier calls, and what has replaced them: there may not be many.
                for key in self.store.keys().list(&caller.user, None, 1_000).await.unwrap() {
                    if key.name == GONE {
                        let user = &caller.user;
                        self.store.keys().drop_key_of(user, &key.id, now()).await.unwrap();
                    }
                }
                self.made += 1;
                let id = KeyId::from(format!("key_gone{}", self.made));
                let key = NewKey {
                    name: GONE,
                    expires_at: Some(at(now().millis() + 3_600_000)),
                    // Within the caller's bounds: others are as good as none.
                    ..bounded_key(&id, id.as_str(), &caller.user, &caller.bounds)
                };
                assert!(self.store.keys().add_key(&key, now()).await.unwrap().is_some());
                return id;
            }
            _ => {}
        }
        caller.key.clone()
    }

    /// Creates a webhook of the caller within their key's bounds, the only one of its user; returns
    /// the id of a delivery to it.
    pub(super) async fn webhook(&self, caller: &Caller) -> String {
        for webhook in self.store.webhooks().list(&caller.user).await.unwrap() {
            assert!(self.store.webhooks().drop_webhook(&caller.user, &webhook.id).await.unwrap());
        }
        let id = WebhookId::from(format!("wh_{}", caller.name));
        let channels = [CHANNEL.into()];
        let elsewhere = [OTHER.into()];
        let change = WebhookChange {
            // Nobody is called in this test.
            url: "https://hooks.invalid/",
            description: "",
            events: &[OutboxEventKind::BackupPaused],
            channels: Some(if caller.sees { &channels } else { &elsewhere }),
            enabled: true,
        };
        let secret = signing::secret([1; 32]);
        let maker = WebhookMaker { key: None, bounds: &caller.bounds };
        let new = NewWebhook { id: &id, user: &caller.user, secret: &secret, change, maker };
        assert_eq!(
            self.store.webhooks().add_webhook(&new, now()).await.unwrap(),
            WebhookMade::Done
        );
        let event = format!("evt_test_{id}");
        let number = self.store.webhooks().test_webhook(&id, &event, now()).await.unwrap();
        format!("dlv_{}", number.unwrap())
    }

    /// Begins an export of the caller, unless it is there, and waits for its completion; returns its
    /// id.
    pub(super) async fn export(&mut self, route: &RouteInfo, caller: &Caller) -> String {
        self.made += 1;
        let mut id = match route.id {
            "delete_export" => format!("exp_gone{}", self.made),
            _ => format!("exp_{}", caller.user),
        };
        let (channel, exports) = (ChannelId::from(CHANNEL), self.store.exports());
        if exports.export(&channel, &id).await.unwrap().is_none() {
            let new = NewExportJob {
                id: &id,
                channel: &channel,
                by: &caller.user,
                format: "jsonl",
                from: None,
                before: now(),
                not_before: None,
                time_zone: "UTC",
                language: "en",
                total: 1,
            };
            // One that the caller has just begun by another route is the same.
            id = exports.begin_export(&new, now()).await.unwrap().id;
        }
        until("the export is completed", DEADLINE, async || {
            let export = exports.export(&channel, &id).await.unwrap();
            export.is_some_and(|export| export.status == JobStatus::Done)
        })
        .await;
        id
    }

    /// Saves a search of the caller within their key's bounds, unless it is there.
    pub(super) async fn saved_search(&self, caller: &Caller) {
        let id = SavedSearchId::from(format!("ss_{}", caller.name));
        let searches = self.store.saved_searches();
        if searches.saved_search(&caller.user, &id).await.unwrap().is_some() {
            return;
        }
        let channels = [CHANNEL.into()];
        let elsewhere = [OTHER.into()];
        let change = SavedSearchChange {
            name: "n",
            query: "hello",
            channels: Some(if caller.sees { &channels } else { &elsewhere }),
            enabled: true,
        };
        let new = NewSavedSearch { id: &id, user: &caller.user, change };
        assert!(searches.add_saved_search(new, now()).await.unwrap());
    }
}
