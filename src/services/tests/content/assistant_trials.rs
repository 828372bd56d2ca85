//! Trials of the assistant: what each way of asking says about one message agrees with the others.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::assistant::{KeywordMatch, NoMatchScope, QaMode, RuleDraft, Strictness};
use chatkeep_core::id::{ChannelId, RuleId};
use chatkeep_core::plan::Plan;
use chatkeep_store::{PresenceEvidenceKind, ReplySource};

use super::super::{Group, OWNER, caller, draft};
use super::conversation::{access, refusal, store, text};
use crate::access::{Admin, ReadMessages};
use crate::assistant::{
    AssistantChange, BacktestRequest, Comparison, ComparisonRequest, Difference, FieldText,
    HistoryAccess, Progress, QaChange, SettingsAccess, Trial, TrialReason, TriggerChange,
};
use crate::{FieldPath, Nullable};

/// Messages of people: keywords, questions, typos, votes, links and signs, in several languages.
const SAID: [&str; 24] = [
    "opening hours",
    "OPENING HOURS?",
    "opning huors",
    "when do you open tomorrow?",
    "what are your opening hours on sunday",
    "happy hours",
    "營業時間",
    "请问营业时间是几点",
    "營業時間到幾點？",
    "停車場在哪裡",
    "where can I park my car?",
    "parking",
    "ที่จอดรถอยู่ที่ไหน",
    "営業時間を教えてください",
    "rules",
    "the rules of football",
    "連結！",
    "dashboard please",
    "+1",
    "3",
    "👍🎉",
    "???",
    "https://example.org/opening?hours",
    "see you tomorrow",
];

const MODES: [QaMode; 3] = [QaMode::Keyword, QaMode::Fuzzy, QaMode::Semantic];

fn settings(mode: QaMode, matching: KeywordMatch, strictness: Strictness) -> AssistantChange {
    let qa = QaChange {
        mode: Some(mode),
        keyword_match: Some(matching),
        strictness: Some(strictness),
        ..QaChange::default()
    };
    AssistantChange { qa: Some(qa), ..AssistantChange::default() }
}

/// Returns a group on the largest plan with rules, group rules and a link.
async fn prepared() -> Group {
    let group = Group::new().await;
    group.set_plan(Plan::Pro).await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    for (keywords, question, not_for) in [
        (&["opening hours", "營業時間"][..], "When are you open?", &["happy hours"][..]),
        (&["parking", "停車場"][..], "Where can I park?", &[][..]),
        (&["rules"][..], "Never reached by that word", &[][..]),
    ] {
        let rule = RuleDraft {
            keywords: keywords.iter().map(ToString::to_string).collect(),
            question: question.to_owned(),
            answer: format!("About {}", keywords[0]),
            not_for: not_for.iter().map(ToString::to_string).collect(),
        };
        assistant.add_rule(&access, rule, None).await.unwrap();
        group.hands.advance(Duration::from_secs(1));
    }
    let trigger = |word: &str| {
        let trigger_keywords = Some(vec![word.to_owned()]);
        Some(TriggerChange { enabled: Some(true), trigger_keywords })
    };
    let (rules, link) = (trigger("rules"), trigger("連結"));
    let change = AssistantChange { rules, link, ..AssistantChange::default() };
    assistant.change_settings(&access, change, None).await.unwrap();
    let content = FieldText { field: FieldPath::BODY, text: "Be kind".to_owned() };
    assistant.set_group_rules(&access, Some(content), None).await.unwrap();
    group
}

async fn tried(group: &Group, access: &SettingsAccess, said: &str) -> Trial {
    group.assistant.simulate(access, said.to_owned()).await.unwrap()
}

async fn history(group: &Group) -> HistoryAccess {
    access::<Admin, ReadMessages>(group, caller(OWNER)).await
}

async fn compared(group: &Group, request: ComparisonRequest) -> Arc<Comparison> {
    let access = history(group).await;
    loop {
        let progress = group.assistant.comparison(&access, request.clone()).await.unwrap();
        if let Progress::Finished(found) = progress {
            return found;
        }
    }
}

