//! Tests of the accepted databases, buses, blob stores and addresses.

use super::super::BlobsKind;
use super::load;

#[test]
fn databases_and_buses_are_named_or_addressed() {
    let database = |text: &str| load("", &[("CHATKEEP_DATABASE", text)]).is_ok();
    for good in [
        "sqlite",
        "postgres://db",
        "postgresql://me:p%40w@db:5433/x?sslmode=require",
        "postgres:///x?host=/run/postgresql",
    ] {
        assert!(database(good), "{good}");
    }
    for bad in [
        "",
        "postgres",
        "postgres://",
        "postgres:///x",
        "postgres://db:port/x",
        "postgres://db/x#sslmode=require",
        "postgres://me:#word@db/x",
        "SQLite",
    ] {
        assert!(!database(bad), "{bad}");
    }
    let bus = |text: &str| load("", &[("CHATKEEP_BUS", text)]).is_ok();
    for good in
        ["embedded", "nats://a", "tls://me:pw@a:4222,b, tls://c", "nats://[::1]:4222", "nats://a/"]
    {
        assert!(bus(good), "{good}");
    }
    for bad in ["", "nats", "nats://", "nats://a,,b", "nats://a:port", "ws://a", "nats://me:pw@"] {
        assert!(!bus(bad), "{bad}");
    }
    for ignored in ["nats://a?tls=true", "tls://me:pw@a,b/?x=1", "nats://a/b", "nats://a#b"] {
        assert!(!bus(ignored), "{ignored}");
    }
}

#[test]
fn blobs_are_a_folder_or_a_bucket() {
    let blobs = |text: &str| {
        load(&format!("data = \"/d\"\nblobs = \"{text}\""), &[]).map(|config| config.blobs)
    };
    let s3 = |prefix: &str| BlobsKind::S3 { bucket: "b.u-7".into(), prefix: prefix.into() };
    assert_eq!(blobs("s3://b.u-7/a/c/").unwrap(), s3("a/c"));
    assert_eq!(blobs("s3://b.u-7").unwrap(), s3(""));
    assert_eq!(blobs("").unwrap(), BlobsKind::Folder("/d/blobs".into()));
    assert_eq!(blobs("media").unwrap(), BlobsKind::Folder("media".into()));
    let in_data = |text: &str| load(text, &[]).unwrap().blobs_in_data;
    assert!(in_data("data = \"/d\""));
    assert!(!in_data("data = \"/d\"\nblobs = \"/d/blobs\""), "it was named");
    for bad in ["ftp://x", "s3://", "s3://ab", "s3://-bucket", "s3://Bucket", " "] {
        assert!(blobs(bad).is_err(), "{bad}");
    }
    for options in ["?region=eu", "/?region=eu", "/a/?region=eu", "/a#b"] {
        assert!(blobs(&format!("s3://bucket{options}")).is_err(), "{options}");
    }
    let short = blobs("s3://ab").unwrap_err().to_string();
    assert!(short.contains("3 to 63 lower-case letters"), "{short}");
}

#[test]
fn addresses_are_joined_without_a_slash_and_may_be_absent() {
    let file = "[metrics]\nlisten = \"\"\n[line]\napi_base = \"http://127.0.0.1:9/\"";
    let config = load(file, &[]).unwrap();
    assert_eq!(config.line[0].api_base, "http://127.0.0.1:9");
    assert!(config.metrics.listen.is_none());
    for bad in ["", "api.line.me", "ftp://h", "https://", "https://h/?a=1", "https://h/#a"] {
        assert!(load("", &[("CHATKEEP_LINE_API_BASE", bad)]).is_err(), "{bad}");
    }
}

#[test]
fn an_object_store_has_an_address_a_region_and_keys() {
    let file = "[s3]\nendpoint = \"http://127.0.0.1:9/\"\nregion = \"eu-central-1\"\n\
                access_key_id = \"hunter2\"\nsecret_access_key = \"hunter2\"\npath_style = false";
    let s3 = load(file, &[]).unwrap().s3;
    assert_eq!((s3.endpoint.as_deref(), s3.path_style), (Some("http://127.0.0.1:9"), false));
    assert_eq!(s3.region, "eu-central-1");
    assert!(s3.access_key_id.is_some() && s3.secret_access_key.is_some());
    assert!(!format!("{s3:?}").contains("hunter2"));
    for bad in ["endpoint = \"s3.example.org\"", "region = \"\"", "region = \"a/b\""] {
        assert!(load(&format!("[s3]\n{bad}"), &[]).is_err(), "{bad}");
    }
}
