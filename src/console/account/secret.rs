//! Secrets: shown once, in the answer to the form that made them; and the time for which the one
//! before stays valid.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use chatkeep_i18n::Language;

use super::super::form::FormErrors;
use super::super::frame::{Frame, rendered_as};
use super::super::visitor::Visitor;
use super::{Section, SectionLink};

/// Secret to show. No `Debug`.
pub(super) struct NewSecret {
    /// Section that it belongs to.
    pub(super) section: Section,
    /// Title of the page.
    pub(super) title: String,
    /// Name of the secret.
    pub(super) label: String,
    pub(super) secret: String,
    /// Sentences about it.
    pub(super) notes: Vec<String>,
    /// Path of the page to go on to.
    pub(super) next: String,
}

#[derive(Template)]
#[template(path = "console/account/secret.html", whitespace = "minimize")]
struct SecretPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    new: NewSecret,
}

impl NewSecret {
    /// Returns the page that shows it, which no cache keeps.
    pub(super) fn page(self, visitor: &Visitor) -> Response {
        let page = SecretPage {
            frame: visitor.frame(self.title.clone()),
            sections: self.section.links(visitor.language),
            new: self,
        };
        let mut response = rendered_as(StatusCode::OK, &page);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// Seconds for which a replaced secret may stay valid, with the key of the text of each.
const OVERLAPS: [(u32, &str); 4] = [
    (0, "overlap-none"),
    (3_600, "overlap-hour"),
    (86_400, "overlap-day"),
    (604_800, "overlap-week"),
];

/// Question before a secret is replaced.
pub(super) struct Replacement {
    pub(super) section: Section,
    pub(super) title: String,
    pub(super) text: String,
    /// Path of the page to go back to.
    pub(super) back: String,
}

#[derive(Template)]
#[template(path = "console/account/replace.html", whitespace = "minimize")]
struct ReplacePage {
    frame: Frame,
    sections: Vec<SectionLink>,
    asked: Replacement,
    errors: FormErrors,
    overlaps: Vec<OverlapOption>,
}

struct OverlapOption {
    seconds: u32,
    label: String,
    chosen: bool,
}

impl Replacement {
    /// Returns the page that asks.
    pub(super) fn page(self, visitor: &Visitor, errors: FormErrors) -> Response {
        let language = visitor.language;
        let page = ReplacePage {
            frame: visitor.frame(self.title.clone()),
            sections: self.section.links(language),
            overlaps: overlaps(language),
            asked: self,
            errors,
        };
        rendered_as(page.errors.status(), &page)
    }
}

fn overlaps(language: Language) -> Vec<OverlapOption> {
    let option = |(seconds, key): (u32, &str)| OverlapOption {
        seconds,
        label: language.text(key),
        chosen: seconds == 86_400,
    };
    OVERLAPS.into_iter().map(option).collect()
}
