//! Counters of a channel's activity: messages by time and by person, answers by rule, storage by
//! type. They count the stored messages that were not retracted, and change in the transactions
//! that change those (docs/architecture.md#rule-3), through the [`Ledger`](crate::ledger::Ledger)
//! alone.

mod by_time;
mod delta;
mod item_spans;
mod read;
mod sql;

pub(crate) use delta::{ActivityDelta, Counted, DAY, HOUR, QUARTER, count_answers, save_activity};
pub use read::{
    ActivityAnswer, ActivityCounts, ActivityPerson, ActivityQuery, ActivityRange, ActivityStorage,
    AnswerCause, ClockShift,
};
pub(crate) use sql::{DELETE_COUNTERS, DIFFERENCES, RECOUNT};
