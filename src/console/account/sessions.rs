//! Browsers in which the visitor is signed in.

use askama::Template;
use axum::extract::State;
use axum::http::header;
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use chatkeep_store::Session;
use serde::Deserialize;

use super::super::Console;
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::form::{Done, SubmittedForm};
use super::super::frame::{Frame, rendered};
use super::super::visitor::Visitor;
use super::{Section, SectionLink, dated, dates, refused};

#[derive(Template)]
#[template(path = "console/account/sessions.html", whitespace = "minimize")]
struct SessionsPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    sessions: Vec<SessionCard>,
}

/// A session in the list.
struct SessionCard {
    id: String,
    /// True for the one that looks.
    own: bool,
    /// Sentences about when it began and was last used.
    created: String,
    seen: String,
}

/// Form fields that the page's buttons send.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EndForm {
    /// Id of a session, or `others`.
    session: String,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
) -> Result<Response, PageError> {
    let own = &visitor.user_session.as_ref().ok_or(PageError::SignedOut)?.session;
    let sessions = console.services.sessions.of_person(own).await?;
    let dates = dates(&console, &visitor).await?;
    let mut cards: Vec<_> =
        sessions.iter().map(|one| SessionCard::of(one, one.id == own.id, dates)).collect();
    cards.sort_by_key(|card| !card.own);
    let page = SessionsPage {
        frame: visitor.frame(visitor.language.text("sessions-title")),
        sections: Section::Sessions.links(visitor.language),
        sessions: cards,
    };
    rendered(&page)
}

impl SessionCard {
    fn of(session: &Session, own: bool, dates: Dates) -> Self {
        Self {
            id: session.id.to_string(),
            own,
            created: dated("session-since", &dates.zoned(session.created_at), dates.language),
            seen: dated("session-seen", &dates.zoned(session.seen_at), dates.language),
        }
    }
}

pub(super) async fn end(
    State(console): State<Console>,
    SubmittedForm { visitor, form }: SubmittedForm<EndForm>,
) -> Result<Response, PageError> {
    let own = visitor.user_session.ok_or(PageError::SignedOut)?.session;
    let sessions = &console.services.sessions;
    if form.session == "others" {
        sessions.end_others(&own).await?;
        return Ok(Done::SignedOut.at(Section::Sessions.path()));
    }
    if form.session == own.id.as_str() {
        let cookie = [(header::SET_COOKIE, console.sessions.end(&own).await?)];
        return Ok((AppendHeaders(cookie), Redirect::to("/console/sign-in")).into_response());
    }
    sessions.end_one(&own, &form.session.into()).await.map_err(refused)?;
    Ok(Done::SignedOut.at(Section::Sessions.path()))
}
