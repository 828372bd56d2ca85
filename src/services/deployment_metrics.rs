//! Periodic jobs that measure what a deployment has, and what expires: figures that no event of the
//! process tells.

use std::time::Duration;

use chatkeep_core::health::Health;
use chatkeep_core::metric;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::Bots;
use chatkeep_store::Store;
use chatkeep_workers::periodic::{FirstRun, JobFailure, PeriodicJob};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::snapshots::{SnapshotError, SnapshotPlace};
use super::status::{ExpiryTime, expiry_times};

/// Measures channels, webhooks and files.
#[derive(Clone, Debug)]
pub struct StoreMetrics(pub Store);

/// Kinds of jobs of channels, in the metrics.
const JOB_KINDS: [&str; 3] = ["export", "deletion", "erasure"];
/// Part of the process that has a problem while jobs which nobody gives up make no progress.
const REMOVALS: &str = "removals";

/// Measures the jobs of channels. Deletions and erasures that fail, or end their process, again and
/// again are a problem of the process: nobody gives them up, so somebody has to see to them.
#[derive(Clone, Debug)]
pub struct ChannelJobMetrics {
    pub store: Store,
    pub clock: SharedClock,
    pub health: Health,
}

/// Measures when the certificate of the public address and the bots' access tokens expire.
#[derive(Clone, Debug)]
pub struct ExpiryMetrics {
    pub base_url: Option<String>,
    pub bots: Bots,
    pub clock: SharedClock,
}

/// Measures the age of the newest snapshot, whoever made it.
#[derive(Debug)]
pub struct SnapshotMetrics(pub SnapshotPlace);

impl PeriodicJob for StoreMetrics {
    const NAME: &'static str = "store_metrics";
    const PERIOD: Duration = Duration::from_mins(1);
    const FAILURE: &'static str = "cannot count channels, webhooks and files";

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let channels = self.0.channels().channel_figures().await?;
        let backed_up = channels.subscribed - channels.paused;
        for (state, number) in [("backed_up", backed_up), ("paused", channels.paused)] {
            metric::CHANNELS.count([state.into()], number.unsigned_abs());
        }
        let webhooks = self.0.webhooks().webhook_figures().await?;
        for (state, number) in [
            ("enabled", webhooks.enabled),
            ("failing", webhooks.failing),
            ("disabled", webhooks.disabled),
        ] {
            metric::WEBHOOKS.count([state.into()], number.unsigned_abs());
        }
        let pending = self.0.media().count_pending_media().await?;
        metric::MEDIA_PENDING.count([], pending.unsigned_abs());
        Ok(())
    }
}

impl PeriodicJob for ChannelJobMetrics {
    const NAME: &'static str = "channel_job_metrics";
    const PERIOD: Duration = Duration::from_mins(1);
    const FAILURE: &'static str = "cannot count the jobs of channels";

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let (figures, now) = (self.store.jobs().job_figures().await?, self.clock.now());
        for kind in JOB_KINDS {
            let of_kind = figures.iter().find(|figures| figures.kind == kind);
            let unfinished = of_kind.map_or(0, |figures| figures.unfinished.unsigned_abs());
            let last_progress = of_kind.and_then(|figures| figures.last_progress);
            let lag = last_progress.map_or(0.0, |at| (seconds(now) - seconds(at)).max(0.0));
            metric::CHANNEL_JOBS.count([kind.into()], unfinished);
            metric::CHANNEL_JOB_LAG_SECONDS.set([kind.into()], lag);
            // So that the first one shows as a rise.
            metric::CHANNEL_JOB_INTERRUPTIONS.add([kind.into()], 0);
        }
        match figures.iter().map(|figures| figures.troubled).sum::<i64>() {
            0 => self.health.clear(REMOVALS),
            troubled => self.health.raise(
                REMOVALS,
                format!(
                    "deletions or erasures that fail, or end their process, again and again, and \
                     are tried again: {troubled}; the log says why"
                ),
            ),
        }
        Ok(())
    }
}

impl PeriodicJob for ExpiryMetrics {
    const NAME: &'static str = "expiry_metrics";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot look up when certificate and access tokens expire";
    /// The tokens are checked at the start anyway.
    const FIRST_RUN: FirstRun = FirstRun::Later;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let asked = expiry_times(self.base_url.as_deref(), &self.bots, &self.clock);
        for (kind, name, at) in stop.run_until_cancelled(asked).await.unwrap_or_default() {
            show_expiry(kind, &name, &at);
        }
        Ok(())
    }
}

/// Shows when something expires, and whether it could be looked up. The former stays as it was
/// when it could not, and is infinite when nothing tells that it expires: a series cannot be removed,
/// and the time of a token that was replaced must not stay.
fn show_expiry(kind: &'static str, name: &str, at: &ExpiryTime) {
    let labels = || [kind.into(), name.to_owned().into()];
    metric::EXPIRY_CHECK_OK.flag(labels(), at.is_ok());
    match at {
        Ok(Some(at)) => metric::EXPIRY_TIMESTAMP.set(labels(), seconds(*at)),
        Ok(None) => metric::EXPIRY_TIMESTAMP.set(labels(), f64::INFINITY),
        Err(error) => debug!(kind, name, error, "cannot look up when it expires"),
    }
}

impl PeriodicJob for SnapshotMetrics {
    const NAME: &'static str = "snapshot_metrics";
    const PERIOD: Duration = Duration::from_mins(5);
    const FAILURE: &'static str = "cannot look up the newest snapshot";

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let at = match self.0.service().await?.manifest("latest").await {
            Ok(manifest) => seconds(manifest.created_at),
            Err(SnapshotError::Unknown { .. }) => 0.0,
            Err(error) => return Err(error.into()),
        };
        metric::SNAPSHOT_TIMESTAMP.set([], at);
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is an f64")]
fn seconds(at: Timestamp) -> f64 {
    at.millis() as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    #[test]
    fn an_expiry_that_cannot_be_looked_up_stays_as_it_was() {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            let at = Timestamp::from_millis(86_400_000);
            show_expiry("certificate", "https://h", &Ok(Some(at)));
            show_expiry("certificate", "https://h", &Err("no answer".to_owned()));
            show_expiry("access_token", "main", &Ok(None));
        });
        let shown = recorder.handle().render();
        for line in [
            "chatkeep_expiry_timestamp_seconds{kind=\"certificate\",name=\"https://h\"} 86400",
            "chatkeep_expiry_check_ok{kind=\"certificate\",name=\"https://h\"} 0",
            "chatkeep_expiry_check_ok{kind=\"access_token\",name=\"main\"} 1",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line} in {shown}");
        }
    }

    #[test]
    fn a_token_without_a_known_expiry_replaces_the_time_of_the_one_before() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let at = Timestamp::from_millis(86_400_000);
        metrics::with_local_recorder(&recorder, || {
            show_expiry("access_token", "main", &Ok(Some(at)));
            show_expiry("access_token", "main", &Ok(None));
        });
        let shown = recorder.handle().render();
        let series = "chatkeep_expiry_timestamp_seconds{kind=\"access_token\",name=\"main\"} ";
        let value = shown.lines().find_map(|line| line.strip_prefix(series)).unwrap();
        assert!(value.parse::<f64>().unwrap().is_infinite(), "{shown}");
    }
}
