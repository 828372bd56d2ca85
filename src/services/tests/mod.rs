//! Rules of use cases, on a real database: no surface is needed to try them.

mod content;
mod digest;
mod documents;
mod earlier_texts;
mod export_jobs;
mod media;
mod orphan_sweep;
mod own;
mod pseudonyms;
mod removals;
mod retention;
mod scene;
mod use_cases;
mod wal_checkpoint;

use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::assistant::{AssistantConfig, KeywordMatch, QaMode, RuleDraft};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::config::Database;
use chatkeep_core::id::{ChannelId, SessionId, UserId};
use chatkeep_core::message::Content;
use chatkeep_core::plan::Plan;
use chatkeep_core::role::Scope;
use chatkeep_core::signing;
use chatkeep_core::time::{ManualClock, SharedClock, Timestamp};
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_platform::Bots;
use chatkeep_store::{
    NewSession, NewWebhook, OutboxEventKind, PresenceEvidenceKind, ReplySource, SignedIn, Store,
    WebhookChange, WebhookMade, WebhookMaker,
};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use chatkeep_workers::assistant::Assistants;
use chatkeep_workers::periodic::PeriodicJob as _;
use sqlx::{Connection as _, Executor as _, SqliteConnection};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::access::{
    AccessService, Admin, ManageKeys, Member, ReadMessages, WriteAssistant, WriteBackup,
};
use super::account::AccountService;
use super::assistant::{
    AssistantChange, AssistantService, ComparisonRequest, Difference, FieldText,
    KeywordWarningKind, Progress, QaChange, TrialReason, TriggerChange, UnansweredFigures,
};
use super::channels::ChannelService;
use super::keys::{IssueKeyError, KeyDraft, KeyService, OperatorKey};
use super::operator::Operator;
use super::overview::OverviewService;
use super::subscriptions::SubscriptionService;
use super::{Caller, Credential, FieldPath, ServiceError};
use scene::sent;

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
    /// The same clock, to be moved.
    hands: Arc<ManualClock>,
    folder: TempDir,
}

impl Group {
    async fn new() -> Self {
        Self::at(Some("https://chat.example.org")).await
    }

    /// Creates it with that public address of the service.
    async fn at(address: Option<&'static str>) -> Self {
        let folder = TempDir::new().unwrap();
        let hands = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        let clock: SharedClock = Arc::<ManualClock>::clone(&hands);
        let store = Store::open(&Database::Sqlite, folder.path(), 2).await.unwrap();
        let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), Arc::clone(&clock));
        let bus = Bus::Embedded(bus.await.unwrap());
        let links = Links::new(address);
        let assistants = Assistants::new(store.clone(), SemanticSpace::built_in())
            .with_links(move |channel| links.channel(channel));
        let own = || (store.clone(), Arc::clone(&clock));
        let ((s, c), keys) = (own(), KeyService::new(store.clone(), Arc::clone(&clock)));
        let access = AccessService::new(s, c, Bots::new([]));
        let (s, c) = own();
        let assistant = AssistantService::new(s, c, bus, assistants);
        let (s, c) = own();
        let subscriptions = SubscriptionService::new(s, c);
        let group = Self { store, access, assistant, keys, clock, hands, folder };
        group.fill().await;
        let owner = group.access.channel::<Member, WriteBackup>(caller(OWNER), GROUP.into());
        assert!(subscriptions.subscribe(&owner.await.unwrap()).await.unwrap());
        group
    }

    async fn fill(&self) {
        for user in [OWNER, OTHER] {
            let (id, secret) = (session(user), format!("secret of {user}"));
            let session = NewSession { id: &id, secret: &secret, csrf: "" };
            let user = user.into();
            self.arrives(&user).await;
            let person = SignedIn { user: &user, display_name: None, picture_url: None };
            self.store.sessions().sign_in(&person, &session, self.clock.now()).await.unwrap();
        }
    }

    /// Makes somebody a member.
    async fn arrives(&self, user: &UserId) {
        self.happened(GROUP, PresenceEvidenceKind::Present(user.clone())).await;
    }

    async fn settings(&self) -> super::assistant::SettingsAccess {
        let access = self.access.channel::<Admin, WriteAssistant>(caller(OWNER), GROUP.into());
        access.await.unwrap()
    }

    /// Runs a statement beneath the store.
    async fn sql(&self, sql: &'static str) {
        let file = format!("sqlite://{}/chatkeep.db", self.folder.path().display());
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        connection.execute(sql).await.unwrap();
    }

    async fn set_plan(&self, plan: Plan) {
        self.store.accounts().set_plan(&OWNER.into(), plan, self.clock.now()).await.unwrap();
    }
}

