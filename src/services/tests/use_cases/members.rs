//! People of a channel for pages: in the order of their names, and those whose name has a text.

use chatkeep_core::role::Role;
use chatkeep_store::MemberStatus;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{appoint, arrive, bounded, call, leave, parts, refused_at, since};
use crate::Caller;
use crate::access::{ChannelAccess, Member, ReadMembers};
use crate::members::{MemberQuery, MemberService};

fn members(group: &Group) -> MemberService {
    let (store, clock) = parts(group);
    MemberService::new(store, clock)
}

async fn reader(group: &Group, caller: Caller) -> ChannelAccess<Member, ReadMembers> {
    group.access.channel(caller, GROUP.into()).await.unwrap()
}

/// Returns the pages of people by name.
async fn pages(group: &Group, query: &MemberQuery) -> Vec<Vec<String>> {
    let (access, service) = (reader(group, caller(OWNER)).await, members(group));
    let (mut query, mut pages) = (query.clone(), Vec::new());
    loop {
        let (page, next) = service.page_by_name(&access, &query).await.unwrap();
        pages.push(page.iter().map(|member| member.user.to_string()).collect());
        query.cursor = next;
        if query.cursor.is_none() {
            return pages;
        }
    }
}

/// Returns a group of people with names in several scripts, some without one that can be seen.
async fn named() -> Group {
    let group = Group::new().await;
    let people = ["Ua", "Ub", "Uc", "Ud", "Ue", "Uf", "Ug", "Uh"];
    arrive(&group, GROUP, &people).await;
    call(
        &group,
        &[
            (OWNER, "Zoe"),
            (OTHER, "ｂob"),
            ("Ua", "林小姐"),
            ("Ub", "ANN"),
            ("Uc", "\u{2800}\u{200b}"),
            ("Ud", "Zed"),
            ("Ue", "ann"),
            ("Ug", "สมชาย"),
            ("Uh", "Bobby"),
        ],
    )
    .await;
    appoint(&group, "Ud", Role::Admin).await;
    appoint(&group, "Uh", Role::Guest).await;
    group
}

#[tokio::test]
async fn who_manages_the_channel_comes_first_then_names_and_the_nameless_last() {
    let group = named().await;
    leave(&group, GROUP, "Ue").await;
    let query = |limit| MemberQuery { limit, ..MemberQuery::default() };
    let whole = pages(&group, &query(100)).await;
    let order = [OWNER, "Ud", "Ub", "Ue", OTHER, "Ug", "Ua", "Uc", "Uf"];
    assert_eq!(whole, [order]);
    for limit in 1..10 {
        let pages = pages(&group, &query(limit)).await;
        assert_eq!(pages.concat(), order, "{limit}");
        let last = pages.last().unwrap();
        let fits = usize::try_from(limit).unwrap();
        assert!(!last.is_empty() && pages.iter().all(|page| page.len() <= fits), "{limit}");
    }
    let left = MemberQuery { status: Some(MemberStatus::Left), ..query(100) };
    assert_eq!(pages(&group, &left).await, [["Ue"]]);
    let guests = MemberQuery { role: Some(Role::Guest), ..query(100) };
    assert_eq!(pages(&group, &guests).await, [["Uh"]]);
}

#[tokio::test]
async fn a_page_by_name_goes_on_where_it_was_whoever_comes_and_goes() {
    let group = named().await;
    let (access, service) = (reader(&group, caller(OWNER)).await, members(&group));
    let mut query = MemberQuery { limit: 3, ..MemberQuery::default() };
    let (_, next) = service.page_by_name(&access, &query).await.unwrap();
    // Of two who come, one is before the end of that page and one behind it.
    arrive(&group, GROUP, &["Ux", "Uy"]).await;
    call(&group, &[("Ux", "Aaron"), ("Uy", "anna")]).await;
    query.cursor = next;
    let (page, _) = service.page_by_name(&access, &query).await.unwrap();
    let ids: Vec<_> = page.iter().map(|member| member.user.as_str()).collect();
    assert_eq!(ids, ["Ue", "Uy", OTHER]);
}

