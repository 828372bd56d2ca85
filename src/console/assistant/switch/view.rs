//! Result of a comparison as the page shows it.

use chatkeep_core::id::MessageId;
use chatkeep_i18n::{Value, grouped};
use chatkeep_services::assistant::{
    AssistantSettings, ComparedAnswer, ComparedMessage, Comparison, Difference, HistoryAccess,
};
use chatkeep_store::ReplySource;
use chatkeep_view::{message_path, segment};

use super::super::super::Console;
use super::super::super::dates::Dates;
use super::super::super::error::PageError;
use super::super::super::form::{count, query_of};
use super::super::super::labels::{hue, initial, name_of, shortened, summary};
use super::super::overview::OverviewForm;
use super::super::words::mode_key;
use super::SAID;
use super::query::SwitchQuery;

/// Messages of a page.
const SIZE: usize = 20;

/// Differences with their names in addresses and the keys of their names.
const DIFFERENCES: [(Difference, &str, &str); 4] = [
    (Difference::New, "new", "switch-new"),
    (Difference::Lost, "lost", "switch-lost"),
    (Difference::Other, "other", "switch-other"),
    (Difference::Same, "same", "switch-same"),
];

/// Result of a comparison.
pub(super) struct SwitchResult {
    pub(super) summary: String,
    pub(super) tiles: Vec<Tile>,
    /// Heading of the list.
    pub(super) listed: String,
    pub(super) rows: Vec<Row>,
    pub(super) earlier: Option<String>,
    pub(super) later: Option<String>,
    /// Sentence about a result that is not complete.
    pub(super) incomplete: Option<String>,
    pub(super) switch: Option<SwitchButton>,
}

/// Form that switches to what was compared.
pub(super) struct SwitchButton {
    pub(super) version: i64,
    pub(super) mode: &'static str,
    pub(super) keyword_match: &'static str,
    pub(super) strictness: &'static str,
    /// Form of the settings that is saved with it.
    pub(super) overview: String,
    pub(super) label: String,
}

/// Number of messages with one difference.
pub(super) struct Tile {
    pub(super) href: String,
    pub(super) number: String,
    pub(super) label: String,
    pub(super) current: bool,
}

/// A message and its answers.
pub(super) struct Row {
    pub(super) link: String,
    pub(super) name: String,
    pub(super) initial: String,
    pub(super) hue: u8,
    pub(super) when: String,
    pub(super) datetime: String,
    pub(super) said: String,
    /// Name of the difference.
    pub(super) mark: String,
    /// True if both answers are the same.
    pub(super) same: bool,
    pub(super) today: AnswerCell,
    pub(super) other: AnswerCell,
}

/// An answer, or its absence.
pub(super) struct AnswerCell {
    /// Text of the answer; `None` for no answer.
    pub(super) text: Option<String>,
    /// Source of the answer.
    pub(super) source: String,
    /// Path of the rule.
    pub(super) rule: Option<String>,
    /// Link to the rule that keeps it from answering such messages.
    pub(super) wrong: Option<String>,
}

/// View of a comparison.
pub(super) struct View<'a> {
    pub(super) query: &'a SwitchQuery,
    pub(super) settings: &'a AssistantSettings,
    /// Path of the page.
    pub(super) page: &'a str,
    pub(super) dates: Dates,
}