#[tokio::test]
async fn a_trial_in_all_modes_says_what_a_trial_in_each_mode_says() {
    let group = prepared().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    for matching in [KeywordMatch::Exact, KeywordMatch::Contains] {
        let change = settings(QaMode::Keyword, matching, Strictness::Balanced);
        assistant.change_settings(&access, change, None).await.unwrap();
        let mut reports = Vec::new();
        for said in SAID {
            reports.push(assistant.simulate_modes(&access, said.to_owned()).await.unwrap());
        }
        for (nth, mode) in MODES.into_iter().enumerate() {
            assistant.change_settings(&access, super::super::mode(mode), None).await.unwrap();
            for (said, report) in SAID.into_iter().zip(&reports) {
                let (own, there) = (tried(&group, &access, said).await, &report.modes[nth]);
                assert_eq!((there.mode, there.is_included, own.mode), (mode, true, mode));
                let answering = there.candidates.iter().find(|candidate| candidate.answers);
                let expected = answering.map(|candidate| candidate.rule.id.clone());
                assert_eq!(own.rule, expected, "{said} {mode:?} {matching:?}");
                let is_trigger =
                    matches!(there.reason, TrialReason::Trigger(_) | TrialReason::LinkTrigger(_));
                let of_trigger = matches!(own.source, Some(ReplySource::Rules | ReplySource::Link));
                assert_eq!(of_trigger, is_trigger, "{said} {mode:?}");
                let scores = own.candidates.iter().map(|one| (&one.rule, one.excluded));
                let theirs = there.candidates.iter().map(|one| (&one.rule.id, one.excluded));
                assert!(scores.eq(theirs), "{said}: {own:?} {there:?}");
                assert!(is_trigger || (own.score - there.score).abs() < 1e-6, "{said}");
            }
        }
    }
}

/// Stores all messages, some time before now.
async fn say_all(group: &Group) {
    let now = group.clock.now();
    let said = SAID
        .iter()
        .zip(0_u64..)
        .map(|(said, nth)| text(&format!("m{nth}"), now.plus(Duration::from_millis(nth)), said));
    store(group, &said.collect::<Vec<_>>()).await;
    group.hands.advance(Duration::from_mins(1));
}

#[tokio::test]
async fn a_test_of_the_history_answers_what_a_trial_answers() {
    let group = prepared().await;
    let (settings_access, assistant) = (group.settings().await, &group.assistant);
    say_all(&group).await;
    let history = history(&group).await;
    let strictness = Strictness::Careful;
    for mode in MODES {
        for matching in [KeywordMatch::Exact, KeywordMatch::Contains] {
            let change = settings(mode, matching, strictness);
            assistant.change_settings(&settings_access, change, None).await.unwrap();
            let mut answers: Vec<(String, Option<RuleId>)> = Vec::new();
            for (nth, said) in SAID.into_iter().enumerate() {
                let answer = tried(&group, &settings_access, said).await;
                if answer.source.is_some() {
                    answers.push((format!("m{nth}"), answer.rule));
                }
            }
            let request = BacktestRequest::default();
            let tested = assistant.backtest(&history, request).await.unwrap();
            let by_rules = answers.iter().filter(|(_, rule)| rule.is_some()).count();
            assert_eq!((tested.answered, tested.scanned), (by_rules, SAID.len()), "{mode:?}");
            // Nothing was answered at the time, so every answer is a change; the newest come first.
            let changes = tested.changes.iter().rev();
            let changes: Vec<_> = changes
                .map(|one| (one.message.id.as_str().to_owned(), one.draft.rule.clone()))
                .collect();
            assert_eq!(changes, answers, "{mode:?} {matching:?}");
            let found = assistant.unanswered(&history, 30, 100).await.unwrap();
            let open: Vec<_> =
                found.questions.iter().flat_map(|question| &question.messages).collect();
            let is_open = |id: &String| open.iter().any(|open| open.as_str() == id);
            assert!(!answers.iter().any(|(id, _)| is_open(id)), "{mode:?} {open:?}");
        }
    }
}

#[tokio::test]
async fn a_comparison_counts_the_differences_of_two_trials() {
    let group = prepared().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    say_all(&group).await;
    let mut replies = Vec::new();
    for mode in MODES {
        let change = settings(mode, KeywordMatch::Exact, Strictness::Eager);
        assistant.change_settings(&access, change, None).await.unwrap();
        let mut of_mode = Vec::new();
        for said in SAID {
            let Trial { source, rule, reply, .. } = tried(&group, &access, said).await;
            of_mode.push(reply.map(|reply| (source, rule, reply)));
        }
        replies.push(of_mode);
    }
    // The last one is set.
    for (nth, mode) in MODES.into_iter().enumerate() {
        let request = ComparisonRequest { mode: Some(mode), ..ComparisonRequest::default() };
        let found = compared(&group, request).await;
        assert_eq!((found.modes, found.scanned), ((QaMode::Semantic, mode), SAID.len()));
        let mut counts = [0; 4];
        for (today, other) in replies[2].iter().zip(&replies[nth]) {
            match (today, other) {
                (None, None) => {}
                (None, Some(_)) => counts[0] += 1,
                (Some(_), None) => counts[1] += 1,
                (Some(one), Some(other)) => counts[if one == other { 3 } else { 2 }] += 1,
            }
        }
        let found = [Difference::New, Difference::Lost, Difference::Other, Difference::Same]
            .map(|difference| found.count(difference));
        assert_eq!(found, counts, "{mode:?}");
    }
}

