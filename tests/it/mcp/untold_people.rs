//! People of whom a key may be told nothing: wherever a name is taken, they are as people who do not
//! exist.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::profile::Profile;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ImportId, ImportedPerson, PresenceEvidenceKind};
use reqwest::StatusCode;
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use super::{ANN, BO, CHANNEL, Models, message, message_in, send};
use crate::store::{at, imported_text, item};

/// Member who wrote nothing: their name, the beginning of it, and their id.
const CYRUS: [&str; 3] = ["Cyrus", "Cyru", "Ucyrus"];
/// Author of an imported message of the first days, who is no member.
const EVELYN: [&str; 3] = ["Evelyn", "Evely", "import:evelyn"];
/// Author in Ann's other channel.
const DOROTHEA: [&str; 3] = ["Dorothea", "Doroth", "Udorothea"];
/// Author in a channel that Ann is not in.
const ZOLTAN: [&str; 3] = ["Zoltan", "Zolta", "Uzoltan"];

/// Key, with the people whom it is told of and those whom it is not.
struct ToldKey {
    key: &'static str,
    /// Names and ids of those of whom it is told nothing.
    untold: Vec<String>,
    /// Names of those of whom it is told.
    told: Vec<String>,
}

impl ToldKey {
    fn new(key: &'static str, untold: &[[&str; 3]], told: &[&str]) -> Self {
        let owned = |text: &&str| (*text).to_owned();
        Self {
            key,
            untold: untold.as_flattened().iter().map(owned).collect(),
            told: told.iter().map(owned).collect(),
        }
    }

    /// Creates it for a key that shows stand-ins, and is told of those alone who wrote.
    fn masked(key: &'static str, stand_ins: &PseudonymKey) -> Self {
        let person = |user: &str| stand_ins.person(&user.into());
        let untold = [ANN, CYRUS[2]].map(person);
        let untold = untold.into_iter().flat_map(|one| [one.id, one.name]);
        let told = [BO, EVELYN[2]].map(person).into_iter().flat_map(|one| [one.id, one.name]);
        let real = ["Bartholomew", CYRUS[0]].map(str::to_owned);
        Self { key, untold: untold.chain(real).collect(), told: told.collect() }
    }
}

/// Starts a program with a message of each author about tea.
async fn scene() -> Models {
    let models = Models::start(&[]).await;
    let cyrus = item(CHANNEL, 1, PresenceEvidenceKind::Present(CYRUS[2].into()));
    models.store.members().record_presence(&[cyrus], at(1)).await.unwrap();
    models.channel("C2", &[ANN, DOROTHEA[2]]).await;
    models.channel("C3", &[ZOLTAN[2]]).await;
    let called = |name: &str| {
        Some(Profile { display_name: name.to_owned(), picture_url: None, language: None })
    };
    let people = [CYRUS, DOROTHEA, ZOLTAN, ["Bartholomew", "Barth", BO]];
    let profiles = people.map(|[name, _, user]| (UserId::from(user), called(name)));
    models.store.members().save_profiles(&BTreeMap::from(profiles), at(3)).await.unwrap();
    let (imports, channel) = (models.store.imports(), ChannelId::from(CHANNEL));
    let evelyn = ImportedPerson {
        id: EVELYN[2].into(),
        display_name: Some(EVELYN[0].to_owned()),
        picture_url: None,
    };
    imports.add_people(&channel, &[evelyn], at(5)).await.unwrap();
    let first = Timestamp::parse("2026-01-02T03:04:05Z").unwrap().millis();
    let said = [imported_text("i1", first, EVELYN[2], "tea")];
    imports.import(ImportId::new(99), &channel, &said, at(6)).await.unwrap();
    let batch = [
        message("m1", BO, "2026-01-05T00:00:00Z", "tea"),
        message_in("C2", "n1", DOROTHEA[2], "2026-01-05T00:00:00Z", "tea"),
        message_in("C3", "z1", ZOLTAN[2], "2026-01-05T00:00:00Z", "tea"),
    ];
    models.keep_findable(&batch, "tea", 3).await;
    models
}

