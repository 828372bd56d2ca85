//! Errors that a model can act on: the fault of the call, and a remedy.

use chatkeep_core::role::Scope;
use serde_json::Value;

use crate::sanitize;
use crate::services::{FieldPath, ServiceError};

/// Maximum length of an id in an error, in characters.
const ECHO: usize = 80;

/// Error of a tool.
#[derive(Debug)]
pub(super) struct ToolError {
    /// Text for the model.
    pub(super) text: String,
    /// Label for metrics.
    pub(super) result: &'static str,
}

impl ToolError {
    /// Creates it for a call with these arguments, of a tool that requires that scope.
    pub(super) fn new(error: &ServiceError, arguments: &Value, scope: Option<Scope>) -> Self {
        let (text, result) = match error {
            ServiceError::PermissionDenied => (unknown_channel(arguments), "denied"),
            ServiceError::InsufficientPermissions => (lacks(scope), "denied"),
            ServiceError::Invalid { field, why, .. } => (invalid(field.as_ref(), why), "invalid"),
            ServiceError::Unavailable => (
                "Part of the service is down for the moment. Try the same call again in a few \
                 seconds; if that fails, tell the person."
                    .to_owned(),
                "unavailable",
            ),
            _ => (
                "Internal error of the service. Retrying will hardly help: tell the person."
                    .to_owned(),
                "error",
            ),
        };
        Self { text, result }
    }
}

fn unknown_channel(arguments: &Value) -> String {
    let id = arguments.get("channelId").and_then(Value::as_str).unwrap_or_default();
    let id = sanitize::quoted(&sanitize::cut(id, ECHO).0);
    format!("No channel {id} that this key may read: call list_channels for the ids.")
}

fn lacks(scope: Option<Scope>) -> String {
    let scope = scope.map_or("the scope for this", Scope::name);
    format!("This key lacks {scope}: ask the person for a key that has it. Do not try again.")
}

fn invalid(field: Option<&FieldPath>, why: &str) -> String {
    match field.map(FieldPath::text).as_deref() {
        Some("cursor" | "/cursor") => {
            "This cursor belongs to another query: call again without cursor, or \
             with exactly the arguments of the call that returned it."
                .to_owned()
        }
        // The query's name in REST.
        Some("q") => {
            let why = why.strip_prefix("q ").map_or(format!(": {why}"), |why| format!(" {why}"));
            format!("query{why}. Correct it and call again.")
        }
        Some(_) => format!("{why}. Correct it and call again."),
        None => format!("{why}. Correct the arguments and call again."),
    }
}
