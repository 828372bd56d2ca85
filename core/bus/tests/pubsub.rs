//! Tests of publish/subscribe: broadcasts reach all subscribers, requests are served by one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use chatkeep_bus::pubsub::MAX_PUBSUB_BYTES;
use chatkeep_bus::{Bus, BusError, TopicSubscriber};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::fixture::{Fixture, TIMEOUT, WATCH};

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

async fn hears(listener: &mut TopicSubscriber) -> String {
    let message = timeout(TIMEOUT, listener.next()).await.unwrap().unwrap();
    String::from_utf8(message.to_vec()).unwrap()
}

/// A server of requests; stops when it is told to or dropped.
pub(crate) struct RequestServer {
    stop: oneshot::Sender<()>,
    pub(crate) running: JoinHandle<()>,
    pub(crate) answered: Arc<AtomicUsize>,
}

impl RequestServer {
    /// Replies to every request with `name` and the request, when there is a permit for it.
    pub(crate) async fn start(
        bus: &Bus,
        name: &'static str,
        permits: Option<Arc<Semaphore>>,
    ) -> Self {
        let answered = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&answered);
        let responder = bus
            .serve("weather", 2, move |request: Bytes| {
                let (count, permits) = (Arc::clone(&count), permits.clone());
                async move {
                    if let Some(permits) = permits {
                        permits.acquire().await.unwrap().forget();
                    }
                    count.fetch_add(1, Ordering::SeqCst);
                    [name.as_bytes(), b" ", &request].concat().into()
                }
            })
            .await
            .unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(responder.run(async { drop(stopped.await) }));
        Self { stop, running, answered }
    }

    pub(crate) async fn end(self) {
        self.stop.send(()).unwrap();
        timeout(TIMEOUT, self.running).await.unwrap().unwrap();
    }

    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }
}

pub(crate) async fn requested(bus: &Bus, request: &str) -> Result<String, BusError> {
    let answer = bus.request("weather", bytes(request), TIMEOUT).await?;
    Ok(String::from_utf8(answer.to_vec()).unwrap())
}

pub(crate) async fn tells_everyone_who_listens(fixture: Fixture) {
    let bus = fixture.open().await;
    bus.broadcast("news", bytes("too early")).await.unwrap();
    let mut listeners =
        [bus.subscribe("news").await.unwrap(), bus.subscribe("news").await.unwrap()];
    let mut other = bus.subscribe("gossip").await.unwrap();
    for message in ["one", "two", "三"] {
        bus.broadcast("news", bytes(message)).await.unwrap();
    }
    for listener in &mut listeners {
        for message in ["one", "two", "三"] {
            assert_eq!(hears(listener).await, message);
        }
    }
    bus.broadcast("gossip", bytes("psst")).await.unwrap();
    assert_eq!(hears(&mut other).await, "psst", "another topic");
    bus.close().await;
    for mut listener in listeners {
        assert_eq!(timeout(TIMEOUT, listener.next()).await.unwrap(), None);
    }
    let refused = bus.broadcast("news", bytes("too late")).await;
    assert!(matches!(refused, Err(BusError::Unavailable(_))), "{refused:?}");
    assert!(matches!(bus.subscribe("news").await, Err(BusError::Unavailable(_))));
}

pub(crate) async fn has_each_request_answered_once(fixture: Fixture) {
    let bus = fixture.open().await;
    let answerers =
        [RequestServer::start(&bus, "a", None).await, RequestServer::start(&bus, "b", None).await];
    let mut requests = Vec::new();
    for n in 0..40 {
        let bus = bus.clone();
        requests
            .push(tokio::spawn(async move { requested(&bus, &format!("q{n}")).await.unwrap() }));
    }
    for (n, request) in requests.into_iter().enumerate() {
        let answer = request.await.unwrap();
        assert!(answer == format!("a q{n}") || answer == format!("b q{n}"), "{answer}");
    }
    let answered = answerers.each_ref().map(RequestServer::answered);
    assert_eq!(answered.iter().sum::<usize>(), 40);
    assert!(answered.iter().all(|&share| share > 0), "requests are shared: {answered:?}");

    let [one, other] = answerers;
    one.end().await;
    assert_eq!(requested(&bus, "again").await.unwrap(), "b again");
    other.end().await;
    let refused = requested(&bus, "again").await;
    assert!(matches!(refused, Err(BusError::NoResponder("weather"))), "{refused:?}");
    bus.close().await;
}

