//! Lists for readers of pseudonyms.

use std::sync::Arc;

use chatkeep_core::id::UserId;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_view::pseudonyms::Mask;
use chrono_tz::Tz;

use super::super::access::{Member, ReadMembers};
use super::super::channels::ChannelService;
use super::super::members::{MemberQuery, MemberService};
use super::super::subscriptions::SubscriptionService;
use super::super::{Caller, encode_cursor};
use super::{GROUP, Group, OTHER, OWNER, caller};

/// Returns the lengths of the lists of members, channels and subscriptions behind these keys; `None`
/// where the cursor is refused.
async fn behind(group: &Group, caller: &Caller, user: &str, channel: &str) -> [Option<usize>; 3] {
    let own = || (group.store.clone(), Arc::clone(&group.clock));
    let ((s, c), (store, clock)) = (own(), own());
    let (members, channels) =
        (MemberService::new(s, c), ChannelService::new(store, clock, Tz::UTC));
    let (s, c) = own();
    let subscriptions = SubscriptionService::new(s, c);
    let access = group.access.channel::<Member, ReadMembers>(caller.clone(), GROUP.into());
    let cursor = encode_cursor(&format!("members:{GROUP}:None:None"), &user);
    let query = MemberQuery { limit: 9, cursor, ..MemberQuery::default() };
    let members = members.page(&access.await.unwrap(), &query).await;
    let cursor = |list| encode_cursor(list, &channel);
    let channels = channels.page(caller, 9, cursor("channels").as_deref()).await;
    let subscriptions = subscriptions.page(caller, 9, cursor("subscriptions").as_deref()).await;
    [
        members.ok().map(|page| page.0.len()),
        channels.ok().map(|page| page.0.len()),
        subscriptions.ok().map(|page| page.0.len()),
    ]
}

#[tokio::test]
async fn a_made_up_cursor_does_not_tell_where_ids_stand() {
    let group = Group::new().await;
    let full = caller(OWNER);
    let people = [OWNER, OTHER].map(|user| (user.into(), None));
    let key = PseudonymKey::new([5; 32]);
    let mask = Mask::of(&key, &people).unwrap();
    // The members behind one are those whose stand-ins follow.
    let follows = key.person(&OTHER.into()).id > key.person(&OWNER.into()).id;
    let masked = Caller { mask, ..caller(OWNER) };
    for (user, channel, is_row) in
        [("U", "C", false), ("U1", "C1", true), ("U10", "C10", false), ("", "", false)]
    {
        let seen = behind(&group, &full, user, channel).await;
        assert!(seen.iter().all(Option::is_some), "{user} {channel}: {seen:?}");
        let expected = [Some(usize::from(follows)), seen[1], seen[2]];
        let expected = if is_row { expected } else { [None; 3] };
        assert_eq!(behind(&group, &masked, user, channel).await, expected, "{user} {channel}");
    }
    let ends = behind(&group, &full, "U1", "C").await;
    assert_eq!(ends, [Some(1), Some(1), Some(1)]);
}

#[tokio::test]
async fn the_order_of_members_tells_nothing_about_their_ids() {
    let group = Group::new().await;
    let users: Vec<_> = (0..40).map(|number| UserId::new(format!("U{number:02}"))).collect();
    for user in &users {
        group.arrives(user).await;
    }
    let key = PseudonymKey::new([5; 32]);
    let members = MemberService::new(group.store.clone(), Arc::clone(&group.clock));
    let listed = async |mask: Mask, limit: u32| {
        let caller = Caller { mask, ..caller(OWNER) };
        let access = group.access.channel::<Member, ReadMembers>(caller, GROUP.into());
        let (access, mut ids) = (access.await.unwrap(), Vec::new());
        let mut query = MemberQuery { limit, ..MemberQuery::default() };
        loop {
            let (page, next) = members.page(&access, &query).await.unwrap();
            ids.extend(page.iter().map(|member| member.user.clone()));
            match next {
                Some(next) => query.cursor = Some(next),
                None => return ids,
            }
        }
    };
    let all = listed(Mask::none(), 100).await;
    let known: Vec<_> = all.iter().map(|user| (user.clone(), None)).collect();
    assert!(all.len() > users.len() && all.is_sorted());
    let mut expected = all.clone();
    expected.sort_by_key(|user| key.person(user).id);
    assert_ne!(expected, all);
    for limit in [100, 7, 1] {
        let mask = Mask::of(&key, &known).unwrap();
        assert_eq!(listed(mask, limit).await, expected, "{limit}");
    }
}
