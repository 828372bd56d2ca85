//! Entity tags in the documentation of routes.

use axum::http::StatusCode;
use chatkeep_http::{IfMatch, Prepared, Timed, Versioned};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::ObjectBuilder;

use super::route::{Describe, Input, Output};

/// Header of the version that a change replaces.
pub(super) const IF_MATCH_NAME: &str = "If-Match";
/// Pattern of `If-Match`: any version, or a list of tags.
const IF_MATCH_FORM: &str = r#"^(\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$"#;

impl Input for IfMatch {
    fn describe(route: &mut Describe) {
        let form = ObjectBuilder::new().pattern(Some(IF_MATCH_FORM)).examples(["*"]);
        let description = "`ETag` of the version that was read: the change is refused with 412 when \
                           the object has changed since.";
        route.takes_header(IF_MATCH_NAME, description, form);
        route.refuses(&[StatusCode::BAD_REQUEST, StatusCode::PRECONDITION_FAILED]);
    }
}

impl<T: Serialize + ToSchema> Output for Versioned<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::OK, "The current settings");
        route.carries("ETag");
    }
}

impl<T: Serialize + ToSchema> Output for Prepared<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::OK, "The current settings");
        route.carries("ETag");
    }
}

impl<T: Serialize + ToSchema, C: Serialize> Output for Timed<T, C> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::OK, "Done");
    }
}
