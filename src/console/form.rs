//! Forms: what people send, what is wrong with it, and where they go afterwards.
//!
//! A form posts to the address of its page. The handler takes a [`SubmittedForm`], which is ours and
//! was sent by the signed-in person. When the service refuses a value, the handler renders the page
//! again with what was typed and with [`FormErrors`]; otherwise it leads to a page ([`Done::at`]), which
//! says once that it is done.

use askama::Template;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_core::assistant::limits;
use chatkeep_core::http::guard::Forbidden;
use chatkeep_core::id::UserId;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::{Defect, ServiceError};
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::Console;
use super::error::PageError;
use super::frame::{Frame, rendered_as};
use super::visitor::Visitor;

/// Field with a table of rules.
const TABLE: &str = "csv";

/// Form that a signed-in person sent from one of our pages. A body may have as many bytes as one of
/// the API, and that of an import of rules more.
pub(super) struct SubmittedForm<T> {
    pub(super) visitor: Visitor,
    pub(super) form: T,
}

/// Body of a form, before its fields are known.
pub(super) struct SubmittedBody {
    pub(super) visitor: Visitor,
    /// Person whose form it is.
    pub(super) user: UserId,
    pub(super) body: Bytes,
}

impl<T: DeserializeOwned> FromRequest<Console> for SubmittedForm<T> {
    type Rejection = PageError;

    async fn from_request(request: Request, console: &Console) -> Result<Self, PageError> {
        SubmittedBody::read(request, console).await?.parsed()
    }
}

impl SubmittedBody {
    /// Reads a form, and checks that it is one of our pages in the session of its person.
    pub(super) async fn read(request: Request, console: &Console) -> Result<Self, PageError> {
        let (parts, body) = request.into_parts();
        let mut visitor = parts.extensions.get::<Visitor>().cloned().ok_or(PageError::Internal)?;
        let session = visitor.user_session.as_ref().ok_or(PageError::SignedOutForm)?;
        let session = session.session.clone();
        let is_form = parts.headers.get(header::CONTENT_TYPE).is_some_and(|given| {
            given.as_bytes().starts_with(b"application/x-www-form-urlencoded")
        });
        if !is_form {
            return Err(PageError::Input);
        }
        let headers = parts.headers.clone();
        let body = Bytes::from_request(Request::from_parts(parts, body), console).await;
        let body = body.map_err(|error| match error.into_response().status() {
            StatusCode::PAYLOAD_TOO_LARGE => PageError::TooLarge,
            _ => PageError::Input,
        })?;
        let token = form_urlencoded::parse(&body).find(|(name, _)| name == "csrf");
        let token = token.map(|(_, token)| token.into_owned()).unwrap_or_default();
        if !console.sessions.allows_form(&headers, &session, &token) {
            return Err(PageError::OldForm);
        }
        let user = session.user.clone();
        // Some browsers do not tell from which page a form comes; its token does.
        visitor.signed_in(console, session);
        Ok(Self { visitor, user, body })
    }

    /// Returns the form with its fields, none of which has U+0000: no id or text has it, and PostgreSQL
    /// takes none. A pasted table may be of any kind, which its page says.
    pub(super) fn parsed<T: DeserializeOwned>(self) -> Result<SubmittedForm<T>, PageError> {
        let may_have = |pairs: form_urlencoded::Parse<'_>| {
            pairs
                .filter(|(name, _)| name != TABLE)
                .any(|(name, value)| name.contains('\0') || value.contains('\0'))
        };
        if has_nul(&self.body) && may_have(form_urlencoded::parse(&self.body)) {
            return Err(PageError::Input);
        }
        let form = serde_html_form::from_bytes(&self.body).map_err(|_| PageError::Input)?;
        Ok(SubmittedForm { visitor: self.visitor, form })
    }
}

/// Returns true if a body may have U+0000, written as it is or as `%00`.
fn has_nul(body: &[u8]) -> bool {
    body.contains(&0) || body.windows(3).any(|part| part == b"%00")
}

/// Errors of a form, in the language of the page.
#[derive(Debug, Default)]
pub(super) struct FormErrors {
    /// Sentence about the form as a whole.
    pub(super) whole: Option<String>,
    /// Fields, as the services name them, and a sentence about each.
    fields: Vec<(String, String)>,
}

