//! Tells utoipa's derives which schema stands for which type of the domain: a part of the build
//! scripts of all crates that have DTOs.
//!
//! The domain's crates know no OpenAPI, and a schema cannot be implemented for their types here, so
//! wherever a DTO has a field of such a type, its schema is taken from `src/view/schema.rs`. A type
//! that is missing here does not compile in a DTO.

/// Types of the domain that DTOs have as fields; the schema of each is named `<type>Schema`.
const DOMAIN: [&str; 28] = [
    "ChannelId",
    "ChannelKind",
    "ChannelStatus",
    "DeliveryFailure",
    "DeliveryStatus",
    "DisabledReason",
    "GapReason",
    "KeyId",
    "KeywordMatch",
    "MediaReason",
    "MediaStatus",
    "MemberStatus",
    "MessageId",
    "MessageType",
    "NoMatchScope",
    "OutboxEventKind",
    "Plan",
    "QaMode",
    "Role",
    "RuleId",
    "SavedSearchId",
    "Scope",
    "Strictness",
    "Timestamp",
    "UnstoredReason",
    "UsageStatus",
    "UserId",
    "WebhookId",
];

/// Writes the aliases, with the path to the schemas as the crate sees it.
pub(crate) fn write(schemas: &str) {
    println!("cargo::rerun-if-changed=build.rs");
    let schemas = DOMAIN.map(|name| (name, format!("{schemas}::{name}Schema")));
    schemas
        .iter()
        .fold(utoipa_config::Config::new(), |config, (name, schema)| config.alias_for(name, schema))
        .write_to_file();
}