impl View<'_> {
    /// Returns the result as it is shown.
    pub(super) async fn result(
        &self,
        console: &Console,
        access: &HistoryAccess,
        found: &Comparison,
    ) -> Result<SwitchResult, PageError> {
        let Self { query, page, dates, .. } = *self;
        let language = dates.language;
        let show =
            DIFFERENCES.into_iter().find(|(_, name, _)| Some(*name) == query.show.as_deref());
        let only = show.map(|(difference, ..)| difference);
        let service = &console.services.assistant;
        let listed = service.compared_messages(access, found, only, query.page, SIZE).await?;
        let show = show.map(|(_, name, key)| (name, key));
        let address = |number| query.address(page, show.map(|(name, _)| name), number);
        let date = dates.date(dates.day(found.from));
        let summary = language.format(
            "switch-told",
            &[
                ("scanned", count(found.scanned)),
                ("date", Value::from(&date)),
                ("changed", count(found.changed())),
            ],
        );
        Ok(SwitchResult {
            summary,
            tiles: self.tiles(found, show.map(|(name, _)| name)),
            listed: language.text(show.map_or("switch-listed", |(_, key)| key)),
            rows: listed.messages.into_iter().map(|one| self.row(one)).collect(),
            earlier: query.page.checked_sub(1).map(address),
            later: listed.more.then(|| address(query.page.saturating_add(1))),
            incomplete: (!found.complete)
                .then(|| language.format("history-incomplete", &[("count", count(found.scanned))])),
            switch: (!query.has_rule()).then(|| self.button(found)),
        })
    }

    fn tiles(&self, found: &Comparison, show: Option<&str>) -> Vec<Tile> {
        let tile = |(difference, name, key): (Difference, &str, &str)| {
            let current = show == Some(name);
            Tile {
                href: self.query.address(self.page, (!current).then_some(name), 0),
                number: grouped(i64::try_from(found.count(difference)).unwrap_or(i64::MAX)),
                label: self.dates.language.text(key),
                current,
            }
        };
        DIFFERENCES.into_iter().map(tile).collect()
    }

    fn row(&self, one: ComparedMessage) -> Row {
        let (dates, language) = (self.dates, self.dates.language);
        let ComparedMessage { message, difference, today, other } = one;
        let name = name_of(&message, language);
        let colour = message.sender.as_ref().map_or("bot", |sender| sender.id.as_str());
        let key = DIFFERENCES.into_iter().find(|(one, ..)| *one == difference);
        Row {
            link: message_path(&message.channel, &message.id),
            initial: initial(&name),
            hue: hue(colour),
            name,
            when: dates.moment(message.sent_at),
            datetime: message.sent_at.to_string(),
            said: shortened(&summary(&message, language), SAID),
            mark: key.map(|(_, _, key)| language.text(key)).unwrap_or_default(),
            same: difference == Difference::Same,
            today: self.answer(today, &message.id),
            other: self.answer(other, &message.id),
        }
    }

    fn answer(&self, answer: Option<ComparedAnswer>, asked: &MessageId) -> AnswerCell {
        let language = self.dates.language;
        let Some(ComparedAnswer { source, rule, text }) = answer else {
            let source = language.text("switch-no-answer");
            return AnswerCell { text: None, source, rule: None, wrong: None };
        };
        let key = match source {
            ReplySource::Rules => "switch-source-rules",
            ReplySource::Link => "switch-source-link",
            ReplySource::Qa | ReplySource::NoMatch | ReplySource::Welcome => "switch-source-rule",
        };
        let rules = self.page.trim_end_matches("/switch");
        let rule = rule.map(|rule| format!("{rules}/rules/{}", segment(rule.as_str())));
        let query = query_of(&[("asked", asked.as_str())]);
        let wrong = rule.as_ref().map(|rule| format!("{rule}?{query}"));
        AnswerCell { text: Some(text), source: language.text(key), rule, wrong }
    }

    fn button(&self, found: &Comparison) -> SwitchButton {
        let (language, qa) = (self.dates.language, &self.settings.config.qa);
        let name = language.text(mode_key(found.modes.1));
        let mode = self.query.mode.unwrap_or(qa.mode);
        let label = if mode == qa.mode {
            language.text("switch-button-match")
        } else {
            language.format("switch-button", &[("mode", Value::from(&name))])
        };
        let form = self.query.form().unwrap_or_else(|| OverviewForm::of(self.settings));
        SwitchButton {
            version: self.settings.version,
            mode: mode.name(),
            keyword_match: self.query.keyword_match.unwrap_or(qa.keyword_match).name(),
            strictness: self.query.strictness.unwrap_or(qa.strictness).name(),
            overview: form.encoded(),
            label,
        }
    }
}
