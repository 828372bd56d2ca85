//! Usage over time: one value a day, the same as the counter, and none that a later day needs is
//! purged.

use super::{Fixture, at, on_both, sized, unsent};

on_both!(
    a_day_has_the_usage_at_its_end,
    a_slow_clock_writes_into_the_newest_day,
    days_of_a_clock_that_was_ahead_become_today,
    days_that_no_later_one_needs_are_purged,
);

const DAY: i64 = 86_400_000;

/// Returns the recorded days as numbers, with their bytes.
async fn days(fixture: &Fixture, since: i64) -> Vec<(i64, i64)> {
    let days = fixture.store.accounts().usage_days(&"U1".into(), at(since)).await.unwrap();
    days.into_iter().map(|day| (day.day.millis() / DAY, day.bytes)).collect()
}

/// Stores messages of 40, 50 and 60 bytes on the days 1, 1 and 3; takes the second back on day 6.
async fn filled(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    for (message, time, bytes) in [("a", DAY, 40), ("b", 2 * DAY - 1, 50), ("c", 3 * DAY, 60)] {
        fixture.keep(&[sized("C1", message, time, bytes)], time).await;
    }
    fixture.keep(&[unsent("C1", "b", 6 * DAY)], 6 * DAY).await;
}

async fn a_day_has_the_usage_at_its_end(fixture: Fixture) {
    filled(&fixture).await;
    let used = fixture.used("U1").await;
    assert_eq!(days(&fixture, 0).await, [(1, 90), (3, 150), (6, used)]);
    assert!(used < 150, "{used}");
    // The value of a day without a change is that of the last day before.
    assert_eq!(days(&fixture, 2 * DAY).await[..2], [(1, 90), (3, 150)]);
    assert_eq!(days(&fixture, 9 * DAY).await, [(6, used)]);
    fixture.store.accounts().unsubscribe(&"C1".into(), &"U1".into(), at(7 * DAY)).await.unwrap();
    assert_eq!(days(&fixture, 7 * DAY).await, [(7, 0)]);
    assert!(days(&fixture, 0).await.len() == 4);
    let others = fixture.store.accounts().usage_days(&"U2".into(), at(0)).await.unwrap();
    assert!(others.is_empty());
}

async fn a_slow_clock_writes_into_the_newest_day(fixture: Fixture) {
    filled(&fixture).await;
    fixture.keep(&[sized("C1", "d", 5 * DAY, 40)], 5 * DAY).await;
    let used = fixture.used("U1").await;
    assert_eq!(days(&fixture, 0).await, [(1, 90), (3, 150), (6, used)]);
}

async fn days_of_a_clock_that_was_ahead_become_today(fixture: Fixture) {
    filled(&fixture).await;
    let mut expected = days(&fixture, 0).await;
    for (message, day) in [("d", 50), ("e", 51)] {
        fixture.keep(&[sized("C1", message, 6 * DAY, 40)], day * DAY).await;
    }
    fixture.store.jobs().reset_future_times(at(7 * DAY)).await.unwrap();
    expected.push((7, fixture.used("U1").await));
    assert_eq!(days(&fixture, 0).await, expected);
}

async fn days_that_no_later_one_needs_are_purged(fixture: Fixture) {
    filled(&fixture).await;
    let purge =
        async |day: i64| fixture.store.accounts().purge_usage_days(at(day * DAY)).await.unwrap();
    assert_eq!(purge(3).await, 1);
    assert_eq!(days(&fixture, 4 * DAY).await[0], (3, 150));
    assert_eq!(purge(5).await, 0);
    assert_eq!(purge(100).await, 1);
    assert_eq!(days(&fixture, 0).await, [(6, fixture.used("U1").await)]);
}
