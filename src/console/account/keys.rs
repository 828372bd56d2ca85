//! API keys of the visitor: the list, replacing and deleting one.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::id::KeyId;
use chatkeep_core::role::Scope;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::access::ManageKeys;
use chatkeep_services::keys::IssuedKey;
use chatkeep_store::{Channel, Key};
use chatkeep_view::segment;
use serde::Deserialize;

use super::super::Console;
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, Question, SubmittedForm};
use super::super::frame::{Frame, rendered};
use super::super::idempotent_form::IdempotentForm;
use super::super::visitor::Visitor;
use super::secret::{NewSecret, Replacement};
use super::{
    Confirmation, Section, SectionLink, chats, dated, dates, end_of, reach, refused, wrong_with,
};

/// Keys of the page: all that a person can have. There are 50 that work, as many that were replaced and
/// still work, and 100 that have ended.
const LIMIT: u32 = 200;

#[derive(Template)]
#[template(path = "console/account/keys.html", whitespace = "minimize")]
struct KeysPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    keys: Vec<KeyCard>,
}

/// A key in the list.
struct KeyCard {
    name: String,
    /// Its last characters.
    mask: String,
    ended: bool,
    scopes: Vec<String>,
    chats: Vec<String>,
    /// Sentence about the first messages that it reads.
    since: Option<String>,
    /// Sentence about pseudonyms, if it shows them.
    pseudonyms: Option<String>,
    created: String,
    used: String,
    end: String,
    /// Path that its actions are below.
    path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OverlapForm {
    pub(super) overlap: String,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ManageKeys>(&console)?;
    let (keys, _) = console.services.keys.page(&access, LIMIT, None).await?;
    let (chats, dates) = (chats(&console, &visitor).await?, dates(&console, &visitor).await?);
    let mut cards: Vec<_> = keys.iter().map(|key| KeyCard::of(key, &chats, dates)).collect();
    // The newest first; those that have ended last.
    cards.reverse();
    cards.sort_by_key(|card| card.ended);
    let page = KeysPage {
        frame: visitor.frame(visitor.language.text("keys-title")),
        sections: Section::Keys.links(visitor.language),
        keys: cards,
    };
    rendered(&page)
}

impl KeyCard {
    fn of(key: &Key, chats: &[Channel], dates: Dates) -> Self {
        let language = dates.language;
        let ended = key.expires_at.is_some_and(|at| at <= dates.now);
        let end = key.expires_at.map(|at| end_of(at, dates));
        Self {
            name: key.name.clone(),
            mask: key.mask.clone(),
            ended,
            scopes: key.scopes.iter().map(|scope| meaning(*scope, language)).collect(),
            chats: reach::names(key.channels.as_deref(), chats, language),
            since: key
                .not_before
                .map(|at| dated("key-since", &dates.date(dates.day(at)), language)),
            pseudonyms: key.pseudonyms.as_ref().map(|_| language.text("key-pseudonyms-shown")),
            created: dates.date(dates.day(key.created_at)),
            used: key.last_used_at.map_or_else(|| language.text("never"), |at| dates.zoned(at)),
            end: end.unwrap_or_else(|| language.text("key-endless")),
            path: path(&key.id),
        }
    }
}

/// Returns the sentence about a scope.
pub(super) fn meaning(scope: Scope, language: Language) -> String {
    language.text(&format!("scope-{}", scope.name().replace(':', "-")))
}

fn path(key: &KeyId) -> String {
    format!("{}/{}", Section::Keys.path(), segment(key.as_str()))
}

/// Returns the visitor's key of that id.
async fn one(console: &Console, visitor: &Visitor, id: String) -> Result<Key, PageError> {
    let access = visitor.scoped::<ManageKeys>(console)?;
    console.services.keys.one(&access, &id.into()).await.map_err(refused)
}

pub(super) async fn ask_replace(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let key = one(&console, &visitor, id).await?;
    Ok(replacement(&key, visitor.language).page(&visitor, FormErrors::default()))
}

fn replacement(key: &Key, language: Language) -> Replacement {
    Replacement {
        section: Section::Keys,
        title: language.format("key-replace-title", &[("name", Value::from(&key.name))]),
        text: language.text("key-replace-text"),
        back: Section::Keys.path().to_owned(),
    }
}

pub(super) async fn replace(
    State(console): State<Console>,
    Path(id): Path<String>,
    IdempotentForm { visitor, form, form_key }: IdempotentForm<OverlapForm>,
) -> Result<Response, PageError> {
    let key = one(&console, &visitor, id).await?;
    let access = visitor.scoped::<ManageKeys>(&console)?;
    let overlap = form.overlap.parse().map_err(|_| PageError::Input)?;
    let made = form_key.run(&console, async {
        match console.services.keys.rotate(&access, &key.id, Some(overlap)).await {
            Ok(issued) => Ok(shown(issued, &visitor, dates(&console, &visitor).await?)),
            Err(error) => {
                let errors = wrong_with(error, visitor.language)?;
                Ok(replacement(&key, visitor.language).page(&visitor, errors))
            }
        }
    });
    Ok(made.await?.unwrap_or_else(|| Done::ShownBefore.at(Section::Keys.path())))
}

/// Returns the page that shows a new key, once.
pub(super) fn shown(issued: IssuedKey, visitor: &Visitor, dates: Dates) -> Response {
    let language = visitor.language;
    let until = issued.previous_until.map(|at| {
        if at <= dates.now {
            return language.text("key-old-ended");
        }
        dated("key-old-until", &dates.zoned(at), language)
    });
    let secret = NewSecret {
        section: Section::Keys,
        title: language.text("key-new-title"),
        label: issued.key.name,
        secret: issued.secret,
        notes: until.into_iter().collect(),
        next: Section::Keys.path().to_owned(),
    };
    secret.page(visitor)
}

pub(super) async fn ask_delete(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let key = one(&console, &visitor, id).await?;
    Ok(question(&key, visitor.language).page(&visitor))
}

fn question(key: &Key, language: Language) -> Question {
    Question {
        title: language.format("key-delete-title", &[("name", Value::from(&key.name))]),
        text: language.text("key-delete-text"),
        chat: None,
        button: language.text("delete"),
        back: Section::Keys.path().to_owned(),
        values: Vec::new(),
    }
}

pub(super) async fn delete(
    State(console): State<Console>,
    Path(id): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<Confirmation>,
) -> Result<Response, PageError> {
    let key = one(&console, &visitor, id).await?;
    if !form.is_yes() {
        return Ok(question(&key, visitor.language).page(&visitor));
    }
    let access = visitor.scoped::<ManageKeys>(&console)?;
    console.services.keys.remove(&access, &key.id).await.map_err(refused)?;
    Ok(Done::Deleted.at(Section::Keys.path()))
}
