//! Errors, which repeat neither whose id a request gave, nor a part of an id.

use serde_json::json;
use url::form_urlencoded;

use super::super::{Answer, OWNER};
use super::world::{MASKED, World, pseudonym};

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_tell_no_stand_in_of_a_given_id() {
    let world = World::new().await;
    world.happen().await;
    let dashes = "-".repeat(47);
    let hidden = format!("{}\u{200b}{}", &OWNER[..9], &OWNER[9..]);
    let given = [OWNER.to_owned(), format!("{dashes}{OWNER}x"), hidden, format!("{OWNER}0")];
    let own = pseudonym(OWNER).id;
    for given in &given {
        let name: String = form_urlencoded::byte_serialize(given.as_bytes()).collect();
        for path in [format!("/channels?{name}=1"), format!("/search?q=x&sort={name}")] {
            let answer = world.get(MASKED, &path).await;
            let body = text(&answer);
            assert!(!body.contains(&own), "{path}: {body}");
            answer.refused(400, "invalid_request");
        }
        for (tool, argument) in [("get_context", "message"), ("search_messages", given.as_str())] {
            let asked = json!({argument: given, "channelId": given});
            let answer = world.tool(MASKED, tool, &asked).await;
            assert!(!text(&answer).contains(&own), "{tool}: {}", text(&answer));
        }
    }
    // What it says of the stand-in itself shows no part of the id.
    for dashes in 40..80 {
        let given = format!("{}{own}", "-".repeat(dashes));
        let answer = world.tool(MASKED, "get_context", &json!({"message": given})).await;
        let body = text(&answer);
        assert!(!body.contains(&OWNER[..4]), "{body}");
    }
}
