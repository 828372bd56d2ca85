//! Schemas of the domain's types in the OpenAPI document.
//!
//! `build.rs` lists them: utoipa's derives take `ChannelIdSchema` for a field of the type
//! `ChannelId`. They describe what the domain's types serialize to; nothing else has these types.

use std::borrow::Cow;
use std::fmt::Write as _;

use chatkeep_core::assistant::{KeywordMatch, NoMatchScope, QaMode, Strictness};
use chatkeep_core::event::ChannelKind;
use chatkeep_core::message::MessageType;
use chatkeep_core::plan::{Plan, UsageStatus};
use chatkeep_core::role::{Role, Scope};
use chatkeep_store::{
    ChannelStatus, DeliveryFailure, DeliveryStatus, DisabledReason, GapReason, MediaReason,
    MediaStatus, MemberStatus, OutboxEventKind, UnstoredReason,
};
use serde::de::value::Error;
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Defines a type that has only a schema: a text, with the name that the document gives it.
macro_rules! schema {
    ($schema:ident as $name:literal, $text:expr) => {
        #[doc = concat!("Schema of the domain's `", $name, "`.")]
        pub enum $schema {}

        impl PartialSchema for $schema {
            fn schema() -> RefOr<Schema> {
                $text.into()
            }
        }

        impl ToSchema for $schema {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
        }
    };
}

fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description))
}

/// Returns the schema of an enum: one of the names that it is serialized as.
fn one_of<T: Deserialize<'static>>(description: &str) -> ObjectBuilder {
    text(description).enum_values(Some(names::<T>().iter().copied()))
}

/// Returns the names of an enum's variants, in order; none for another type. They are those that
/// it is deserialized from, so a schema cannot have others.
fn names<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    /// Notes the names that a type asks for, and has no value.
    struct Names<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Names<'_> {
        type Error = Error;

        fn deserialize_enum<V: Visitor<'de>>(
            self,
            _name: &'static str,
            variants: &'static [&'static str],
            _visitor: V,
        ) -> Result<V::Value, Error> {
            *self.0 = variants;
            Err(Error::custom("no value"))
        }

        fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
            Err(Error::custom("no enum"))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
            option unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier
            ignored_any
        }
    }

    let mut names: &'static [&'static str] = &[];
    // Always an error, for there is no value.
    let _ = T::deserialize(Names(&mut names));
    names
}

schema!(
    ChannelIdSchema as "ChannelId",
    text(
        "ID of a chat: on LINE a group (`C…`), a room (`R…`) or a one-to-one chat (the person's\n\
         `U…`)."
    )
);
schema!(KeyIdSchema as "KeyId", text("Public ID of an API key; not the key itself."));
schema!(MessageIdSchema as "MessageId", text("ID of a message, unique within its channel."));
schema!(RuleIdSchema as "RuleId", text("ID of a question-and-answer rule: `qa_<millis>_<suffix>`."));
schema!(SavedSearchIdSchema as "SavedSearchId", text("A saved search: `ss_…`."));
schema!(UserIdSchema as "UserId", text("ID of a person or bot on the platform."));
schema!(WebhookIdSchema as "WebhookId", text("An outgoing webhook endpoint: `wh_…`."));

schema!(
    TimestampSchema as "Timestamp",
    text("Point in time in ISO 8601; responses use UTC with milliseconds.")
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
);

schema!(ChannelKindSchema as "ChannelKind", one_of::<ChannelKind>("Kind of chat."));
schema!(
    ChannelStatusSchema as "ChannelStatus",
    one_of::<ChannelStatus>("Presence of the bot in a chat.")
);
schema!(
    DeliveryFailureSchema as "DeliveryFailure",
    one_of::<DeliveryFailure>(
        "Reason for a failed or dropped delivery. `status`: the response was an error; `timeout`: \
         there was none in time; `connect`: the address could not be reached; `broken`: the \
         connection was lost; `redirect`: redirects are not followed; `gone`: the response was 410; \
         `forbidden_address`: the address is private; `unusable_secret`: the secret cannot sign; \
         `message_gone`: what the delivery is about was deleted; `not_permitted`: the owner of the \
         webhook may not read it any more; `not_rendered`: the body could not be built, and nothing \
         was sent."
    )
);
schema!(
    DeliveryStatusSchema as "DeliveryStatus",
    one_of::<DeliveryStatus>("Status of a delivery.")
);
schema!(
    DisabledReasonSchema as "DisabledReason",
    one_of::<DisabledReason>("Reason for disabling a webhook automatically.")
);
schema!(
    GapReasonSchema as "GapReason",
    one_of::<GapReason>(
        "Reason for a gap: `bot_removed` the bot was not in the chat; `outage` the service received \
         nothing, or lost it; `quota` every subscriber's quota was used up; `unsubscribed` there was \
         no subscription; `opted_out` messages of people who opted out, by day in UTC (those of \
         others are stored)."
    )
);
schema!(
    KeywordMatchSchema as "KeywordMatch",
    one_of::<KeywordMatch>(
        "Matching of a keyword: `exact` when it is the whole message, `contains` when it occurs in \
         the message as whole words."
    )
);
schema!(
    MediaReasonSchema as "MediaReason",
    one_of::<MediaReason>("Reason for a media file that is not stored.")
);
schema!(
    MediaStatusSchema as "MediaStatus",
    one_of::<MediaStatus>(
        "Status of a media file: `pending` to be downloaded, `stored`, `skipped` because the backup \
         was paused, `failed`, `expired` no longer on the platform, `erased` with its message."
    )
);
schema!(
    MemberStatusSchema as "MemberStatus",
    one_of::<MemberStatus>("Presence of a person in a channel.")
);
schema!(
    MessageTypeSchema as "MessageType",
    one_of::<MessageType>("Type of a message.")
);
schema!(NoMatchScopeSchema as "NoMatchScope", one_of::<NoMatchScope>(
    "Messages that get `noMatchReply`: `always` every message that nothing else answers; \
     `addressed` only those that mention or quote the bot, and those in a one-to-one chat."
));
schema!(OutboxEventKindSchema as "EventKind", one_of::<OutboxEventKind>("Kind of an event."));
schema!(PlanSchema as "Plan", one_of::<Plan>("A user's plan."));
schema!(QaModeSchema as "QaMode", one_of::<QaMode>(
    "Matching mode of rules: `keyword` by keywords alone; `fuzzy` also tolerates typos, word \
     order and small changes; `semantic` also matches by meaning (plan `pro`)."
));
schema!(RoleSchema as "Role", one_of::<Role>("Role of a person in a channel, lowest first."));
schema!(
    ScopeSchema as "Scope",
    one_of::<Scope>(&format!("Operation that a key permits:\n\n{}", scopes()))
);
schema!(
    UnstoredReasonSchema as "UnstoredReason",
    one_of::<UnstoredReason>("Reason for not storing a message that has an event.")
);
schema!(
    StrictnessSchema as "Strictness",
    one_of::<Strictness>(
        "Certainty that a reply of the modes `fuzzy` and `semantic` requires. `careful` gives the \
         fewest wrong replies, `eager` leaves the fewest questions without one."
    )
);
schema!(UsageStatusSchema as "UsageStatus", one_of::<UsageStatus>("Fill level of a quota."));

