//! Turns a script into a year of a group: who says what and when.

mod speech;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::message::{Content, MediaInfo};
use chatkeep_core::time::{DAY, Timestamp};
use chrono::{DateTime, Datelike as _, Days, NaiveDate, TimeZone as _, Timelike as _};
use chrono_tz::Tz;

use super::super::cast::Past;
use super::dice::Dice;
use super::script::{Hours, Often, Script, ScriptLine, Talk, What};

/// Days of a history.
pub(super) const DAYS: i64 = 365;
/// Milliseconds since the beginning of the newest conversation, longer than it takes.
const NEWEST: i64 = 3 * 3_600_000;
/// Days within which the questions without a rule were asked.
const QUESTION_DAYS: i64 = 26;
/// Recordings of a history, and the days between them.
const RECORDINGS: i64 = 28;
const BETWEEN: i64 = 10;
/// Days ago of the last recording, and of the day on which the oldest ones are unsent.
const LAST_RECORDING: i64 = 41;
const CLEARED: i64 = 37;
/// Recordings that are unsent then.
const UNSENT: usize = 5;

/// Member of a group in its history.
#[derive(Clone, Debug)]
pub(super) struct CastMember {
    pub(super) id: UserId,
    pub(super) name: String,
    /// Time of joining; `None` if they were there from the beginning.
    pub(super) joined: Option<Timestamp>,
    /// Time of leaving.
    pub(super) left: Option<Timestamp>,
}

/// Event of a history.
#[derive(Debug)]
pub(super) struct PlannedStep {
    pub(super) at: Timestamp,
    pub(super) deed: Deed,
}

/// Kind of an event.
#[derive(Debug)]
pub(super) enum Deed {
    BotJoined,
    BotLeft,
    Joined(UserId),
    Left(UserId),
    Said(Said),
    Edited(MessageId, Content),
    Unsent(MessageId),
}

/// Message of a person.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) id: MessageId,
    pub(super) sender: UserId,
    pub(super) content: Content,
    pub(super) quoted: Option<MessageId>,
    pub(super) file: Option<SampleFile>,
}

/// File of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum SampleFile {
    /// The photo of that number.
    Photo(usize),
    /// Recording of a meeting.
    Recording,
    /// Text file with that content.
    Text(String),
}

/// Planner of a history.
pub(super) struct Planner<'a> {
    past: &'a Past,
    script: &'a Script,
    /// The group's people, its owner first.
    people: &'a [CastMember],
    zone: Tz,
    now: Timestamp,
    dice: Dice,
    steps: Vec<PlannedStep>,
    messages: i64,
}

impl<'a> Planner<'a> {
    /// Creates it for the group of that name.
    ///
    /// # Errors
    /// Returns an error for an unknown time zone.
    pub(super) fn new(
        name: &str,
        past: &'a Past,
        script: &'a Script,
        people: &'a [CastMember],
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let zone = past.zone.parse::<Tz>().ok().context("unknown time zone")?;
        let dice = Dice::of(name);
        Ok(Self { past, script, people, zone, now, dice, steps: Vec::new(), messages: 0 })
    }

    /// Returns all events in order.
    pub(super) fn steps(mut self) -> Vec<PlannedStep> {
        self.moves();
        if self.past.recordings {
            self.recordings();
        }
        self.talks();
        self.asks();
        self.steps.sort_by_key(|step| step.at);
        self.steps
    }

    fn step(&mut self, at: Timestamp, deed: Deed) {
        self.steps.push(PlannedStep { at, deed });
    }

    /// Adds comings and goings.
    fn moves(&mut self) {
        let begin = begin(self.now);
        self.step(begin, Deed::BotJoined);
        if let Some((from, to)) = self.past.absence {
            self.step(days_before(self.now, from), Deed::BotLeft);
            self.step(days_before(self.now, to), Deed::BotJoined);
        }
        for person in self.people {
            let joined = person.joined.unwrap_or(begin);
            self.step(joined, Deed::Joined(person.id.clone()));
            if let Some(left) = person.left {
                self.step(left, Deed::Left(person.id.clone()));
            }
        }
    }

    /// Adds recordings of meetings, which fill the owner's storage until the oldest are unsent.
    fn recordings(&mut self) {
        let owner = self.people[0].id.clone();
        let mut ids = Vec::new();
        for number in 0..RECORDINGS {
            let days = LAST_RECORDING + (RECORDINGS - 1 - number) * BETWEEN;
            let at =
                days_before(self.now, days).plus(Duration::from_mins(number.unsigned_abs() * 3));
            let info = MediaInfo { duration: Some(600_000), ..MediaInfo::default() };
            let file = Some(SampleFile::Recording);
            ids.push(self.say(at, owner.clone(), Content::Audio(info), None, file));
        }
        let cleared = days_before(self.now, CLEARED);
        for (id, number) in ids.into_iter().take(UNSENT).zip(0..) {
            self.step(cleared.plus(Duration::from_secs(number * 20)), Deed::Unsent(id));
        }
    }