impl FormErrors {
    /// Returns the sentences about a refused change.
    ///
    /// # Errors
    /// Returns an error that is about no form: there is a page about it.
    pub(super) fn of(error: ServiceError, language: Language) -> Result<Self, PageError> {
        let whole = |key| Ok(Self { whole: Some(language.text(key)), fields: Vec::new() });
        match error {
            ServiceError::Invalid { field: Some(field), defect, .. } => {
                let (field, sentence) = (field.text(), sentence(defect, language));
                let line = field.rsplit_once('/').and_then(|(_, at)| at.parse::<u32>().ok());
                let sentence = match line {
                    Some(at) => {
                        let line = Value::from(i64::from(at) + 1);
                        let values = [("line", line), ("what", Value::from(&sentence))];
                        language.format("form-in-entry", &values)
                    }
                    None => sentence,
                };
                Ok(Self::in_field(&field, sentence, language))
            }
            ServiceError::Invalid { field: None, .. } => whole("form-invalid"),
            ServiceError::InsufficientFor { field } => {
                let sentence = language.text("form-beyond-bounds");
                Ok(Self::in_field(&field.text(), sentence, language))
            }
            ServiceError::Stale => whole("form-stale"),
            ServiceError::Conflict(_) => whole("form-conflict"),
            ServiceError::PlanRequired => whole("form-plan-required"),
            ServiceError::RulesTooLarge { .. } => whole("form-rules-too-large"),
            ServiceError::TooManyRules => {
                let most = [("count", count(limits::RULES))];
                Ok(Self::all(language.format("import-too-many", &most)))
            }
            ServiceError::TooManyKeys => whole("form-too-many-keys"),
            ServiceError::TooManyWebhooks => whole("form-too-many-webhooks"),
            ServiceError::TooManySavedSearches => whole("form-too-many-saved-searches"),
            ServiceError::WebhookDisabled => whole("form-webhook-off"),
            ServiceError::RequestRunning | ServiceError::Unavailable => whole("form-busy"),
            error => Err(error.into()),
        }
    }

    /// Creates an error of one field, of which the top of the page tells, too: the field may be out
    /// of sight.
    pub(super) fn in_field(field: &str, sentence: String, language: Language) -> Self {
        Self { whole: Some(language.text("form-invalid")), ..Self::at(field, sentence) }
    }

    /// Creates an error of one field, which is named as the services would.
    pub(super) fn at(field: &str, sentence: String) -> Self {
        Self { whole: None, fields: vec![(field.to_owned(), sentence)] }
    }

    /// Creates an error of the form as a whole.
    pub(super) fn all(sentence: String) -> Self {
        Self { whole: Some(sentence), fields: Vec::new() }
    }

    /// Returns the sentence about a field or about a part of it.
    pub(super) fn of_field(&self, field: &str) -> Option<&str> {
        let part = |named: &str| {
            named.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.fields.iter().find(|(named, _)| part(named)).map(|(_, sentence)| sentence.as_str())
    }

    /// Returns true if nothing is wrong.
    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_none() && self.fields.is_empty()
    }

    /// Returns the status of a page with these errors.
    pub(super) fn status(&self) -> StatusCode {
        if self.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY }
    }
}

/// Returns the sentence about a defect.
pub(super) fn sentence(defect: Defect, language: Language) -> String {
    match defect {
        Defect::Empty => language.text("defect-empty"),
        Defect::TooLong { max } => language.format("defect-too-long", &[("max", count(max))]),
        Defect::TooManyKeywords { max } => {
            language.format("defect-too-many-keywords", &[("max", count(max))])
        }
        Defect::TooFewKeywords { .. } => language.text("defect-no-keyword"),
        Defect::TooManyTexts { max } => {
            language.format("defect-too-many-texts", &[("max", count(max))])
        }
        Defect::IsKeyword => language.text("defect-is-keyword"),
        Defect::IsNotFor => language.text("defect-is-not-for"),
        Defect::NoTime => language.text("search-bad-order"),
        Defect::NoScope => language.text("defect-no-scope"),
        Defect::NoEvent => language.text("defect-no-event"),
        Defect::Past => language.text("defect-past"),
        Defect::Address(Forbidden::NoAddress) => language.text("defect-no-address"),
        Defect::Address(Forbidden::NotHttps) => language.text("defect-not-https"),
        Defect::Address(Forbidden::Credentials) => language.text("defect-credentials"),
        Defect::Address(Forbidden::Private) => language.text("defect-private"),
        Defect::Other => language.text("defect-other"),
    }
}

/// Change that a page confirms once, after a redirect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// Settings were saved.
    Saved,
    /// Somebody began a backup and became the owner by it.
    Owner,
    /// Something was added.
    Added,
    /// Something had been added already, by a form that was sent once more.
    AddedBefore,
    /// A secret had been made and shown already, by a form that was sent once more.
    ShownBefore,
    /// Something was deleted.
    Deleted,
    /// Rules were imported.
    Imported,
    /// Something is being sent.
    Sent,
    /// Somebody was signed out elsewhere.
    SignedOut,
    /// Messages are being erased.
    Erasing,
    /// Nothing was changed, for the session had ended. The page fills its form with what was typed.
    Unsent,
}

