//! Names of people for callers who name one, and when each of them wrote last.

use std::collections::HashMap;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Scope;
use chatkeep_view::pseudonyms::Mask;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{
    answered, arrive, at, bounded, call, establish, keep, parts, said, since, with_scopes,
};
use crate::Caller;
use crate::access::ReadMessages;
use crate::members::MemberService;

type Named = (UserId, Option<String>);

fn members(group: &Group) -> MemberService {
    let (store, clock) = parts(group);
    MemberService::new(store, clock)
}

fn named(user: &str, name: Option<&str>) -> Named {
    (user.into(), name.map(str::to_owned))
}

fn sorted(mut names: Vec<Named>) -> Vec<Named> {
    names.sort();
    names
}

#[tokio::test]
async fn a_name_of_which_nothing_can_be_seen_is_none() {
    let group = Group::new().await;
    arrive(&group, GROUP, &["Ua", "Ub"]).await;
    establish(&group, "C2", &["Uelsewhere"]).await;
    let names = [(OWNER, "林"), (OTHER, "\u{2800}"), ("Ua", " \u{3000}\u{200b}"), ("Ub", "👍")];
    call(&group, &names).await;
    let people = members(&group).names(&caller(OWNER), &[GROUP.into()]).await.unwrap();
    let expected =
        [named(OWNER, Some("林")), named(OTHER, None), named("Ua", None), named("Ub", Some("👍"))];
    assert_eq!(sorted(people), expected);
    assert!(members(&group).names(&caller(OWNER), &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn bots_are_senders_where_they_wrote_and_no_people() {
    let group = Group::new().await;
    establish(&group, "C2", &[OWNER]).await;
    let of = |channel, id, bot| answered(channel, id, bot, at(2_000), "9-18");
    keep(&group, &[of(GROUP, "m1", "Ubot"), of("C2", "m2", "Ucousin")]).await;
    let senders = members(&group).senders(&caller(OWNER), &[GROUP.into()]).await.unwrap();
    assert_eq!(senders.bots, [named("Ubot", None)]);
    assert_eq!(sorted(senders.people), [named(OWNER, None), named(OTHER, None)]);
    let both = [GROUP.into(), "C2".into()];
    let senders = members(&group).senders(&caller(OWNER), &both).await.unwrap();
    assert_eq!(sorted(senders.bots), [named("Ubot", None), named("Ucousin", None)]);
    let quiet = members(&group).senders(&caller(OWNER), &["C9".into()]).await.unwrap();
    assert_eq!((quiet.bots, quiet.people), (vec![], vec![]));
}

#[tokio::test]
async fn a_caller_is_told_of_members_if_they_may_list_them_and_of_authors_whom_they_may_read() {
    let group = Group::new().await;
    establish(&group, "C2", &[OWNER, "Uelsewhere"]).await;
    for add in [
        "INSERT INTO imported_senders (channel_id, user_id) VALUES ('C1', 'Uearly')",
        "INSERT INTO imported_senders (channel_id, user_id) VALUES ('C1', 'Ulate')",
    ] {
        group.sql(add).await;
    }
    let messages = [
        said(GROUP, "m1", "Uearly", at(1_000), "first"),
        said(GROUP, "m2", OTHER, at(1_000), "first"),
        said(GROUP, "m3", "Ulate", at(2_000), "second"),
        said("C2", "m4", "Uelsewhere", at(3_000), "third"),
        answered(GROUP, "m5", "Ubot", at(1_000), "9-18"),
    ];
    keep(&group, &messages).await;
    let authors = with_scopes(&[Scope::ReadMessages]);
    let late_authors = Bounds { not_before: Some(at(2_000)), ..authors.clone() };
    for (bounds, channels, people) in [
        (Bounds::full(), &[GROUP][..], &[OWNER, OTHER, "Uearly", "Ulate"][..]),
        (since(at(2_000)), &[GROUP], &[OWNER, OTHER, "Ulate"]),
        (since(at(2_001)), &[GROUP], &[OWNER, OTHER]),
        (authors, &[GROUP], &[OTHER, "Uearly", "Ulate"]),
        (late_authors.clone(), &[GROUP], &["Ulate"]),
        (late_authors, &[GROUP, "C2"], &["Uelsewhere", "Ulate"]),
    ] {
        let channels: Vec<_> = channels.iter().map(|id| ChannelId::from(*id)).collect();
        let caller = bounded(OWNER, bounds);
        let senders = members(&group).senders(&caller, &channels).await.unwrap();
        let told: Vec<_> = sorted(senders.people).into_iter().map(|(user, _)| user).collect();
        assert_eq!(told, people.iter().map(|id| UserId::from(*id)).collect::<Vec<_>>());
        assert_eq!(senders.bots, [named("Ubot", None)]);
    }
}

#[tokio::test]
async fn a_reader_of_pseudonyms_knows_everybody_by_a_stand_in() {
    let group = Group::new().await;
    call(&group, &[(OWNER, "Xiomara")]).await;
    let key = PseudonymKey::new([3; 32]);
    let people = [named(OWNER, Some("Xiomara")), named(OTHER, None)];
    let mask = Mask::of(&key, &people).unwrap();
    let masked = Caller { mask, ..caller(OWNER) };
    let names = members(&group).names(&masked, &[GROUP.into()]).await.unwrap();
    // Who has no name is not told apart from who has one.
    let expected = [OWNER, OTHER].map(|user| {
        let stand_in = key.person(&user.into()).name;
        named(user, Some(&stand_in))
    });
    assert_eq!(sorted(names), expected);
}

#[tokio::test]
async fn of_many_people_those_who_wrote_last_are_chosen() {
    let group = Group::new().await;
    arrive(&group, GROUP, &["Ua", "Ub", "Uc", "Ud"]).await;
    for (number, user) in (1..).zip(["Ub", OTHER, "Ua", OTHER]) {
        let (id, sent) = (format!("m{number}"), at(1_000 * number));
        keep(&group, &[said(GROUP, &id, user, sent, "hello")]).await;
    }
    let people = [
        named(OWNER, Some("Olga")),
        named(OTHER, Some("Mia")),
        named("Ua", Some("Ada")),
        named("Ub", Some("Bea")),
        named("Uc", None),
        named("Ud", Some("Dan")),
    ];
    let service = members(&group);
    let latest = async |chosen: &str, limit: usize| {
        let found = service.latest(&GROUP.into(), people.to_vec(), chosen, limit).await.unwrap();
        found.into_iter().map(|(user, _)| user.into_string()).collect::<Vec<_>>()
    };
    // Those who wrote nothing come by name.
    assert_eq!(latest("", 5).await, [OTHER, "Ua", "Ub", "Ud", OWNER]);
    assert_eq!(latest("", 2).await, [OTHER, "Ua"]);
    assert_eq!(latest("Uc", 2).await, ["Uc", OTHER], "whoever is chosen is there");
    assert_eq!(latest("Unobody", 1).await, [OTHER]);
    let all = latest("", 6).await;
    assert_eq!(all, [OWNER, OTHER, "Ua", "Ub", "Uc", "Ud"], "as they were: there is room");
}

#[tokio::test]
async fn the_last_message_of_a_person_is_one_that_the_caller_may_read() {
    let group = Group::new().await;
    establish(&group, "C2", &[OWNER, OTHER]).await;
    keep(
        &group,
        &[
            said(GROUP, "m1", OTHER, at(1_000), "first"),
            said("C2", "m2", OTHER, at(3_000), "elsewhere"),
            said(GROUP, "m3", OWNER, at(2_000), "second"),
        ],
    )
    .await;
    let service = members(&group);
    let people = [OWNER.into(), OTHER.into(), "Unobody".into()];
    let last = async |caller: Caller, channels: &[&str]| {
        let access = group.access.scoped::<ReadMessages>(caller).unwrap();
        let channels: Vec<_> = channels.iter().map(|id| ChannelId::from(*id)).collect();
        service.last_messages(&access, &channels, &people).await.unwrap()
    };
    let times = |all: &[(&str, i64)]| {
        let time = |(user, millis): &(&str, i64)| (UserId::from(*user), at(*millis));
        all.iter().map(time).collect::<HashMap<_, _>>()
    };
    assert_eq!(last(caller(OWNER), &[GROUP]).await, times(&[(OTHER, 1_000), (OWNER, 2_000)]));
    let both = [GROUP, "C2"];
    assert_eq!(last(caller(OWNER), &both).await, times(&[(OTHER, 3_000), (OWNER, 2_000)]));
    let late = bounded(OWNER, since(at(2_000)));
    assert_eq!(last(late.clone(), &[GROUP]).await, times(&[(OWNER, 2_000)]));
    assert_eq!(last(late, &both).await, times(&[(OTHER, 3_000), (OWNER, 2_000)]));
    assert_eq!(last(caller(OWNER), &[]).await, times(&[]));
}
