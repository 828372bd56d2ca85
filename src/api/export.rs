//! A channel's messages as one document, streamed as they are read.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_workers::log_failure;
use futures_util::TryStreamExt as _;
use serde::Deserialize;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::auth::{ChannelAccess, Member, ReadMessages};
use super::error::ApiError;
use super::extract::Query;
use super::route::{Answer, Describe, Output};
use crate::services::FieldPath;
use crate::services::messages::point_in_time;
use crate::transfer::{Export, Format, MediaLinks, export};
use crate::when::When;

/// The page is read from a disk later on, too; here it gets what it says itself.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum FormatParam {
    Jsonl,
    Csv,
    Html,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportQuery {
    /// Format of the document: `jsonl` can be imported again, `csv` is for spreadsheets, `html` for
    /// browsers.
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

/// A document that is still being written.
pub(super) struct Document(Response);

pub(super) async fn messages(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMessages>,
    Query(query): Query<ExportQuery>,
) -> Result<Document, ApiError> {
    let channel = api.store.channel(&access.channel).await?.ok_or(ApiError::PermissionDenied)?;
    let (format, zone) = (Format::from(query.format), channel.zone(api.time_zone));
    let wanted = Export {
        format,
        from: point_in_time(FieldPath::FROM, query.from, zone)?.max(access.not_before()),
        to: point_in_time(FieldPath::TO, query.to, zone)?,
        not_before: access.not_before(),
        zone,
        media: MediaLinks::None,
        links: api.services.links,
    };
    // The status is out already: all that is left is to break the connection off and to say so.
    let stream = export(api.store, access.channel, wanted).inspect_err(|cause| {
        log_failure!(error, cause, "an export was interrupted");
    });
    let name = format!("attachment; filename=\"messages.{}\"", format.extension());
    let mut response = Body::from_stream(stream).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
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

impl Output for Document {
    fn describe(route: &mut Describe) {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let kinds = [Format::Jsonl, Format::Csv, Format::Html].map(Format::content_type);
        let content = kinds.map(|kind| (kind, Some(text().into())));
        let description = "The messages, oldest first; the connection is closed early when the \
                           export fails";
        let (content, headers, links) = (content.into(), vec!["Content-Disposition"], Vec::new());
        let answer = Answer { status: StatusCode::OK, description, content, headers, links };
        route.answers.push(answer);
    }
}
