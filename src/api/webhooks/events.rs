//! What can be told to a webhook: the catalogue of events with the form of each, and the part of
//! the OpenAPI document that describes what is sent.

use axum::Json;
use chatkeep_core::store::{HappeningKind, TEST_EVENT};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, Paths, PathsBuilder,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, RefBuilder, Type};
use utoipa::openapi::{ContentBuilder, RefOr, Required, ResponseBuilder, ResponsesBuilder, Schema};
use utoipa::{PartialSchema as _, ToSchema};

use crate::api::auth::{ManageWebhooks, Scoped};
use crate::api::error::ApiError;
use crate::api::route::{Examples, complete, lift};
use crate::view::EventData;

/// `GET /api/webhooks/events`.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct EventTypes {
    /// Every event there is.
    events: Vec<EventType>,
}

/// An event that a webhook can be told.
#[derive(Serialize, ToSchema)]
struct EventType {
    /// The name of the event.
    #[serde(rename = "type")]
    kind: HappeningKind,
    /// A sentence about when it happens.
    description: &'static str,
    /// The JSON Schema of the body.
    #[schema(value_type = Object)]
    schema: Value,
}

pub(in crate::api) async fn list(
    _access: Scoped<ManageWebhooks>,
) -> Result<Json<EventTypes>, ApiError> {
    let definitions = definitions();
    let events = HappeningKind::ALL.into_iter().map(|kind| EventType {
        kind,
        description: description(kind),
        schema: standalone(kind, &definitions),
    });
    Ok(Json(EventTypes { events: events.collect() }))
}

const fn description(kind: HappeningKind) -> &'static str {
    match kind {
        HappeningKind::MessageReceived => {
            "A person sent a message; also one that is not kept (`kept` is false and `reason` says \
             why)"
        }
        HappeningKind::MessageSent => "The bot sent a message",
        HappeningKind::MessageEdited => "A message was edited",
        HappeningKind::MessageUnsent => "A message was taken back",
        HappeningKind::MemberJoined => "A person joined a channel",
        HappeningKind::MemberLeft => "A person left a channel",
        HappeningKind::FileUploaded => "The file of a message is stored",
        HappeningKind::MediaFailed => "The file of a message cannot be had",
        HappeningKind::BackupPaused => {
            "A channel is no longer kept: its subscribers' quota is full"
        }
        HappeningKind::BackupResumed => "A channel is kept again",
        HappeningKind::UsageWarning => "The owner's usage came to 80 percent",
        HappeningKind::UsageCritical => "The owner's usage came to 90 percent",
        HappeningKind::UsageExceeded => "The owner's quota is full",
        HappeningKind::EndpointDisabled => "Another webhook of the owner was disabled by itself",
    }
}

/// The members of `data` that an event has, and which of them are always there.
const fn members(kind: HappeningKind) -> (&'static [&'static str], usize) {
    match kind {
        HappeningKind::MemberJoined | HappeningKind::MemberLeft => (&["channelId", "member"], 1),
        HappeningKind::BackupPaused | HappeningKind::BackupResumed => (&["channelId"], 1),
        HappeningKind::UsageWarning
        | HappeningKind::UsageCritical
        | HappeningKind::UsageExceeded => (&["userId", "percentage"], 2),
        HappeningKind::EndpointDisabled => (&["userId", "webhookId"], 2),
        _ => (&["channelId", "message"], 2),
    }
}