/// Returns the id of a person's session.
fn session(user: &str) -> SessionId {
    SessionId::new(format!("session of {user}"))
}

/// Returns a caller with a session, who may do whatever their role allows.
fn caller(user: &str) -> Caller {
    let credential = Credential::Session(session(user));
    Caller { user: user.into(), credential, bounds: Bounds::full(), mask: Mask::none() }
}

fn mode(mode: QaMode) -> AssistantChange {
    let qa = QaChange { mode: Some(mode), ..QaChange::default() };
    AssistantChange { qa: Some(qa), ..AssistantChange::default() }
}

fn draft(keyword: &str) -> RuleDraft {
    let (keywords, answer) = (vec![keyword.to_owned()], "Yes".to_owned());
    RuleDraft { keywords, answer, ..RuleDraft::default() }
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
async fn a_link_needs_a_public_address_and_one_from_before_stays() {
    let link = |enabled, words: &[&str]| AssistantChange {
        link: Some(TriggerChange {
            enabled,
            trigger_keywords: Some(words.iter().map(ToString::to_string).collect()),
        }),
        ..AssistantChange::default()
    };
    let group = Group::new().await;
    let access = group.settings().await;
    let on = group.assistant.change_settings(&access, link(Some(true), &["連結"]), None).await;
    assert!(on.unwrap().config.link.enabled);
    let tried = group.assistant.simulate(&access, "連結".to_owned()).await.unwrap();
    assert_eq!(tried.reply.as_deref(), Some("https://chat.example.org/c/C1"));
    assert_eq!((tried.source, tried.score), (Some(ReplySource::Link), 1.0));

    let group = Group::at(None).await;
    let access = group.settings().await;
    let refused = group.assistant.change_settings(&access, link(Some(true), &["連結"]), None).await;
    let field = FieldPath::body("/assistant/link/enabled");
    let Err(ServiceError::Invalid { field: Some(named), .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(named, field);
    let words =
        group.assistant.change_settings(&access, link(None, &["連結"]), None).await.unwrap();
    assert_eq!(words.config.link.trigger_keywords, ["連結"]);
    let (channel, by) = (GROUP.into(), OWNER.into());
    let before = |mut config: AssistantConfig, _| {
        config.link.enabled = true;
        Ok::<_, ()>(config)
    };
    let now = group.clock.now();
    let set = group.store.assistant().change_assistant_config(&channel, &by, now, before).await;
    set.unwrap().unwrap();
    group.assistant.reload(&channel).await;
    let kept = group.assistant.change_settings(&access, link(None, &["link"]), None).await.unwrap();
    assert!(kept.config.link.enabled);
    let tried = group.assistant.simulate(&access, "link".to_owned()).await.unwrap();
    assert_eq!(tried.reply, None);
}

#[tokio::test]
async fn a_trial_knows_the_words_of_the_link() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let words = |word: &str| Some(vec![word.to_owned(), "both".to_owned()]);
    let change = |enabled| AssistantChange {
        rules: Some(TriggerChange { enabled: Some(true), trigger_keywords: words("rules") }),
        link: Some(TriggerChange { enabled: Some(enabled), trigger_keywords: words("連結") }),
        ..AssistantChange::default()
    };
    assistant.change_settings(&access, change(true), None).await.unwrap();
    let text = FieldText { field: FieldPath::body("/groupRules"), text: "Be kind".to_owned() };
    assistant.set_group_rules(&access, Some(text), None).await.unwrap();
    assistant.add_rule(&access, draft("連結"), None).await.unwrap();
    let tried = async |text: &str| {
        let report = assistant.simulate_modes(&access, text.to_owned()).await.unwrap();
        let reasons: Vec<_> = report.modes.into_iter().map(|trial| trial.reason).collect();
        (report.now.source, reasons)
    };
    let link = TrialReason::LinkTrigger("連結".to_owned());
    assert_eq!(tried("連結！").await, (Some(ReplySource::Link), vec![link; 3]));
    let both = TrialReason::Trigger("both".to_owned());
    assert_eq!(tried("both").await, (Some(ReplySource::Rules), vec![both; 3]));
    assistant.change_settings(&access, change(false), None).await.unwrap();
    let rule = TrialReason::Keyword("連結".to_owned());
    assert_eq!(tried("連結！").await, (Some(ReplySource::Qa), vec![rule; 3]));
}

#[tokio::test]
async fn an_editor_is_warned_of_keywords_that_do_something_else() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let triggers = Some(vec!["Rules".to_owned()]);
    let rules = TriggerChange { enabled: Some(true), trigger_keywords: triggers };
    let words = Some(vec!["Dashboard".to_owned()]);
    let link = TriggerChange { enabled: Some(true), trigger_keywords: words };
    let (rules, link) = (Some(rules), Some(link));
    let change = AssistantChange { rules, link, ..AssistantChange::default() };
    assistant.change_settings(&access, change, None).await.unwrap();
    let first = assistant.add_rule(&access, draft("hours"), None).await.unwrap();
    for (keyword, kind, rules) in [
        ("HOURS", KeywordWarningKind::Shared, 2),
        ("rules", KeywordWarningKind::IsTrigger, 1),
        ("dashboard", KeywordWarningKind::IsTrigger, 1),
    ] {
        let rule = assistant.add_rule(&access, draft(keyword), None).await.unwrap();
        let saved = assistant.saved_rules(&access, rule.clone()).await.unwrap();
        let [warning] = &saved.warnings[..] else { panic!("{:?}", saved.warnings) };
        assert_eq!((warning.kind, warning.rule_ids.len()), (kind, rules));
        assert!(warning.rule_ids.contains(&rule));
    }
    let saved = assistant.saved_rules(&access, first).await.unwrap();
    assert_eq!(saved.book.rules.len(), 4);
    let inside = QaChange { keyword_match: Some(KeywordMatch::Contains), ..QaChange::default() };
    let rule = assistant.add_rule(&access, draft("house rules"), None).await.unwrap();
    let warned = async || assistant.saved_rules(&access, rule.clone()).await.unwrap().warnings;
    assert!(warned().await.is_empty(), "the whole message is no trigger");
    let change = AssistantChange { qa: Some(inside), ..AssistantChange::default() };
    assistant.change_settings(&access, change, None).await.unwrap();
    assert_eq!(warned().await[0].kind, KeywordWarningKind::IsTrigger);
    // The words of what is switched off bring nothing.
    let rules = TriggerChange { enabled: Some(false), trigger_keywords: None };
    let link = TriggerChange { enabled: Some(false), trigger_keywords: None };
    for (rules, link, left) in [(Some(rules), None, "dashboard"), (None, Some(link), "")] {
        let change = AssistantChange { rules, link, ..AssistantChange::default() };
        assistant.change_settings(&access, change, None).await.unwrap();
        let warnings = assistant.reviewed_rules(&access).await.unwrap().warnings;
        let triggers = warnings.iter().filter(|one| one.kind == KeywordWarningKind::IsTrigger);
        let words: Vec<_> = triggers.map(|warning| warning.keyword.as_str()).collect();
        assert_eq!(words.concat(), left);
    }
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
        pseudonyms: None,
    };
    let key = OperatorKey {
        user: OWNER.into(),
        name: "bounded".to_owned(),
        scopes: vec![Scope::ManageKeys, Scope::ReadMessages],
        channels: Some(vec![GROUP.into()]),
        not_before: None,
        expires_at: Some(until),
        pseudonyms: None,
    };
    let issued = group.keys.issue(&Operator::at_command_line(), key.clone()).await.unwrap();
    let bounded = Caller::of_key(&group.store, issued.key).await.unwrap();
    let access = group.access.scoped::<ManageKeys>(bounded).unwrap();
    let more = group.keys.create(&access, wanted(&[Scope::ReadMembers])).await;
    assert_eq!(more.err(), Some(ServiceError::InsufficientPermissions));
    let own = group.keys.create(&access, wanted(&[Scope::ReadMessages])).await.unwrap().key;
    assert_eq!((own.channels, own.expires_at), (Some(vec![GROUP.into()]), Some(until)));
    let unknown = OperatorKey { channels: Some(vec!["C9".into()]), ..key.clone() };
    let unknown = group.keys.issue(&Operator::at_command_line(), unknown).await.err();
    assert!(matches!(unknown, Some(IssueKeyError::UnknownChannel(_))), "{unknown:?}");
    let past = OperatorKey { expires_at: Some(group.clock.now()), ..key };
    assert!(matches!(
        group.keys.issue(&Operator::at_command_line(), past).await.err(),
        Some(IssueKeyError::Expired)
    ));
}

