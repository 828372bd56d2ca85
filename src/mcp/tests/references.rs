//! Messages by their references: a link that an answer has is taken by every tool, whatever the
//! ids in it are.

use chatkeep_core::message::Content;
use chatkeep_view::message_uri;
use serde_json::{Value, json};

use super::{ANN, BASE, BO, GROUP, ToolBench, at, each, said, sent, time};

/// Ids of messages: those of the platform, and what an import may have.
const IDS: [&str; 13] = [
    "179351415353900739",
    "import:a/b?c#d",
    "a b",
    " m1 ",
    "%41",
    "日本/語",
    "é",
    "e\u{301}",
    "👩‍👩‍👧",
    "2026-05-01 m",
    "me",
    "/c/C1/m/m1",
    "https://evil.example/c/C1/m/m1",
];

async fn filled() -> ToolBench {
    let bench = ToolBench::new().await;
    let begin = time("2026-05-01T00:00:00Z").millis();
    let message = |(nth, id): (usize, &&str)| {
        let sent_at = at(begin + i64::try_from(nth).unwrap() * 60_000);
        sent((GROUP, id), ANN, sent_at, &Content::text(format!("text {nth}")))
    };
    bench.keep(&IDS.iter().enumerate().map(message).collect::<Vec<_>>()).await;
    bench
}

#[tokio::test]
async fn the_link_of_a_row_is_taken_by_every_tool() {
    let bench = filled().await;
    let listed = bench.call("get_messages", json!({"channelId": GROUP, "order": "asc"})).await;
    let rows = listed.given["messages"].as_array().unwrap();
    assert_eq!(each(&listed.given["messages"], "id"), IDS);
    for row in rows {
        let (id, url) = (row["id"].as_str().unwrap(), row["url"].as_str().unwrap());
        assert!(url.bytes().all(|byte| byte.is_ascii_graphic()), "{url}");
        assert!(listed.text.lines().any(|line| line.ends_with(&format!(" {url}"))), "{url}");
        let path = url.strip_prefix(BASE).unwrap();
        let uri = message_uri(&GROUP.into(), &id.into());
        for link in [url, path, &uri, &format!("{url}/?from=a#b"), &format!(" {url}\n")] {
            let asked = json!({"message": link, "before": 0, "after": 0});
            let context = bench.call("get_context", asked).await;
            assert_eq!(context.given["messageId"], id, "{link}");
            assert_eq!(context.given["messages"][0]["url"], url);
            let asked = json!({"channelId": link, "around": link, "limit": 1});
            let around = bench.call("get_messages", asked).await;
            assert_eq!(each(&around.given["messages"], "id"), [id], "{link}");
            let asked = json!({"url": link, "quoted": row["text"]});
            let checked = bench.call("verify_citation", asked).await;
            assert_eq!(checked.given["verdict"], "same", "{link}");
            let fetched = bench.call("fetch", json!({"id": link})).await;
            assert_eq!((&fetched.given["id"], &fetched.given["url"]), (&json!(uri), &json!(url)));
            // It has no file, and it is found.
            let told = bench.refusal("get_media", json!({"message": link})).await;
            assert!(told.starts_with("message is not a message with a file"), "{told}");
        }
    }
}

#[tokio::test]
async fn an_id_alone_will_do_where_it_is_no_link() {
    let bench = filled().await;
    for id in IDS {
        let asked = json!({"message": id, "before": 0, "after": 0});
        match id {
            " m1 " | "/c/C1/m/m1" => {
                let told = bench.refusal("get_context", asked).await;
                assert!(told.starts_with("No message "), "{id}: {told}");
            }
            "https://evil.example/c/C1/m/m1" => {
                let told = bench.refusal("get_context", asked).await;
                let expected = format!(
                    "message is a link of another server: those of this one begin with {BASE}/c/. \
                     Correct it and call again."
                );
                assert_eq!(told, expected);
            }
            id => {
                let context = bench.call("get_context", asked).await;
                assert_eq!(context.given["messageId"], id);
            }
        }
    }
}