/// Returns a list of all scopes and what each of them allows, in Markdown.
pub fn scopes() -> String {
    Scope::ALL.iter().fold(String::new(), |mut list, scope| {
        let _ = writeln!(list, "- `{}`: {}", scope.name(), scope.meaning());
        list
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::Serialize;

    use super::*;

    /// Returns the values of an enum by the names of its schema, each of which must be the name
    /// that it is serialized as.
    fn values<T, S>() -> Vec<T>
    where
        T: Deserialize<'static> + Serialize,
        S: PartialSchema,
    {
        let schema = serde_json::to_value(S::schema()).unwrap();
        let names: Vec<String> = serde_json::from_value(schema["enum"].clone()).unwrap();
        let value = |name: String| {
            let value = T::deserialize(serde_json::Value::from(name.as_str())).unwrap();
            assert_eq!(serde_json::to_value(&value).unwrap(), name);
            value
        };
        names.into_iter().map(value).collect()
    }

    /// Asserts that a schema has every value of an enum, under the names that the domain uses.
    fn assert_named<T, S>(all: &[T], name: fn(T) -> &'static str)
    where
        T: Copy + Debug + PartialEq + Deserialize<'static> + Serialize,
        S: PartialSchema,
    {
        assert_eq!(values::<T, S>(), all);
        for value in all {
            assert_eq!(serde_json::to_value(value).unwrap(), name(*value));
        }
    }

    #[test]
    fn enums_have_the_names_of_the_domain() {
        assert_named::<DeliveryFailure, DeliveryFailureSchema>(
            &DeliveryFailure::ALL,
            DeliveryFailure::name,
        );
        assert_named::<GapReason, GapReasonSchema>(&GapReason::ALL, GapReason::name);
        assert_named::<MediaStatus, MediaStatusSchema>(&MediaStatus::ALL, MediaStatus::name);
        assert_named::<DeliveryStatus, DeliveryStatusSchema>(
            &DeliveryStatus::ALL,
            DeliveryStatus::name,
        );
        assert_named::<MediaReason, MediaReasonSchema>(&MediaReason::ALL, MediaReason::name);
        assert_named::<MessageType, MessageTypeSchema>(&MessageType::ALL, MessageType::name);
        assert_named::<OutboxEventKind, OutboxEventKindSchema>(
            &OutboxEventKind::ALL,
            OutboxEventKind::name,
        );
        assert_named::<Scope, ScopeSchema>(&Scope::ALL, Scope::name);
        assert_named::<ChannelKind, ChannelKindSchema>(&ChannelKind::ALL, ChannelKind::name);
        assert_named::<DisabledReason, DisabledReasonSchema>(
            &DisabledReason::ALL,
            DisabledReason::name,
        );
        assert_named::<MemberStatus, MemberStatusSchema>(&MemberStatus::ALL, MemberStatus::name);
        assert_named::<Plan, PlanSchema>(&Plan::ALL, Plan::name);
        assert_named::<Role, RoleSchema>(&Role::ALL, Role::name);
        assert_named::<UsageStatus, UsageStatusSchema>(&UsageStatus::ALL, UsageStatus::name);
    }

    #[test]
    fn other_enums_have_the_names_that_they_are_serialized_as() {
        assert_eq!(values::<ChannelStatus, ChannelStatusSchema>().len(), 2);
        assert_eq!(values::<KeywordMatch, KeywordMatchSchema>().len(), 2);
        assert_eq!(values::<NoMatchScope, NoMatchScopeSchema>().len(), 2);
        assert_eq!(values::<QaMode, QaModeSchema>().len(), 3);
        assert_eq!(values::<Strictness, StrictnessSchema>().len(), 3);
        assert_eq!(values::<UnstoredReason, UnstoredReasonSchema>().len(), 2);
    }
}