/// The form of a body.
fn form(kind: &str, members: &[&'static str], always: usize) -> Schema {
    let mut data = ObjectBuilder::new();
    for (nth, name) in members.iter().enumerate() {
        let plain = |kind, about| ObjectBuilder::new().schema_type(kind).description(Some(about));
        let named = |form: &str, about: &str| {
            let form = RefBuilder::new().ref_location_from_schema_name(form);
            form.description(Some(about)).build()
        };
        let form: RefOr<Schema> = match *name {
            "message" => named("EventMessage", "The message that it is about.").into(),
            "member" => named("Member", "The person who joined or left.").into(),
            "percentage" => plain(Type::Number, "Percent of the quota that is used now.").into(),
            "channelId" => plain(Type::String, "The channel that it happened in.").into(),
            "userId" => plain(Type::String, "The user whose account it is about.").into(),
            _ => plain(Type::String, "The webhook that it is about.").into(),
        };
        data = data.property(*name, form);
        if nth < always {
            data = data.required(*name);
        }
    }
    let text = |about| ObjectBuilder::new().schema_type(Type::String).description(Some(about));
    ObjectBuilder::new()
        .property("type", text("The name of the event.").enum_values(Some([kind])))
        .property("timestamp", chatkeep_core::time::Timestamp::schema())
        .property("data", data.description(Some("What it happened to, as it is now.")))
        .required("type")
        .required("timestamp")
        .required("data")
        .into()
}

/// Everything that forms refer to.
fn definitions() -> Value {
    let mut schemas = Vec::new();
    EventData::schemas(&mut schemas);
    let schemas: Map<String, Value> = schemas
        .into_iter()
        .map(|(name, mut schema)| {
            lift(&mut schema);
            complete(&name, &mut schema);
            (name, serde_json::to_value(schema).unwrap_or_default())
        })
        .collect();
    moved(Value::Object(schemas))
}

fn standalone(kind: HappeningKind, definitions: &Value) -> Value {
    let (members, always) = members(kind);
    let form = form(kind.name(), members, always);
    let mut schema = moved(serde_json::to_value(form).unwrap_or_default());
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    if members.contains(&"message") || members.contains(&"member") {
        schema["$defs"] = definitions.clone();
    }
    schema
}

/// With references to the schema's own definitions in place of the document's.
fn moved(value: Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(
            object
                .into_iter()
                .map(|(name, value)| match value {
                    Value::String(to) if name == "$ref" => {
                        (name, to.replace("#/components/schemas/", "#/$defs/").into())
                    }
                    value => (name, moved(value)),
                })
                .collect(),
        ),
        Value::Array(values) => values.into_iter().map(moved).collect(),
        value => value,
    }
}

/// What is sent, for the OpenAPI document.
pub(in crate::api) fn document(examples: &Examples) -> Paths {
    let mut paths = PathsBuilder::new();
    for kind in HappeningKind::ALL {
        let (members, always) = members(kind);
        let form = form(kind.name(), members, always);
        paths = paths.path(kind.name(), sent(kind.name(), description(kind), form, examples));
    }
    let test = form(TEST_EVENT, &["webhookId"], 1);
    let about = "A test that somebody asked for";
    paths.path(TEST_EVENT, sent(TEST_EVENT, about, test, examples)).build()
}

fn sent(kind: &str, summary: &str, form: Schema, examples: &Examples) -> PathItem {
    let form = RefOr::T(form);
    let example = examples.body("application/json", &form);
    let content = ContentBuilder::new().schema(Some(form)).example(example).build();
    let body = RequestBodyBuilder::new()
        .content("application/json", content)
        .required(Some(Required::True))
        .build();
    let mut operation = OperationBuilder::new()
        .operation_id(Some(format!("on_{}", kind.replace('.', "_"))))
        .tag("Webhooks")
        .summary(Some(summary))
        .request_body(Some(body));
    for (name, about) in [
        ("webhook-id", "The same for every attempt: whoever knows it has had this one."),
        ("webhook-timestamp", "Seconds since 1970 at which it was sent."),
        ("webhook-signature", "One or two signatures `v1,<base64>`, with spaces between."),
    ] {
        let header = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::True)
            .description(Some(about))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)));
        operation = operation.parameter(header);
    }
    let taken = ResponseBuilder::new().description("It arrived").build();
    let gone =
        ResponseBuilder::new().description("Send nothing more: disables the webhook").build();
    let responses = ResponsesBuilder::new().response("2XX", taken).response("410", gone).build();
    PathItem::new(HttpMethod::Post, operation.responses(responses))
}