#[tokio::test]
async fn cursors_of_people_are_those_of_one_list() {
    let group = named().await;
    let (access, service) = (reader(&group, caller(OWNER)).await, members(&group));
    let all = MemberQuery { limit: 1, ..MemberQuery::default() };
    let (_, by_name) = service.page_by_name(&access, &all).await.unwrap();
    let (_, by_id) = service.page(&access, &all).await.unwrap();
    let with = |cursor: Option<&str>, role| {
        let cursor = cursor.map(str::to_owned);
        MemberQuery { role, cursor, ..all.clone() }
    };
    let (by_id, by_name) = (by_id.as_deref(), by_name.as_deref());
    assert!(service.page(&access, &with(by_id, None)).await.is_ok());
    assert!(service.page_by_name(&access, &with(by_name, None)).await.is_ok());
    for refused in [
        service.page(&access, &with(by_name, None)).await,
        service.page_by_name(&access, &with(by_id, None)).await,
        service.page(&access, &with(by_id, Some(Role::Admin))).await,
        service.page_by_name(&access, &with(by_name, Some(Role::Admin))).await,
    ] {
        assert_eq!(refused_at(refused), "cursor");
    }
}

/// Returns the ids of the people that are found, and whether there are more.
async fn find(group: &Group, text: &str, limit: usize) -> (Vec<String>, bool) {
    let access = reader(group, caller(OWNER)).await;
    let (people, more) = members(group).find(&access, text, limit).await.unwrap();
    (people.iter().map(|member| member.user.to_string()).collect(), more)
}

#[tokio::test]
async fn people_are_found_by_a_part_of_their_name_whatever_its_case_and_width() {
    let group = named().await;
    leave(&group, GROUP, "Ug").await;
    call(&group, &[("Uf", "A+B (c) %_ \\")]).await;
    for add in [
        "INSERT INTO users (user_id, display_name, created_at) VALUES ('Uimported', 'Bob', 1)",
        "INSERT INTO imported_senders (channel_id, user_id) VALUES ('C1', 'Uimported')",
    ] {
        group.sql(add).await;
    }
    for (text, expected) in [
        ("BOB", vec![OTHER, "Uh"]),
        ("ｏｂ", vec![OTHER, "Uh"]),
        ("ann", vec!["Ub", "Ue"]),
        ("小", vec!["Ua"]),
        ("ชา", vec!["Ug"]),
        // A text is no pattern.
        ("%", vec!["Uf"]),
        ("_", vec!["Uf"]),
        ("\\", vec!["Uf"]),
        ("(C)", vec!["Uf"]),
        ("b.b", vec![]),
        (".*", vec![]),
        ("U1", vec![]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(find(&group, text, 10).await, (expected, false), "{text}");
    }
}

#[tokio::test]
async fn it_is_told_whether_more_people_are_found_than_are_shown() {
    let group = named().await;
    let (all, more) = find(&group, "", 100).await;
    assert_eq!((all.len(), more), (8, false), "everybody with a name that can be seen");
    for limit in 0..=all.len() {
        let (shown, more) = find(&group, "", limit).await;
        assert_eq!(shown, all[..limit], "by name");
        assert_eq!(more, limit < all.len(), "{limit}");
    }
}

#[tokio::test]
async fn people_of_an_import_alone_are_counted_for_those_who_may_read_it() {
    let group = named().await;
    for add in [
        "INSERT INTO imported_senders (channel_id, user_id) VALUES ('C1', 'U2')",
        "INSERT INTO imported_senders (channel_id, user_id) VALUES ('C1', 'Uimported')",
        "INSERT INTO imported_senders (channel_id, user_id) VALUES ('C2', 'Uother')",
    ] {
        group.sql(add).await;
    }
    let service = members(&group);
    let all = reader(&group, caller(OWNER)).await;
    assert_eq!(service.imported_only(&all).await, Ok(1));
    let late = bounded(OWNER, since(group.clock.now()));
    let late = reader(&group, late).await;
    assert_eq!(service.imported_only(&late).await, Ok(0));
}