#[tokio::test]
async fn an_id_of_several_channels_is_told_with_them() {
    let bench = ToolBench::new().await;
    for channel in ["Ctwo", "Cthree"] {
        bench.channel(channel, &[ANN]).await;
    }
    bench.channel("Chidden", &[BO]).await;
    let time_of = time("2026-05-01T00:00:00Z");
    for channel in [GROUP, "Ctwo", "Chidden"] {
        bench.keep(&[sent((channel, "m1"), BO, time_of, &Content::text(channel))]).await;
    }
    let told = bench.refusal("get_context", json!({"message": "m1"})).await;
    let expected = format!(
        "message \"m1\" is the id of a message in 2 channels ({GROUP}, Ctwo): give its link. \
         Correct it and call again."
    );
    assert_eq!(told, expected);
    let text = async |arguments: Value| {
        let context = bench.call("get_context", arguments).await;
        context.given["messages"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(text(json!({"message": "m1", "channelId": "Ctwo"})).await, "Ctwo");
    assert_eq!(text(json!({"message": "/c/Ctwo/m/m1"})).await, "Ctwo");
    assert_eq!(text(json!({"message": "/c/Ctwo/m/m1", "channelId": "Ctwo"})).await, "Ctwo");
    for (arguments, why) in [
        (json!({"message": "m1", "channelId": "Cthree"}), "No message \"m1\""),
        (json!({"message": "m1", "channelId": "Chidden"}), "No channel \"Chidden\""),
        (json!({"message": "/c/Chidden/m/m1"}), "No message \"/c/Chidden/m/m1\""),
        (
            json!({"message": "/c/Ctwo/m/m1", "channelId": GROUP}),
            "message is the link of a message of another channel than channelId.",
        ),
        (json!({"message": "/c/Ctwo"}), "message is not the link of a message: those end with /m/"),
        (json!({"message": "/c/Ctwo/people"}), "message is not the link of a message"),
        (json!({"message": ""}), "message must be the link or id of a message."),
        (json!({"message": " \n"}), "message must be the link or id of a message."),
    ] {
        let told = bench.refusal("get_context", arguments.clone()).await;
        assert!(told.starts_with(why), "{arguments}: {told}");
    }
}

#[tokio::test]
async fn a_channel_is_what_a_link_to_it_or_below_it_names() {
    let bench = ToolBench::new().await;
    bench.keep(&[said("m1", ANN, "2026-05-01T00:00:00Z", "x")]).await;
    for link in [
        format!("{BASE}/c/{GROUP}"),
        format!("{BASE}/c/{GROUP}/"),
        format!("{BASE}/c/{GROUP}/people?sort=name"),
        format!("{BASE}/c/{GROUP}/m/nothing"),
        format!("/c/{GROUP}#top"),
        format!("chatkeep://channel/{GROUP}"),
        format!("chatkeep://channel/{GROUP}/message/nothing/file"),
        BASE.replace("https://chat", "HTTPS://Chat") + "/c/" + GROUP,
    ] {
        let answer = bench.call("get_members", json!({"channelId": link})).await;
        assert_eq!(answer.given["interpreted"], json!({"channelId": GROUP}), "{link}");
    }
    for (link, why) in [
        (format!("{BASE}/console"), "channelId is not the link of a channel: those have /c/ and"),
        (format!("{BASE}/c/"), "channelId is not the link of a channel"),
        ("chatkeep://channel/".to_owned(), "channelId is not the link of a channel"),
        (format!("https://chat.example.org/c/{GROUP}"), "channelId is a link of another server"),
        (format!("http://chat.example.org/x/c/{GROUP}"), "channelId is a link of another server"),
        (format!("{BASE}/c/Cnowhere"), "No channel \"https://chat.example.org/x/c/Cnowhere\""),
    ] {
        let told = bench.refusal("get_members", json!({"channelId": link})).await;
        assert!(told.starts_with(why), "{link}: {told}");
    }
}
