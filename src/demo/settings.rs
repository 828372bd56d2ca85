//! Settings of the demo: few of those that it is given, so that it reaches for nobody's servers,
//! accounts or bots.

use chatkeep_core::config::{
    BlobsKind, BusKind, Config, ConfigError, Database, MetricsConfig, RateLimitConfig, Sources,
};
use chatkeep_emulator::Options;

/// Default port of metrics.
const METRICS_PORT: u16 = 9464;

/// Returns the settings of a demo that is given `sources`: defaults, but for those that are about this
/// machine alone. A setting that is not named here is left at its default, also one with the address
/// of a server that is to come.
///
/// # Errors
/// Returns an error if something is wrong with the settings given.
pub(super) fn load(sources: Sources, line: &Options) -> Result<Config, ConfigError> {
    let (given, defaults) = (Config::load(sources)?, Config::load(Sources::default())?);
    let data = given.data.join("demo");
    let mut bots = defaults.line;
    for bot in &mut bots {
        bot.channel_secret = Some(line.channel_secret.clone().into());
        bot.access_token = Some(line.access_token.clone().into());
    }
    Ok(Config {
        listen: given.listen,
        database: Database::Sqlite,
        bus: BusKind::Embedded,
        blobs: BlobsKind::Folder(data.join("blobs")),
        data,
        line: bots,
        time_zone: given.time_zone,
        disk: given.disk,
        memory: given.memory,
        http: given.http,
        ingress: given.ingress,
        bus_limits: given.bus_limits,
        workers: given.workers,
        media: given.media,
        webhooks: given.webhooks,
        usage: given.usage,
        database_pool: given.database_pool,
        // The page polls often, and there are no other callers.
        rate_limit: RateLimitConfig { per_minute: 0, ..defaults.rate_limit },
        // The default port is that of a service beside it.
        metrics: MetricsConfig {
            listen: given.metrics.listen.filter(|address| address.port() != METRICS_PORT),
        },
        log: given.log,
        shutdown: given.shutdown,
        ..defaults
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use secrecy::ExposeSecret as _;

    use super::*;

    /// Settings with the addresses and accounts of a service.
    const SERVICE: &str = r#"
        listen = "127.0.0.1:18080"
        data = "/var/lib/chatkeep"
        database = "postgres://elsewhere"
        bus = "nats://elsewhere"
        blobs = "s3://elsewhere/media"
        time_zone = "Asia/Taipei"
        [s3]
        endpoint = "https://elsewhere"
        access_key_id = "elsewhere"
        secret_access_key = "elsewhere"
        [line]
        channel_secret = "elsewhere"
        access_token = "elsewhere"
        api_base = "https://elsewhere"
        data_api_base = "https://elsewhere"
        [api]
        base_url = "https://elsewhere"
        cors_origins = "https://elsewhere"
        [console]
        operators = "Uelsewhere"
        [login]
        issuer = "https://elsewhere"
        client_id = "elsewhere"
        client_secret = "elsewhere"
        [snapshot]
        target = "/elsewhere"
        every_hours = 1
        [telemetry]
        endpoint = "https://elsewhere"
    "#;

    #[test]
    fn a_demo_in_the_folder_of_a_service_reaches_for_nothing_of_it() {
        let file = Some(("chatkeep.toml".to_owned(), SERVICE.to_owned()));
        let sources = Sources::new(file, Vec::new(), Vec::new());
        let line = Options::new(Arc::new(|| 0));
        let config = load(sources, &line).unwrap();
        let shown = format!("{config:?}");
        assert!(!shown.contains("elsewhere"), "{shown}");
        assert_eq!(config.listen.port(), 18_080);
        assert_eq!(config.time_zone, chrono_tz::Asia::Taipei);
        assert!(config.data.ends_with("chatkeep/demo"));
        assert_eq!((config.line.len(), config.snapshot.every), (1, None));
        for bot in &config.line {
            let secret =
                bot.channel_secret.as_ref().map(|secret| secret.expose_secret().to_owned());
            assert_eq!(secret.as_deref(), Some(line.channel_secret.as_str()));
        }
    }
}
