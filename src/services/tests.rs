//! Rules of use cases, on a real database: no surface is needed to try them.

mod own;

use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::assistant::{QaMode, RuleDraft};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::plan::Plan;
use chatkeep_core::role::Scope;
use chatkeep_core::time::{ManualClock, SharedClock, Timestamp};
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_platform::Bots;
use chatkeep_store::{PresenceEvidence, PresenceEvidenceKind, Store};
use chatkeep_workers::assistant::Assistants;
use tempfile::TempDir;

use super::access::{AccessService, Admin, ManageKeys, Member, WriteAssistant, WriteBackup};
use super::assistant::{
    AssistantChange, AssistantService, GroupRulesChange, KeywordWarningKind, QaChange,
};
use super::keys::{IssueKeyError, KeyDraft, KeyService, OperatorKey};
use super::subscriptions::SubscriptionService;
use super::{Caller, Credential, ServiceError};

const GROUP: &str = "C1";
const OWNER: &str = "U1";
const OTHER: &str = "U2";

/// Services on a database with a group, its owner and a member.
struct Group {
    store: Store,
    access: AccessService,
    assistant: AssistantService,
    keys: KeyService,
    clock: SharedClock,
    _folder: TempDir,
}

impl Group {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let clock: SharedClock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        let store = Store::open(&Database::Sqlite, folder.path(), 2).await.unwrap();
        let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), Arc::clone(&clock));
        let bus = Bus::Embedded(bus.await.unwrap());
        let assistants = Assistants::new(store.clone(), SemanticSpace::built_in());
        let own = || (store.clone(), Arc::clone(&clock));
        let ((s, c), keys) = (own(), KeyService::new(store.clone(), Arc::clone(&clock)));
        let access = AccessService::new(s, c, Bots::new([]));
        let (s, c) = own();
        let assistant = AssistantService::new(s, c, bus, assistants);
        let (s, c) = own();
        let subscriptions = SubscriptionService::new(s, c);
        let group = Self { store, access, assistant, keys, clock, _folder: folder };
        group.fill().await;
        let owner = group.access.channel::<Member, WriteBackup>(caller(OWNER), GROUP.into());
        assert!(subscriptions.subscribe(&owner.await.unwrap()).await.unwrap());
        group
    }

    async fn fill(&self) {
        let channel = ChannelRef { id: ChannelId::from(GROUP), kind: ChannelKind::Group };
        let present = |user: &str| PresenceEvidence {
            channel: channel.clone(),
            platform: PlatformKind::Line,
            bot: String::new(),
            at: self.clock.now(),
            kind: PresenceEvidenceKind::Present(UserId::from(user)),
        };
        let evidence = [present(OWNER), present(OTHER)];
        self.store.members().record_presence(&evidence, self.clock.now()).await.unwrap();
    }

    async fn settings(&self) -> super::assistant::SettingsAccess {
        let access = self.access.channel::<Admin, WriteAssistant>(caller(OWNER), GROUP.into());
        access.await.unwrap()
    }

    async fn set_plan(&self, plan: Plan) {
        self.store.accounts().set_plan(&OWNER.into(), plan, self.clock.now()).await.unwrap();
    }
}

/// Returns a caller with a session, who may do whatever their role allows.
fn caller(user: &str) -> Caller {
    let credential = Credential::Session("s".into());
    Caller { user: user.into(), credential, bounds: Bounds::full() }
}

fn mode(mode: QaMode) -> AssistantChange {
    let qa = QaChange { mode: Some(mode), ..QaChange::default() };
    AssistantChange { qa: Some(qa), ..AssistantChange::default() }
}

fn draft(keyword: &str) -> RuleDraft {
    let (question, answer) = (String::new(), "Yes".to_owned());
    RuleDraft { keywords: vec![keyword.to_owned()], question, answer }
}

#[tokio::test]
async fn a_change_replaces_only_the_version_that_it_names() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let first = assistant.settings(&access).await.unwrap().version;
    let change = mode(QaMode::Fuzzy);
    let changed = assistant.change_settings(&access, change.clone(), Some(&[first])).await.unwrap();
    assert_ne!(changed.version, first);
    let stale = assistant.change_settings(&access, mode(QaMode::Keyword), Some(&[first])).await;
    assert_eq!(stale.unwrap_err(), ServiceError::Stale);
    let book = assistant.rules(&access).await.unwrap();
    let rule = assistant.add_rule(&access, draft("a"), Some(&[book.version])).await.unwrap();
    let stale = assistant.remove_rule(&access, &rule, Some(&[book.version])).await;
    assert_eq!(stale, Err(ServiceError::Stale));
    assistant.remove_rule(&access, &rule, None).await.unwrap();
}

