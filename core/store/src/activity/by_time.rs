//! Division of counters by time into the bars of a period and the hours of a week.

use super::delta::HOUR;
use crate::{ActivityQuery, ClockShift};

/// Hours of a week.
const WEEK: u8 = 168;

/// Messages of a period.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ByTime {
    /// Those of each bar.
    pub(super) bars: Vec<i64>,
    /// Those of each hour of the week, from Thursday at 0:00, local time.
    pub(super) hours: Vec<i64>,
}

impl ByTime {
    /// Creates it without messages.
    pub(super) fn new(wanted: &ActivityQuery<'_>) -> Self {
        Self {
            bars: vec![0; wanted.bars.len().saturating_sub(1)],
            hours: vec![0; usize::from(WEEK)],
        }
    }

    /// Adds the messages of the counter that begins at `at`, in milliseconds since 1970.
    pub(super) fn add(&mut self, wanted: &ActivityQuery<'_>, at: i64, messages: i64) {
        let after = wanted.bars.partition_point(|bar| bar.millis() <= at);
        if let Some(bar) = after.checked_sub(1).and_then(|bar| self.bars.get_mut(bar)) {
            *bar += messages;
        }
        if let Some(hour) = self.hours.get_mut(hour(wanted.shifts, at)) {
            *hour += messages;
        }
    }
}

/// Returns the hour of the week of a time, from Thursday at 0:00, local time: 1 January 1970 was one.
fn hour(shifts: &[ClockShift], at: i64) -> usize {
    let after = shifts.partition_point(|shift| shift.from.millis() <= at);
    let shift = after.checked_sub(1).and_then(|shift| shifts.get(shift));
    let local = at + shift.map_or(0, |shift| shift.offset);
    usize::try_from(local.rem_euclid(i64::from(WEEK) * HOUR) / HOUR).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;

    use super::*;

    #[test]
    fn each_counter_is_in_its_bar_and_in_the_hour_that_clocks_showed() {
        let at = |hours: i64| Timestamp::from_millis(hours * HOUR);
        let bars = [at(-24), at(0), at(24)];
        // An hour ahead until 1970, two hours afterwards.
        let shifts = [
            ClockShift { from: at(-24), to: at(0), offset: HOUR },
            ClockShift { from: at(0), to: at(24), offset: 2 * HOUR },
        ];
        let channel = "C1".into();
        let wanted = ActivityQuery { channel: &channel, bars: &bars, shifts: &shifts, limit: 1 };
        let mut by_time = ByTime::new(&wanted);
        by_time.add(&wanted, -24 * HOUR, 1);
        by_time.add(&wanted, -HOUR, 2);
        by_time.add(&wanted, 0, 4);
        by_time.add(&wanted, 23 * HOUR + HOUR / 2, 8);
        assert_eq!(by_time.bars, [3, 12]);
        let hours = by_time.hours.iter().enumerate().filter(|(_, messages)| **messages > 0);
        // Wednesday at 1:00, Thursday at 0:00 and 2:00, Friday at 1:30.
        assert_eq!(hours.collect::<Vec<_>>(), [(0, &2), (2, &4), (25, &8), (145, &1)]);
    }
}
