//! Refusals as pages: they say what happened and what to do, and nothing about what is hidden.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use chatkeep_core::role::Role;
use chatkeep_services::ServiceError;
use chatkeep_store::StoreError;
use url::form_urlencoded;

use super::form::Done;
use super::frame::{Frame, rendered_as};
use super::visitor::Visitor;
use super::{Console, SIGN_OUT};

/// Reason for which there is no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PageError {
    /// Nobody is signed in: the visitor is led to the sign-in, and from there back.
    SignedOut,
    /// The session of a form has ended: the visitor is led to the sign-in, and from there back to the
    /// form, which still has what they typed.
    SignedOutForm,
    /// There is no such channel, or the visitor may not read it; they are not told which.
    NoChannel,
    /// The visitor reads the channel, and this page of it is for a higher role.
    LowRole {
        /// Lowest role that may open it.
        least: Role,
    },
    /// The channel has no such message.
    NoMessage,
    /// The channel has no such person.
    NoPerson,
    /// The assistant has no such rule.
    NoRule,
    /// The visitor has no such export of the channel, any more.
    NoExport,
    /// There is no such page.
    NoPage,
    /// There is no such page for the visitor, who is told what any unknown path tells.
    Hidden,
    /// The page does not take this method.
    Method,
    /// The body of the request is too large.
    TooLarge,
    /// Too many requests in a short time; the next one is allowed in that many seconds.
    Hasty { seconds: u32 },
    /// There is no such thing in the visitor's account.
    NotInAccount,
    /// A value in the address is invalid.
    Input,
    /// A form does not belong to the present session, as after signing in again.
    OldForm,
    /// The object has changed since the page was shown.
    Stale,
    /// Something that the page needs is down.
    Busy,
    /// Something broke.
    Internal,
}

/// Page about a refusal.
#[derive(Template)]
#[template(path = "console/error.html", whitespace = "minimize")]
struct ErrorPage {
    frame: Frame,
    text: String,
    hint: Option<String>,
    /// Page to go on with.
    back: Option<String>,
}

impl From<ServiceError> for PageError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::InvalidKey => Self::SignedOut,
            ServiceError::InsufficientPermissions
            | ServiceError::InsufficientFor { .. }
            | ServiceError::PseudonymousKey
            | ServiceError::PermissionDenied => Self::NoChannel,
            ServiceError::NotFound => Self::NoMessage,
            ServiceError::Stale => Self::Stale,
            // A page with a form says these beside it.
            ServiceError::Conflict(_)
            | ServiceError::TooManyKeys
            | ServiceError::TooManyWebhooks
            | ServiceError::TooManySavedSearches
            | ServiceError::WebhookDisabled
            | ServiceError::PlanRequired
            | ServiceError::RulesTooLarge { .. }
            | ServiceError::TooManyRules
            | ServiceError::CursorExpired
            | ServiceError::Invalid { .. } => Self::Input,
            ServiceError::RequestRunning | ServiceError::Unavailable => Self::Busy,
            ServiceError::Internal => Self::Internal,
        }
    }
}

impl From<StoreError> for PageError {
    fn from(cause: StoreError) -> Self {
        ServiceError::from(cause).into()
    }
}

