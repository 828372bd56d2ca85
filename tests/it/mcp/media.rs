//! Files of messages for models: as a link, as a small picture, and as a resource.

use serde_json::{Value, json};

use super::{Answer, NEWEST, request_to, send};
use crate::harness::http;
use crate::media::Scene;
use crate::stack::DEADLINE;

async fn ask(scene: &Scene, method: &str, params: Value) -> Answer {
    let request = request_to(&http::client(DEADLINE), &scene.stack, NEWEST, method, params);
    send(request.bearer_auth(scene.stack.key())).await
}

async fn get_media(scene: &Scene, arguments: Value) -> Answer {
    ask(scene, "tools/call", json!({"name": "get_media", "arguments": arguments})).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_links_and_small_pictures_are_shown_on_request() {
    let scene = Scene::embedded().await;
    let id = scene.send("plan \"A\".png").await;
    let waiting = get_media(&scene, json!({"message": id})).await;
    assert_eq!(waiting.given()["status"], "pending");
    assert!(waiting.text().contains("cannot be read: pending."), "{}", waiting.text());
    scene.stored(&id, "image/png", b"\x89PNG of some size").await;
    let answer = get_media(&scene, json!({"message": id})).await;
    let (given, content) = (answer.given(), &answer.result()["content"]);
    let uri = format!("chatkeep://channel/{}/message/{id}/file", scene.channel);
    assert_eq!(given["name"], "plan \"A\".png");
    assert_eq!((&given["contentType"], &given["bytes"]), (&json!("image/png"), &json!(17)));
    assert_eq!((&given["status"], &given["file"]), (&json!("stored"), &json!(uri)));
    assert_eq!(content.as_array().unwrap().len(), 2);
    assert_eq!(content[1]["type"], "resource_link");
    assert_eq!((&content[1]["uri"], &content[1]["size"]), (&json!(uri), &json!(17)));

    let answer = get_media(&scene, json!({"message": id, "preview": true})).await;
    let shown = &answer.result()["content"][2];
    assert_eq!(shown, &json!({"type": "image", "data": "c21hbGw=", "mimeType": "image/jpeg"}));
    assert_eq!(answer.given()["preview"], true);

    let read = ask(&scene, "resources/read", json!({"uri": uri})).await;
    let file = &read.result()["contents"][0];
    assert_eq!(file["mimeType"], "image/png");
    assert_eq!(file["blob"], "iVBORyBvZiBzb21lIHNpemU=");

    let text = scene.send("notes.txt").await;
    scene.stored(&text, "text/plain", "line 1\nline\u{202e} 2".as_bytes()).await;
    let uri = uri.replace(&id, &text);
    let read = ask(&scene, "resources/read", json!({"uri": uri})).await;
    assert_eq!(read.result()["contents"][0]["text"], "line 1\nline 2");

    let large = scene.send("film.mp4").await;
    scene.stored(&large, "video/mp4", &vec![0xff; 1 << 20]).await;
    let shown = get_media(&scene, json!({"message": large, "preview": true})).await;
    assert_eq!(shown.given()["preview"], true, "the preview of a film is a picture");
    let none = get_media(&scene, json!({"message": "nothing"})).await;
    assert!(none.refusal().starts_with("No message"), "{}", none.refusal());
}
