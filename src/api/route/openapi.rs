//! The OpenAPI 3.1 document, put together from the routes.

use std::collections::BTreeMap;

use axum::http::Method;
use chatkeep_core::role::{Role, Scope};
use chatkeep_http::ErrorView;
use chatkeep_view::schema::scopes;
use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
    PathsBuilder,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{Components, ComponentsBuilder, ObjectBuilder, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, RefOr, Required, ResponseBuilder,
    ResponsesBuilder, Schema, ServerBuilder,
};
use utoipa::{PartialSchema as _, ToSchema};

use super::examples::Examples;
use super::{Answer, Need, Route, Routes, Tag, complete, descriptions, errors, headers};
use crate::webhooks;

const ABOUT: &str = "Backed-up messages of chat groups, usage, members and the assistant.\n\n\
    `/api/v1/…` is the same as `/api/…`. Every response has `X-API-Version`, `X-Request-Id` and, \
    where there is a rate limit, its headers; all errors have the same form. Parameters and members \
    that a route does not know are rejected, and so is `null` in a field that is not nullable; \
    `field` names the location: in a body a JSON Pointer, otherwise the name of the parameter or \
    header. Lists accept `limit` and `cursor` and return `nextCursor` and a `Link` header. Every \
    POST accepts an `Idempotency-Key`.";

/// Returns the document of all routes.
pub(crate) fn document(routes: &Routes) -> OpenApi {
    let mut components = components(routes);
    let examples = Examples::new(&components);
    errors::described(&mut components, routes, examples.request_id());
    let mut paths = PathsBuilder::new();
    for route in routes.all() {
        let item = PathItem::new(http_method(&route.method), operation(route, &examples));
        paths = paths.path(format!("/api{}", route.path), item);
    }
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("ck_…")
        .description(Some(about_keys()));
    let session = ApiKeyValue::with_description(
        "__Host-chatkeep",
        "Session of a signed-in person; changes also require a matching X-CSRF-Token. Where the \
         service is reached over http on this machine, the cookie is `chatkeep_session`.",
    );
    components.add_security_scheme("key", SecurityScheme::Http(bearer.build()));
    components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(session)));
    let sent = (webhooks::events::TAG, webhooks::events::ABOUT);
    let tags = Tag::ALL.map(|tag| (tag.name(), tag.description())).into_iter().chain([sent]);
    let tag = |(name, about)| TagBuilder::new().name(name).description(Some(about)).build();
    let tags = tags.map(tag);
    OpenApiBuilder::new()
        .info(InfoBuilder::new().title("chatkeep").version("v1").description(Some(ABOUT)).build())
        .servers(Some([ServerBuilder::new().url("/").build()]))
        .tags(Some(tags))
        .paths(paths.build())
        .webhooks(Some(webhooks::events::document(&examples)))
        .components(Some(components))
        .build()
}

/// Returns the description of keys, with every scope.
fn about_keys() -> String {
    format!(
        "API key (`ck_…`), created by `chatkeep key create` or `POST /api/keys`. Its scopes are the \
         operations that it permits:\n\n{}",
        scopes()
    )
}

/// Returns the schemas of requests and responses, and the headers.
fn components(routes: &Routes) -> Components {
    let mut schemas: BTreeMap<String, RefOr<Schema>> = BTreeMap::new();
    schemas.insert(ErrorView::name().into_owned(), ErrorView::schema());
    for route in routes.all() {
        schemas
            .extend(route.describe.schemas.iter().map(|(name, form)| (name.clone(), form.clone())));
    }
    for schema in schemas.values_mut() {
        descriptions::lift(schema);
    }
    for name in complete::of_answers(routes, &schemas) {
        if let Some(schema) = schemas.get_mut(&name) {
            complete(&name, schema);
        }
    }
    headers::described(ComponentsBuilder::new().schemas_from_iter(schemas)).build()
}

