//! Pages for granting and withdrawing consent, in the language of the reader. They have no script
//! and load nothing.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chatkeep_console::Dates;
use chatkeep_core::role::Scope;
use chatkeep_http::HttpError;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::grants::client_name;
use chatkeep_store::{Channel, Consent};
use chatkeep_view::sanitize::is_visible;
use sha2::{Digest as _, Sha256};
use tracing::error;

use super::authorize::ConsentQuestion;
use super::error::OAuthError;
use super::redirect::{self, RedirectPlace};

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:2rem auto;padding:0 1rem;\
color:#1a1a1a;background:#fff;overflow-wrap:anywhere}\
h1{font-size:1.5rem;line-height:1.3}\
fieldset{border:1px solid #888;border-radius:.4rem;min-width:0}\
label{display:block;padding:.625rem 0 .625rem 1.75rem;text-indent:-1.75rem}\
input{width:1.25rem;height:1.25rem;margin:0 .5rem 0 0;vertical-align:-.25rem}\
.chats,.apps{list-style:none;padding:0}\
.chats{margin:0;padding-left:1.75rem;max-height:16rem;overflow:auto}\
[role=alert]{color:#b3261e;font-weight:600}\
button{font:inherit;padding:.6rem 1.5rem;margin:0 .5rem .5rem 0;border:1px solid #555;\
border-radius:.4rem;cursor:pointer;background:#fff;color:#1a1a1a}\
button[value=allow]{background:#0a6b3d;border-color:#0a6b3d;color:#fff}\
@media(prefers-color-scheme:dark){body{color:#eee;background:#181818}a{color:#8ab4f8}\
[role=alert]{color:#f2b8b5}}";

/// Character in place of a value whose place in a sentence is to be known.
const PLACE: &str = "\u{e000}";

/// Frame of the pages.
struct PageFrame {
    style: &'static str,
    language: Language,
    title: String,
}

/// Sentence with one value that stands out.
struct EmphasisedSentence {
    before: String,
    value: String,
    after: String,
}

/// Consent page: a form that cannot be submitted from elsewhere.
#[derive(Template)]
#[template(path = "oauth/consent.html")]
struct ConsentPage<'a> {
    page: PageFrame,
    /// Sentence about who is signed in.
    person: EmphasisedSentence,
    /// Words before the permissions.
    asks: EmphasisedSentence,
    /// Requested permissions, in words.
    permissions: Vec<String>,
    /// Reason for asking again.
    hint: Option<String>,
    /// Hidden fields that repeat the request.
    fields: &'a [(&'static str, &'a str)],
    csrf: &'a str,
    chats: Vec<ConsentChat<'a>>,
    /// Sentence about where the person is sent after the decision.
    place: EmphasisedSentence,
}

/// Chat that the person may grant.
struct ConsentChat<'a> {
    id: &'a str,
    name: String,
}

/// Page of a person's consents, each with a form to withdraw it.
#[derive(Template)]
#[template(path = "oauth/consents.html")]
struct ConsentsPage<'a> {
    page: PageFrame,
    csrf: &'a str,
    consents: Vec<ConsentRow<'a>>,
}

/// Consent in the list.
struct ConsentRow<'a> {
    id: &'a str,
    app: String,
    /// Chats that the app may read, and since when.
    about: String,
    /// Label of the button that withdraws it.
    end: String,
}

/// Page about an app's request that is refused.
#[derive(Template)]
#[template(path = "oauth/refused.html")]
struct RefusedPage<'a> {
    page: PageFrame,
    /// Sentence about the reason.
    why: EmphasisedSentence,
    /// Sentence about where the link leads.
    place: EmphasisedSentence,
    /// Address of the app, with the error.
    link: &'a str,
}

/// Question for consent, and what the page shows with it.
pub(super) struct ConsentForm<'a> {
    pub(super) language: Language,
    pub(super) question: &'a ConsentQuestion,
    /// Hidden fields that repeat the request.
    pub(super) fields: &'a [(&'static str, &'a str)],
    pub(super) csrf: &'a str,
    /// Name of the person.
    pub(super) person: &'a str,
    /// Channels that they may grant.
    pub(super) channels: &'a [Channel],
    /// True if they allowed it for no chat.
    pub(super) chose_none: bool,
}

/// Request of an app that is refused.
pub(super) struct AppRefusal<'a> {
    /// Name of the app, given by itself.
    pub(super) name: &'a str,
    pub(super) error: &'a OAuthError,
    pub(super) redirect_uri: &'a str,
    /// Address of the app, with the error.
    pub(super) link: &'a str,
}