    fn talks(&mut self) {
        let today = self.local(self.now).date_naive();
        let script = self.script;
        let (again, once): (Vec<&Talk>, Vec<&Talk>) =
            script.talks.iter().partition(|talk| talk.often == Often::Always);
        let mut special = self.special(&once);
        let mut bag: Vec<&Talk> = Vec::new();
        for ago in (0..DAYS).rev() {
            let Some(date) = today.checked_sub_days(Days::new(ago.unsigned_abs())) else {
                continue;
            };
            let dated =
                once.iter().filter(|talk| talk.often == Often::On(date.month(), date.day()));
            let mut talks: Vec<&Talk> = special.remove(&ago).unwrap_or_default();
            talks.extend(dated);
            for _ in 0..self.number_on(date) {
                if bag.is_empty() {
                    bag.clone_from(&again);
                    self.dice.shuffle(&mut bag);
                }
                talks.extend(bag.pop());
            }
            for talk in talks {
                self.talk_on(date, talk);
            }
        }
        self.newest(&again);
    }

    /// Adds the questions that no rule answers, which several people have asked lately.
    fn asks(&mut self) {
        let today = self.local(self.now).date_naive();
        for text in self.script.asks.iter().flatten() {
            let line = ScriptLine {
                who: 'A',
                what: What::Text(text.clone(), None),
                replies: false,
                unsent: false,
            };
            let talk = Talk { hours: Hours::Noon, often: Often::Once, lines: vec![line] };
            let days = self.dice.between(2, QUESTION_DAYS).unsigned_abs();
            if let Some(date) = today.checked_sub_days(Days::new(days)) {
                self.talk_on(date, &talk);
            }
        }
    }

    /// Adds the newest conversation: a short time ago, unless people sleep then.
    fn newest(&mut self, talks: &[&Talk]) {
        let (mut at, mut hour) = (self.now.millis() - NEWEST, 0);
        for _ in 0..24 {
            hour = self.local(Timestamp::from_millis(at)).hour();
            if (8..22).contains(&hour) {
                break;
            }
            at -= NEWEST / 3;
        }
        let hours = match hour {
            ..11 => Hours::Morning,
            11..17 => Hours::Noon,
            _ => Hours::Evening,
        };
        if let Some(talk) = talks.iter().find(|talk| talk.hours == hours) {
            self.talk(Timestamp::from_millis(at), talk);
        }
    }

    /// Returns the days ago of conversations that take place once on some day.
    fn special(&mut self, once: &[&'a Talk]) -> BTreeMap<i64, Vec<&'a Talk>> {
        let mut days: BTreeMap<i64, Vec<&Talk>> = BTreeMap::new();
        for talk in once.iter().filter(|talk| talk.often == Often::Once) {
            days.entry(self.dice.between(20, DAYS - 30)).or_default().push(*talk);
        }
        days
    }

    /// Returns the number of conversations of a day: more at the weekend, and in waves.
    fn number_on(&mut self, date: NaiveDate) -> usize {
        let weekday = [85, 80, 90, 95, 120, 130, 100];
        let share = weekday[date.weekday().num_days_from_monday() as usize];
        let season = [110, 80, 100, 95, 105, 115, 90, 85, 110, 120, 105, 95];
        let season = season[date.month0() as usize % 12];
        let hundredths = self.past.talks_a_week * share * season / 700;
        hundredths / 100 + usize::from(self.dice.percent(hundredths % 100))
    }

    fn talk_on(&mut self, date: NaiveDate, talk: &Talk) {
        let (first, last) = match talk.hours {
            Hours::Morning => (7, 9),
            Hours::Noon => (11, 15),
            Hours::Evening => (18, 21),
            Hours::Night => (22, 23),
        };
        let hour = u32::try_from(self.dice.between(first, last)).unwrap_or_default();
        let minute = u32::try_from(self.dice.between(0, 59)).unwrap_or_default();
        let Some(local) = date.and_hms_opt(hour, minute, 0) else { return };
        let Some(time) = self.zone.from_local_datetime(&local).earliest() else { return };
        let at = Timestamp::from_millis(time.timestamp_millis() + self.dice.between(0, 59_999));
        // What is said takes a while, and the newest conversation comes last.
        if at.plus(Duration::from_hours(3)) < self.now && at > begin(self.now) {
            self.talk(at, talk);
        }
    }

    fn local(&self, at: Timestamp) -> DateTime<Tz> {
        DateTime::from_timestamp_millis(at.millis()).unwrap_or_default().with_timezone(&self.zone)
    }
}

/// Returns the beginning of a history.
pub(super) fn begin(now: Timestamp) -> Timestamp {
    days_before(now, DAYS)
}

/// Returns the time that many days before.
pub(super) fn days_before(now: Timestamp, days: i64) -> Timestamp {
    now.minus(DAY * u32::try_from(days).unwrap_or_default())
}
