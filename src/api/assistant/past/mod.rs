//! Tests of rules against stored messages: `GET …/assistant/unanswered` and `POST
//! …/assistant/backtest`.

mod backtest;
mod unanswered;

use std::borrow::Cow;

use chatkeep_services::assistant::{DAYS, MAX_DAYS};
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
        text.parse().map(Self).map_err(|_| D::Error::custom("must be a whole number"))
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
