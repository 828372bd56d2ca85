//! A channel's messages as one document, streamed as they are read.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_http::{HttpError, MaskedBytes, Query, attachment, weighted};
use chatkeep_i18n::Language;
use chatkeep_services::Services;
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_services::exports::ExportRequest;
use chatkeep_transfer::Format;
use chatkeep_view::when::When;
use serde::Deserialize;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, ToSchema};

use super::route::{Answer, Describe, Input, Output};

/// Format of an export.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[schema(as = ExportFormat)]
#[serde(rename_all = "lowercase")]
pub(super) enum FormatParam {
    Jsonl,
    Csv,
    Html,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportQuery {
    /// Format of the document: `jsonl` can be imported again, `csv` is for spreadsheets, `html` for
    /// browsers, in the language of the header `Accept-Language` (English, Chinese, Japanese or
    /// Thai).
    #[param(inline)]
    format: FormatParam,
    /// Only messages sent at or after this time. A date stands for its first moment in the
    /// channel's time zone.
    #[param(inline)]
    from: Option<When>,
    /// Only messages sent before this time. A date stands for its first moment in the channel's
    /// time zone.
    #[param(inline)]
    to: Option<When>,
}

/// Language of a page for people.
pub(super) struct AskedLanguage(pub(super) Language);

impl<S: Send + Sync> FromRequestParts<S> for AskedLanguage {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        Ok(Self(Language::preferred(weighted(&parts.headers, header::ACCEPT_LANGUAGE))))
    }
}

impl Input for AskedLanguage {
    fn describe(route: &mut Describe) {
        let form = ObjectBuilder::new().examples(["ja"]);
        route.takes_header("Accept-Language", "Language of the format `html`.", form);
    }
}

/// A document that is still being written.
pub(super) struct Document(Response);

pub(super) async fn messages(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMessages>,
    AskedLanguage(language): AskedLanguage,
    Query(query): Query<ExportQuery>,
) -> Result<Document, HttpError> {
    let format = Format::from(query.format);
    let request = ExportRequest { format, from: query.from, to: query.to, language };
    let document = services.exports.document(&access, request).await?;
    let name = format!("messages.{}", format.extension());
    let mut response = attachment(document, format.content_type(), &name);
    // The document is masked as it is written, for it is streamed.
    response.extensions_mut().insert(MaskedBytes);
    if format == Format::Html {
        let language = HeaderValue::from_static("accept-language");
        response.headers_mut().append(header::VARY, language);
    }
    Ok(Document(response))
}

impl From<FormatParam> for Format {
    fn from(format: FormatParam) -> Self {
        match format {
            FormatParam::Jsonl => Self::Jsonl,
            FormatParam::Csv => Self::Csv,
            FormatParam::Html => Self::Html,
        }
    }
}

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        self.0
    }
}

/// Returns the media types of documents with their schema. That of JSON Lines is one of bytes: clients
/// of generators take it for no text, and read the others by it, too.
pub(super) fn documents() -> Vec<(&'static str, Option<RefOr<Schema>>)> {
    let schema = |format: Format| {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        let binary = (format == Format::Jsonl).then_some(binary);
        ObjectBuilder::new().schema_type(Type::String).format(binary)
    };
    Format::ALL.map(|format| (format.content_type(), Some(schema(format).into()))).to_vec()
}

impl Output for Document {
    fn describe(route: &mut Describe) {
        let description = "The messages, oldest first; the connection is closed early when the \
                           export fails";
        let (content, headers, links) = (documents(), vec!["Content-Disposition"], Vec::new());
        let answer = Answer { status: StatusCode::OK, description, content, headers, links };
        route.answers.push(answer);
        route.is_streamed = true;
    }
}
