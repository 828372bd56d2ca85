//! Questions that no rule answers.

use std::borrow::Cow;
use std::collections::HashMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::assistant::{Rule, limits};
use chatkeep_core::id::{MessageId, RuleId};
use chatkeep_core::message::Content;
use chatkeep_core::text::prefix;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::access::{Admin, ReadMessages, WriteAssistant};
use chatkeep_services::assistant::{
    DAYS, HistoryAccess, Progress, UnansweredQuestion, UnansweredQuestions,
};
use chatkeep_store::StoredMessage;
use chatkeep_view::message_path;
use chatkeep_view::pseudonyms::Masked;
use serde::Deserialize;

use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink, dates};
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::form::{FormErrors, count, query_of};
use super::super::frame::{Frame, rendered_as};
use super::super::labels::{name_of, shortened};
use super::super::origin::rule_name;
use super::super::visitor::{Asked, Visitor};
use super::Section;
use super::choice::{TEXT, rule_link};

/// Periods to choose from, in days.
const PERIODS: [u32; 4] = [7, 30, 90, 365];
/// Questions of a page.
const SIZE: usize = 20;
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PeriodQuery {
    days: Option<u32>,
    #[serde(default)]
    page: usize,
}

#[derive(Template)]
#[template(path = "console/assistant_unanswered.html", whitespace = "minimize")]
struct UnansweredPage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    errors: FormErrors,
    periods: Vec<TabLink>,
    /// Percent of the work, while it goes on.
    running: Option<u8>,
    saved: Option<String>,
    /// Key of the title and the text of a page without questions.
    empty: Option<(&'static str, &'static str)>,
    incomplete: Option<String>,
    questions: Vec<QuestionRow>,
    earlier: Option<String>,
    later: Option<String>,
}

/// Question of the list.
struct QuestionRow {
    text: String,
    asked: String,
    /// Link that makes a rule of it, and the one that chooses a rule.
    rule: String,
    choose: String,
    /// Text of the most similar rule, and the link that adds it there.
    nearest: Option<(String, String)>,
    examples: Vec<Example>,
    /// Words for the examples.
    shown: String,
}

/// Message that asks it.
struct Example {
    link: String,
    name: String,
    when: String,
    datetime: String,
    text: String,
}

pub(crate) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<PeriodQuery>,
) -> Result<Response, PageError> {
    let settings = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let access = visitor.channel::<Admin, ReadMessages>(&console, &channel).await?;
    let (language, service) = (visitor.language, &console.services.assistant);
    let dates = dates(&console, &visitor, &access).await?;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Assistant).await?;
    let days = query.days.unwrap_or(DAYS);
    let at = format!("{}/assistant", channel.path);
    let mut page = UnansweredPage {
        frame: visitor.frame(language.text("assistant-unanswered")),
        sections: Section::Unanswered.links(&channel, &visitor),
        channel,
        errors: FormErrors::default(),
        periods: PERIODS
            .into_iter()
            .map(|period| period_link(&at, period, days, language))
            .collect(),
        running: None,
        saved: None,
        empty: None,
        incomplete: None,
        questions: Vec::new(),
        earlier: None,
        later: None,
    };
    match service.unanswered_step(&access, days).await {
        Ok(Progress::Running(percent)) => page.running = Some(percent),
        Ok(Progress::Finished(found)) => {
            let shown = found.questions.iter().skip(query.page.saturating_mul(SIZE)).take(SIZE);
            let shown: Vec<_> = shown.collect();
            let messages = messages(&console, &access, &shown).await?;
            let nearest = shown.iter().filter_map(|question| question.nearest_rule.as_ref());
            let rules = service.chosen_rules(&settings, nearest.collect()).await?;
            let view = View { at: &at, dates, messages: &messages, rules: &rules };
            page.questions = shown.iter().filter_map(|question| view.row(question)).collect();
            page.report(&found, (&at, days, query.page), dates);
        }
        Err(error) => page.errors = FormErrors::of(error, language)?,
    }
    Ok(rendered_as(page.errors.status(), &page))
}

fn period_link(at: &str, period: u32, days: u32, language: Language) -> TabLink {
    TabLink {
        href: format!("{at}/unanswered?days={period}"),
        label: language.format("unanswered-days", &[("count", i64::from(period).into())]),
        current: period == days,
    }
}