/// Makes the keys, all of them Ann's; returns what each is told.
async fn keys(models: &Models) -> Vec<ToldKey> {
    let start = Timestamp::parse("2026-01-03T00:00:00Z");
    let stand_ins: &'static PseudonymKey = Box::leak(Box::new(PseudonymKey::new([7; 32])));
    models.bound_key("ck_here", ANN, &[CHANNEL.into()]).await;
    models.key("ck_later", ANN, |key| key.not_before = start).await;
    models.key("ck_authors", ANN, |key| key.scopes = &[Scope::ReadMessages]).await;
    models
        .key("ck_late_authors", ANN, |key| {
            key.scopes = &[Scope::ReadMessages];
            key.not_before = start;
        })
        .await;
    models
        .key("ck_masked", ANN, |key| {
            key.scopes = &[Scope::ReadMessages];
            key.pseudonyms = Some(stand_ins);
        })
        .await;
    vec![
        ToldKey::new("ck_ann", &[ZOLTAN], &["Bartholomew", CYRUS[0], EVELYN[0]]),
        ToldKey::new("ck_here", &[DOROTHEA, ZOLTAN], &["Bartholomew", CYRUS[0], EVELYN[0]]),
        ToldKey::new("ck_later", &[EVELYN, ZOLTAN], &["Bartholomew", CYRUS[0]]),
        ToldKey::new("ck_authors", &[CYRUS, ZOLTAN], &["Bartholomew", EVELYN[0]]),
        ToldKey::new("ck_late_authors", &[CYRUS, EVELYN, ZOLTAN], &["Bartholomew"]),
        ToldKey::masked("ck_masked", stand_ins),
    ]
}

/// Returns a name or an id that nobody has, in the form of one that somebody has.
fn of_nobody(given: &str) -> &'static str {
    for (form, invented) in [
        ("import:", "import:quentin"),
        ("person-", "person-aaaaaaaaaaaa"),
        ("Person ", "Person AAAAAA"),
        ("U", "Uquentin"),
    ] {
        if given.starts_with(form) {
            return invented;
        }
    }
    "Quentin"
}

/// Returns the answers of everything that takes a name, with `it` in place of the name.
async fn answers(models: &Models, key: &str, name: &str) -> Vec<String> {
    let query = format!("tea from:\"{name}\"");
    let encoded: String = byte_serialize(query.as_bytes()).collect();
    let (address, mut all) = (models.stack.ground.address, Vec::new());
    for place in ["search".to_owned(), format!("channels/{CHANNEL}/backup/search")] {
        let url = format!("http://{address}/api/{place}?q={encoded}");
        let answer = send(models.http.get(url).bearer_auth(key)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        all.push(answer.body.to_string().replace(name, "it"));
    }
    for (tool, arguments) in [
        ("search_messages", json!({"query": query})),
        ("search_messages", json!({"query": query, "channelId": CHANNEL})),
        ("search_messages", json!({"query": "tea", "senderId": name})),
        ("search", json!({"query": query})),
        ("get_messages", json!({"channelId": CHANNEL, "senderId": name})),
    ] {
        let answer = models.call_as(key, tool, arguments).await;
        all.push(answer.result().to_string().replace(name, "it"));
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_of_whom_a_key_is_told_nothing_are_as_people_who_do_not_exist() {
    let models = scene().await;
    for ToldKey { key, untold, told } in keys(&models).await {
        let invented: BTreeSet<_> =
            untold.iter().chain(&told).map(|given| of_nobody(given)).collect();
        let mut nobody = BTreeMap::new();
        for given in invented {
            nobody.insert(given, answers(&models, key, given).await);
        }
        for given in &untold {
            let found = answers(&models, key, given).await;
            assert_eq!(found, nobody[of_nobody(given)], "{given} with {key}");
        }
        for given in &told {
            let found = answers(&models, key, given).await;
            for (found, not_found) in found.iter().zip(&nobody[of_nobody(given)]) {
                assert_ne!(found, not_found, "{given} with {key}");
            }
        }
    }
}