#[tokio::test]
async fn where_the_bot_is_alone_with_somebody_everything_is_meant_for_it() {
    let group = Group::new().await;
    let own = ChannelId::from(OWNER);
    group.happened(OWNER, PresenceEvidenceKind::Present(OWNER.into())).await;
    let now = group.clock.now();
    group.store.accounts().subscribe(&own, &OWNER.into(), now).await.unwrap();
    let alone: SettingsAccess = group.access.channel(caller(OWNER), own).await.unwrap();
    let together = group.settings().await;
    for (scope, in_group) in [(NoMatchScope::Addressed, false), (NoMatchScope::Always, true)] {
        let qa = QaChange {
            no_match_reply: Nullable::To(Some("Pardon?".to_owned())),
            no_match_scope: Some(scope),
            ..QaChange::default()
        };
        let change = AssistantChange { qa: Some(qa), ..AssistantChange::default() };
        for (access, is_answered) in [(&alone, true), (&together, in_group)] {
            let change = change.clone();
            group.assistant.change_settings(access, change, None).await.unwrap();
            let asked = tried(&group, access, "anybody there").await;
            let expected = is_answered.then_some(ReplySource::NoMatch);
            assert_eq!((asked.source, asked.rule), (expected, None), "{scope:?}");
            assert_eq!(asked.reply.is_some(), is_answered);
            // Signs, emoji and addresses ask nothing.
            for nothing in ["👍🎉", "?!", "https://example.org/a", "ann@example.org"] {
                let said = tried(&group, access, nothing).await;
                assert_eq!(said.source, None, "{nothing} {scope:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_trial_takes_what_people_can_send_and_counts_nothing() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let id = assistant.add_rule(&access, draft("hours"), None).await.unwrap();
    let longest = "e\u{301}".repeat(5_000);
    assert_eq!(tried(&group, &access, &longest).await.source, None);
    for wrong in [format!("{longest}x"), String::new(), "\u{3164}".to_owned(), "a\0".to_owned()] {
        let refused = assistant.simulate(&access, wrong.clone()).await;
        assert_eq!(refusal(refused).0, "/text");
        let refused = assistant.simulate_modes(&access, wrong).await;
        assert_eq!(refusal(refused).0, "/text");
    }
    assert_eq!(tried(&group, &access, "hours").await.rule, Some(id.clone()));
    let (rule, _) = assistant.rule(&access, &id).await.unwrap();
    assert_eq!((rule.hit_count, rule.suppressed_count), (0, 0));

    // Switched off, it says nothing, and all modes still say what they would.
    let off = AssistantChange { enabled: Some(false), ..AssistantChange::default() };
    assistant.change_settings(&access, off, None).await.unwrap();
    let report = assistant.simulate_modes(&access, "hours".to_owned()).await.unwrap();
    assert_eq!((report.is_on, report.now.source), (false, None));
    let expected = TrialReason::Keyword("hours".to_owned());
    assert!(report.modes.iter().all(|mode| mode.reason == expected), "{report:?}");
    let included = report.modes.iter().map(|mode| mode.is_included).collect::<Vec<_>>();
    assert_eq!(included, [true, true, false], "the plan has no semantic mode");
    assert!(report.modes.iter().all(|mode| mode.is_whole));
    // Each mode is tried as on the plan that has it: none stands in for another.
    let modes = report.modes.iter().map(|mode| mode.mode).collect::<Vec<_>>();
    assert_eq!(modes, MODES);
}

#[tokio::test]
async fn what_a_rule_is_not_for_is_told_beside_its_score() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let change = settings(QaMode::Keyword, KeywordMatch::Contains, Strictness::Balanced);
    assistant.change_settings(&access, change, None).await.unwrap();
    let rule = RuleDraft { not_for: vec!["Happy hours!".to_owned()], ..draft("hours") };
    assistant.add_rule(&access, rule, None).await.unwrap();
    let reported = async |said: &str| {
        let report = assistant.simulate_modes(&access, said.to_owned()).await.unwrap();
        report.modes
    };
    for said in ["happy hours", "ＨＡＰＰＹ ＨＯＵＲＳ?"] {
        let modes = reported(said).await;
        assert_eq!(modes[0].reason, TrialReason::Excluded, "{said}");
        assert_eq!(modes[0].candidates.len(), 1);
        for candidate in modes.iter().flat_map(|mode| &mode.candidates) {
            assert!(candidate.excluded && !candidate.answers, "{candidate:?}");
            assert_eq!(candidate.found, ["hours"]);
        }
    }
    // A keyword beside such a text answers.
    for mode in reported("happy hours or opening hours?").await {
        assert_eq!(mode.reason, TrialReason::Keyword("hours".to_owned()));
        let [first] = &mode.candidates[..] else { panic!("{mode:?}") };
        assert!(first.answers && !first.excluded, "{first:?}");
    }
    let nothing = reported("see you").await;
    assert_eq!((&nothing[0].reason, nothing[0].score), (&TrialReason::Nothing, 0.0));
}
