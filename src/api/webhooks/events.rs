//! Catalogue of webhook event types with their schemas, and the part of the OpenAPI document that
//! describes deliveries.

use axum::Json;
use chatkeep_http::HttpError;
use chatkeep_services::access::{ManageWebhooks, Scoped};
use chatkeep_store::{OutboxEventKind, TEST_EVENT};
use chatkeep_view::EventData;
use chatkeep_view::schema::TimestampSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, Paths, PathsBuilder,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, RefBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, RefOr, Required, ResponseBuilder, ResponsesBuilder, Schema};
use utoipa::{PartialSchema as _, ToSchema};

use crate::route::{Examples, complete, lift};

/// Tag of the requests that webhooks get. Generators write a file for each tag, so it is none of those
/// of the routes.
pub(crate) const TAG: &str = "Webhook payloads";
/// Description of the tag.
pub(crate) const ABOUT: &str = "Requests that chatkeep sends to webhooks";

/// Event types with their JSON Schemas.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventTypes {
    /// All event types.
    events: Vec<EventType>,
    /// Always null: there are no further pages.
    next_cursor: Option<String>,
}

/// Event type that a webhook can receive.
#[derive(Serialize, ToSchema)]
struct EventType {
    /// The name of the event.
    #[serde(rename = "type")]
    kind: OutboxEventKind,
    /// Description of the event.
    description: &'static str,
    /// JSON Schema of the body.
    #[schema(value_type = Object)]
    schema: Value,
}

pub(crate) async fn list(_access: Scoped<ManageWebhooks>) -> Result<Json<EventTypes>, HttpError> {
    let definitions = definitions();
    let events = OutboxEventKind::ALL.into_iter().map(|kind| EventType {
        kind,
        description: description(kind),
        schema: standalone(kind, &definitions),
    });
    Ok(Json(EventTypes { events: events.collect(), next_cursor: None }))
}

const fn description(kind: OutboxEventKind) -> &'static str {
    match kind {
        OutboxEventKind::MessageReceived => {
            "A person sent a message, also one that is not stored (`kept` is false and `reason` is \
             set)"
        }
        OutboxEventKind::MessageSent => "The bot sent a message",
        OutboxEventKind::MessageEdited => "A message was edited",
        OutboxEventKind::MessageUnsent => "A message was unsent",
        OutboxEventKind::MemberJoined => "A person joined a channel",
        OutboxEventKind::MemberLeft => "A person left a channel",
        OutboxEventKind::FileUploaded => "The file of a message is stored",
        OutboxEventKind::MediaFailed => "The file of a message is not available",
        OutboxEventKind::BackupPaused => {
            "Backup of a channel paused: its subscribers' quota is exceeded"
        }
        OutboxEventKind::BackupResumed => "Backup of a channel resumed",
        OutboxEventKind::UsageWarning => "The owner's usage reached 80 percent of the quota",
        OutboxEventKind::UsageCritical => "The owner's usage reached 90 percent of the quota",
        OutboxEventKind::UsageExceeded => "The owner's quota is exceeded",
        OutboxEventKind::EndpointDisabled => {
            "Another webhook of the owner was disabled automatically"
        }
        OutboxEventKind::SearchMatched => "A saved search of the owner found a new message",
        OutboxEventKind::ImportAdded => {
            "An import added messages sent in this period; a long import sends several of these events"
        }
        OutboxEventKind::ImportUndone => "An import was undone: its messages are gone",
    }
}

/// Returns the members of `data` of an event, and the number of those that are always present.
const fn members(kind: OutboxEventKind) -> (&'static [&'static str], usize) {
    match kind {
        OutboxEventKind::MemberJoined | OutboxEventKind::MemberLeft => {
            (&["channelId", "member"], 1)
        }
        OutboxEventKind::BackupPaused | OutboxEventKind::BackupResumed => (&["channelId"], 1),
        OutboxEventKind::UsageWarning
        | OutboxEventKind::UsageCritical
        | OutboxEventKind::UsageExceeded => (&["userId", "percentage"], 2),
        OutboxEventKind::EndpointDisabled => (&["userId", "webhookId"], 2),
        OutboxEventKind::SearchMatched => (&["channelId", "message", "search"], 3),
        OutboxEventKind::ImportAdded | OutboxEventKind::ImportUndone => {
            (&["channelId", "import"], 2)
        }
        _ => (&["channelId", "message"], 2),
    }
}

