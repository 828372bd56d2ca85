//! People whom the store does not know in a channel: when the platform is asked about them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chatkeep_core::event::{ChannelRef, ReplyToken};
use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::profile::{ChannelSummary, Profile};
use chatkeep_core::role::Role;
use chatkeep_platform::{
    BotInfo, Bots, BoxFuture, Download, MediaPart, Platform, PlatformError, Preparation,
    SharedPlatform,
};
use chatkeep_store::{MembershipCheck, PresenceEvidenceKind};

use super::super::{GROUP, Group, OTHER, caller};
use super::{bounded, leave, only, parts};
use crate::access::AccessService;
use crate::{Caller, ServiceError};

/// Answer of a platform about somebody or something.
#[derive(Clone, Copy, Debug)]
enum Saying {
    Yes,
    No,
    Trouble,
}

impl Saying {
    fn of<T>(self, known: T) -> Result<T, PlatformError> {
        match self {
            Self::Yes => Ok(known),
            Self::No => Err(PlatformError::NotFound),
            Self::Trouble => Err(PlatformError::Unknown(None)),
        }
    }
}

/// A platform that counts the questions about people.
#[derive(Debug)]
struct Oracle {
    /// Answer about every person.
    person: Mutex<Saying>,
    /// Answer about the bot.
    bot: Saying,
    asked: AtomicUsize,
}

type Answer<'a, T> = BoxFuture<'a, Result<T, PlatformError>>;

impl Platform for Oracle {
    fn profile<'a>(&'a self, _: &'a ChannelRef, user: &'a UserId) -> Answer<'a, Profile> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let display_name = format!("Name of {user}");
            let saying = *self.person.lock().unwrap();
            saying.of(Profile { display_name, picture_url: None, language: None })
        })
    }

    fn summary<'a>(&'a self, _: &'a ChannelRef) -> Answer<'a, ChannelSummary> {
        Box::pin(async move { self.bot.of(ChannelSummary::default()) })
    }

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

    fn content<'a>(&'a self, _: &'a MessageId, _: MediaPart) -> Answer<'a, Download> {
        unreachable!()
    }

    fn preparation<'a>(&'a self, _: &'a MessageId) -> Answer<'a, Preparation> {
        unreachable!()
    }

    fn picture<'a>(&'a self, _: &'a str) -> Answer<'a, bytes::Bytes> {
        unreachable!()
    }

    fn bot(&self) -> Answer<'_, BotInfo> {
        unreachable!()
    }

    fn token_lifetime(&self) -> Answer<'_, Option<Duration>> {
        unreachable!()
    }

    fn max_texts(&self) -> usize {
        5
    }

    fn max_units(&self) -> usize {
        5_000
    }
}

/// A group whose platform is asked.
struct Asking {
    group: Group,
    access: AccessService,
    oracle: Arc<Oracle>,
}

impl Asking {
    async fn new(person: Saying, bot: Saying) -> Self {
        let group = Group::new().await;
        let oracle = Oracle { person: Mutex::new(person), bot, asked: AtomicUsize::new(0) };
        let oracle = Arc::new(oracle);
        let platform: SharedPlatform = Arc::<Oracle>::clone(&oracle);
        let (store, clock) = parts(&group);
        let access = AccessService::new(store, clock, Bots::new([("main".to_owned(), platform)]));
        Self { group, access, oracle }
    }

    fn asked(&self) -> usize {
        self.oracle.asked.load(Ordering::SeqCst)
    }

    async fn role(&self, caller: &Caller, channel: &str) -> Option<Role> {
        match self.access.role(caller, &channel.into()).await {
            Ok(role) => Some(role),
            Err(error) => {
                assert_eq!(error, ServiceError::PermissionDenied);
                None
            }
        }
    }

    async fn name_of(&self, user: &str) -> Option<String> {
        let user = self.group.store.accounts().user(&user.into()).await.unwrap();
        user.and_then(|user| user.display_name)
    }
}

#[tokio::test]
async fn whom_the_platform_knows_is_a_member_with_a_name() {
    let asking = Asking::new(Saying::Yes, Saying::Yes).await;
    for _ in 0..2 {
        assert_eq!(asking.role(&caller("U9"), GROUP).await, Some(Role::Member));
    }
    assert_eq!(asking.asked(), 1);
    assert_eq!(asking.name_of("U9").await.as_deref(), Some("Name of U9"));
    // Who left is known, so nobody is asked.
    leave(&asking.group, GROUP, "U9").await;
    assert_eq!(asking.role(&caller("U9"), GROUP).await, None);
    assert_eq!(asking.role(&caller(OTHER), GROUP).await, Some(Role::Member));
    assert_eq!(asking.asked(), 1);
}

#[tokio::test]
async fn two_requests_at_once_are_one_question() {
    let asking = Asking::new(Saying::Yes, Saying::Yes).await;
    let ann = caller("U9");
    let (one, other) = tokio::join!(asking.role(&ann, GROUP), asking.role(&ann, GROUP));
    assert_eq!((one, other), (Some(Role::Member), Some(Role::Member)));
    assert_eq!(asking.asked(), 1);
}

