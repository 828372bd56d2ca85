//! Laws of settings that are printed and parsed again, and of passwords that stay out of both.

use proptest::prelude::*;
use toml::Value;

use super::super::{BlobsKind, BusKind, Config, Database, public};
use super::{load, told};

/// A text of any characters that is not taken for an address with a password.
fn text() -> impl Strategy<Value = String> {
    let letters = prop::collection::vec(any::<char>(), 1..10);
    let text = letters.prop_map(|letters| letters.iter().collect::<String>());
    text.prop_filter("a text", |text| !text.trim().is_empty() && !text.contains("://"))
}

fn top() -> impl Strategy<Value = String> {
    let zone = prop::sample::select(vec!["UTC", "Asia/Taipei", "America/New_York"]);
    (text(), zone, 1_u16..).prop_map(|(data, zone, port)| {
        let data = Value::String(data);
        format!("data = {data}\ntime_zone = \"{zone}\"\nlisten = \"[::1]:{port}\"\n")
    })
}

fn sections() -> impl Strategy<Value = String> {
    let pauses = prop::collection::vec(1_u64..=604_800, 1..=20);
    (text(), 0.0..=1.0_f64, 1_u64..=5_000, any::<bool>(), pauses).prop_map(
        |(prefix, ratio, batch, fallback, pauses)| {
            let prefix = Value::String(prefix);
            let pauses: Vec<_> = pauses.iter().map(ToString::to_string).collect();
            format!(
                "[login]\nuser_prefix = {prefix}\n[telemetry]\nsample_ratio = {}\n\
                 [workers]\nbatch = {batch}\n[reply]\npush_fallback = {fallback}\n\
                 [webhooks]\nretry_seconds = \"{}\"\n",
                Value::Float(ratio),
                pauses.join(", ")
            )
        },
    )
}

fn bots() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(vec!["shop", "b", "x-1", "main"], 0..=4).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn settings_that_are_shown_are_the_settings(
        top in top(),
        sections in sections(),
        bots in bots(),
    ) {
        let bots: Vec<_> = bots
            .iter()
            .map(|name| format!("[[line]]\nname = \"{name}\"\napi_base = \"http://{name}.test\"\n"))
            .collect();
        let file = format!("{top}{sections}{}", bots.concat());
        let first = load(&file, &[]).unwrap();
        let again = load(&first.shown, &[]).unwrap();
        prop_assert_eq!(&again.shown, &first.shown);
        // What is read of it is the same, except for where it was found.
        let plain = |config: Config| format!("{:?}", Config { unused: Vec::new(), ..config });
        prop_assert_eq!(plain(again), plain(first));
    }

    #[test]
    fn a_place_for_files_that_is_shown_is_the_same_place(
        text in prop_oneof!["[a-z:/. ]{0,12}", "s3://[a-z0-9.-]{3,5}(/[a-z]{1,3}/?){0,3}"],
    ) {
        if let Ok(place) = BlobsKind::try_from(text) {
            prop_assert_eq!(BlobsKind::try_from(place.to_string()), Ok(place));
        }
    }

    #[test]
    fn addresses_without_credentials_are_shown_as_they_are(
        hosts in prop::collection::vec("[a-z]{1,5}(:[1-9][0-9]{0,3})?", 1..4),
        name in "[a-z]{0,5}",
    ) {
        let bus = format!("nats://{}", hosts.join(","));
        prop_assert_eq!(BusKind::try_from(bus.clone()).unwrap().to_string(), bus);
        let database = format!("postgres://{}/{name}", hosts[0]);
        prop_assert_eq!(Database::try_from(database.clone()).unwrap().to_string(), database);
    }

    #[test]
    fn a_password_of_any_characters_is_never_shown(
        before in "[/?#@:%+ \\\\]{0,4}",
        after in "[/?#@:%+ \\\\]{0,4}",
    ) {
        let password = format!("{before}hunter2{after}");
        for (variable, address) in [
            ("CHATKEEP_DATABASE", format!("postgres://me:{password}@db/x")),
            ("CHATKEEP_DATABASE", format!("postgres://db/x?user=me&password={password}")),
            ("CHATKEEP_BUS", format!("nats://me:{password}@a,nats://{password}@b:4222")),
            ("CHATKEEP_BUS", format!("tls://{password}@a")),
            ("CHATKEEP_BLOBS", format!("s3://key:{password}@bucket")),
            ("CHATKEEP_TELEMETRY_ENDPOINT", format!("https://me:{password}@host")),
        ] {
            prop_assert!(!public(&address).contains("hunter2"), "{address}");
            let shown = match load("", &[(variable, &address)]) {
                Ok(config) => format!("{config:?}"),
                Err(error) => format!("{} {error:?}", told(&error)),
            };
            prop_assert!(!shown.contains("hunter2"), "{address} {shown}");
        }
    }
}
