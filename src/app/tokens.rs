//! Checks of the bots' access tokens when the process starts, and when they were replaced: a wrong
//! one is reported at once, not when the first reply fails.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::health::Health;
use chatkeep_platform::{Directory, PlatformError};
use chatkeep_workers::supervisor::Supervisor;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::App;

/// First and longest pause between two attempts.
const PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(5));

/// The check of one bot's access token.
#[derive(Clone, Debug)]
struct TokenCheck {
    bot: String,
    directory: Directory,
    /// The environment variable that the token can be given in.
    variable: String,
    health: Health,
    /// Notified when the token was replaced.
    renewed: Arc<Notify>,
}

impl App {
    /// Finds out, while the process runs already, whether the bots' access tokens are right.
    pub(super) fn check_tokens(&self, supervisor: &Supervisor) {
        for line in &self.config.line {
            let secrets = self.secrets.bot(&line.name);
            if let (Ok(directory), Some(secrets)) = (self.bots.get(&line.name), secrets) {
                let check = TokenCheck {
                    renewed: Arc::clone(&secrets.renewed),
                    bot: line.name.clone(),
                    directory: directory.clone(),
                    variable: line.access_token_variable.clone(),
                    health: self.health.clone(),
                };
                let part = format!("access_token:{}", line.name);
                supervisor.run_to_end(part, move |stop| check.clone().run(stop));
            }
        }
    }
}

impl TokenCheck {
    /// Checks the token, and each one that replaces it, until `stop` is cancelled.
    async fn run(self, stop: CancellationToken) {
        loop {
            self.check(&stop).await;
            if stop.run_until_cancelled(self.renewed.notified()).await.is_none() {
                return;
            }
        }
    }

    /// Requests the bot's own profile until that succeeds or `stop` is cancelled. A refusal is a
    /// problem in `/readyz`; an unreachable platform says nothing about the token.
    async fn check(&self, stop: &CancellationToken) {
        let mut pause = PAUSE.0;
        let mut is_warned = false;
        let part = format!("access_token:{}", self.bot);
        while let Some(answer) = stop.run_until_cancelled(self.directory.bot()).await {
            let bot = self.bot.as_str();
            match &answer {
                Ok(own) => {
                    self.health.clear(&part);
                    info!(bot, user = %own.user_id, name = own.display_name, "the access token works");
                    return;
                }
                Err(error) if is_inconclusive(error) => {
                    if !is_warned {
                        let code = error.code();
                        warn!(bot, code, "the access token cannot be checked yet; trying again");
                    }
                    is_warned = true;
                    debug!(bot, code = error.code(), "the access token cannot be checked yet");
                }
                Err(error) => self.health.raise(&part, self.reason(error)),
            }
            let wait = async {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.renewed.notified() => {}
                }
            };
            if stop.run_until_cancelled(wait).await.is_none() {
                return;
            }
            pause = (pause * 2).min(PAUSE.1);
        }
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
        for error in [PlatformError::Unauthorized, PlatformError::Refused { status: 403 }] {
            assert!(!is_inconclusive(&error), "{error}");
        }
    }
}
