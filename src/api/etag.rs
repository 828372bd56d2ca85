//! Entity tags in the documentation of routes.

use axum::http::StatusCode;
use chatkeep_http::{IfMatch, Prepared, Timed, Versioned};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::Required;
use utoipa::openapi::path::{ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::route::{Describe, Input, Output};

/// Pattern of `If-Match`: any version, or a list of tags.
const IF_MATCH: &str = r#"^(\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$"#;

impl Input for IfMatch {
    fn describe(route: &mut Describe) {
        let parameter = ParameterBuilder::new()
            .name("If-Match")
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(
                "`ETag` of the version that was read: the change is refused with 412 when the \
                 object has changed since.",
            ))
            .schema(Some(
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .pattern(Some(IF_MATCH))
                    .examples(["*"]),
            ))
            .build();
        route.parameters.push(parameter);
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