/// The layer of all pages renders it, who knows the language.
impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Returns the page about a refusal.
pub(super) fn error_page(console: &Console, visitor: &Visitor, error: &PageError) -> Response {
    let (status, title, text, hint) = match error {
        PageError::SignedOut => return to_sign_in(console, &visitor.here()),
        // Who signs out has no form that was lost.
        PageError::SignedOutForm if visitor.address.path() == SIGN_OUT => {
            return to_sign_in(console, console.entrances.home);
        }
        PageError::SignedOutForm => {
            return to_sign_in(console, &Done::Unsent.address(&visitor.here()));
        }
        PageError::Hidden => return StatusCode::NOT_FOUND.into_response(),
        PageError::NoChannel => {
            (StatusCode::NOT_FOUND, "missing-title", "missing-text", Some("missing-hint"))
        }
        PageError::LowRole { least: Role::Owner } => {
            (StatusCode::FORBIDDEN, "role-low-title", "role-low-owner-text", None)
        }
        PageError::LowRole { .. } => {
            (StatusCode::FORBIDDEN, "role-low-title", "role-low-text", None)
        }
        PageError::NoMessage => {
            (StatusCode::NOT_FOUND, "message-missing-title", "message-missing-text", None)
        }
        PageError::NoPerson => {
            (StatusCode::NOT_FOUND, "person-missing-title", "person-missing-text", None)
        }
        PageError::NoRule => {
            (StatusCode::NOT_FOUND, "rule-missing-title", "rule-missing-text", None)
        }
        PageError::NoPage => (StatusCode::NOT_FOUND, "error-page-title", "error-page-text", None),
        PageError::Method => {
            (StatusCode::METHOD_NOT_ALLOWED, "error-page-title", "error-page-text", None)
        }
        PageError::TooLarge => {
            (StatusCode::PAYLOAD_TOO_LARGE, "error-large-title", "error-large-text", None)
        }
        PageError::Hasty { seconds } => return hasty(visitor, *seconds),
        PageError::NoExport | PageError::NotInAccount => {
            (StatusCode::NOT_FOUND, "gone-title", "gone-text", None)
        }
        PageError::Input => {
            (StatusCode::BAD_REQUEST, "error-input-title", "error-input-text", None)
        }
        PageError::OldForm => {
            let is_kept = back(error, &visitor.here()).is_some();
            let text = if is_kept { "error-old-form-text" } else { "error-old-text" };
            (StatusCode::FORBIDDEN, "error-old-title", text, None)
        }
        PageError::Stale => (StatusCode::CONFLICT, "error-stale-title", "error-stale-text", None),
        PageError::Busy => {
            (StatusCode::SERVICE_UNAVAILABLE, "error-busy-title", "error-text", None)
        }
        PageError::Internal => {
            (StatusCode::INTERNAL_SERVER_ERROR, "error-title", "error-text", None)
        }
    };
    let language = visitor.language;
    let page = ErrorPage {
        frame: visitor.frame(language.text(title)),
        text: language.text(text),
        hint: hint.map(|hint| language.text(hint)),
        back: back(error, &visitor.here()),
    };
    rendered_as(status, &page)
}

/// Returns the page that a refusal leads back to: the conversation, when something in it is missing
/// or for others, the exports, or the page whose form is out of date.
fn back(error: &PageError, here: &str) -> Option<String> {
    match error {
        PageError::LowRole { .. }
        | PageError::NoMessage
        | PageError::NoPerson
        | PageError::NoRule => {
            let (channel, _) = here.strip_prefix("/c/")?.split_once('/')?;
            Some(format!("/c/{channel}"))
        }
        PageError::NoExport => Some(format!("{}/exports", here.split_once("/exports/")?.0)),
        // The address of another form is that of no page.
        PageError::OldForm if here.starts_with("/c/") || here.starts_with("/console") => {
            Some(Done::Unsent.address(here))
        }
        PageError::Stale => Some(here.to_owned()),
        _ => None,
    }
}

/// Returns the page for those who were too fast.
fn hasty(visitor: &Visitor, seconds: u32) -> Response {
    let language = visitor.language;
    let seconds = i64::from(seconds.max(1));
    let page = ErrorPage {
        frame: visitor.frame(language.text("error-hasty-title")),
        text: language.text("error-hasty-text"),
        hint: Some(language.format("error-hasty-hint", &[("count", seconds.into())])),
        back: None,
    };
    rendered_as(StatusCode::TOO_MANY_REQUESTS, &page)
}

/// Leads to the sign-in, and from there to a page.
fn to_sign_in(console: &Console, here: &str) -> Response {
    let next = form_urlencoded::Serializer::new(String::new()).append_pair("next", here).finish();
    let page = console.entrances.sign_in.unwrap_or("/console/sign-in");
    let mut response = Redirect::to(&format!("{page}?{next}")).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_lead_back_to_where_they_come_from() {
        let path = "/c/C%201/assistant/rules/qa_1?sort=hits";
        let to = |error: PageError, path| back(&error, path);
        assert_eq!(to(PageError::NoRule, path), Some("/c/C%201".to_owned()));
        let low = PageError::LowRole { least: Role::Admin };
        assert_eq!(to(low, path), Some("/c/C%201".to_owned()));
        assert_eq!(to(PageError::Stale, path), Some(path.to_owned()));
        let exports = Some("/c/C%201/exports".to_owned());
        assert_eq!(to(PageError::NoExport, "/c/C%201/exports/exp_1/document"), exports);
        let unsent = Some("/console/account?done=unsent".to_owned());
        assert_eq!(to(PageError::OldForm, "/console/account"), unsent);
        assert_eq!(to(PageError::OldForm, "/oauth/authorize"), None);
        assert_eq!(to(PageError::NoMessage, "/console/account"), None);
        assert_eq!(to(PageError::NoChannel, path), None);
    }
}
