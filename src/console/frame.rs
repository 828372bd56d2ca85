//! Frame of a page: what the layout of all pages shows around their content.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use chatkeep_i18n::Language;
use tracing::error;
use url::form_urlencoded;

use super::assets::{ASSETS, Assets};
use super::error::PageError;
use super::visitor::Visitor;

/// Frame of a page.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Title of the page, in its language.
    pub(super) title: String,
    pub(super) language: Language,
    /// Signed-in person; `None` for nobody.
    pub(super) person: Option<Person>,
    /// Choice of languages.
    pub(super) languages: Vec<LanguageLink>,
    pub(super) assets: &'static Assets,
}

/// Signed-in person of a page.
#[derive(Debug)]
pub(super) struct Person {
    pub(super) name: String,
    /// Token for the forms of the page.
    pub(super) csrf: String,
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
        let person = visitor.visit.as_ref().map(|visit| Person {
            name: visit.name.clone().unwrap_or_else(|| visitor.language.text("someone")),
            csrf: visit.session.csrf.clone(),
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
        Self { title, language, person, languages, assets: &ASSETS }
    }

    /// Returns the text of a key in the language of the page.
    pub(super) fn text(&self, key: &str) -> String {
        self.language.text(key)
    }
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

/// Renders a page with that status; plain text if the template fails.
pub(super) fn rendered_as(status: StatusCode, page: &impl Template) -> Response {
    match rendered(page) {
        Ok(mut response) => {
            *response.status_mut() = status;
            response
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
