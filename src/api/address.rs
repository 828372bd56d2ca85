//! Address of the API in links of responses.

use std::convert::Infallible;
use std::fmt;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::request::Parts;

use super::Api;
use super::route::Input;

/// Address of the API by the name that the request used: `…/api`, or `…/api/v1` for a client that
/// names the version.
pub(super) struct ApiUrl(String);

impl FromRequestParts<Api> for ApiUrl {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Infallible> {
        let matched = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
        let names_version = matched.is_some_and(|path| path.starts_with("/api/v1/"));
        let name = if names_version { "/api/v1" } else { "/api" };
        Ok(Self(format!("{}{name}", api.url)))
    }
}

impl Input for ApiUrl {}

impl fmt::Display for ApiUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