pub(crate) async fn says_when_nobody_answers_or_too_late(fixture: Fixture) {
    let bus = fixture.open().await;
    let refused = requested(&bus, "anybody?").await;
    assert!(matches!(refused, Err(BusError::NoResponder("weather"))), "{refused:?}");
    // A subscriber serves no requests.
    let _listener = bus.subscribe("weather").await.unwrap();
    assert!(matches!(requested(&bus, "anybody?").await, Err(BusError::NoResponder(_))));

    let permits = Arc::new(Semaphore::new(0));
    let answerer = RequestServer::start(&bus, "slow", Some(Arc::clone(&permits))).await;
    let late = bus.request("weather", bytes("late"), WATCH).await;
    assert!(matches!(late, Err(BusError::RequestTimeout("weather"))), "{late:?}");
    permits.add_permits(2);
    assert_eq!(requested(&bus, "in time").await.unwrap(), "slow in time");
    answerer.end().await;
    bus.close().await;
    assert!(matches!(requested(&bus, "closed").await, Err(BusError::Unavailable(_))));
}

pub(crate) async fn asks_all_servers(fixture: Fixture) {
    let bus = fixture.open().await;
    let replies = async |request: &str, wait: Duration| {
        let mut replies = bus.request_all("weather", bytes(request), wait).await?;
        let mut all = BTreeSet::new();
        while all.len() < 2
            && let Some(reply) = replies.next().await
        {
            all.insert(String::from_utf8(reply?.to_vec()).unwrap());
        }
        Ok::<_, BusError>(all)
    };
    let refused = replies("anybody?", TIMEOUT).await;
    assert!(matches!(refused, Err(BusError::NoResponder("weather"))), "{refused:?}");

    let permits = Arc::new(Semaphore::new(0));
    let quick = RequestServer::start(&bus, "quick", None).await;
    let slow = RequestServer::start(&bus, "slow", Some(Arc::clone(&permits))).await;
    let mut first = bus.request_all("weather", bytes("q"), TIMEOUT).await.unwrap();
    assert_eq!(first.next().await.unwrap().unwrap(), "quick q", "it waits for nobody");
    assert_eq!(replies("late", WATCH).await.unwrap(), set(&["quick late"]));
    permits.add_permits(3);
    assert_eq!(replies("now", TIMEOUT).await.unwrap(), set(&["quick now", "slow now"]));
    let large = Bytes::from(vec![b' '; MAX_PUBSUB_BYTES + 1]);
    let refused = bus.request_all("weather", large, TIMEOUT).await;
    assert!(matches!(refused, Err(BusError::TooLarge("weather"))), "{refused:?}");
    quick.end().await;
    slow.end().await;
    let refused = replies("anybody?", TIMEOUT).await;
    assert!(matches!(refused, Err(BusError::NoResponder("weather"))), "{refused:?}");
    bus.close().await;
    let refused = replies("closed", TIMEOUT).await;
    assert!(matches!(refused, Err(BusError::Unavailable(_))), "{refused:?}");
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

pub(crate) async fn bounds_what_is_answered_at_once(fixture: Fixture) {
    let bus = fixture.open().await;
    let (tell, mut now) = watch::channel((0_usize, 0_usize));
    let (tell, permits) = (Arc::new(tell), Arc::new(Semaphore::new(0)));
    let gate = Arc::clone(&permits);
    let responder = bus
        .serve("weather", 3, move |_| {
            let (tell, gate) = (Arc::clone(&tell), Arc::clone(&gate));
            async move {
                tell.send_modify(|(now, most)| (*now, *most) = (*now + 1, (*most).max(*now + 1)));
                gate.acquire().await.unwrap().forget();
                tell.send_modify(|(now, _)| *now -= 1);
                Bytes::new()
            }
        })
        .await
        .unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(responder.run(async { drop(stopped.await) }));
    let mut requests = Vec::new();
    for _ in 0..80 {
        let bus = bus.clone();
        requests.push(tokio::spawn(async move { requested(&bus, "?").await }));
    }
    timeout(TIMEOUT, now.wait_for(|&(now, _)| now == 3)).await.unwrap().unwrap();
    // More than the limit (3 in work, 16 times as many waiting): the rest is rejected at once.
    let deadline = Instant::now() + TIMEOUT;
    while requests.iter().filter(|request| request.is_finished()).count() < 80 - 51 {
        assert!(Instant::now() < deadline, "nobody is turned away");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    permits.add_permits(80);
    // Requests that came before the end are served.
    stop.send(()).unwrap();
    timeout(TIMEOUT, running).await.unwrap().unwrap();
    let (mut answered, mut busy) = (0, 0);
    for request in requests {
        match request.await.unwrap() {
            Ok(_) => answered += 1,
            Err(BusError::Unavailable(why)) if why.contains("busy") => busy += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((answered, busy), (51, 80 - 51));
    assert_eq!(now.borrow_and_update().1, 3, "three at once");
    bus.close().await;
}

pub(crate) async fn a_panic_is_a_refusal_of_one_request(fixture: Fixture) {
    let bus = fixture.open().await;
    let serve = bus.serve("weather", 1, |request: Bytes| async move {
        assert_ne!(&request[..], b"bad", "it breaks");
        request
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(serve.await.unwrap().run(async { drop(stopped.await) }));
    for _ in 0..3 {
        let refused = requested(&bus, "bad").await;
        assert!(matches!(refused, Err(BusError::Unavailable(_))), "{refused:?}");
        assert_eq!(requested(&bus, "good").await.unwrap(), "good");
    }
    stop.send(()).unwrap();
    timeout(TIMEOUT, running).await.unwrap().unwrap();
    bus.close().await;
}

pub(crate) async fn refuses_what_is_too_large(fixture: Fixture) {
    let bus = fixture.open().await;
    let responder = bus
        .serve("weather", 2, |request: Bytes| async move {
            vec![b'x'; MAX_PUBSUB_BYTES + request.len() - 1].into()
        })
        .await
        .unwrap();
    let running = tokio::spawn(responder.run(std::future::pending()));
    let fits = bus.request("weather", bytes("1"), TIMEOUT).await.unwrap();
    assert_eq!(fits.len(), MAX_PUBSUB_BYTES);
    let refused = bus.request("weather", bytes("22"), TIMEOUT).await;
    assert!(matches!(refused, Err(BusError::TooLarge("weather"))), "{refused:?}");
    let large = Bytes::from(vec![b'x'; MAX_PUBSUB_BYTES + 1]);
    let refused = bus.request("weather", large.clone(), TIMEOUT).await;
    assert!(matches!(refused, Err(BusError::TooLarge(_))), "{refused:?}");
    assert!(matches!(bus.broadcast("news", large).await, Err(BusError::TooLarge(_))));
    for wrong in ["", "a.b", "a b", "*", ">"] {
        assert!(matches!(bus.broadcast(wrong, Bytes::new()).await, Err(BusError::Config(_))));
    }
    bus.close().await;
    // Without a bus there is nothing to serve.
    timeout(TIMEOUT, running).await.unwrap().unwrap();
}

/// NATS only: processes communicate across a restart of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_talk_over_a_restart_of_the_server() {
    let mut fixture = Fixture::nats().await;
    let (here, there) = (fixture.open().await, fixture.open().await);
    let mut listeners =
        [here.subscribe("news").await.unwrap(), there.subscribe("news").await.unwrap()];
    let answerer = RequestServer::start(&there, "there", None).await;
    here.broadcast("news", bytes("before")).await.unwrap();
    for listener in &mut listeners {
        assert_eq!(hears(listener).await, "before");
    }
    assert_eq!(requested(&here, "before").await.unwrap(), "there before");

    fixture.server().kill();
    // A requester that waits for a reply learns of it at once, not after its timeout.
    let deadline = Instant::now() + TIMEOUT;
    while !matches!(requested(&here, "away").await, Err(BusError::Unavailable(_))) {
        assert!(Instant::now() < deadline, "talks without a server");
    }
    fixture.server().restart().await;

    let mut broadcasts = 0;
    for listener in &mut listeners {
        let heard = async {
            loop {
                broadcasts += 1;
                here.broadcast("news", bytes(&broadcasts.to_string())).await.ok();
                if timeout(Duration::from_millis(50), listener.next()).await.is_ok() {
                    break;
                }
            }
        };
        timeout(TIMEOUT, heard).await.expect("a listener goes on");
    }
    let goes_on = async { while requested(&here, "after").await.is_err() {} };
    timeout(TIMEOUT, goes_on).await.expect("whoever answers goes on");
    answerer.end().await;
    here.close().await;
    there.close().await;
}
