//! Checks of the bots at their platform while the process runs: a wrong access token, webhooks that
//! are switched off, or a wrong clock of this machine are reported before somebody misses something.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::backoff::Backoff;
use chatkeep_core::health::Health;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::{BotAccount, ClockDeviation, PlatformError, SharedSetup};
use chatkeep_workers::supervisor::Supervisor;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::App;

/// Pauses between two attempts.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(5), longest: Duration::from_mins(5) };
/// Interval of the checks of a bot whose access token works.
const INTERVAL: Duration = Duration::from_hours(1);
/// Interval of the checks of a bot that gets no webhooks, or while the clock is wrong.
const PROBLEM_INTERVAL: Duration = Duration::from_mins(1);
/// Interval at which a step of the clock is looked for, and of the checks while it is not known whether
/// the clock is right: the first answers may be too slow to tell.
const CLOCK_INTERVAL: Duration = Duration::from_secs(5);
/// Part of the process that a wrong clock is a problem of.
const CLOCK: &str = "clock";

/// The check of one bot.
#[derive(Clone, Debug)]
struct BotCheck {
    bot: String,
    setup: SharedSetup,
    /// The environment variable that the token can be given in.
    variable: String,
    clock: SharedClock,
    health: Health,
    /// Notified when the token was replaced.
    renewed: Arc<Notify>,
}

impl App {
    /// Finds out, while the process runs already, whether the bots' access tokens are right, and the
    /// clock of this machine.
    pub(super) fn check_bots(&self, supervisor: &Supervisor) {
        for line in &self.config.line {
            let secrets = self.secrets.bot(&line.name);
            let setup = self.services.bot_setup.setup_of(&line.name);
            if let (Some(setup), Some(secrets)) = (setup, secrets) {
                let check = BotCheck {
                    renewed: Arc::clone(&secrets.renewed),
                    bot: line.name.clone(),
                    setup,
                    variable: line.access_token_variable.clone(),
                    clock: Arc::clone(&self.clock),
                    health: self.health.clone(),
                };
                let part = format!("access_token:{}", line.name);
                supervisor.run_to_end(part, move |stop| check.clone().run(stop));
            }
        }
    }
}

impl BotCheck {
    /// Checks the token, and each one that replaces it, until `stop` is cancelled: also every hour,
    /// and when the platform refuses it.
    async fn run(self, stop: CancellationToken) {
        let (mut is_new, mut gets_webhooks) = (true, true);
        loop {
            self.check(is_new, &stop).await;
            let found = stop.run_until_cancelled(self.check_webhooks()).await.flatten();
            gets_webhooks = found.unwrap_or(gets_webhooks);
            let is_well = gets_webhooks && self.has_right_clock();
            let interval = if is_well {
                INTERVAL
            } else if self.clock.is_confirmed() {
                PROBLEM_INTERVAL
            } else {
                CLOCK_INTERVAL
            };
            // One kind of call may be refused again and again.
            let refused = async {
                tokio::time::sleep(BACKOFF.first).await;
                self.setup.refused().await;
            };
            let wait = async {
                tokio::select! {
                    () = self.renewed.notified() => true,
                    () = refused => false,
                    () = self.clock_steps() => false,
                    () = tokio::time::sleep(interval) => false,
                }
            };
            match stop.run_until_cancelled(wait).await {
                Some(renewed) => is_new = renewed,
                None => return,
            }
        }
    }