#[tokio::test]
async fn an_overview_is_within_the_bounds_of_its_caller() {
    let group = Group::new().await;
    group.happened("C2", PresenceEvidenceKind::Present(OWNER.into())).await;
    let now = group.clock.now();
    group.store.accounts().subscribe(&"C2".into(), &OWNER.into(), now).await.unwrap();
    group.sql("UPDATE channels SET bytes = 300 WHERE channel_id = 'C2'").await;
    let (id, user, secret) = ("wh_1".into(), OWNER.into(), signing::secret([1; 32]));
    let url = "https://example.org/";
    let events = &OutboxEventKind::ALL;
    let change = WebhookChange { url, description: "", events, channels: None, enabled: true };
    let maker = WebhookMaker { key: None, bounds: &Bounds::full() };
    let new = NewWebhook { id: &id, user: &user, secret: &secret, change, maker };
    assert_eq!(group.store.webhooks().add_webhook(&new, now).await.unwrap(), WebhookMade::Done);
    group.sql("UPDATE webhooks SET failing_since = 1").await;

    let own = || (group.store.clone(), Arc::clone(&group.clock));
    let channels =
        ChannelService::new(group.store.clone(), Arc::clone(&group.clock), chrono_tz::UTC);
    let ((store, clock), accounts) = (own(), AccountService::new(own().0, own().1));
    let overviews =
        OverviewService::new(store, clock, channels, accounts, group.assistant.figures());
    let seen = async |bounds: Bounds| {
        let caller = Caller { bounds, ..caller(OWNER) };
        let access = group.access.scoped::<ReadMessages>(caller).unwrap();
        let overview = overviews.page(&access, 50, None).await.unwrap();
        (overview.channels.len(), overview.usage.unwrap().used, overview.failing.len())
    };
    assert_eq!(seen(Bounds::full()).await, (2, 300, 1));
    let bounds = Bounds { channels: Some(vec![GROUP.into()]), ..Bounds::full() };
    assert_eq!(seen(bounds).await, (1, 300, 0), "the quota is the user's");
}

