//! The people of a channel: the list, roles, erasure.

use chatkeep_core::role::Role;
use chatkeep_store::PresenceEvidenceKind;
use reqwest::StatusCode;

use super::{GROUP, Scene};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, item};

async fn role(scene: &Scene, user: &str) -> Role {
    scene.store.members().member(&GROUP.into(), &user.into()).await.unwrap().unwrap().role
}

/// Makes the guest a member, as the owner does, and returns the status of the answer.
async fn give_access(scene: &Scene) -> StatusCode {
    let form = [("csrf", "csrf-Uowner"), ("action", "role"), ("role", "member")];
    scene.post(&format!("/c/{GROUP}/people/Uguest"), "Uowner", &form, &[]).await.status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_listed_by_what_they_are() {
    let scene = Scene::new().await;
    let path = format!("/c/{GROUP}/people");
    let present = scene.open(&path).await.body;
    for (name, shown) in [("林小美", true), ("Aiko", true), ("דנה לוי", false), ("Gone", false)]
    {
        assert_eq!(present.contains(name), shown, "{name}");
    }
    assert!(present.contains("Owner") && present.contains("You"));
    let guests = scene.open(&format!("{path}?show=guests")).await.body;
    assert!(guests.contains("דנה לוי") && guests.contains("No access") && !guests.contains("Aiko"));
    let left = scene.open(&format!("{path}?show=left")).await.body;
    assert!(left.contains("Gone") && left.contains("Left on") && !left.contains("Aiko"));
    // That people appear when they join is said where these would appear.
    assert_eq!(give_access(&scene).await, StatusCode::SEE_OTHER);
    let guests = scene.open(&format!("{path}?show=guests")).await.body;
    assert!(guests.contains("Nobody here") && !guests.contains("People appear here"), "{guests}");
    let nobody = scene.page(&format!("{path}/Unobody"), Some("Uowner"), "en").await;
    assert_eq!(nobody.status, StatusCode::NOT_FOUND);
    let wrong = scene.page(&format!("{path}?show=all"), Some("Uowner"), "en").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_are_given_by_those_who_may() {
    let scene = Scene::new().await;
    let path = |user: &str| format!("/c/{GROUP}/people/{user}");
    let give = async |by: &str, user: &str, role: &str| {
        let form = [("csrf", &*format!("csrf-{by}")), ("action", "role"), ("role", role)];
        scene.post(&path(user), by, &form, &[]).await
    };
    for (user, forms) in [("Uowner", true), ("Uadmin", false), ("Umember", false)] {
        let page = scene.page(&path("Umember"), Some(user), "en").await;
        assert_eq!(page.body.contains(r#"value="role""#), forms, "{user}");
    }
    let done = give("Uowner", "Umember", "admin").await;
    assert_eq!(
        (done.status, done.location()),
        (StatusCode::SEE_OTHER, &*format!("{}?done=saved", path("Umember")))
    );
    assert_eq!(role(&scene, "Umember").await, Role::Admin);
    assert!(scene.open(&format!("{}?done=saved", path("Umember"))).await.body.contains("Saved."));
    // An admin lets guests in, and nothing else.
    assert_eq!(give("Uadmin", "Uguest", "member").await.status, StatusCode::SEE_OTHER);
    assert_eq!(role(&scene, "Uguest").await, Role::Member);
    for (by, user, wanted, status) in [
        ("Uadmin", "Uguest", "admin", StatusCode::CONFLICT),
        ("Uadmin", "Uowner", "guest", StatusCode::CONFLICT),
        ("Uguest", "Umember", "guest", StatusCode::FORBIDDEN),
        ("Uowner", "Umember", "owner", StatusCode::CONFLICT),
        ("Uowner", "Umember", "king", StatusCode::BAD_REQUEST),
        ("Uleft", "Umember", "guest", StatusCode::NOT_FOUND),
    ] {
        assert_eq!(give(by, user, wanted).await.status, status, "{by} {user} {wanted}");
    }
    assert_eq!(role(&scene, "Umember").await, Role::Admin);
    let form = [("csrf", "csrf-Uadmin"), ("action", "role"), ("role", "guest")];
    let forged = scene.post(&path("Umember"), "Uowner", &form, &[]).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    assert!(forged.body.contains("Please open the page again"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasing_a_person_needs_their_name() {
    let scene = Scene::new().await;
    let path = format!("/c/{GROUP}/people/Uadmin");
    for (user, title) in [("Uowner", "Erase their messages"), ("Uadmin", "Erase my messages")] {
        let page = scene.page(&path, Some(user), "en").await.body;
        assert!(page.contains(&format!("<h3>{title}</h3>")), "{user}: {page}");
    }
    let erase = async |by: &str, typed: &str| {
        let csrf = format!("csrf-{by}");
        let form = [("csrf", &*csrf), ("action", "erase"), ("typed", typed)];
        scene.post(&path, by, &form, &[]).await
    };
    let mistyped = erase("Uowner", "Aik").await;
    assert_eq!(mistyped.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        mistyped.body.contains("Nothing was erased") && mistyped.body.contains(r#"value="Aik""#)
    );
    assert_eq!(erase("Umember", "Aiko").await.status, StatusCode::BAD_REQUEST);
    let begun = erase("Uowner", " aiko ").await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER, "{}", begun.body);
    let job = begun.location().to_owned();
    assert!(job.starts_with(&format!("/c/{GROUP}/jobs/job_")), "{job}");
    until("the erasure", DEADLINE, async || {
        scene.open(&job).await.body.contains("messages were deleted")
    })
    .await;
    // Only the owner and the person themself see how it goes.
    assert_eq!(scene.page(&job, Some("Umember"), "en").await.status, StatusCode::NOT_FOUND);
    let found = scene.open(&format!("/c/{GROUP}?around=p001")).await.body;
    assert!(!found.contains("message number 1<"), "it is gone");
    assert!(found.contains("message number 2<"), "others stay");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_a_name_that_nobody_sees_is_shown_and_erased_all_the_same() {
    let scene = Scene::new().await;
    let names = [("Uowner", "\u{200b}\u{200b}"), ("Umember", "\u{3164}"), ("Uguest", "\u{2800}")];
    for (user, name) in names {
        let sql = format!("UPDATE users SET display_name = '{name}' WHERE user_id = '{user}'");
        scene.stack.sql(sql).await;
    }
    scene
        .stack
        .sql(format!("UPDATE channels SET name = '\u{3164}' WHERE channel_id = '{GROUP}'"))
        .await;
    let chat = format!("/c/{GROUP}");
    let unseen = |page: &str| names.into_iter().any(|(_, name)| page.contains(name));
    for (path, shown) in [
        ("/console", "Unnamed chat"),
        ("/console/account/keys/new", "Unnamed chat"),
        (&*chat, "Unknown user"),
        (&format!("{chat}/people"), "Unknown user"),
        (&format!("{chat}/people?show=guests"), "Unknown user"),
        (&format!("{chat}/search"), "Unknown user"),
        (&format!("{chat}/activity"), "Unknown user"),
        (&format!("{chat}/activity-log?show=reads"), "Unknown user"),
        ("/console/my-data", "Unknown user"),
    ] {
        let page = scene.open(path).await.body;
        assert!(page.contains(shown) && !unseen(&page), "{path}: {page}");
    }
    let person = format!("{chat}/people/Umember");
    let page = scene.open(&person).await.body;
    assert!(page.contains("<bdi lang=\"\" class=\"named\">Unknown user</bdi>"), "{page}");
    let form = |typed| [("csrf", "csrf-Uowner"), ("action", "erase"), ("typed", typed)];
    for typed in ["", "\u{3164}"] {
        let refused = scene.post(&person, "Uowner", &form(typed), &[]).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{typed:?}");
    }
    let begun = scene.post(&person, "Uowner", &form("unknown user"), &[]).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER, "{}", begun.body);
    let own = format!("/console/my-data/chats/{GROUP}");
    let begun = scene.post(&own, "Uowner", &form("Unnamed chat"), &[]).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER, "{}", begun.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_found_by_their_name() {
    let scene = Scene::new().await;
    let path = format!("/c/{GROUP}/people");
    assert!(!scene.open(&path).await.body.contains("Find by name"), "there are few");
    let joined = (0..120).map(|n| {
        item(GROUP, 5, PresenceEvidenceKind::Joined(format!("Ufan{n:03}").as_str().into()))
    });
    scene.store.members().record_presence(&joined.collect::<Vec<_>>(), at(5)).await.unwrap();
    scene
        .stack
        .sql(
            "UPDATE users SET display_name = 'Fan ' || user_id WHERE user_id LIKE 'Ufan%'"
                .to_owned(),
        )
        .await;
    assert!(scene.open(&path).await.body.contains("Find by name"));
    for (q, found) in [
        ("aiko", "Aiko"),
        ("ＡＩＫＯ", "Aiko"),
        ("小美", "林小美"),
        ("לוי", "דנה לוי"),
        ("gone", "Gone"),
    ] {
        let page = scene.open(&format!("{path}?q={q}")).await.body;
        assert!(
            page.contains(found) && page.matches("<li><a href=\"/c/").count() < 12,
            "{q}: {page}"
        );
        let part = format!("href=\"{path}?show=present\" aria-current");
        assert!(!page.contains(&part), "they are of every part: {page}");
    }
    let guest = scene.open(&format!("{path}?q=%D7%93%D7%A0%D7%94")).await.body;
    assert!(guest.contains("No access"), "{guest}");
    let many = scene.open(&format!("{path}?q=fan")).await.body;
    assert!(many.contains("There are more people.") && many.contains("Fan Ufan000"), "{many}");
    let one = scene.open(&format!("{path}?q=fan+ufan119")).await.body;
    assert!(one.contains("Fan Ufan119") && !one.contains("Fan Ufan118"), "{one}");
    let none = scene.open(&format!("{path}?q=nobody")).await.body;
    assert!(none.contains("Nobody found") && none.contains("value=\"nobody\""), "{none}");
}

/// Returns the names of a list of people, in order, and the address of its next page.
fn listed(page: &str) -> (Vec<String>, Option<String>) {
    let name = |part: &str| part.split("</bdi>").next().unwrap().to_owned();
    let names = page.split("<b><bdi lang=\"\">").skip(1).map(name).collect();
    let (before, _) = page.split_once("\" rel=\"next\"").unzip();
    let next = before.and_then(|before| before.rsplit("href=\"").next());
    (names, next.map(|next| next.replace("&#38;", "&").replace("&amp;", "&")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_in_the_order_of_their_names() {
    let scene = Scene::new().await;
    let joined = (0..120).map(|n| {
        item(GROUP, 5, PresenceEvidenceKind::Joined(format!("Ufan{n:03}").as_str().into()))
    });
    scene.store.members().record_presence(&joined.collect::<Vec<_>>(), at(5)).await.unwrap();
    // The other way round than their ids; one of them has none.
    let rename = "UPDATE users SET display_name = CASE user_id WHEN 'Ufan007' THEN NULL ELSE
                  'fan ' || (900 - CAST(SUBSTR(user_id, 5) AS INTEGER)) END
                  WHERE user_id LIKE 'Ufan%'";
    scene.stack.sql(rename.to_owned()).await;
    let (mut names, mut next) = (Vec::new(), Some(format!("/c/{GROUP}/people")));
    let mut pages = 0;
    while let Some(path) = next {
        let (page, after) = listed(&scene.open(&path).await.body);
        names.extend(page);
        next = after;
        pages += 1;
    }
    assert_eq!((pages, &names[..2]), (2, &["林小美", "Aiko"].map(str::to_owned)[..]), "{names:?}");
    let fans: Vec<_> = (0..120).rev().filter(|n| *n != 7).collect();
    let fans: Vec<_> = fans.iter().map(|n| format!("fan {}", 900 - n)).collect();
    let shown: Vec<_> = names.iter().filter(|name| name.starts_with("fan ")).cloned().collect();
    assert_eq!(shown, fans);
    assert!(names.last().unwrap().starts_with("Unknown"), "{names:?}");
}
