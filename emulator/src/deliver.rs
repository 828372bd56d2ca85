//! Delivery of webhooks to the service, with retries.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use reqwest::header::{CONTENT_TYPE, USER_AGENT};
use serde::Serialize;
use std::sync::Arc;

use super::transcript::Change;
use super::webhook::{Signed, Webhook};
use super::{Emulator, lock};

/// Retry schedule of webhooks without a 2xx response.
#[derive(Clone, Copy, Debug)]
pub struct Redelivery {
    /// Delay before the second attempt; it doubles with every further one.
    pub first: Duration,
    /// Maximum delay.
    pub longest: Duration,
    /// Attempts in all, the first one included; then it is given up.
    pub attempts: u32,
}

impl Default for Redelivery {
    fn default() -> Self {
        Self { first: Duration::from_millis(100), longest: Duration::from_secs(2), attempts: 60 }
    }
}

impl Redelivery {
    /// Sends every webhook once, whatever the response.
    pub const OFF: Self = Self { first: Duration::ZERO, longest: Duration::ZERO, attempts: 1 };

    /// Returns the delay after that many attempts.
    fn wait(&self, attempts: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1));
        self.first.saturating_mul(doubled).min(self.longest)
    }
}

/// One request that carried a webhook, or tried to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The number of the webhook, from 0.
    pub webhook: u64,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The ids of the events in it.
    pub event_ids: Vec<String>,
    /// True when marked as a redelivery.
    pub is_redelivery: bool,
    /// Time of the attempt, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Duration until the response, in milliseconds.
    pub took_ms: u64,
    /// HTTP status of the response; `None` without one.
    pub status: Option<u16>,
}

/// Result of delivering a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Number for [`Emulator::redeliver`].
    pub webhook: u64,
    /// Number of attempts.
    pub attempts: u32,
    /// Last status.
    pub status: Option<u16>,
    /// True when the service accepted it.
    pub accepted: bool,
}

/// Reason for which a request had no response.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failed {
    /// It took too long.
    Timeout,
    /// The connection failed.
    Connection,
}

impl From<reqwest::Error> for Failed {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() { Self::Timeout } else { Self::Connection }
    }
}

impl Emulator {
    /// Sends a webhook until it is accepted or given up.
    ///
    /// Nothing is sent (and nothing accepted) while no webhook URL is set or the account does not
    /// use webhooks.
    pub async fn deliver(&self, webhook: Webhook) -> Delivery {
        let webhook = Arc::new(webhook);
        let number = lock(&self.shared.log).webhook(Arc::clone(&webhook));
        self.send(number, &webhook, false).await
    }

    /// Sends a webhook of an earlier [`Delivery`] again, marked as a redelivery. `None` for an
    /// unknown or forgotten number.
    pub async fn redeliver(&self, number: u64) -> Option<Delivery> {
        let webhook = lock(&self.shared.log).sent(number)?;
        Some(self.send(number, &webhook, true).await)
    }

    /// Delivers many webhooks, up to `concurrency` at a time. Results are in the order of the
    /// webhooks; requests may not be.
    pub async fn deliver_all(&self, webhooks: Vec<Webhook>, concurrency: usize) -> Vec<Delivery> {
        in_order(webhooks, concurrency, |webhook| self.deliver(webhook)).await
    }

    /// Sends each body once and leaves no record of it, up to `concurrency` at a time. The statuses
    /// are in the order of the bodies, the requests need not be.
    pub async fn post_all(&self, bodies: Vec<Signed>, concurrency: usize) -> Vec<Option<u16>> {
        in_order(bodies, concurrency, |signed| self.post(signed)).await
    }

    /// Sends a body once with its signature, valid or not, and does not record it. The status is
    /// `None` without a response or a webhook URL.
    pub async fn post(&self, signed: Signed) -> Option<u16> {
        self.post_raw(signed.body, Some(&signed.signature)).await
    }

