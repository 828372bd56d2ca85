//! Tests of rules against stored messages: `GET …/assistant/unanswered` and `POST
//! …/assistant/backtest`.

mod backtest;
mod unanswered;

use std::borrow::Cow;

use chatkeep_services::assistant::{DAYS, MAX_DAYS};
use chatkeep_services::decode::is_whole;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

pub(crate) use backtest::backtest;
pub(crate) use unanswered::unanswered;

/// Number of days of history.
struct Days(u32);

impl Default for Days {
    fn default() -> Self {
        Self(DAYS)
    }
}

impl<'de> Deserialize<'de> for Days {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(value)?;
        let wrong = || D::Error::custom("must be a whole number");
        let days = is_whole(&text).then(|| text.parse().ok()).flatten();
        days.map(Self).ok_or_else(wrong)
    }
}

impl PartialSchema for Days {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MAX_DAYS))
            .default(Some(DAYS.into()))
            .into()
    }
}

impl ToSchema for Days {}
