//! Limits of an import: rows that it leaves alone, its end at a full quota, its report.

use chatkeep_index::search::MessageIndex;
use serde_json::json;

use super::home::{Home, START};
use super::{GROUP, OWNER, on_both};
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack};
use crate::store::at;

on_both!(
    a_full_quota_stops_it_and_a_larger_one_goes_on,
    what_was_erased_stays_away,
    lines_that_are_not_understood_are_told,
    names_that_are_known_stay,
    what_no_database_keeps_is_replaced_and_counted,
    search_finds_what_was_imported_beside_a_running_service,
);

/// Returns lines of that many messages, 100 bytes each, by two people in turn.
fn lines(count: usize) -> String {
    let line = |n: usize| {
        let text = "x".repeat(100 - r#"{"type":"text","text":""}"#.len());
        let user = if n.is_multiple_of(2) { "U7" } else { "U8" };
        let time = at(START + i64::try_from(n).unwrap() * 1_000).to_string();
        json!({
            "id": format!("n{n:03}"), "channelId": GROUP, "timestamp": time,
            "backedUpAt": time, "type": "text", "content": text, "bytes": 100,
            "sender": {"userId": user, "displayName": format!("name of {user}"), "pictureUrl": null},
            "quotedMessageId": null, "editedAt": null, "unsentAt": null,
        })
    };
    (0..count).flat_map(|n| [line(n).to_string(), "\n".to_owned()]).collect()
}

async fn a_full_quota_stops_it_and_a_larger_one_goes_on(parts: Parts) {
    let home = Home::with_user(parts).await;
    let file = home.write("ten.jsonl", lines(10));
    home.import(home.write("none.jsonl", ""), &["--user", OWNER]).await.succeeded();
    // 250 bytes are free: the third message crosses the line, the fourth has no room.
    let used = 524_288_000 - 250;
    home.sql(&format!("UPDATE channels SET bytes = {used} WHERE channel_id = '{GROUP}'")).await;
    home.sql(&format!("UPDATE users SET used_bytes = {used} WHERE user_id = '{OWNER}'")).await;

    for (stored, known) in [(3, 0), (0, 3)] {
        let stopped = home.import(&file, &[]).await.ended(1);
        assert!(stopped.stderr.contains("quota exceeded: 7 messages remain"), "{}", stopped.stderr);
        assert_eq!((stopped.count("stored"), stopped.count("known")), (stored, known));
        assert_eq!(home.counters().await, (used + 300, 3));
    }
    let store = home.store().await;
    assert!(
        store.messages().gaps(&GROUP.into(), None, None).await.unwrap().is_empty(),
        "no gap is made"
    );
    assert!(store.messages().message(&GROUP.into(), &"n003".into()).await.unwrap().is_none());
    store.close().await;

    home.run(&["user", "set-plan", OWNER, "standard"]).await.succeeded();
    let rest = home.import(&file, &[]).await.succeeded();
    assert_eq!((rest.count("stored"), rest.count("known")), (7, 3));
    assert_eq!(home.counters().await, (used + 1_000, 10));
}

async fn what_was_erased_stays_away(parts: Parts) {
    let home = Home::with_user(parts).await;
    let file = home.write("ten.jsonl", lines(10));
    home.import(home.write("none.jsonl", ""), &["--user", OWNER]).await.succeeded();
    // Of U7 the messages 0, 2, 4 were sent before they were erased; of U8 one was erased.
    let erased = START + 5_000;
    home.sql(&format!("INSERT INTO erased_people VALUES ('{GROUP}', 'U7', {erased})")).await;
    home.sql(&format!("INSERT INTO erased_messages VALUES ('{GROUP}', 'n003')")).await;
    let tried = home.import(&file, &["--dry-run"]).await.succeeded();
    assert_eq!((tried.count("stored"), tried.count("erased")), (6, 4));
    let imported = home.import(&file, &[]).await.succeeded();
    assert_eq!((imported.count("stored"), imported.count("erased")), (6, 4));
    let shown = home.run(&["import", &file, "--channel", GROUP]).await.succeeded().stderr;
    assert!(
        shown.contains("4 skipped: they were erased or deleted, or their sender was"),
        "{shown}"
    );
    let ids: Vec<_> = home.messages().await.into_iter().map(|m| m.id.into_string()).collect();
    assert_eq!(ids, ["n001", "n005", "n006", "n007", "n008", "n009"]);
    let store = home.store().await;
    assert!(store.accounts().user(&"U7".into()).await.unwrap().is_none(), "nor does their name");
    store.close().await;
}

async fn lines_that_are_not_understood_are_told(parts: Parts) {
    let home = Home::with_user(parts).await;
    let good = lines(2);
    let text = format!("{good}\nnonsense\n{{\"id\":\"x\"}}\n{}", good.replace(GROUP, "Cother"));
    let file = home.write("mixed.jsonl", text);
    let ended = home.import(&file, &["--user", OWNER]).await.ended(3);
    assert_eq!((ended.count("stored"), ended.count("notUnderstood")), (2, 4));
    assert!(ended.stderr.contains("4 lines could not be parsed"), "{}", ended.stderr);
    let shown = home.run(&["import", &file, "--channel", GROUP]).await.ended(3);
    for what in ["2 already stored", "line 4 (not JSON", "line 5 (not a message", "channel Cother"]
    {
        assert!(shown.stderr.contains(what), "{what}: {}", shown.stderr);
    }
    let other = home.write("other.txt", "just\na text\n");
    let refused = home.import(&other, &[]).await.ended(1);
    assert!(refused.stderr.contains("neither an export"), "{}", refused.stderr);
    assert!(shown.stdout.is_empty(), "the summary is for people: {}", shown.stdout);
    // Nothing is created for an export of another channel.
    let foreign = home.write("foreign.jsonl", good.replace(GROUP, "Cother"));
    let refused = home.import(&foreign, &["--user", "U_none"]).await.ended(2);
    let why = "is an export of channel Cother, and a JSONL export goes only into the channel";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let store = home.store().await;
    assert!(store.accounts().user(&"U_none".into()).await.unwrap().is_none());
    store.close().await;
    let made = home.import(&file, &["--user", "U_new"]).await.ended(3);
    assert!(made.stderr.contains("added user U_new"), "{}", made.stderr);
    home.import(&file, &["--format", "xml"]).await.ended(2);
    home.import(&file, &["--time-zone", "Moon/Sea"]).await.ended(2);
}

async fn names_that_are_known_stay(parts: Parts) {
    let home = Home::with_user(parts).await;
    home.run(&["user", "add", "U7", "--name", "told by the platform"]).await.succeeded();
    home.import(home.write("two.jsonl", lines(2)), &["--user", OWNER]).await.succeeded();
    let names: Vec<_> = home
        .messages()
        .await
        .into_iter()
        .map(|message| message.sender.unwrap().display_name.unwrap())
        .collect();
    assert_eq!(names, ["told by the platform", "name of U8"]);
    let store = home.store().await;
    let members = store.members().list(&GROUP.into(), None, None, None, 10).await.unwrap();
    let members: Vec<_> = members.iter().map(|member| member.user.as_str()).collect();
    assert_eq!(members, [OWNER], "naming somebody makes them no member");
    store.close().await;
}

async fn what_no_database_keeps_is_replaced_and_counted(parts: Parts) {
    let home = Home::with_user(parts).await;
    // One text, and one name in two messages.
    let text = lines(3).replacen("xxx", "x\\u0000x", 1).replace("of U7", "of\\u0000U7");
    let imported = home.import(home.write("nul.jsonl", text), &["--user", OWNER]).await;
    let imported = imported.succeeded();
    assert_eq!((imported.count("stored"), imported.count("replaced")), (3, 2));
    let messages = home.messages().await;
    let sender = messages[0].sender.as_ref().unwrap();
    assert_eq!(sender.display_name.as_deref(), Some("name of\u{fffd}U7"));
    let content = messages[0].content.as_ref().unwrap();
    assert!(content.searchable().unwrap().contains("x\u{fffd}x"));
    let text = "2024/01/05(Fri)\n09:31\tA\0nn\thello\0\n09:32\tBob\tgood morning\n\
                09:33\tBob\tthe café opens at nine, come when you can\n";
    let file = home.write("nul.txt", text);
    let imported = home.import(&file, &["--time-zone", "Asia/Tokyo"]).await.succeeded();
    assert_eq!((imported.count("stored"), imported.count("replaced")), (3, 1));
    let again = home.run(&["import", &file, "--channel", GROUP, "--time-zone", "Asia/Tokyo"]).await;
    let again = again.succeeded();
    assert!(again.stderr.contains("1 texts and names in which U+FFFD"), "{}", again.stderr);
    assert!(again.stderr.contains("3 already stored"), "{}", again.stderr);
}

async fn search_finds_what_was_imported_beside_a_running_service(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, _) = group(&mut stack).await;
    stack.drained().await;
    let file = stack.ground.folder.path().join("ten.jsonl");
    std::fs::write(&file, lines(10).replace(GROUP, &group.chat_id)).unwrap();
    let file = file.display().to_string();
    let before = stack.messages(&group.chat_id).await.len();
    let import = ["import", &file, "--channel", &group.chat_id, "--json"];
    let said = stack.ground.command(&stack.line, &import).await;
    assert!(said.contains("\"stored\":10,"), "{said}");
    assert_eq!(stack.messages(&group.chat_id).await.len(), before + 10);
    stack.drained().await;
    // Senders need no account to be found by name.
    let path = format!("/channels/{}/backup/search?q=", group.chat_id);
    until("what they said can be found", DEADLINE, async || {
        stack.get(&format!("{path}from:%22name%20of%20U7%22")).await["total"] == 5
    })
    .await;
    let nobody = stack.get(&format!("{path}from:Aiko")).await;
    assert_eq!((&nobody["total"], &nobody["unknownNames"]), (&json!(0), &json!(["Aiko"])));
    if parts == Parts::Embedded {
        let found = ["search", "from:\"name of U7\"", "--channel", &group.chat_id, "--json"];
        assert_eq!(stack.ground.command(&stack.line, &found).await.lines().count(), 5);
    }
    assert!(stack.process.terminate().await.success());
    let index = MessageIndex::open(&stack.ground.folder.path().join("index")).unwrap();
    assert_eq!(index.doc_count(), u64::try_from(before + 10).unwrap());
}
