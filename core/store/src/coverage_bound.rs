//! Bound of the changes of a channel's coverage: every list of its messages reads all of them, and
//! whoever may subscribe can make more with each request.

use chatkeep_core::id::ChannelId;

use super::StoreError;
use super::coverage::CoverageChange;
use super::db::Tx;
use crate::query::{query, query_as};

/// Maximum number of changes of a channel for one reason: its subscriptions, or the presence of the
/// bot.
const CHANGES: usize = 1_000;

const COUNT: &str =
    "SELECT COUNT(*) FROM coverage_changes WHERE channel_id = $1 AND kind IN ($2, $3)";
const ALL: &str = "
    SELECT at, kind FROM coverage_changes
    WHERE channel_id = $1 AND kind IN ($2, $3) ORDER BY at, kind";
const DROP: &str = "DELETE FROM coverage_changes WHERE channel_id = $1 AND at = $2 AND kind = $3";

/// Change of coverage, as stored.
type Row = (i64, String);

/// Removes the shortest times of backup of a channel that has too many changes like this one, so that
/// the gaps around each of them become one. Their messages stay; what is told is that something may be
/// missing between them.
pub(super) async fn bound(
    tx: &mut Tx,
    channel: &ChannelId,
    change: CoverageChange,
) -> Result<(), StoreError> {
    let (begins, ends) = change.track();
    let (c, b, e) = (channel.as_str(), begins.name(), ends.name());
    let (count,): (i64,) = tx.fetch_one(query_as(COUNT).bind(c).bind(b).bind(e)).await?;
    if usize::try_from(count).is_ok_and(|count| count <= CHANGES) {
        return Ok(());
    }
    let rows: Vec<Row> = tx.fetch_all(query_as(ALL).bind(c).bind(b).bind(e)).await?;
    for (at, kind) in superfluous(&rows, b, CHANGES) {
        tx.execute(query(DROP).bind(c).bind(*at).bind(kind.as_str())).await?;
    }
    Ok(())
}

/// Returns the rows of the shortest times that begin with `begins`, without which at most `max` are
/// left. The first of them, since when there is any backup, stays, and so does one that lasts.
fn superfluous<'a>(rows: &'a [Row], begins: &str, max: usize) -> Vec<&'a Row> {
    let mut times: Vec<&[Row]> = rows.split_inclusive(|(_, kind)| kind != begins).collect();
    times.retain(|time| time.len() > 1 && time.last().is_some_and(|(_, kind)| kind != begins));
    let mut times: Vec<_> = times.into_iter().skip(1).collect();
    times.sort_by_key(|time| match time {
        [(from, _), .., (to, _)] => to - from,
        _ => 0,
    });
    let mut left = rows.len();
    let fits = |time: &&[Row]| {
        let is_too_much = left > max;
        left = left.saturating_sub(time.len());
        is_too_much
    };
    times.into_iter().take_while(fits).flatten().collect()
}

#[cfg(test)]
#[path = "coverage_bound_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(changes: &[(i64, &str)]) -> Vec<Row> {
        changes.iter().map(|(at, kind)| (*at, (*kind).to_owned())).collect()
    }

    #[test]
    fn the_shortest_times_of_backup_go_first() {
        let rows = rows(&[
            (1, "on"),
            (2, "off"),
            (10, "on"),
            (30, "off"),
            (40, "on"),
            (41, "on"),
            (45, "off"),
            (50, "off"),
            (60, "on"),
        ]);
        let gone = |max| -> Vec<_> {
            superfluous(&rows, "on", max).into_iter().map(|(at, _)| *at).collect()
        };
        assert_eq!(gone(9), [0; 0]);
        assert_eq!(gone(8), [40, 41, 45]);
        assert_eq!(gone(5), [40, 41, 45, 10, 30]);
        assert_eq!(gone(0), [40, 41, 45, 10, 30], "the first and the last stay");
    }
}