fn http_method(method: &Method) -> HttpMethod {
    match *method {
        Method::PUT => HttpMethod::Put,
        Method::POST => HttpMethod::Post,
        Method::DELETE => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

fn operation(route: &Route, examples: &Examples) -> Operation {
    let describe = &route.describe;
    let mut operation = OperationBuilder::new()
        .operation_id(Some(route.text.id))
        .tag(route.text.tag.name())
        .summary(Some(route.text.summary))
        .description(Some(description(route)));
    for parameter in &describe.parameters {
        operation = operation.parameter(examples.parameter(parameter.clone()));
    }
    if route.method == Method::POST {
        operation = operation.parameter(idempotency_key());
    }
    if route.method == Method::GET && !describe.is_streamed {
        operation = operation.parameter(if_none_match());
    }
    if let Some(body) = &describe.body {
        let example = examples.body("application/json", body);
        let content = ContentBuilder::new().schema(Some(body.clone())).example(example).build();
        let required = if describe.optional_body { Required::False } else { Required::True };
        let body =
            RequestBodyBuilder::new().content("application/json", content).required(Some(required));
        operation = operation.request_body(Some(body.build()));
    }
    let scopes: Vec<&str> = scope(describe.need).map(Scope::name).into_iter().collect();
    if describe.need != Need::Nothing {
        let requirements =
            [SecurityRequirement::new("key", scopes), SecurityRequirement::new("session", [""; 0])];
        operation = operation.securities(Some(requirements));
    }
    operation.responses(responses(route, examples).build()).build()
}

/// Returns the route's description with the required permission.
fn description(route: &Route) -> String {
    let need = match route.describe.need {
        Need::Nothing => "Requires no key.".to_owned(),
        Need::Key => "Requires any valid key.".to_owned(),
        Need::Scope(scope) => format!("Requires the scope `{}`.", scope.name()),
        Need::Channel { role: Role::Guest, scope } => {
            format!(
                "Requires the scope `{}`; the permitted callers are listed above.",
                scope.name()
            )
        }
        Need::Job { removals, exports } => format!(
            "Requires the scope `{}` or `{}`; the permitted callers are listed above.",
            removals.name(),
            exports.name()
        ),
        Need::Channel { role, scope } => {
            format!("Requires the scope `{}` and the role `{role}` in the channel.", scope.name())
        }
    };
    if route.text.description.is_empty() {
        return need;
    }
    format!("{}\n\n{need}", route.text.description)
}

const fn scope(need: Need) -> Option<Scope> {
    match need {
        Need::Scope(scope) | Need::Channel { scope, .. } => Some(scope),
        Need::Nothing | Need::Key | Need::Job { .. } => None,
    }
}

fn idempotency_key() -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(255))
        .pattern(Some("^[!-~]+$"));
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Unique key of the request: a repetition within 24 hours returns the first response \
             and does nothing else.",
        ))
        .schema(Some(schema))
        .build()
}

fn if_none_match() -> Parameter {
    ParameterBuilder::new()
        .name("If-None-Match")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "`ETag` of the caller's copy: when it is still current, the response is 304 without a \
             body.",
        ))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

fn responses(route: &Route, examples: &Examples) -> ResponsesBuilder {
    let mut responses = ResponsesBuilder::new();
    for answer in &route.describe.answers {
        responses = responses.response(answer.status.as_str(), success(route, answer, examples));
    }
    for (status, reference) in errors::references(route) {
        responses = responses.response(status.as_str(), reference);
    }
    responses
}

fn success(route: &Route, answer: &Answer, examples: &Examples) -> utoipa::openapi::Response {
    let mut response = ResponseBuilder::new().description(answer.description);
    for (kind, schema) in &answer.content {
        let example = schema.as_ref().and_then(|schema| examples.body(kind, schema));
        let content = ContentBuilder::new().schema(schema.clone()).example(example).build();
        response = response.content(*kind, content);
    }
    for (operation, parameter, place) in &answer.links {
        let link = LinkBuilder::new()
            .operation_id(*operation)
            .parameter(*parameter, format!("$response.body#/{place}"));
        response = response.link(*operation, link.build());
    }
    headers::of_answer(response, route, answer).build()
}
