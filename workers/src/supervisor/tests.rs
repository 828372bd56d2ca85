use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use chatkeep_core::time::SystemClock;
use tokio::time::Instant;

use super::*;

struct Bench {
    supervisor: Supervisor,
    health: Health,
    starts: Arc<Mutex<Vec<Duration>>>,
    /// Starts after which the part no longer fails.
    fails: Arc<AtomicU32>,
}

impl Bench {
    fn new(fails: u32) -> Self {
        let health = Health::new(Arc::new(SystemClock));
        let supervisor = Supervisor::new(health.clone(), CancellationToken::new());
        let fails = Arc::new(AtomicU32::new(fails));
        Self { supervisor, health, starts: Arc::default(), fails }
    }

    /// Starts a part that fails as often as it should, and then runs until it is stopped.
    fn start(&self, end: fn()) {
        let (starts, fails, begin) =
            (Arc::clone(&self.starts), Arc::clone(&self.fails), Instant::now());
        self.supervisor.run("part", move |stop| {
            starts.lock().unwrap().push(begin.elapsed());
            let fails = Arc::clone(&fails);
            async move {
                tokio::task::yield_now().await;
                let left = fails.load(Ordering::SeqCst);
                if left > 0 {
                    fails.store(left - 1, Ordering::SeqCst);
                    return end();
                }
                stop.cancelled().await;
            }
        });
    }

    fn starts(&self) -> Vec<u64> {
        self.starts.lock().unwrap().iter().map(Duration::as_secs).collect()
    }

    fn problems(&self) -> Vec<String> {
        self.health.problems().into_iter().map(|problem| problem.reason).collect()
    }

    async fn end(self) {
        self.supervisor.stop().cancel();
        self.supervisor.tasks().close();
        self.supervisor.tasks().wait().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_panics_or_ends_is_restarted_after_ever_longer_pauses() {
    for end in [|| panic!("it broke"), || {}] as [fn(); 2] {
        let bench = Bench::new(9);
        bench.start(end);
        sleep(Duration::from_mins(5)).await;
        assert_eq!(bench.starts(), [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
        bench.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_keeps_failing_is_a_problem_until_it_has_worked_for_a_while() {
    let bench = Bench::new(3);
    bench.start(|| panic!("it broke"));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.problems(), [""; 0], "two failures may happen");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.problems(), ["part keeps failing: it panicked: it broke"]);
    assert_eq!(bench.health.problems()[0].part, "task:part");
    sleep(Duration::from_secs(62)).await;
    assert_eq!(bench.starts(), [0, 1, 3, 7]);
    assert_eq!(bench.problems().len(), 1, "not yet a good minute");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.problems(), [""; 0]);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_pause_too() {
    let bench = Bench::new(u32::MAX);
    bench.start(|| panic!("it broke"));
    sleep(Duration::from_secs(100)).await;
    let starts = bench.starts.clone();
    bench.end().await;
    let before = starts.lock().unwrap().len();
    sleep(Duration::from_mins(5)).await;
    assert_eq!(starts.lock().unwrap().len(), before);
}

#[tokio::test(start_paused = true)]
async fn what_is_prepared_is_prepared_anew_for_each_restart() {
    let bench = Bench::new(0);
    let prepared = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&prepared);
    let part = bench.supervisor.run_prepared("part", move |stop| {
        let time = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            if time == 1 {
                return Err(std::io::Error::other("not now"));
            }
            Ok(async move {
                assert!(time > 0, "the first one breaks");
                stop.cancelled().await;
            })
        }
    });
    part.await.unwrap();
    assert_eq!(prepared.load(Ordering::SeqCst), 1);
    sleep(Duration::from_secs(100)).await;
    assert_eq!(prepared.load(Ordering::SeqCst), 3);
    let refused = bench.supervisor.run_prepared("other", |_| async {
        Err::<std::future::Ready<()>, _>(std::io::Error::other("never"))
    });
    assert!(refused.await.is_err());
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_may_end_is_not_restarted() {
    let bench = Bench::new(0);
    let starts = Arc::clone(&bench.starts);
    bench.supervisor.run_to_end("part", move |_| {
        starts.lock().unwrap().push(Duration::ZERO);
        async {}
    });
    sleep(Duration::from_secs(100)).await;
    assert_eq!(bench.starts(), [0]);
    bench.end().await;
}