    /// Requests the bot's own account until that succeeds or `stop` is cancelled. A refusal is a
    /// problem in `/readyz`; an unreachable platform says nothing about the token.
    async fn check(&self, mut is_new: bool, stop: &CancellationToken) {
        let mut pause = BACKOFF.first;
        let mut is_warned = !is_new;
        let part = format!("access_token:{}", self.bot);
        loop {
            let before = self.clock.machine();
            let Some(answer) = stop.run_until_cancelled(self.setup.account()).await else { return };
            let bot = self.bot.as_str();
            match &answer {
                Ok(own) => {
                    self.check_clock(own, before);
                    self.health.clear(&part);
                    if is_new {
                        info!(bot, user = %own.user_id, name = own.display_name, "the access token works");
                    }
                    return;
                }
                Err(error) if is_inconclusive(error) => {
                    let code = error.code();
                    if !is_warned {
                        warn!(bot, code, "the access token cannot be checked yet; trying again");
                    }
                    is_warned = true;
                    debug!(bot, code, "the access token cannot be checked yet");
                }
                Err(error) => self.health.raise(&part, self.reason(error)),
            }
            let wait = async {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.renewed.notified() => is_new = true,
                }
            };
            if stop.run_until_cancelled(wait).await.is_none() {
                return;
            }
            pause = BACKOFF.after(Some(pause));
        }
    }

    /// Compares the clock of this machine with the time of an answer to a question of `before`.
    fn check_clock(&self, own: &BotAccount, before: Timestamp) {
        let Some(time) = own.time else { return };
        match ClockDeviation::of(time, before, self.clock.machine()) {
            Some(deviation) => self.health.raise(CLOCK, clock_reason(deviation)),
            None => self.health.clear(CLOCK),
        }
    }

    fn has_right_clock(&self) -> bool {
        self.clock.is_confirmed() && self.clock.now() == self.clock.machine()
    }

    /// Waits until the clock of this machine is set while it is known to be right.
    async fn clock_steps(&self) {
        if !self.clock.is_confirmed() {
            return std::future::pending().await;
        }
        while self.clock.is_confirmed() {
            tokio::time::sleep(CLOCK_INTERVAL).await;
        }
    }

    /// Asks whether the platform sends webhooks at all; where to is not known to be wrong, because
    /// something may stand between. Returns `false` if it sends none, and `None` if it does not say.
    async fn check_webhooks(&self) -> Option<bool> {
        let part = format!("incoming_webhooks:{}", self.bot);
        let reason = match self.setup.webhook().await {
            Ok(Some(endpoint)) if endpoint.active => {
                self.health.clear(&part);
                return Some(true);
            }
            Ok(Some(_)) => "\"Use webhook\" is switched off at LINE",
            Ok(None) => "LINE has no webhook address",
            Err(error) => {
                debug!(
                    bot = self.bot,
                    code = error.code(),
                    "the webhook address cannot be checked"
                );
                return None;
            }
        };
        let bot = &self.bot;
        let reason = format!("{reason} for the bot {bot}, so nothing arrives: chatkeep line check");
        self.health.raise(&part, reason);
        Some(false)
    }

    fn reason(&self, error: &PlatformError) -> String {
        let Self { bot, variable, .. } = self;
        let place = format!(
            "{variable} (or {variable}_FILE, or access_token of the bot in the settings file)"
        );
        if matches!(error, PlatformError::Unauthorized) {
            return format!(
                "LINE refused the access token of the bot {bot}: set {place} to the channel access \
                 token that the LINE Developers console shows"
            );
        }
        format!("the access token of the bot {bot} could not be verified: {error}; check {place}")
    }
}

fn clock_reason(deviation: ClockDeviation) -> String {
    match deviation {
        ClockDeviation::Ahead(by) => format!(
            "the clock of this machine is {} seconds ahead of LINE's, which is used instead; \
             only certificates and signatures for S3 go by this machine's: set it, best by NTP",
            by.as_secs()
        ),
        ClockDeviation::Behind(by) => format!(
            "the clock of this machine is {} seconds behind LINE's, which is used instead; \
             only certificates and signatures for S3 go by this machine's: set it, best by NTP",
            by.as_secs()
        ),
    }
}

/// Returns whether an error is about the network or the platform and not about the token.
const fn is_inconclusive(error: &PlatformError) -> bool {
    error.not_now().is_some() || matches!(error, PlatformError::Unknown(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_of_the_platform_is_a_problem_of_the_token() {
        let wait = Duration::from_secs(1);
        for error in [
            PlatformError::Unknown(None),
            PlatformError::RateLimited { retry_after: None },
            PlatformError::Unavailable { retry_after: wait },
        ] {
            assert!(is_inconclusive(&error), "{error}");
        }
        let reason = chatkeep_platform::RefusalReason::default();
        for error in [PlatformError::Unauthorized, PlatformError::Refused { status: 403, reason }] {
            assert!(!is_inconclusive(&error), "{error}");
        }
    }
}
