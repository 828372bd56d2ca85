//! Tests that the platform is called once, and again soon for those that it did not know.

use std::sync::atomic::{AtomicUsize, Ordering};

use chatkeep_core::event::{ChannelKind, ReplyToken};
use chatkeep_core::id::MessageId;
use tokio::sync::Notify;
use tokio::time::advance;

use super::*;
use crate::{BoxFuture, Download, MediaPart, Platform, Preparation};

/// A platform that counts the requests, and responds when it is released.
#[derive(Debug, Default)]
struct Counting {
    asked: AtomicUsize,
    go: Notify,
}

impl Counting {
    async fn asked(&self) {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.go.notified().await;
        self.go.notify_one();
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, PlatformError>>;

impl Platform for Counting {
    fn reply<'a>(&'a self, _: &'a ReplyToken, _: &'a [String]) -> Answer<'a, Vec<MessageId>> {
        unreachable!()
    }

    fn push<'a>(
        &'a self,
        _: &'a ChannelRef,
        _: &'a [String],
        _: &'a str,
    ) -> Answer<'a, Vec<MessageId>> {
        unreachable!()
    }

    fn profile<'a>(&'a self, _: &'a ChannelRef, user: &'a UserId) -> Answer<'a, Profile> {
        Box::pin(async move {
            self.asked().await;
            match user.as_str() {
                "stranger" => Err(PlatformError::NotFound),
                "trouble" => Err(PlatformError::Unknown(None)),
                name => {
                    Ok(Profile { display_name: name.to_owned(), picture_url: None, language: None })
                }
            }
        })
    }

    fn summary<'a>(&'a self, _: &'a ChannelRef) -> Answer<'a, ChannelSummary> {
        Box::pin(async move {
            self.asked().await;
            Ok(ChannelSummary::default())
        })
    }

    fn content<'a>(&'a self, _: &'a MessageId, _: MediaPart) -> Answer<'a, Download> {
        unreachable!()
    }

    fn preparation<'a>(&'a self, _: &'a MessageId) -> Answer<'a, Preparation> {
        unreachable!()
    }

    fn picture<'a>(&'a self, _: &'a str) -> Answer<'a, bytes::Bytes> {
        unreachable!()
    }

    fn token_lifetime(&self) -> Answer<'_, Option<std::time::Duration>> {
        unreachable!()
    }

    fn bot(&self) -> Answer<'_, BotInfo> {
        Box::pin(async move {
            self.asked().await;
            let (user_id, display_name) = ("B".into(), "Bot".to_owned());
            Ok(BotInfo { user_id, display_name, picture_url: None })
        })
    }

    fn max_texts(&self) -> usize {
        5
    }

    fn max_units(&self) -> usize {
        5_000
    }
}

fn directory() -> (Directory, Arc<Counting>, ChannelRef) {
    let platform = Arc::new(Counting::default());
    let channel = ChannelRef { id: "C1".into(), kind: ChannelKind::Group };
    (Directory::new(platform.clone()), platform, channel)
}

#[tokio::test]
async fn who_asks_at_the_same_time_waits_for_one_call() {
    let (directory, platform, channel) = directory();
    let ann = UserId::from("Ann");
    let all = async {
        tokio::join!(
            directory.profile(&channel, &ann),
            directory.profile(&channel, &ann),
            directory.summary(&channel),
            directory.summary(&channel),
            directory.bot(),
            directory.bot(),
        )
    };
    let go = async { platform.go.notify_one() };
    let ((one, other, ..), ()) = tokio::join!(all, go);
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(platform.asked.load(Ordering::SeqCst), 3, "one about each");
    directory.profile(&channel, &ann).await.unwrap();
    directory.forget_summary(&channel.id);
    directory.summary(&channel).await.unwrap();
    assert_eq!(platform.asked.load(Ordering::SeqCst), 4, "only what was forgotten");
}

#[tokio::test]
async fn strangers_are_remembered_and_trouble_is_not() {
    let (directory, platform, channel) = directory();
    platform.go.notify_one();
    for _ in 0..2 {
        assert_eq!(directory.profile(&channel, &"stranger".into()).await.unwrap(), None);
    }
    assert_eq!(platform.asked.load(Ordering::SeqCst), 1);
    for _ in 0..2 {
        let error = directory.profile(&channel, &"trouble".into()).await.unwrap_err();
        assert_eq!(error.code(), "unknown_outcome");
    }
    assert_eq!(platform.asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_current_summary_is_never_a_cached_one() {
    let (directory, platform, channel) = directory();
    platform.go.notify_one();
    for calls in 1..=2 {
        directory.current_summary(&channel).await.unwrap();
        assert_eq!(platform.asked.load(Ordering::SeqCst), calls);
    }
    directory.summary(&channel).await.unwrap();
    assert_eq!(platform.asked.load(Ordering::SeqCst), 2, "it is cached for others");
}

#[tokio::test(start_paused = true)]
async fn strangers_are_forgotten_sooner() {
    let (directory, platform, channel) = directory();
    platform.go.notify_one();
    let (ann, stranger) = (UserId::from("Ann"), UserId::from("stranger"));
    let mut calls = Vec::new();
    for age in [Duration::ZERO, UNKNOWN_AGE, PROFILE_AGE] {
        advance(age).await;
        for person in [&ann, &stranger] {
            directory.profile(&channel, person).await.unwrap();
            calls.push(platform.asked.swap(0, Ordering::SeqCst));
        }
    }
    assert_eq!(calls, [1, 1, 0, 1, 1, 1]);
}