    /// Like [`Self::post`], for any body with any signature or none.
    pub async fn post_raw(&self, body: impl Into<Bytes>, signature: Option<&str>) -> Option<u16> {
        let url = self.open_webhook_url()?;
        self.post_to(&url, body, signature).await.ok()
    }

    /// Sends a body to any address and returns the status of the response.
    pub(super) async fn post_to(
        &self,
        url: &str,
        body: impl Into<Bytes>,
        signature: Option<&str>,
    ) -> Result<u16, Failed> {
        let mut request = self.shared.http.post(url).body(body.into());
        if let Some(signature) = signature {
            request = request.header("X-Line-Signature", signature);
        }
        let request = request
            .header(CONTENT_TYPE, "application/json; charset=utf-8")
            .header(USER_AGENT, "LineBotWebhook/2.0");
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        // Read to the end, or the connection is of no use to the next request.
        answer.bytes().await?;
        Ok(status)
    }

    /// Returns the address that webhooks are sent to, while the account uses webhooks.
    fn open_webhook_url(&self) -> Option<String> {
        self.webhook_url().filter(|_| self.account().use_webhook)
    }

    async fn send(&self, number: u64, webhook: &Webhook, redelivery: bool) -> Delivery {
        let rules = self.shared.redelivery;
        let mut delivery = Delivery { webhook: number, attempts: 0, status: None, accepted: false };
        while delivery.attempts < rules.attempts && self.open_webhook_url().is_some() {
            let again = redelivery || delivery.attempts > 0;
            delivery.attempts += 1;
            delivery.status = self.attempt(number, webhook, delivery.attempts, again).await;
            delivery.accepted = delivery.status.is_some_and(|status| (200..300).contains(&status));
            if delivery.accepted || delivery.attempts == rules.attempts {
                break;
            }
            tokio::select! {
                () = tokio::time::sleep(rules.wait(delivery.attempts)) => {}
                () = self.shared.stop.cancelled() => break,
            }
        }
        delivery
    }

    /// Signs a webhook that is about to be delivered; a redelivery renews its reply tokens.
    pub(super) fn sign_webhook(&self, webhook: &Webhook, is_redelivery: bool) -> Signed {
        if is_redelivery {
            lock(&self.shared.world).renew_tokens(&webhook.events);
        }
        webhook.sign(&self.shared.channel_secret, is_redelivery)
    }

    async fn attempt(
        &self,
        number: u64,
        webhook: &Webhook,
        attempt: u32,
        is_redelivery: bool,
    ) -> Option<u16> {
        let (at, started) = (self.now(), Instant::now());
        let signed = self.sign_webhook(webhook, is_redelivery);
        let status = self.post(signed).await;
        let attempt = Attempt {
            webhook: number,
            attempt,
            event_ids: webhook.event_ids(),
            is_redelivery,
            at,
            took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            status,
        };
        lock(&self.shared.log).attempt(attempt.clone());
        self.shared.announce(Change::Attempt(attempt));
        status
    }
}

/// Does `work` on every item, up to `concurrency` at a time, and gives the results in the order of
/// the items. (An ordered stream would not start on new items while an early one is being retried.)
async fn in_order<T, R, F: Future<Output = R>>(
    items: Vec<T>,
    concurrency: usize,
    work: impl Fn(T) -> F,
) -> Vec<R> {
    let numbered = items.into_iter().enumerate();
    let tasks = numbered.map(|(index, item)| {
        let task = work(item);
        async move { (index, task.await) }
    });
    let mut done: Vec<(usize, R)> =
        stream::iter(tasks).buffer_unordered(concurrency.max(1)).collect().await;
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let rules = Redelivery {
            first: Duration::from_millis(10),
            longest: Duration::from_millis(35),
            attempts: 9,
        };
        let waits = [1, 2, 3, 99].map(|attempts| rules.wait(attempts).as_millis());
        assert_eq!(waits, [10, 20, 35, 35]);
    }
}
