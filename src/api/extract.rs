//! Input of routes and its documentation: bodies, query strings, paths and pages of lists. A route
//! whose handler has no body or query extractor accepts none: see [`super::route`].

use std::borrow::Cow;

use axum::http::StatusCode;
use chatkeep_http::{Body, OptionalBody, Path, Query};
use chatkeep_services::LIMIT;
use chatkeep_services::decode::is_whole;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::route::{Describe, Input};

impl<T: ToSchema> Input for Body<T> {
    fn describe(route: &mut Describe) {
        route.body = Some(route.schema::<T>());
        route.refuses(&[
            StatusCode::BAD_REQUEST,
            StatusCode::PAYLOAD_TOO_LARGE,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ]);
    }
}

impl<T: ToSchema> Input for OptionalBody<T> {
    fn describe(route: &mut Describe) {
        Body::<T>::describe(route);
        route.optional_body = true;
    }
}

impl<T: IntoParams> Input for Query<T> {
    fn describe(route: &mut Describe) {
        route.query = true;
        let parameters = T::into_params(|| Some(ParameterIn::Query));
        route.parameters.extend(parameters.into_iter().map(never_null).map(filled));
        route.refuses(&[StatusCode::BAD_REQUEST]);
    }
}

/// Removes null from a parameter's schema: queries omit values instead.
fn never_null(mut parameter: Parameter) -> Parameter {
    let null = |schema: &RefOr<Schema>| {
        matches!(schema, RefOr::T(Schema::Object(object))
            if object.schema_type == SchemaType::Type(Type::Null))
    };
    match &mut parameter.schema {
        Some(RefOr::T(Schema::Object(object))) => {
            if let SchemaType::Array(types) = &mut object.schema_type {
                types.retain(|kind| *kind != Type::Null);
                if types.len() == 1
                    && let Some(only) = types.pop()
                {
                    object.schema_type = only.into();
                }
            }
        }
        Some(RefOr::T(Schema::OneOf(choice))) => {
            choice.items.retain(|item| !null(item));
            if let [only] = &choice.items[..] {
                parameter.schema = Some(only.clone());
            }
        }
        _ => {}
    }
    parameter
}

/// Rejects empty texts and U+0000, which no database stores.
fn filled(mut parameter: Parameter) -> Parameter {
    if let Some(RefOr::T(Schema::Object(object))) = &mut parameter.schema
        && object.schema_type == SchemaType::Type(Type::String)
        && (object.format.is_none() && object.enum_values.is_none() && object.pattern.is_none())
    {
        object.pattern = Some(r"^[^\u0000]+$".to_owned());
        object.min_length = object.min_length.or(Some(1));
    }
    parameter
}

impl<T: IntoParams> Input for Path<T> {
    fn describe(route: &mut Describe) {
        route.parameters.extend(T::into_params(|| Some(ParameterIn::Path)));
        route.refuses(&[StatusCode::NOT_FOUND]);
    }
}

/// Page size: 1 to 100, default 50.
#[derive(Clone, Copy, Debug)]
pub struct Limit(pub u32);

impl Default for Limit {
    fn default() -> Self {
        Self(LIMIT.0)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(value)?;
        match text.parse() {
            Ok(limit) if is_whole(&text) && (1..=LIMIT.1).contains(&limit) => Ok(Self(limit)),
            _ => Err(serde::de::Error::custom("must be a whole number from 1 to 100")),
        }
    }
}

impl PartialSchema for Limit {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(LIMIT.1))
            .default(Some(LIMIT.0.into()))
            .into()
    }
}

impl ToSchema for Limit {}

/// Default page size of lists that are usually returned whole.
const WHOLE: u32 = 1_000;

/// Page size of a list that is usually returned whole: 1 to 100, up to 1,000 when absent.
#[derive(Clone, Copy, Debug)]
pub struct WholeLimit(pub u32);

impl Default for WholeLimit {
    fn default() -> Self {
        Self(WHOLE)
    }
}

impl From<Limit> for u32 {
    fn from(limit: Limit) -> Self {
        limit.0
    }
}

impl From<WholeLimit> for u32 {
    fn from(limit: WholeLimit) -> Self {
        limit.0
    }
}

impl<'de> Deserialize<'de> for WholeLimit {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        Limit::deserialize(value).map(|limit| Self(limit.0))
    }
}

impl PartialSchema for WholeLimit {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(LIMIT.1))
            .into()
    }
}

impl ToSchema for WholeLimit {}

/// The query of a list without filters that is whole unless the caller says.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct WholePaging {
    /// Maximum number of items on the page. When absent, all items up to 1,000 are returned, with
    /// `nextCursor` when there are more.
    #[serde(default)]
    #[param(inline)]
    pub limit: WholeLimit,
    /// `nextCursor` of the previous page.
    pub cursor: Option<String>,
}

/// The query of a list without filters.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paging {
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    pub limit: Limit,
    /// `nextCursor` of the previous page.
    pub cursor: Option<String>,
}
