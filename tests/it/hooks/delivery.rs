//! Delivery as such, where it takes more than the notifier (`workers/tests/stages/notifier/mod.rs`):
//! several of them on a database server, and the official verifiers of signatures.

use std::collections::BTreeSet;
use std::time::Duration;

use chatkeep_store::DeliveryStatus;

use super::{Bench, secret, verify};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::Fixture;

#[tokio::test]
async fn many_notifiers_tell_everything_once() {
    const COUNT: usize = 300;
    let mut bench = Bench::new(Fixture::postgres().await).await;
    let hooks = [bench.hook("U1", "/a").await, bench.hook("U1", "/b").await];
    for _ in 0..3 {
        bench.start();
    }
    for _ in 0..10 {
        bench.say(COUNT / 10).await;
    }
    for (path, hook) in ["/a", "/b"].into_iter().zip(&hooks) {
        until("everything arrived", DEADLINE, async || {
            let log = bench.log(hook).await;
            log.len() == COUNT && log.iter().all(|d| d.status == DeliveryStatus::Delivered)
        })
        .await;
        let received = bench.sink.at(path);
        let ids: BTreeSet<_> = received.iter().map(|one| one.id().to_owned()).collect();
        assert_eq!((received.len(), ids.len()), (COUNT, COUNT));
    }
    bench.end().await;
}

#[tokio::test]
async fn every_attempt_is_signed() {
    let mut bench = Bench::new(Fixture::sqlite().await).await;
    // The verifiers need the present time.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let start = Duration::from_millis(1_767_323_045_678);
    bench.clock.advance(now.checked_sub(start).unwrap());
    let hook = bench.hook("U1", "/signed").await;
    bench.say(3).await;
    bench.start();
    until("all arrived", DEADLINE, async || bench.sink.at("/signed").len() == 3).await;
    bench.stop.cancel();
    let received = bench.sink.at("/signed");
    let cases: Vec<_> = received.iter().map(|one| one.to_verify(&secret())).collect();
    verify::all(&cases).await;
    let mut forged = received[0].clone();
    forged.body.push(' ');
    let wrong = [forged.to_verify(&secret()), received[1].to_verify("whsec_AAAA")];
    verify::none(&wrong).await;
    assert_eq!(bench.log(&hook).await.len(), 3);
    bench.end().await;
}
