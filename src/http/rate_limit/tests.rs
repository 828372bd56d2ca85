//! Tests of the limit as callers see it, and of several processes' limits with grants carried by
//! hand.

use chatkeep_core::health::Health;
use chatkeep_core::time::{Clock as _, ManualClock, Timestamp};

use super::*;

const USUAL: RateLimitConfig = RateLimitConfig { per_minute: 120, burst: 60 };

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::from_millis(1_767_323_045_678)))
}

#[test]
fn callers_have_buckets_of_their_own() {
    let clock = clock();
    let limiter = Limiter::alone(RateLimitConfig { per_minute: 60, burst: 2 }, clock.clone());
    let now = clock.now().millis();
    let first = limiter.take("key:a");
    assert_eq!((first.allowed, first.limit, first.remaining), (true, 2, 1));
    assert_eq!(first.reset, (now + 1_000) / 1_000 + 1, "seconds, rounded up");
    assert!(limiter.take("key:a").allowed);
    let refused = limiter.take("key:a");
    assert_eq!((refused.allowed, refused.remaining, refused.retry_after), (false, 0, 1));
    assert!(limiter.take("session:a").allowed);
    clock.advance(Duration::from_secs(1));
    assert!(limiter.take("key:a").allowed);
    assert!(!limiter.take("key:a").allowed);
}

#[test]
fn without_a_rate_there_is_no_limit() {
    let limiter = Limiter::alone(RateLimitConfig { per_minute: 0, burst: 1 }, clock());
    assert!((0..1_000).all(|_| limiter.take("key:a").allowed));
    assert_eq!(limiter.take("key:a").limit, 0);
}

#[test]
fn nobody_is_charged_for_what_they_told_themselves() {
    let limiter = Limiter::build(USUAL, TOPIC, clock(), Some([1; 8]));
    assert_eq!(limiter.take("key:a").remaining, 59);
    let news = limiter.take_messages();
    assert_eq!(news.len(), 1);
    limiter.charge(&news[0]);
    assert_eq!(limiter.take("key:a").remaining, 58);
    let other = Limiter::build(USUAL, TOPIC, clock(), Some([2; 8]));
    other.charge(&news[0]);
    assert_eq!(other.take("key:a").remaining, 58);
    other.charge(b"rubbish");
    assert!(Limiter::alone(USUAL, clock()).take_messages().is_empty());
}

/// Returns the grants in a minute to a caller of every process `hits` times every 10 ms, with
/// broadcasts every `delay` ms.
fn hammered(config: RateLimitConfig, processes: u8, hits: u32, delay: u32) -> u32 {
    let clock = clock();
    let build = |n| Limiter::build(config, TOPIC, clock.clone(), Some([n; 8]));
    let limiters: Vec<_> = (0..processes).map(build).collect();
    let mut grants = 0;
    for millis in (0..60_000).step_by(10) {
        for limiter in &limiters {
            // A refused caller is refused again before the clock moves.
            let granted = (0..hits).take_while(|_| limiter.take("key:a").allowed).count();
            grants += u32::try_from(granted).unwrap();
        }
        if millis % delay == 0 {
            let news: Vec<_> = limiters.iter().flat_map(Limiter::take_messages).collect();
            for limiter in &limiters {
                for message in &news {
                    limiter.charge(message);
                }
            }
        }
        clock.advance(Duration::from_millis(10));
    }
    grants
}

#[test]
fn several_processes_grant_in_a_minute_what_one_would() {
    let one = hammered(USUAL, 1, 10, 100);
    assert_eq!(one, 60 + 119, "the last token comes at the end of the minute");
    for processes in [2, 3] {
        for (hits, delay) in [(1, 100), (10, 100), (100, 100), (100, 10)] {
            let all = hammered(USUAL, processes, hits, delay);
            assert!(all * 10 <= one * 12, "{processes} processes grant {all}");
            assert!(all * 10 >= one * 9, "{processes} processes grant only {all}");
        }
    }
    // Other rates, with broadcasts as quick as grants make them.
    for (per_minute, burst) in [(60, 120), (6_000, 10), (600, 600), (30, 1)] {
        let config = RateLimitConfig { per_minute, burst };
        let (one, all) = (hammered(config, 1, 2, 10), hammered(config, 3, 2, 10));
        assert!(all * 10 <= one * 12, "{config:?}: {all}, not {one}");
    }
}

#[tokio::test]
async fn processes_hear_of_each_others_grants_and_end_when_told() {
    let folder = tempfile::TempDir::new().unwrap();
    let clock = clock();
    let limits = chatkeep_bus::BusLimits::default();
    let bus = chatkeep_bus::embedded::EmbeddedBus::open(folder.path(), limits, clock.clone());
    let bus = Bus::Embedded(bus.await.unwrap());
    let health = Health::new(clock.clone());
    let supervisor = Supervisor::new(health, CancellationToken::new());
    let config = RateLimitConfig { per_minute: 1, burst: 100 };
    let new = || Limiter::new(config, bus.clone(), clock.clone(), &supervisor);
    let (one, other) = (new(), new());
    // Each poll costs a token; the broadcasts make the difference.
    let mut looks = 0;
    let heard = async {
        loop {
            one.take("key:a");
            looks += 1;
            if other.take("key:a").remaining < 100 - looks {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), heard).await.expect("nothing is heard");
    let tasks = supervisor.tasks();
    supervisor.stop().cancel();
    tasks.close();
    tokio::time::timeout(Duration::from_secs(20), tasks.wait()).await.expect("never ends");
    bus.close().await;
}
