//! Signing in and out.

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use chatkeep_http::is_local;
use serde::Deserialize;

use super::Console;
use super::error::PageError;
use super::form::{SubmittedForm, query_of};
use super::frame::{Frame, rendered};
use super::visitor::{Asked, Visitor, language_of, secured, switch_language};

/// Sign-in of a deployment, as its page names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInOffer {
    /// With LINE.
    Line,
    /// With another identity provider.
    Other,
}

/// Query of the sign-in page.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SignInQuery {
    /// Path to return to.
    next: Option<String>,
    /// Reason for which the last attempt failed.
    problem: Option<String>,
}

/// The sign-in page.
#[derive(Template)]
#[template(path = "console/sign_in.html", whitespace = "minimize")]
struct SignInPage {
    frame: Frame,
    text: String,
    /// Instructions, one step each.
    steps: Vec<String>,
    /// Address of the sign-in, and the text of its button; `None` when it is not set up.
    button: Option<(String, String)>,
}

/// Person of the demo whom one may look as.
#[derive(Clone, Debug)]
pub struct DemoPerson {
    /// User id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Part in the sample group.
    pub role: DemoRole,
}

/// Part of a person in the sample group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoRole {
    /// Owns the group.
    Owner,
    /// Is in the group.
    Member,
    /// Is not in the group.
    Stranger,
}

/// The demo's page in place of a sign-in.
#[derive(Template)]
#[template(path = "console/demo_people.html", whitespace = "minimize")]
struct DemoPage {
    frame: Frame,
    people: Vec<DemoPersonView>,
    next: String,
}

struct DemoPersonView {
    id: String,
    name: String,
    initial: String,
    hue: u8,
    role: String,
}

/// Form without values.
#[derive(Deserialize)]
pub(super) struct EmptyForm {}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Asked(query): Asked<SignInQuery>,
) -> Result<Response, PageError> {
    let next = query.next.filter(|next| is_local(next));
    let next = next.unwrap_or_else(|| "/console".to_owned());
    if visitor.user_session.is_some() && query.problem.is_none() {
        return Ok(Redirect::to(&next).into_response());
    }
    if let Some(elsewhere) = console.entrances.sign_in {
        let next = query_of(&[("next", &next)]);
        return Ok(Redirect::to(&format!("{elsewhere}?{next}")).into_response());
    }
    let language = visitor.language;
    let start = query_of(&[("returnTo", &next), ("lang", language.tag())]);
    let button = console.sign_in.map(|offer| {
        let label = match offer {
            SignInOffer::Line => language.text("sign-in-line"),
            SignInOffer::Other => language.text("sign-in-button"),
        };
        (format!("/auth/login?{start}"), label)
    });
    let (title, text, steps) = match button {
        Some(_) => problem(query.problem.as_deref()),
        None => ("sign-in-off-title", "sign-in-off-text", &[][..]),
    };
    let page = SignInPage {
        frame: visitor.frame(language.text(title)),
        text: language.text(text),
        steps: steps.iter().map(|step| language.text(step)).collect(),
        button,
    };
    rendered(&page)
}

/// Keys of title, text and steps of a page.
type Explained = (&'static str, &'static str, &'static [&'static str]);

/// Returns the texts about a failed sign-in; those of the plain page without one.
fn problem(name: Option<&str>) -> Explained {
    match name {
        Some("other_browser") => (
            "problem-other-browser-title",
            "problem-other-browser-text",
            &[
                "problem-other-browser-step-private",
                "problem-other-browser-step-browser",
                "problem-other-browser-step-again",
            ],
        ),
        Some("denied") => ("problem-denied-title", "problem-denied-text", &[]),
        Some("unconfirmed") => ("problem-unconfirmed-title", "problem-unconfirmed-text", &[]),
        Some("unavailable") => ("problem-unavailable-title", "problem-unavailable-text", &[]),
        _ => ("sign-in-title", "sign-in-text", &[]),
    }
}

/// Ends the session.
pub(super) async fn leave(
    State(console): State<Console>,
    SubmittedForm { visitor, .. }: SubmittedForm<EmptyForm>,
) -> Result<Response, PageError> {
    let user_session = visitor.user_session.ok_or(PageError::SignedOut)?;
    let cookie = console.sessions.end(&user_session.session).await?;
    let cookie = [(header::SET_COOKIE, cookie)];
    Ok((AppendHeaders(cookie), Redirect::to("/console/sign-in")).into_response())
}

/// Returns the demo's page in place of a sign-in: a choice of people to look as. Its form posts
/// `user` and `next` to the page itself.
pub fn demo_people(
    headers: &HeaderMap,
    address: &axum::http::Uri,
    people: Vec<DemoPerson>,
    next: Option<&str>,
) -> Response {
    // Browsers reach it on this machine, without TLS.
    if let Some(switched) = switch_language(false, address) {
        return switched;
    }
    let language = language_of(headers);
    let visitor = Visitor::stranger(language, address.clone());
    let view = |person: DemoPerson| DemoPersonView {
        initial: super::labels::initial(&person.name),
        hue: super::labels::hue(&person.id),
        role: language.text(match person.role {
            DemoRole::Owner => "demo-role-owner",
            DemoRole::Member => "demo-role-member",
            DemoRole::Stranger => "demo-role-stranger",
        }),
        id: person.id,
        name: person.name,
    };
    let page = DemoPage {
        frame: visitor.frame(language.text("demo-people-title")),
        people: people.into_iter().map(view).collect(),
        next: next.filter(|next| is_local(next)).unwrap_or("/console").to_owned(),
    };
    let page =
        rendered(&page).unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    secured(page, true)
}
