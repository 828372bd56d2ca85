//! Errors that a model can act on: the fault of the call, and a remedy.

use chatkeep_core::panics;
use chatkeep_core::role::Scope;
use chatkeep_services::{Credential, Defect, FieldPath, ServiceError};
use chatkeep_view::sanitize;
use futures_util::future::BoxFuture;

/// Part of the process, in logs and metrics, whose panics are those of requests.
pub(super) const PART: &str = "mcp";

/// Maximum length of an id or name in an error, in characters.
const ECHO: usize = 80;

/// Reason for which a tool cannot be called as it was.
#[derive(Debug)]
pub(super) enum ToolError {
    /// A service refused or failed.
    Service(ServiceError),
    /// There is no such channel, or the caller may not read it: which of both is not told. With
    /// the channels that may be meant, as a sentence or nothing.
    NoChannel { given: String, hint: String },
    /// There is no such message, or the caller may not read it: which of both is not told.
    NoMessage { given: String },
    /// A URI is none of a resource; the sentence goes on after it.
    NoResource { uri: String, why: String },
}

/// Error of a tool, in words.
#[derive(Debug)]
pub(super) struct ToolFailure {
    /// Text for the model.
    pub(super) text: String,
    /// Label for metrics.
    pub(super) result: &'static str,
}

impl ToolError {
    /// Creates the error about an argument; the sentence goes on after its name.
    pub(super) fn invalid(argument: &'static str, why: impl std::fmt::Display) -> Self {
        let field = FieldPath::body("").member(argument);
        Self::Service(ServiceError::invalid_value(field, why))
    }

    /// Creates the error about the arguments that a sentence tells of.
    pub(super) fn sentence(why: &str) -> Self {
        let (why, defect) = (why.to_owned(), Defect::Other);
        Self::Service(ServiceError::Invalid { field: None, why, defect })
    }

    /// Creates the error about a message.
    pub(super) fn no_message(given: &str) -> Self {
        Self::NoMessage { given: given.to_owned() }
    }

    /// Creates the error about a URI; the sentence goes on after it.
    pub(super) fn no_resource(uri: &str, why: String) -> Self {
        Self::NoResource { uri: uri.to_owned(), why }
    }

    /// Returns it in words, for a tool that requires that scope and a caller with that credential.
    pub(super) fn failure(&self, scope: Option<Scope>, credential: &Credential) -> ToolFailure {
        let (text, result) = match self {
            Self::NoChannel { given, hint } => (no_channel(given, hint), "denied"),
            Self::NoMessage { given } => (no_message(given), "denied"),
            Self::NoResource { uri, why } => (ended(&format!("{} {why}", echo(uri))), "denied"),
            Self::Service(error) => of_service(error, scope, credential),
        };
        ToolFailure { text, result }
    }
}