impl Done {
    const ALL: [Self; 11] = [
        Self::Saved,
        Self::Owner,
        Self::Added,
        Self::AddedBefore,
        Self::ShownBefore,
        Self::Deleted,
        Self::Imported,
        Self::Sent,
        Self::SignedOut,
        Self::Erasing,
        Self::Unsent,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Saved => "saved",
            Self::Owner => "owner",
            Self::Added => "added",
            Self::AddedBefore => "added-before",
            Self::ShownBefore => "shown-before",
            Self::Deleted => "deleted",
            Self::Imported => "imported",
            Self::Sent => "sent",
            Self::SignedOut => "signed-out",
            Self::Erasing => "erasing",
            Self::Unsent => "unsent",
        }
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Saved => "done-saved",
            Self::Owner => "done-owner",
            Self::Added => "done-added",
            Self::AddedBefore => "done-added-before",
            Self::ShownBefore => "done-shown-before",
            Self::Deleted => "done-deleted",
            Self::Imported => "done-imported",
            Self::Sent => "done-sent",
            Self::SignedOut => "done-signed-out",
            Self::Erasing => "done-erasing",
            Self::Unsent => "done-unsent",
        }
    }

    /// Leads to a page, which confirms the change. `path` may have a query and a fragment.
    pub(super) fn at(self, path: &str) -> Response {
        let mut response = Redirect::to(&self.address(path)).into_response();
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// Returns the address of a page that says so, and nothing that `path` says was done. `path`
    /// may have a query and a fragment.
    pub(super) fn address(self, path: &str) -> String {
        let (path, fragment) = path.split_once('#').map_or((path, None), |(p, f)| (p, Some(f)));
        let path = Self::removed_from(path);
        let joint = if path.contains('?') { '&' } else { '?' };
        let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
        format!("{path}{joint}done={}{fragment}", self.name())
    }

    /// Returns a path, which may have a query, without what it says was done.
    pub(super) fn removed_from(path: &str) -> String {
        let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
        let says = |pair: &str| {
            let mut pairs = form_urlencoded::parse(pair.as_bytes());
            pairs.next().is_some_and(|(name, _)| name == "done")
        };
        let others = query.split('&').filter(|pair| !pair.is_empty() && !says(pair));
        let query = others.collect::<Vec<_>>().join("&");
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }

    /// Returns the sentence that a page with that query begins with.
    pub(super) fn sentence(query: Option<&str>, language: Language) -> Option<String> {
        let mut pairs = form_urlencoded::parse(query?.as_bytes());
        let (_, name) = pairs.find(|(name, _)| name == "done")?;
        let done = Self::ALL.into_iter().find(|done| done.name() == name)?;
        Some(language.text(done.key()))
    }
}

/// Question before something that cannot be taken back. Its form posts to the address of the page,
/// with `confirmed=yes`.
#[derive(Debug)]
pub(super) struct Question {
    /// Question as a title.
    pub(super) title: String,
    /// Consequence of the action.
    pub(super) text: String,
    /// Name of the chat that it is about.
    pub(super) chat: Option<String>,
    /// Text of the button that does it.
    pub(super) button: String,
    /// Path to go to instead.
    pub(super) back: String,
    /// Values that the form carries.
    pub(super) values: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "console/confirm.html", whitespace = "minimize")]
struct ConfirmPage {
    frame: Frame,
    question: Question,
}

impl Question {
    /// Returns the page that asks.
    pub(super) fn page(self, visitor: &Visitor) -> Response {
        let frame = visitor.frame(self.title.clone());
        rendered_as(StatusCode::OK, &ConfirmPage { frame, question: self })
    }
}

/// Returns a text of a form with plain line breaks, of which browsers make two characters.
pub(super) fn unbroken(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns the values of a field with one a line; neither empty lines nor white space around a value
/// count.
pub(super) fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// Formats a number of characters for a hint, with the limit.
pub(super) fn limit_hint(max: usize, language: Language) -> String {
    language.format("form-limit", &[("max", count(max))])
}

/// Returns a number for a text.
pub(super) fn count(number: impl TryInto<i64>) -> Value<'static> {
    Value::from(number.try_into().unwrap_or(i64::MAX))
}

/// Encodes a query string.
pub(super) fn query_of(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_confirmed_after_the_redirect() {
        let response = Done::Saved.at("/c/C1/assistant/rules?sort=hits#rule-1");
        let to = response.headers()[header::LOCATION].to_str().unwrap();
        assert_eq!(to, "/c/C1/assistant/rules?sort=hits&done=saved#rule-1");
        assert!(Done::sentence(Some("sort=hits&done=saved"), Language::English).is_some());
        assert_eq!(Done::sentence(Some("done=<b>"), Language::English), None);
        assert_eq!(Done::sentence(None, Language::English), None);
    }

    #[test]
    fn a_list_has_one_value_a_line() {
        assert_eq!(lines(" a\r\n\r\nb c \n"), ["a", "b c"]);
        assert_eq!(lines(" \n"), Vec::<String>::new());
    }

    #[test]
    fn an_error_of_a_field_is_told_at_the_top_too() {
        let language = Language::English;
        let errors = FormErrors::in_field("/name", "x".to_owned(), language);
        assert_eq!(errors.whole, Some(language.text("form-invalid")));
        assert_eq!(errors.of_field("/name"), Some("x"));
    }

    #[test]
    fn an_error_of_a_part_belongs_to_its_field() {
        let errors = FormErrors::at("/keywords/3", "x".to_owned());
        assert_eq!(errors.of_field("/keywords"), Some("x"));
        assert_eq!(errors.of_field("/key"), None);
        assert_eq!(errors.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(FormErrors::default().status(), StatusCode::OK);
    }
}