/// Returns the messages of questions, as they are now.
async fn messages(
    console: &Console,
    access: &HistoryAccess,
    questions: &[&UnansweredQuestion],
) -> Result<HashMap<MessageId, Masked<StoredMessage>>, PageError> {
    let ids = questions
        .iter()
        .flat_map(|question| question.messages.iter().chain([&question.representative]));
    let ids: Vec<_> = ids.cloned().collect();
    Ok(console.services.assistant.listed_messages(access, ids).await?)
}

/// Returns the words that the writer of a message typed, unless it has been unsent.
fn words_of(message: &StoredMessage) -> Option<Cow<'_, str>> {
    let content = message.content.as_ref().filter(|_| message.unsent_at.is_none());
    content?.typed_words()
}

/// Returns the text of a message that has not been unsent.
fn text_of(message: &StoredMessage) -> Option<&str> {
    match &message.content {
        Some(Content::Text { text, .. }) if message.unsent_at.is_none() => Some(text),
        _ => None,
    }
}

/// Returns the fields of a new rule for a question. A part of it as a keyword would not answer it, so
/// for one that is too long the words are left to whoever makes the rule.
fn new_rule(question: &str, line: &str, keyword: &str) -> String {
    if keyword == line {
        query_of(&[("question", question), ("keyword", keyword)])
    } else {
        query_of(&[("question", question)])
    }
}

struct View<'a> {
    /// Path of the assistant's pages.
    at: &'a str,
    dates: Dates,
    messages: &'a HashMap<MessageId, Masked<StoredMessage>>,
    /// Rules that are nearest to the questions.
    rules: &'a HashMap<RuleId, Rule>,
}

impl View<'_> {
    /// Returns a question; `None` when all of its messages are gone.
    fn row(&self, question: &UnansweredQuestion) -> Option<QuestionRow> {
        let (at, dates, language) = (self.at, self.dates, self.dates.language);
        let examples: Vec<_> = question.messages.iter().filter_map(|id| self.example(id)).collect();
        let wording =
            self.messages.get(&question.representative).and_then(|message| words_of(message));
        let text = match wording {
            Some(text) => text.into_owned(),
            None => examples.first()?.text.clone(),
        };
        let text = text.trim();
        // A keyword is one line of a form.
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let keyword = prefix(&line, limits::KEYWORD).to_owned();
        let whole = prefix(text, limits::QUESTION).to_owned();
        let nearest = question.nearest_rule.as_ref().and_then(|rule| self.rules.get(rule));
        let rules = format!("{at}/rules");
        let last = dates.brief(question.last_asked_at);
        Some(QuestionRow {
            asked: language.format(
                "unanswered-asked",
                &[("count", count(question.count)), ("when", Value::from(&last))],
            ),
            rule: format!("{rules}/new?{}", new_rule(&whole, &line, &keyword)),
            choose: format!("{at}/unanswered/rule?{}", query_of(&[("keyword", &keyword)])),
            nearest: nearest
                .map(|rule| (rule_name(rule, language), rule_link(&rules, &rule.id, &keyword))),
            shown: language.format("unanswered-examples", &[("count", count(examples.len()))]),
            examples,
            text: shortened(text, TEXT),
        })
    }

    fn example(&self, id: &MessageId) -> Option<Example> {
        let message = self.messages.get(id)?;
        Some(Example {
            link: message_path(&message.channel, &message.id),
            name: name_of(message, self.dates.language),
            when: self.dates.moment(message.sent_at),
            datetime: message.sent_at.to_string(),
            text: shortened(text_of(message)?, TEXT),
        })
    }
}

impl UnansweredPage {
    /// Says what was found.
    fn report(
        &mut self,
        found: &UnansweredQuestions,
        (at, days, page): (&str, u32, usize),
        dates: Dates,
    ) {
        let language = dates.language;
        let date = dates.date(dates.day(found.from));
        let values = [
            ("questions", count(found.total)),
            ("scanned", count(found.scanned)),
            ("date", Value::from(&date)),
        ];
        if found.total > 0 {
            self.saved = Some(language.format("unanswered-told", &values));
        } else if found.scanned == 0 {
            self.empty = Some(("unanswered-nothing-title", "unanswered-nothing-text"));
        } else {
            self.empty = Some(("unanswered-none-title", "unanswered-none-text"));
        }
        self.incomplete = (!found.complete)
            .then(|| language.format("history-incomplete", &[("count", count(found.scanned))]));
        let address = |page| format!("{at}/unanswered?days={days}&page={page}");
        self.earlier = page.checked_sub(1).map(address);
        let next = page.saturating_add(1);
        self.later = (found.questions.len() > next.saturating_mul(SIZE)).then(|| address(next));
    }
}