#[tokio::test]
async fn a_mode_beyond_the_plan_is_refused_and_one_from_before_stays() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let refused = assistant.change_settings(&access, mode(QaMode::Semantic), None).await;
    assert_eq!(refused.unwrap_err(), ServiceError::PlanRequired);
    group.set_plan(Plan::Pro).await;
    let set = assistant.change_settings(&access, mode(QaMode::Semantic), None).await.unwrap();
    assert_eq!(set.effective_mode, QaMode::Semantic);
    group.set_plan(Plan::Free).await;
    let other = AssistantChange { enabled: Some(true), ..mode(QaMode::Semantic) };
    let kept = assistant.change_settings(&access, other, None).await.unwrap();
    assert_eq!((kept.config.qa.mode, kept.effective_mode), (QaMode::Semantic, QaMode::Fuzzy));
}

#[tokio::test]
async fn an_editor_is_warned_of_keywords_that_do_something_else() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let triggers = Some(vec!["Rules".to_owned()]);
    let rules = GroupRulesChange { enabled: Some(true), trigger_keywords: triggers };
    let change = AssistantChange { rules: Some(rules), ..AssistantChange::default() };
    assistant.change_settings(&access, change, None).await.unwrap();
    let first = assistant.add_rule(&access, draft("hours"), None).await.unwrap();
    for (keyword, kind, rules) in
        [("HOURS", KeywordWarningKind::Shared, 2), ("rules", KeywordWarningKind::IsTrigger, 1)]
    {
        let rule = assistant.add_rule(&access, draft(keyword), None).await.unwrap();
        let saved = assistant.saved_rules(&access, rule.clone()).await.unwrap();
        let [warning] = &saved.warnings[..] else { panic!("{:?}", saved.warnings) };
        assert_eq!((warning.kind, warning.rule_ids.len()), (kind, rules));
        assert!(warning.rule_ids.contains(&rule));
    }
    let saved = assistant.saved_rules(&access, first).await.unwrap();
    assert_eq!(saved.book.rules.len(), 3);
}

#[tokio::test]
async fn members_have_no_access_to_settings() {
    let group = Group::new().await;
    let access = group.access.channel::<Admin, WriteAssistant>(caller(OTHER), GROUP.into());
    assert_eq!(access.await.unwrap_err(), ServiceError::PermissionDenied);
}

#[tokio::test]
async fn a_key_never_gives_more_than_its_creator_has() {
    let group = Group::new().await;
    let until = group.clock.now().plus(Duration::from_hours(1));
    let wanted = |scopes: &[Scope]| KeyDraft {
        name: "program".to_owned(),
        scopes: scopes.to_vec(),
        channels: None,
        not_before: None,
        expires_at: None,
    };
    let key = OperatorKey {
        user: OWNER.into(),
        name: "bounded".to_owned(),
        scopes: vec![Scope::ManageKeys, Scope::ReadMessages],
        channels: Some(vec![GROUP.into()]),
        not_before: None,
        expires_at: Some(until),
    };
    let bounded = Caller::from(group.keys.issue(key.clone()).await.unwrap().key);
    let access = group.access.scoped::<ManageKeys>(bounded).unwrap();
    let more = group.keys.create(&access, wanted(&[Scope::ReadMembers])).await;
    assert_eq!(more.err(), Some(ServiceError::InsufficientPermissions));
    let own = group.keys.create(&access, wanted(&[Scope::ReadMessages])).await.unwrap().key;
    assert_eq!((own.channels, own.expires_at), (Some(vec![GROUP.into()]), Some(until)));
    let unknown = OperatorKey { channels: Some(vec!["C9".into()]), ..key.clone() };
    let unknown = group.keys.issue(unknown).await.err();
    assert!(matches!(unknown, Some(IssueKeyError::UnknownChannel(_))), "{unknown:?}");
    let past = OperatorKey { expires_at: Some(group.clock.now()), ..key };
    assert!(matches!(group.keys.issue(past).await.err(), Some(IssueKeyError::Expired)));
}
