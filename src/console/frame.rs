//! Frame of a page: what the layout of all pages shows around their content.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use chatkeep_core::id::UserId;
use chatkeep_i18n::{Language, Value};
use sha2::{Digest as _, Sha256};
use tracing::error;
use url::form_urlencoded;

use super::assets::{ASSETS, Assets};
use super::error::PageError;
use super::form::Done;
use super::idempotent_form::form_id;
use super::labels::person_name;
use super::visitor::Visitor;

/// Frame of a page. No `Debug`, as of the person in it.
pub(crate) struct Frame {
    /// Title of the page, in its language.
    pub(super) title: String,
    pub(super) language: Language,
    /// Signed-in person; `None` for nobody.
    pub(super) person: Option<SignedInPerson>,
    /// Choice of languages.
    pub(super) languages: Vec<LanguageLink>,
    pub(super) assets: &'static Assets,
    /// Id of a form of the page that makes something.
    pub(super) form: String,
    /// Sentence about the change that led to the page.
    pub(super) done: Option<String>,
}

/// Signed-in person of a page. No `Debug`: it holds a secret.
pub(super) struct SignedInPerson {
    pub(super) name: String,
    /// Token for the forms of the page.
    pub(super) csrf: String,
    /// Hash of their id, by which scripts know what they typed themselves.
    pub(super) mark: String,
    /// True for an operator of the bots.
    pub(super) operates: bool,
}

/// Link to the page in another language.
#[derive(Debug)]
pub(super) struct LanguageLink {
    pub(super) name: &'static str,
    pub(super) tag: &'static str,
    pub(super) href: String,
    pub(super) current: bool,
}

impl Frame {
    pub(super) fn new(visitor: &Visitor, title: String) -> Self {
        let person = visitor.user_session.as_ref().map(|user_session| SignedInPerson {
            name: person_name(user_session.name.clone(), visitor.language),
            csrf: user_session.session.csrf.clone(),
            mark: mark(&user_session.session.user),
            operates: visitor.operates,
        });
        let language = visitor.language;
        let link = |other: Language| {
            let query = visitor.address.query().unwrap_or_default();
            let query = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(form_urlencoded::parse(query.as_bytes()))
                .append_pair("lang", other.tag())
                .finish();
            let (name, tag, current) = (other.own_name(), other.tag(), other == language);
            LanguageLink { name, tag, href: format!("?{query}"), current }
        };
        let languages = Language::ALL.into_iter().map(link).collect();
        let done = Done::sentence(visitor.address.query(), language);
        Self { title, language, person, languages, assets: &ASSETS, form: form_id(), done }
    }

    /// Returns the label of an action on something with a name, for those who do not see what it
    /// stands at.
    pub(super) fn labelled(&self, what: impl AsRef<str>, name: impl AsRef<str>) -> String {
        let values = [("what", Value::from(what.as_ref())), ("name", Value::from(name.as_ref()))];
        self.language.format("label-of", &values)
    }

    /// Returns the text of a key in the language of the page.
    pub(super) fn text(&self, key: &str) -> String {
        self.language.text(key)
    }
}

/// Returns the beginning of a hash of a user id.
fn mark(user: &UserId) -> String {
    hex::encode(&Sha256::digest(user.as_str())[..8])
}

/// Renders a page.
///
/// # Errors
/// [`PageError::Internal`] when the template fails.
pub(super) fn rendered(page: &impl Template) -> Result<Response, PageError> {
    match page.render() {
        Ok(html) => Ok(Html(html).into_response()),
        Err(cause) => {
            let cause: &dyn std::error::Error = &cause;
            error!(error = cause, "a page cannot be rendered");
            Err(PageError::Internal)
        }
    }
}

/// Renders a page with that status; an empty 500 if the template fails.
pub(super) fn rendered_as(status: StatusCode, page: &impl Template) -> Response {
    match rendered(page) {
        Ok(mut response) => {
            *response.status_mut() = status;
            response
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// Beginnings of keys whose end is computed.
    const COMPUTED: [&str; 21] = [
        "date-long",
        "date-month",
        "date-short",
        "date-year",
        "delivery-failed-",
        "delivery-is-",
        "event-",
        "gap-",
        "kind-",
        "line-",
        "media-erased",
        "media-expired",
        "media-failed",
        "media-pending",
        "media-skipped",
        "month-",
        "operator-line-is-",
        "plan-",
        "role-",
        "scope-",
        "weekday-",
    ];

    /// Returns the files of a folder and of those in it.
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    fn texts() -> Vec<(PathBuf, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = files(root).into_iter();
        let texts = files.filter(|path| path.extension().is_some_and(|kind| kind != "snap"));
        texts.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
    }

    /// Returns the keys that are looked up as literals, with the files that do.
    fn used() -> Vec<(PathBuf, String)> {
        let calls = ["text(\"", "format(\"", "label(\"", "of_day(\"", "whole(\"", "counted(\""];
        let mut used = Vec::new();
        for (path, text) in texts() {
            for call in calls {
                for rest in text.split(call).skip(1) {
                    let key = rest.split('"').next().unwrap();
                    if !key.contains('{') && !key.contains('%') {
                        used.push((path.clone(), key.to_owned()));
                    }
                }
            }
        }
        used
    }

    #[test]
    fn every_key_that_is_looked_up_has_a_text() {
        let used = used();
        assert!(used.len() > 80);
        for (path, key) in used {
            assert!(Language::English.has(&key), "{}: no text {key}", path.display());
        }
    }

    #[test]
    fn every_text_of_the_console_is_looked_up() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let catalogues = ["console.ftl", "operator.ftl"].map(|file| {
            fs::read_to_string(root.join("../../core/i18n/locales/en").join(file)).unwrap()
        });
        let all: String = texts().into_iter().map(|(_, text)| text).collect();
        for line in catalogues.iter().flat_map(|catalogue| catalogue.lines()) {
            let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with(' ')) else {
                continue;
            };
            let computed = COMPUTED.iter().any(|beginning| key.starts_with(beginning));
            assert!(computed || all.contains(&format!("\"{key}\"")), "nobody shows {key}");
        }
    }
}