#[tokio::test]
async fn a_stranger_is_asked_about_once_a_day_and_sooner_where_the_bot_may_be_away() {
    let (minute, hour) = (Duration::from_mins(1), Duration::from_hours(1));
    for (bot, quiet, again) in [
        (Saying::Yes, 23 * hour, 24 * hour),
        (Saying::No, 9 * minute, 10 * minute),
        (Saying::Trouble, 9 * minute, 10 * minute),
    ] {
        let asking = Asking::new(Saying::No, bot).await;
        let begin = asking.group.clock.now();
        let tried = async |after: Duration| {
            asking.group.hands.set(begin.plus(after));
            assert_eq!(asking.role(&caller("U9"), GROUP).await, None);
            asking.asked()
        };
        assert_eq!(tried(Duration::ZERO).await, 1);
        assert_eq!(tried(minute).await, 1, "{bot:?}");
        assert_eq!(tried(quiet).await, 1, "{bot:?}");
        assert_eq!(tried(again.saturating_sub(Duration::from_secs(1))).await, 1, "{bot:?}");
        assert_eq!(tried(again + Duration::from_millis(1)).await, 2, "{bot:?}");
        assert_eq!(tried(again + minute).await, 2, "{bot:?}");
        assert_eq!(asking.name_of("U9").await, None);
        // Somebody else is another question.
        asking.role(&caller("U8"), GROUP).await;
        assert_eq!(asking.asked(), 3);
    }
}

#[tokio::test]
async fn nobody_waits_for_an_answer_that_is_there_until_the_question_is_due_again() {
    const AGAIN: Duration = Duration::from_hours(24);
    let group = Group::new().await;
    let (channel, stranger, begin) = (GROUP.into(), "U9".into(), group.clock.now());
    let members = group.store.members();
    let check = async |after: Duration| {
        let now = begin.plus(after);
        members.claim_membership_check(&channel, &stranger, now, AGAIN).await.unwrap()
    };
    assert_eq!(check(Duration::ZERO).await, MembershipCheck::Claimed);
    assert_eq!(check(Duration::from_secs(1)).await, MembershipCheck::UnderWay);
    members.settle_membership_check(&channel, &stranger, begin).await.unwrap();
    for before in [AGAIN / 2, Duration::from_secs(31), Duration::from_secs(29), Duration::ZERO] {
        let found = check(AGAIN.saturating_sub(before)).await;
        assert_eq!(found, MembershipCheck::Done, "{before:?} before");
    }
    assert_eq!(check(AGAIN + Duration::from_millis(1)).await, MembershipCheck::Claimed);
}

#[tokio::test]
async fn a_platform_in_trouble_is_asked_again_at_once() {
    let asking = Asking::new(Saying::Trouble, Saying::Yes).await;
    for asked in 1..=3 {
        assert_eq!(asking.role(&caller("U9"), GROUP).await, None);
        assert_eq!(asking.asked(), asked);
    }
    *asking.oracle.person.lock().unwrap() = Saying::Yes;
    assert_eq!(asking.role(&caller("U9"), GROUP).await, Some(Role::Member));
}

#[tokio::test]
async fn of_somebody_who_opted_out_no_name_is_kept() {
    for channel in [None, Some(GROUP.into())] {
        let asking = Asking::new(Saying::Yes, Saying::Yes).await;
        let group = &asking.group;
        let now = group.clock.now();
        let members = group.store.members();
        members.set_opted_out(&"U9".into(), channel.as_ref(), true, || now).await.unwrap();
        group.hands.advance(Duration::from_secs(1));
        // Access is decided by their membership.
        assert_eq!(asking.role(&caller("U9"), GROUP).await, Some(Role::Member));
        assert_eq!(asking.name_of("U9").await, None, "{channel:?}");
        assert_eq!(asking.role(&caller("U8"), GROUP).await, Some(Role::Member));
        assert_eq!(asking.name_of("U8").await.as_deref(), Some("Name of U8"));
    }
}

#[tokio::test]
async fn nobody_is_asked_about_where_they_cannot_be() {
    let asking = Asking::new(Saying::Yes, Saying::Yes).await;
    for chat in ["U7", "U7~shop", "U70"] {
        asking.group.happened(chat, PresenceEvidenceKind::Channel).await;
        assert_eq!(asking.role(&caller("U9"), chat).await, None, "{chat}");
    }
    assert_eq!(asking.role(&caller("U9"), "Cnone").await, None);
    let elsewhere = bounded("U9", only(&["C2"]));
    assert_eq!(asking.role(&elsewhere, GROUP).await, None);
    assert_eq!(asking.asked(), 0);
    // Their own chats, with the first bot and with another one.
    assert_eq!(asking.role(&caller("U7"), "U7").await, Some(Role::Member));
    assert_eq!(asking.role(&caller("U7"), "U7~shop").await, Some(Role::Member));
    assert_eq!(asking.role(&caller("U7"), "U70").await, None);
    assert_eq!(asking.asked(), 2);
}