impl From<ServiceError> for ToolError {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

/// Does the work of a request. The library calls it in a task of its own, which a panic would end
/// without an answer.
///
/// # Errors
/// Returns an internal error if the work panics, which is counted and logged.
pub(super) async fn caught<T>(work: BoxFuture<'_, Result<T, ToolError>>) -> Result<T, ToolError> {
    let done = panics::catch(PART, work).await;
    done.unwrap_or_else(|_panicked| Err(ServiceError::Internal.into()))
}

fn of_service(
    error: &ServiceError,
    scope: Option<Scope>,
    credential: &Credential,
) -> (String, &'static str) {
    match error {
        ServiceError::PermissionDenied => (
            "No such channel that this key may read: call list_channels for the ids.".to_owned(),
            "denied",
        ),
        ServiceError::NotFound => (
            "There is no such message that this key may read: take ids and links from the results \
             of other tools."
                .to_owned(),
            "denied",
        ),
        ServiceError::PseudonymousKey => (
            "This key shows pseudonyms: it does not get files, and cannot exclude words from a \
             search."
                .to_owned(),
            "denied",
        ),
        ServiceError::InsufficientPermissions => (lacks(scope, credential), "denied"),
        ServiceError::InvalidKey => (ended_meanwhile(credential).to_owned(), "denied"),
        ServiceError::Invalid { field, why, .. } => (invalid(field.as_ref(), why), "invalid"),
        ServiceError::Unavailable => (
            "Part of the service is temporarily unavailable. Try the same call again in a few \
             seconds; if that fails, tell the person."
                .to_owned(),
            "unavailable",
        ),
        _ => (
            "Internal error of the service. Retrying will hardly help: tell the person.".to_owned(),
            "error",
        ),
    }
}

fn no_channel(given: &str, hint: &str) -> String {
    let given = echo(given);
    format!(
        "No channel {given} that this key may read: call list_channels for ids and names.{hint}"
    )
}

fn no_message(given: &str) -> String {
    let given = echo(given);
    format!(
        "No message {given} that this key may read: it was deleted, never stored, or is beyond \
         what the key may read. Take ids and links from the results of other tools."
    )
}

/// Quotes what a caller gave, cut.
pub(super) fn echo(given: &str) -> String {
    sanitize::quoted(&sanitize::cut(given, ECHO).0)
}

/// Returns the sentence about a missing scope. A program that a person let in has no key, and gets a
/// further scope only by asking them again.
fn lacks(scope: Option<Scope>, credential: &Credential) -> String {
    let scope = scope.map_or("the scope for this", Scope::name);
    let (credential, remedy) = match credential {
        Credential::Token { .. } => ("connection", "to connect again and allow it"),
        Credential::Key(_) | Credential::Session(_) => ("key", "for a key that has it"),
    };
    format!("This {credential} lacks {scope}: ask the person {remedy}. Do not try again.")
}

/// Returns the sentence about a credential that was valid when the request came. Clients renew a
/// token by themselves.
const fn ended_meanwhile(credential: &Credential) -> &'static str {
    match credential {
        Credential::Token { .. } => {
            "The access of this connection ended during the call. Try the same call again; if that \
             fails, ask the person to connect again."
        }
        Credential::Key(_) | Credential::Session(_) => {
            "This key has expired: ask the person for another one. Do not try again."
        }
    }
}

fn invalid(field: Option<&FieldPath>, why: &str) -> String {
    match field.map(FieldPath::text).as_deref() {
        // Services refuse it by its name in REST; what is not even a text is told as that.
        Some("cursor") => "This cursor belongs to another query: call again without cursor, or \
             with exactly the arguments of the call that returned it."
            .to_owned(),
        // The query's name in REST.
        Some("q") => {
            let why = why.strip_prefix("q ").map_or(format!(": {why}"), |why| format!(" {why}"));
            format!("query{} Correct it and call again.", ended(&why))
        }
        Some(_) => format!("{} Correct it and call again.", ended(why)),
        None => format!("{} Correct the arguments and call again.", ended(why)),
    }
}

/// Returns a sentence with its end, if it has none.
pub(super) fn ended(sentence: &str) -> String {
    let end = if sentence.ends_with(['?', '.']) { "" } else { "." };
    format!("{sentence}{end}")
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::lazy;

    use super::*;

    fn key() -> Credential {
        Credential::Key("key".into())
    }

    #[test]
    fn a_question_ends_with_its_mark_alone() {
        let text = |why: &str| ToolError::invalid("senderId", why).failure(None, &key()).text;
        let asked = text("is nobody: did you mean Ann?");
        assert!(asked.ends_with("did you mean Ann? Correct it and call again."), "{asked}");
        let told = text("is too long");
        assert!(told.ends_with("is too long. Correct it and call again."), "{told}");
    }

    #[test]
    fn work_that_panics_is_an_internal_error() {
        let broken = lazy(|_| -> Result<(), ToolError> { panic!("it broke") });
        let done = caught(broken.boxed()).now_or_never().unwrap();
        let failure = done.unwrap_err().failure(None, &key());
        assert_eq!(failure.result, "error");
        assert!(failure.text.starts_with("Internal error of the service."), "{}", failure.text);
    }
}
