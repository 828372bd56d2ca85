//! Profiles and members, the token, the records.

use super::*;

#[tokio::test]
async fn a_call_without_the_token_is_refused() {
    let stage = Stage::new().await;
    let url = format!("{}/v2/bot/info", stage.emulator.api_base());
    for request in [stage.http.get(&url), stage.http.get(&url).bearer_auth("wrong")] {
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, 401);
        assert!(answer.message().starts_with("Authentication failed"), "{}", answer.message());
    }
    assert_eq!(stage.broken(), [Rule::AccessToken; 2]);
}

#[tokio::test]
async fn every_call_has_an_id_and_is_remembered() {
    let stage = Stage::new().await;
    let one = stage.get("/v2/bot/info?x=1").await;
    stage.pass(5);
    let two = stage.get("/v2/bot/nothing").await;
    let calls = stage.emulator.calls();
    let ids = [&one, &two].map(|answer| answer.headers["x-line-request-id"].to_str().unwrap());
    assert_ne!(ids[0], ids[1]);
    let seen: Vec<_> = calls
        .iter()
        .map(|c| (c.at - START, c.path.as_str(), c.status, c.request_id.as_str()))
        .collect();
    assert_eq!(
        seen,
        [(0, "/v2/bot/info", Some(200), ids[0]), (5, "/v2/bot/nothing", Some(404), ids[1])]
    );
    let violation = &stage.emulator.violations()[0];
    assert_eq!((violation.rule, violation.request_id.as_str()), (Rule::Route, ids[1]));
}

#[tokio::test]
async fn a_wrong_method_is_refused() {
    let stage = Stage::new().await;
    let answer = stage.get("/v2/bot/message/reply").await;
    assert_eq!((answer.status, answer.message()), (405, "Method Not Allowed"));
    assert_eq!(stage.broken(), [Rule::Route]);
}

#[tokio::test]
async fn the_bot_and_the_group_show_themselves() {
    let stage = Stage::new().await;
    let bot = stage.get("/v2/bot/info").await.body;
    assert_eq!(bot["userId"], stage.emulator.bot().user_id);
    assert_eq!(bot["displayName"], "Chatkeep");
    for field in ["basicId", "chatMode", "markAsReadMode"] {
        assert!(bot[field].is_string(), "{field}");
    }
    let group = stage.group.as_str();
    let summary = stage.get(&format!("/v2/bot/group/{group}/summary")).await.body;
    assert_eq!(summary, json!({ "groupId": group, "groupName": "Cooks" }));
    let count = stage.get(&format!("/v2/bot/group/{group}/members/count")).await.body;
    assert_eq!(count, json!({ "count": 2 }), "the bot does not count");
    let member = stage.get(&format!("/v2/bot/group/{group}/member/{}", stage.ann)).await.body;
    assert_eq!(
        member,
        json!({
            "userId": stage.ann, "displayName": "Ann", "pictureUrl": "https://pictures.test/ann"
        })
    );
    assert_eq!(stage.broken(), []);
}

#[tokio::test]
async fn profiles_are_those_of_friends() {
    let stage = Stage::new().await;
    let path = format!("/v2/bot/profile/{}", stage.bob);
    assert_eq!(stage.get(&path).await.status, 404, "a member of a group is no friend");
    stage.emulator.follow(&stage.bob).await.unwrap();
    let profile = stage.get(&path).await;
    assert_eq!(profile.body, json!({ "userId": stage.bob, "displayName": "Bob" }));
    stage.emulator.unfollow(&stage.bob).await.unwrap();
    assert_eq!(stage.get(&path).await.status, 404);
    assert_eq!(stage.broken(), [], "nobody can know before asking");
}

#[tokio::test]
async fn who_left_is_not_found() {
    let stage = Stage::new().await;
    let (group, ann) = (stage.group.as_str(), stage.ann.as_str());
    let member = format!("/v2/bot/group/{group}/member/{ann}");
    stage.emulator.members_leave(group, &[ann]).await.unwrap();
    assert_eq!((stage.get(&member).await.status, stage.broken()), (404, vec![]));
    stage.emulator.members_join(group, &[ann]).await.unwrap();
    assert_eq!(stage.get(&member).await.status, 200);
    stage.emulator.bot_leaves(group).await.unwrap();
    assert_eq!(stage.get(&member).await.status, 404);
    assert_eq!(stage.get(&format!("/v2/bot/group/{group}/summary")).await.status, 404);
    assert_eq!(stage.broken(), []);
}

#[tokio::test]
async fn made_up_ids_are_told_apart() {
    let stage = Stage::new().await;
    let nobody = format!("U{}", "0".repeat(32));
    assert_eq!(stage.get(&format!("/v2/bot/profile/{nobody}")).await.status, 404);
    assert_eq!(stage.get("/v2/bot/profile/ann").await.status, 400);
    assert_eq!(stage.get(&format!("/v2/bot/room/{}/members/count", stage.group)).await.status, 400);
    assert_eq!(stage.broken(), [Rule::IdKnown, Rule::IdForm, Rule::IdForm]);
}

#[tokio::test]
async fn rooms_have_members_and_no_summary() {
    let stage = Stage::new().await;
    let room = stage.emulator.add_room(&[&stage.ann, &stage.bob]).chat_id;
    stage.emulator.bot_joins(&room).await.unwrap();
    let count = stage.get(&format!("/v2/bot/room/{room}/members/count")).await;
    assert_eq!(count.body, json!({ "count": 2 }));
    let member = stage.get(&format!("/v2/bot/room/{room}/member/{}", stage.bob)).await;
    assert_eq!(member.body["displayName"], "Bob");
    assert_eq!(stage.broken(), []);
    assert_eq!(stage.get(&format!("/v2/bot/room/{room}/summary")).await.status, 404);
    assert_eq!(stage.broken(), [Rule::Route]);
}

#[tokio::test]
async fn a_bot_that_leaves_is_told_so() {
    let stage = Stage::new().await;
    let (sink, url) = Sink::open(&[]).await;
    stage.emulator.set_webhook_url(Some(url));
    let mut changes = stage.emulator.subscribe();
    let path = format!("/v2/bot/group/{}/leave", stage.group);
    assert_eq!(stage.post(&path, &json!({})).await.status, 200);
    loop {
        let change = tokio::time::timeout(TIMEOUT, changes.recv()).await.unwrap().unwrap();
        if let Change::Attempt(attempt) = change {
            assert_eq!(attempt.status, Some(200));
            break;
        }
    }
    assert_eq!(sink.bodies()[0]["events"][0]["type"], "leave");
    assert_eq!(stage.post(&path, &json!({})).await.status, 404);
}

#[tokio::test]
async fn shutting_down_closes_the_api() {
    let stage = Stage::new().await;
    stage.get("/v2/bot/info").await;
    stage.emulator.shutdown().await;
    let fresh = client::webhooks(TIMEOUT).unwrap();
    let refused = fresh.get(stage.emulator.api_base()).send().await;
    assert!(refused.is_err_and(|error| error.is_connect()));
}