/// Returns the schema of a body.
fn form(kind: &str, members: &[&'static str], always: usize) -> Schema {
    let mut data = ObjectBuilder::new();
    for (nth, name) in members.iter().enumerate() {
        let plain = |kind, about| ObjectBuilder::new().schema_type(kind).description(Some(about));
        let named = |form: &str, about: &str| {
            let form = RefBuilder::new().ref_location_from_schema_name(form);
            form.description(Some(about)).build()
        };
        let form: RefOr<Schema> = match *name {
            "message" => named("EventMessage", "The message that the event is about.").into(),
            "member" => named("Member", "The person who joined or left.").into(),
            "search" => named("EventSearch", "The saved search that found the message.").into(),
            "import" => named("EventImport", "The messages that were imported or removed.").into(),
            "percentage" => plain(Type::Number, "Used part of the quota in percent.").into(),
            "channelId" => plain(Type::String, "ID of the channel of the event.").into(),
            "userId" => {
                plain(Type::String, "ID of the user whose account the event is about.").into()
            }
            _ => plain(Type::String, "ID of the webhook that the event is about.").into(),
        };
        data = data.property(*name, form);
        if nth < always {
            data = data.required(*name);
        }
    }
    let text = |about| ObjectBuilder::new().schema_type(Type::String).description(Some(about));
    ObjectBuilder::new()
        .property("type", text("The name of the event.").enum_values(Some([kind])))
        .property("timestamp", TimestampSchema::schema())
        .property(
            "data",
            data.description(Some("Current state of the object that the event is about.")),
        )
        .required("type")
        .required("timestamp")
        .required("data")
        .into()
}

/// Returns all referenced schemas.
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

fn standalone(kind: OutboxEventKind, definitions: &Value) -> Value {
    let (members, always) = members(kind);
    let form = form(kind.name(), members, always);
    let mut schema = moved(serde_json::to_value(form).unwrap_or_default());
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    if ["message", "member", "import"].iter().any(|name| members.contains(name)) {
        schema["$defs"] = definitions.clone();
    }
    schema
}

/// Rewrites references to the schema's own definitions.
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

/// Returns the `webhooks` section of the OpenAPI document.
pub(crate) fn document(examples: &Examples) -> Paths {
    let mut paths = PathsBuilder::new();
    for kind in OutboxEventKind::ALL {
        let (members, always) = members(kind);
        let form = form(kind.name(), members, always);
        paths = paths.path(kind.name(), sent(kind.name(), description(kind), form, examples));
    }
    let test = form(TEST_EVENT, &["webhookId"], 1);
    let about = "A test event that a user requested";
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
        .tag(TAG)
        .securities(Some(<[SecurityRequirement; 0]>::default()))
        .summary(Some(summary))
        .request_body(Some(body));
    for (name, about) in [
        ("webhook-id", "ID of the event, the same for every attempt: use it to detect duplicates."),
        ("webhook-timestamp", "Time of the attempt in Unix seconds."),
        ("webhook-signature", "One or two signatures `v1,<base64>`, separated by a space."),
    ] {
        let header = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::True)
            .description(Some(about))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)));
        operation = operation.parameter(header);
    }
    let taken = ResponseBuilder::new().description("The event was received").build();
    let gone = ResponseBuilder::new().description("Gone: disables the webhook").build();
    let responses = ResponsesBuilder::new().response("2XX", taken).response("410", gone).build();
    PathItem::new(HttpMethod::Post, operation.responses(responses))
}
