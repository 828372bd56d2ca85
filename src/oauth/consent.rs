//! Pages for granting and withdrawing consent. They have no script and load nothing.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_http::HttpError;
use chatkeep_store::{Channel, Consent};
use sha2::{Digest as _, Sha256};
use tracing::error;

use super::authorize::ConsentQuestion;
use super::error::OAuthError;
use super::redirect;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem;\
color:#1a1a1a;background:#fff}\
fieldset{border:1px solid #888;border-radius:.4rem}\
.channels{list-style:none;margin:.25rem 0;padding-left:1.75rem;max-height:16rem;overflow:auto}\
[role=alert]{color:#b3261e;font-weight:600}\
button{font:inherit;padding:.5rem 1.5rem;margin-right:.5rem;border:1px solid #555;\
border-radius:.4rem;cursor:pointer;background:#fff;color:#1a1a1a}\
button[value=allow]{background:#0a6b3d;border-color:#0a6b3d;color:#fff}\
@media(prefers-color-scheme:dark){body{color:#eee;background:#181818}a{color:#8ab4f8}\
[role=alert]{color:#f2b8b5}}";

/// Consent page: a form that cannot be submitted from elsewhere.
#[derive(Template)]
#[template(path = "oauth/consent.html")]
struct ConsentPage<'a> {
    style: &'static str,
    /// Name of the program, given by itself.
    name: &'a str,
    /// Name of the person.
    person: &'a str,
    /// Requested permissions, in words.
    permissions: Vec<&'static str>,
    /// Reason for asking again.
    hint: Option<&'a str>,
    /// Hidden fields that repeat the request.
    fields: &'a [(&'static str, &'a str)],
    csrf: &'a str,
    channels: Vec<ChannelChoice<'a>>,
    /// Destination of the person after the decision.
    place: String,
}

/// Channel that the person may grant.
struct ChannelChoice<'a> {
    id: &'a str,
    name: &'a str,
}

/// Page of a person's consents, each with a form to withdraw it.
#[derive(Template)]
#[template(path = "oauth/consents.html")]
struct ConsentsPage<'a> {
    style: &'static str,
    person: &'a str,
    csrf: &'a str,
    consents: Vec<ConsentRow<'a>>,
}

/// Consent in the list.
struct ConsentRow<'a> {
    id: &'a str,
    program: &'a str,
    /// Channels that the program may read, in words.
    reach: String,
    created_at: Timestamp,
}

/// Page about a program's request that is refused.
#[derive(Template)]
#[template(path = "oauth/refused.html")]
struct RefusedPage<'a> {
    style: &'static str,
    /// Name of the program, given by itself.
    name: &'a str,
    why: &'a str,
    /// Destination of the person who follows the link.
    place: String,
    /// Address of the program, with the error.
    link: &'a str,
}

/// Question for consent, and what the page shows with it.
pub(super) struct ConsentForm<'a> {
    pub(super) question: &'a ConsentQuestion,
    /// Hidden fields that repeat the request.
    pub(super) fields: &'a [(&'static str, &'a str)],
    pub(super) csrf: &'a str,
    /// Name of the person.
    pub(super) person: &'a str,
    /// Channels that they may grant.
    pub(super) channels: &'a [Channel],
    /// Reason for asking again.
    pub(super) hint: Option<&'a str>,
}

impl ConsentForm<'_> {
    /// Returns the page.
    pub(super) fn response(&self) -> Response {
        let question = self.question;
        let page = ConsentPage {
            style: STYLE,
            name: &question.client.name,
            person: self.person,
            permissions: question.scopes.iter().map(|scope| words(*scope)).collect(),
            hint: self.hint,
            fields: self.fields,
            csrf: self.csrf,
            channels: self.channels.iter().map(ChannelChoice::of).collect(),
            place: redirect::place(&question.redirect_uri),
        };
        response(&page, &redirect::source(&question.redirect_uri).unwrap_or_default())
    }
}

impl<'a> ChannelChoice<'a> {
    fn of(channel: &'a Channel) -> Self {
        let id = channel.id.as_str();
        Self { id, name: channel.name.as_deref().unwrap_or(id) }
    }
}

impl<'a> ConsentRow<'a> {
    fn of(consent: &'a Consent) -> Self {
        Self {
            id: &consent.id,
            program: &consent.client_name,
            reach: match consent.channels.as_ref().map(Vec::len) {
                None => "every channel".to_owned(),
                Some(1) => "1 channel".to_owned(),
                Some(count) => format!("{count} channels"),
            },
            created_at: consent.created_at,
        }
    }
}

/// Returns the page of a person's consents.
pub(super) fn list(consents: &[Consent], csrf: &str, person: &str) -> Response {
    let consents = consents.iter().map(ConsentRow::of).collect();
    response(&ConsentsPage { style: STYLE, person, csrf, consents }, "")
}

/// Returns the page about a request that is refused, with a link that reports it to the program.
pub(super) fn refused(name: &str, error: &OAuthError, redirect_uri: &str, link: &str) -> Response {
    let place = redirect::place(redirect_uri);
    let page = RefusedPage { style: STYLE, name, why: error.why, place, link };
    let mut response = response(&page, "");
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

/// Returns a page whose forms may lead to `program`.
fn response(page: &impl Template, program: &str) -> Response {
    let html = match page.render() {
        Ok(html) => html,
        Err(cause) => {
            error!(%cause, "a page cannot be rendered");
            return HttpError::Internal.into_response();
        }
    };
    let mut response = Html(html).into_response();
    if let Ok(policy) = HeaderValue::from_str(&policy(program)) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns the content security policy: forms lead here and from here to the client, nowhere else.
fn policy(program: &str) -> String {
    let style = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self' {program}; \
         base-uri 'none'; frame-ancestors 'none'"
    )
}

const fn words(scope: Scope) -> &'static str {
    match scope {
        Scope::ReadMembers => "see who is in the channels",
        Scope::ReadMedia => "see pictures and open files",
        _ => "read and search the messages",
    }
}
