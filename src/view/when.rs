//! Times in requests: one format and one parser for REST, MCP and the command line.

use std::borrow::Cow;

use chatkeep_core::time::Timestamp;
use chatkeep_index::Moment;
use chrono::{NaiveDateTime, TimeDelta, TimeZone as _, Timelike as _};
use chrono_tz::Tz;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{
    AnyOfBuilder, KnownFormat, ObjectBuilder, SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Longest time that clocks were put forward, in minutes: a day, where a date line was moved.
const SKIPPED: i64 = 24 * 60;

/// Time as a caller wrote it. Without an offset from UTC it is read in the zone of the requested
/// channel, else of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When(Moment);

impl When {
    /// Parses a time or a day; `None` when it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        Moment::parse(text).map(Self)
    }

    /// Returns the end of the error sentence for an invalid time or day.
    pub fn refusal() -> String {
        format!("must be {}", Moment::FORMS)
    }

    /// Returns true if the point in time depends on a zone.
    pub const fn is_local(self) -> bool {
        matches!(self.0, Moment::Local(_))
    }

    /// Returns the point in time in that zone; `None` beyond the range of a calendar.
    pub fn within(self, zone: Tz) -> Option<Timestamp> {
        match self.0 {
            Moment::At(millis) => Some(Timestamp::from_millis(millis)),
            Moment::Local(local) => first(zone, local),
        }
    }
}

/// Returns the first point in time at which clocks of that zone show `local`; where they skip it,
/// the next one that they show.
pub fn first(zone: Tz, local: NaiveDateTime) -> Option<Timestamp> {
    let shown = |local: &NaiveDateTime| zone.from_local_datetime(local).earliest();
    let found = shown(&local).or_else(|| {
        let minute = local.with_second(0)?.with_nanosecond(0)?;
        (1..=SKIPPED).find_map(|more| shown(&minute.checked_add_signed(TimeDelta::minutes(more))?))
    })?;
    Some(Timestamp::from_millis(found.timestamp_millis()))
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(value)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(Self::refusal()))
    }
}

impl PartialSchema for When {
    fn schema() -> RefOr<Schema> {
        let text = |format| {
            ObjectBuilder::new()
                .schema_type(SchemaType::Type(Type::String))
                .format(Some(SchemaFormat::KnownFormat(format)))
        };
        AnyOfBuilder::new()
            .item(text(KnownFormat::DateTime))
            .item(text(KnownFormat::Date))
            .description(Some(
                "Time or day. Without an offset from UTC it is read in the zone of the channel of \
                 the request, else of the service.",
            ))
            .into()
    }
}

impl ToSchema for When {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_where_the_zone_says() {
        let day = |name: &str, date: &str| {
            When::parse(date).unwrap().within(name.parse().unwrap()).unwrap().to_string()
        };
        assert_eq!(day("UTC", "2026-01-02"), "2026-01-02T00:00:00.000Z");
        assert_eq!(day("Asia/Taipei", "2026-01-02"), "2026-01-01T16:00:00.000Z");
        assert_eq!(day("Asia/Taipei", "2026-01-02T08:00"), "2026-01-02T00:00:00.000Z");
        assert_eq!(day("Asia/Taipei", "2026-01-02T08:00Z"), "2026-01-02T08:00:00.000Z");
        // Clocks in Beirut went from 00:00 to 01:00 that day.
        assert_eq!(day("Asia/Beirut", "2025-03-30"), "2025-03-29T22:00:00.000Z");
        // In New York from 02:00 to 03:00, and on Samoa from one day to the next but one.
        for skipped in ["2026-03-08T02:00", "2026-03-08T02:30", "2026-03-08T02:59:30"] {
            assert_eq!(day("America/New_York", skipped), "2026-03-08T07:00:00.000Z", "{skipped}");
        }
        assert_eq!(day("Pacific/Apia", "2011-12-30"), "2011-12-30T10:00:00.000Z");
    }
}