impl PageFrame {
    fn new(language: Language, key: &str, values: &[(&str, Value<'_>)]) -> Self {
        Self { style: STYLE, language, title: language.format(key, values) }
    }

    /// Returns the text of a key in the language of the page.
    fn text(&self, key: &str) -> String {
        self.language.text(key)
    }
}

impl EmphasisedSentence {
    /// Creates the sentence of a key with the value of its variable.
    fn new(language: Language, key: &str, name: &str, value: &str) -> Self {
        let sentence = language.format(key, &[(name, PLACE.into())]);
        let (before, after) = sentence.split_once(PLACE).unwrap_or((&sentence, ""));
        Self { before: before.to_owned(), value: value.to_owned(), after: after.to_owned() }
    }
}

impl ConsentForm<'_> {
    /// Returns the page.
    pub(super) fn response(&self) -> Response {
        let (question, language) = (self.question, self.language);
        let name = client_name(&question.client.name, language);
        let place = place(&question.redirect_uri, language);
        let chat = |channel| ConsentChat::of(channel, language);
        let page = ConsentPage {
            page: PageFrame::new(language, "consent-title", &[("name", Value::from(&name))]),
            person: EmphasisedSentence::new(language, "consent-person", "person", self.person),
            asks: EmphasisedSentence::new(language, "consent-asks", "name", &name),
            permissions: question.scopes.iter().map(|scope| words(*scope, language)).collect(),
            hint: self.chose_none.then(|| language.text("consent-choose")),
            fields: self.fields,
            csrf: self.csrf,
            chats: self.channels.iter().map(chat).collect(),
            place: EmphasisedSentence::new(language, "consent-place", "place", &place),
        };
        response(&page, &redirect::source(&question.redirect_uri).unwrap_or_default())
    }
}

impl<'a> ConsentChat<'a> {
    fn of(channel: &'a Channel, language: Language) -> Self {
        let name = channel.name.clone().filter(|name| is_visible(name));
        let name = name.unwrap_or_else(|| language.text("chat-nameless"));
        Self { id: channel.id.as_str(), name }
    }
}

impl<'a> ConsentRow<'a> {
    fn of(consent: &'a Consent, dates: Dates) -> Self {
        let language = dates.language;
        let app = client_name(&consent.client_name, language);
        let reach = match &consent.channels {
            None => language.text("consents-all"),
            Some(channels) => {
                let count = i64::try_from(channels.len()).unwrap_or(i64::MAX);
                language.format("consents-some", &[("count", count.into())])
            }
        };
        let date = dates.date(dates.day(consent.created_at));
        let values = [("reach", Value::from(&reach)), ("date", Value::from(&date))];
        let end = language.text("consent-end");
        let label = [("what", Value::from(&end)), ("name", Value::from(&app))];
        Self {
            id: &consent.id,
            about: language.format("consents-row", &values),
            end: language.format("label-of", &label),
            app,
        }
    }
}

/// Returns the page of a person's consents.
pub(super) fn list(consents: &[Consent], csrf: &str, person: &str, dates: Dates) -> Response {
    let values = [("person", Value::from(person))];
    let page = PageFrame::new(dates.language, "consents-title", &values);
    let consents = consents.iter().map(|consent| ConsentRow::of(consent, dates)).collect();
    response(&ConsentsPage { page, csrf, consents }, "")
}

/// Returns the page about a request that is refused, with a link that reports it to the app.
pub(super) fn refused(request: &AppRefusal<'_>, language: Language) -> Response {
    let name = client_name(request.name, language);
    let place = place(request.redirect_uri, language);
    let why = request.error.why;
    let page = RefusedPage {
        page: PageFrame::new(language, "consent-refused-title", &[("name", Value::from(&name))]),
        why: EmphasisedSentence::new(language, "consent-refused-text", "why", why),
        place: EmphasisedSentence::new(language, "consent-refused-place", "place", &place),
        link: request.link,
    };
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

/// Returns the name of a redirect's target.
fn place(address: &str, language: Language) -> String {
    match redirect::place(address) {
        RedirectPlace::Host(host) => host,
        RedirectPlace::OwnDevice => language.text("consent-place-own"),
        RedirectPlace::Scheme(scheme) => {
            language.format("consent-place-scheme", &[("scheme", Value::from(&scheme))])
        }
    }
}

fn words(scope: Scope, language: Language) -> String {
    language.text(match scope {
        Scope::ReadMembers => "consent-may-members",
        Scope::ReadMedia => "consent-may-media",
        _ => "consent-may-messages",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_the_pages_is_looked_up() {
        let catalogue = include_str!("../../core/i18n/locales/en/consent.ftl");
        let pages = [
            include_str!("consent.rs"),
            include_str!("../services/grants.rs"),
            include_str!("../templates/oauth/consent.html"),
            include_str!("../templates/oauth/consents.html"),
            include_str!("../templates/oauth/refused.html"),
        ];
        let pages = pages.concat();
        for line in catalogue.lines().filter(|line| !line.starts_with([' ', '#'])) {
            let Some((key, _)) = line.split_once(" = ") else { continue };
            assert!(pages.contains(&format!("\"{key}\"")), "nobody shows {key}");
        }
        for rest in pages.split("text(\"").skip(1) {
            let key = rest.split('"').next().unwrap();
            assert!(Language::English.has(key), "no text {key}");
        }
    }

    #[test]
    fn a_value_stands_out_whatever_it_is() {
        for language in Language::ALL {
            for value in ["o", "PLACE", "<b>", ""] {
                let sentence = EmphasisedSentence::new(language, "consent-person", "person", value);
                let whole = [&*sentence.before, &sentence.value, &sentence.after].concat();
                let expected = language.format("consent-person", &[("person", value.into())]);
                assert_eq!((sentence.value.as_str(), whole), (value, expected));
            }
        }
    }
}
