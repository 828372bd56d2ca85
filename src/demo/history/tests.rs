//! Plans of the sample groups: complete, in order, and the same for the same day.

use std::collections::BTreeSet;

use chatkeep_core::message::Content;
use chatkeep_workers::assistant::Decision;

use super::super::cast::CASTS;
use super::*;
use plan::{Deed, SampleFile};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn planned(cast: &Cast) -> Vec<PlannedStep> {
    let past = cast.past.as_ref().unwrap();
    let script = Script::read(past.script).unwrap();
    let at = |list: &[(&str, i64)], name: &str| {
        let found = list.iter().find(|(other, _)| *other == name);
        found.map(|(_, days)| days_before(NOW, *days))
    };
    let left = past.left.iter().map(|(name, _)| *name);
    let member = |name: &str| CastMember {
        id: UserId::from(name),
        name: name.to_owned(),
        joined: at(past.joined, name),
        left: at(past.left, name),
    };
    let members: Vec<_> = cast.founders.iter().copied().chain(left).map(member).collect();
    Planner::new(cast.name, past, &script, &members, NOW).unwrap().steps()
}

#[test]
fn a_year_is_planned_in_order_and_without_holes_in_its_texts() {
    for cast in &CASTS[1..] {
        let steps = planned(cast);
        assert!(steps.is_sorted_by_key(|step| step.at), "{}", cast.name);
        assert!(steps.iter().all(|step| step.at <= NOW && step.at >= begin(NOW)));
        assert!(matches!(steps[0].deed, Deed::BotJoined), "the bot is there first");
        let (mut ids, mut photos) = (BTreeSet::new(), 0);
        for step in &steps {
            let Deed::Said(said) = &step.deed else { continue };
            assert!(ids.insert(&said.id), "{} twice", said.id);
            photos += usize::from(matches!(said.file, Some(SampleFile::Photo(_))));
            if let Content::Text { text, mentions, .. } = &said.content {
                assert!(!text.contains(['{', '}']), "{text}");
                assert!(!text.contains('@') || !mentions.is_empty(), "{text}");
            }
        }
        assert!(ids.len() > 400 && photos > 10, "{}: {} and {photos}", cast.name, ids.len());
    }
}

#[test]
fn the_same_day_gives_the_same_history() {
    let told = || {
        let steps = planned(&CASTS[2]);
        steps.into_iter().map(|step| format!("{step:?}")).collect::<Vec<_>>()
    };
    assert_eq!(told(), told());
}

#[test]
fn nobody_speaks_who_is_not_there_and_nothing_is_kept_without_the_bot() {
    let cast = &CASTS[2];
    let past = cast.past.as_ref().unwrap();
    let (from, to) = past.absence.unwrap();
    for step in planned(cast) {
        let Deed::Said(said) = &step.deed else { continue };
        let absent = step.at > days_before(NOW, from) && step.at < days_before(NOW, to);
        assert!(!absent, "{said:?}");
        let since = past.joined.iter().find(|(name, _)| *name == said.sender.as_str());
        assert!(since.is_none_or(|(_, days)| step.at > days_before(NOW, *days)), "{said:?}");
        let until = past.left.iter().find(|(name, _)| *name == said.sender.as_str());
        assert!(until.is_none_or(|(_, days)| step.at < days_before(NOW, *days)), "{said:?}");
    }
}

#[test]
fn questions_are_answered_by_rules_and_some_by_none() {
    for cast in &CASTS[1..] {
        let script = Script::read(cast.past.as_ref().unwrap().script).unwrap();
        let assistant = compiled(&script, begin(NOW)).unwrap();
        let said = script.talks.iter().flat_map(|talk| &talk.lines);
        let texts = said.filter_map(|line| match &line.what {
            script::What::Text(text, _) => Some(text),
            _ => None,
        });
        let (mut answered, mut rules) = (0, BTreeSet::new());
        let mut open = 0;
        for text in texts {
            match assistant.decide(text) {
                Decision::Answer(reply) => {
                    answered += 1;
                    rules.extend(reply.rule);
                }
                _ => open += usize::from(text.contains(['?', '？']) || text.contains("ไหม")),
            }
        }
        for text in script.asks.iter().flatten() {
            assert_eq!(assistant.decide(text), Decision::NoMatch, "{text}");
        }
        assert!(rules.len() > 3, "{}: only {rules:?} answer", cast.name);
        assert!((5..40).contains(&answered) && open > 10, "{}: {answered}, {open}", cast.name);
    }
}
