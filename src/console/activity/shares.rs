//! Tables of shares with bars: who wrote, what answered, and what is stored.

use chatkeep_i18n::grouped;
use chatkeep_services::activity::{Activity, AnsweredBy};
use chatkeep_store::{ActivityPerson, ActivityStorage, ReplySource};
use chatkeep_view::segment;

use super::super::labels::{hue, initial, kind_key, size, visible};
use super::super::origin::rule_name;
use super::{Looks, part_of};

/// Length of the longest bar beside a name, in its own units.
const LENGTH: i64 = 100;

/// Row of a table with a bar.
pub(super) struct Share {
    /// Person with a picture of their own; `None` for sums.
    pub(super) avatar: Option<Avatar>,
    pub(super) label: String,
    /// True for texts of people, in whatever language.
    pub(super) foreign: bool,
    /// Page about it.
    pub(super) href: Option<String>,
    pub(super) length: i64,
    pub(super) value: String,
    pub(super) part: String,
}

pub(super) struct Avatar {
    pub(super) initial: String,
    pub(super) hue: String,
}

impl Looks<'_> {
    pub(super) fn people(&self, activity: &Activity) -> Vec<Share> {
        let most = activity.people.first().map_or(0, |person| person.messages);
        let mut rows: Vec<_> =
            activity.people.iter().map(|person| self.person(person, most, activity)).collect();
        rows.extend(self.others("activity-other-people", activity.other_people, activity.messages));
        rows
    }

    fn person(&self, person: &ActivityPerson, most: i64, activity: &Activity) -> Share {
        let language = self.dates.language;
        let name = visible(person.display_name.clone());
        let foreign = name.is_some() && !person.is_bot;
        let key = if person.is_bot { "bot-name" } else { "name-unknown" };
        let label = name.unwrap_or_else(|| language.text(key));
        let hue = match &person.user {
            Some(user) => hue(user.as_str()).to_string(),
            None => "bot".to_owned(),
        };
        let avatar = Avatar { initial: initial(&label), hue };
        share(label, person.messages, (most, activity.messages))
            .with(|share| (share.avatar, share.foreign) = (Some(avatar), foreign))
    }

    pub(super) fn answers(&self, activity: &Activity) -> Vec<Share> {
        let all = activity.answers.iter().map(|(_, messages)| messages).sum::<i64>();
        let all = all + activity.other_answers;
        let most = activity.answers.first().map_or(0, |(_, messages)| *messages);
        let answers = activity.answers.iter();
        let mut rows: Vec<_> =
            answers.map(|(by, messages)| self.answer(by, *messages, (most, all))).collect();
        rows.extend(self.others("activity-other-rules", activity.other_answers, all));
        rows
    }

    fn answer(&self, by: &AnsweredBy, messages: i64, of: (i64, i64)) -> Share {
        let language = self.dates.language;
        let key = match by {
            AnsweredBy::Rule(rule) => {
                let id = segment(rule.id.as_str());
                let href = format!("{}/assistant/rules/{id}", self.path);
                return share(rule_name(rule, language), messages, of)
                    .with(|share| (share.href, share.foreign) = (Some(href), true));
            }
            AnsweredBy::SomeRule | AnsweredBy::Source(ReplySource::Qa) => "activity-some-rule",
            AnsweredBy::DeletedRule => "activity-deleted-rules",
            AnsweredBy::Source(ReplySource::Rules) => "origin-group-rules",
            AnsweredBy::Source(ReplySource::Link) => "activity-link",
            AnsweredBy::Source(ReplySource::NoMatch) => "origin-no-match",
            AnsweredBy::Source(ReplySource::Welcome) => "origin-welcome",
        };
        share(language.text(key), messages, of)
    }

    pub(super) fn storage(&self, storage: &[ActivityStorage], stored: i64) -> Vec<Share> {
        let most = storage.first().map_or(0, |kind| kind.bytes);
        let row = |kind: &ActivityStorage| {
            let label = self.dates.language.text(kind_key(kind.kind));
            share(label, kind.bytes, (most, stored)).with(|share| {
                share.value = format!("{} · {}", grouped(kind.messages), size(kind.bytes));
            })
        };
        storage.iter().map(row).collect()
    }

    /// Returns the row of everybody who is not named.
    fn others(&self, key: &str, messages: i64, all: i64) -> Option<Share> {
        let label = self.dates.language.text(key);
        (messages > 0).then(|| share(label, messages, (0, all)))
    }
}

/// Returns a row of a number, beside the largest one and of all.
fn share(label: String, value: i64, (most, all): (i64, i64)) -> Share {
    Share {
        avatar: None,
        label,
        foreign: false,
        href: None,
        length: part_of(value, most, LENGTH),
        value: grouped(value),
        part: percent(value, all),
    }
}

impl Share {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// Returns a share in percent.
fn percent(value: i64, all: i64) -> String {
    let percent = (i128::from(value.max(0)) * 200 / i128::from(all.max(1)) + 1) / 2;
    if percent == 0 && value > 0 { "<1%".to_owned() } else { format!("{percent}%") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_as_people_do() {
        assert_eq!(percent(1, 1_000), "<1%");
        assert_eq!([percent(1, 3), percent(2, 3), percent(0, 0)], ["33%", "67%", "0%"]);
        assert_eq!([part_of(0, 9, 100), part_of(1, 900, 100), part_of(9, 9, 100)], [0, 1, 100]);
        assert_eq!(part_of(i64::MAX, i64::MAX, 5), 5);
    }
}