/// Runs a worker, which ends once the token is cancelled, until the condition holds.
async fn run_until<W: Future<Output = ()>>(
    worker: impl FnOnce(CancellationToken) -> W,
    mut holds: impl AsyncFnMut() -> bool,
) {
    let stop = CancellationToken::new();
    let condition = async {
        let _stop = stop.clone().drop_guard();
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    let condition = tokio::time::timeout(Duration::from_mins(1), condition);
    tokio::join!(condition, worker(stop.clone())).0.expect("the condition holds in time");
}

/// Stores texts of the owner, a millisecond apart.
async fn say(group: &Group, texts: &[String]) {
    let said = |(number, text): (usize, &String)| {
        let at = Timestamp::from_millis(1_000 + i64::try_from(number).unwrap());
        sent(GROUP, &format!("m{number}"), Some(OWNER), at, &Content::text(text.as_str()))
    };
    let changes: Vec<_> = texts.iter().enumerate().map(said).collect();
    group.store.messages().ingest(&changes, group.clock.now()).await.unwrap();
}

#[tokio::test]
async fn an_examination_goes_on_where_it_stopped_and_tells_how_far_it_is() {
    let mut group = Group::new().await;
    // A page of messages a step.
    group.assistant.examinations.step = Duration::ZERO;
    let texts: Vec<_> = (0..1_200)
        .map(|number| match number % 6 {
            0 => "huors".to_owned(),
            1 => "hours".to_owned(),
            2 => "where is the parking garage?".to_owned(),
            _ => format!("nothing {number}"),
        })
        .collect();
    say(&group, &texts).await;
    let settings = group.settings().await;
    group.assistant.add_rule(&settings, draft("hours"), None).await.unwrap();
    let access = group.access.channel::<Admin, ReadMessages>(caller(OWNER), GROUP.into());
    let access = access.await.unwrap();
    let request = ComparisonRequest { mode: Some(QaMode::Fuzzy), ..ComparisonRequest::default() };
    let mut percents = Vec::new();
    let found = loop {
        match group.assistant.comparison(&access, request.clone()).await.unwrap() {
            Progress::Running(percent) => percents.push(percent),
            Progress::Finished(found) => break found,
        }
    };
    assert!(percents.len() == 2 && percents.is_sorted() && percents[1] < 100, "{percents:?}");
    assert!(found.complete && found.scanned == 1_200, "{found:?}");
    let counts = [Difference::New, Difference::Lost, Difference::Other, Difference::Same]
        .map(|difference| found.count(difference));
    assert_eq!(counts, [200, 0, 0, 200]);
    // It is kept, and made anew with other rules.
    let again = group.assistant.comparison(&access, request.clone()).await.unwrap();
    assert!(matches!(again, Progress::Finished(again) if Arc::ptr_eq(&again, &found)));
    group.assistant.add_rule(&settings, draft("parking"), None).await.unwrap();
    let again = group.assistant.comparison(&access, request).await.unwrap();
    assert!(matches!(again, Progress::Running(_)), "{again:?}");

    let mut steps = 0;
    let questions = loop {
        match group.assistant.unanswered_step(&access, 30).await.unwrap() {
            Progress::Running(_) => steps += 1,
            Progress::Finished(found) => break found,
        }
    };
    let asked = questions.questions.iter().map(|question| question.count);
    assert_eq!((steps, asked.collect::<Vec<_>>()), (2, vec![200]));
    let whole = group.assistant.unanswered(&access, 30, 10).await.unwrap();
    assert_eq!((whole.total, whole.questions[0].count), (questions.total, 200));
}

#[tokio::test]
async fn numbers_of_questions_are_found_for_those_who_ask() {
    let group = Group::new().await;
    say(&group, &["where is it?".to_owned(), "who are you?".to_owned()]).await;
    let group_id = ChannelId::from(GROUP);
    let (figures, stop) = (group.assistant.figures(), CancellationToken::new());
    let job = UnansweredFigures(group.assistant.clone());
    let of_group = || figures.of([GROUP.into()]).get(&group_id).copied();
    job.run(&stop).await.unwrap();
    assert_eq!(of_group(), None, "nobody has asked yet");
    job.run(&stop).await.unwrap();
    assert_eq!(of_group(), Some(0), "without rules nothing is expected");
    let settings = group.settings().await;
    group.assistant.add_rule(&settings, draft("hours"), None).await.unwrap();
    assert_eq!(of_group(), None, "the rules have changed");
    job.run(&stop).await.unwrap();
    assert_eq!(of_group(), Some(2));
}
