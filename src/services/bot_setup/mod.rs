//! Set-up of the bots at their platform: what a deployment needs there against what is configured.
//!
//! An operator asks ([`BotOperator`]): whoever runs the program's commands, or a person named in
//! `console.operators`. Every answer is a list of [`SetupFinding`]s, each with one sentence in the
//! reader's language and the place where it is mended. What no API tells is among them as a question
//! to the operator.

mod examination;
mod finding;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::UserId;
use chatkeep_core::secret::SharedSecret;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::{PlatformError, SharedSetup};
use futures_util::future::join_all;
use tokio::sync::Mutex;
use url::Url;

use super::operator::Operator;
use super::{Caller, Credential};
use examination::{Examination, TimedAccount};
pub use finding::{SetupFinding, Severity, Subject};

/// Age up to which a check is shown again, unless somebody asks for another one. A check sends one
/// test webhook for each bot, of which LINE makes 60 an hour.
const RECENT: Duration = Duration::from_mins(10);

/// Permission to see the set-up of the bots and to change it.
#[derive(Debug)]
pub struct BotOperator(());

/// A bot as it is configured here.
pub struct ConfiguredBot {
    pub name: String,
    /// Segment of its platform in the path of its webhooks.
    pub platform: &'static str,
    /// Its set-up at the platform; `None` without an access token.
    pub setup: Option<SharedSetup>,
    pub secret: Option<SharedSecret>,
    /// Environment variables of the two.
    pub token_setting: String,
    pub secret_setting: String,
}

/// Findings about a bot, in the order of the checks.
#[derive(Debug)]
pub struct BotReport {
    pub bot: String,
    pub findings: Vec<SetupFinding>,
}

/// Findings about all bots at a time.
#[derive(Clone, Debug)]
pub struct TimedReports {
    pub at: Timestamp,
    pub reports: Arc<[BotReport]>,
}

/// Name of a bot that is not configured.
#[derive(Debug, thiserror::Error)]
#[error("no bot named {name:?} is configured, only {known}")]
pub struct NoSuchBot {
    name: String,
    known: String,
}

/// Set-up of the bots. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BotSetupService {
    bots: Arc<[ConfiguredBot]>,
    /// Public address of this service, without a slash at its end.
    base: Option<Arc<str>>,
    operators: Arc<[UserId]>,
    /// Latest check of all bots.
    recent: Arc<Mutex<Option<TimedReports>>>,
    clock: SharedClock,
}

impl From<&Operator> for BotOperator {
    fn from(_: &Operator) -> Self {
        Self(())
    }
}

impl BotReport {
    /// Returns the webhook address that LINE should have, if setting it mends something.
    pub fn mendable_address(&self) -> Option<&str> {
        let hinders = |finding: &SetupFinding| {
            matches!(finding, SetupFinding::NotHttps { .. }) || finding.doubts_ownership()
        };
        if self.findings.iter().any(hinders) {
            return None;
        }
        self.findings.iter().find_map(SetupFinding::mendable_address)
    }
}

impl BotSetupService {
    /// Creates the service; commands have it without the others.
    pub fn new(
        bots: Vec<ConfiguredBot>,
        base: Option<&str>,
        operators: &[UserId],
        clock: SharedClock,
    ) -> Self {
        let (base, operators) = (base.map(Arc::from), operators.into());
        Self { bots: bots.into(), base, operators, recent: Arc::default(), clock }
    }

    /// Returns the permission of a person who is an operator; `None` for everybody else, and for
    /// programs.
    pub fn operator(&self, caller: &Caller) -> Option<BotOperator> {
        let person = matches!(caller.credential, Credential::Session(_));
        (person && self.operators.contains(&caller.user)).then_some(BotOperator(()))
    }

    /// Returns the set-up of the bot of that name; `None` if this process has no access token of it.
    pub fn setup_of(&self, name: &str) -> Option<SharedSetup> {
        self.bots.iter().find(|bot| bot.name == name)?.setup.clone()
    }

    /// Returns true if anybody is an operator.
    pub fn has_operators(&self) -> bool {
        !self.operators.is_empty()
    }

    /// Checks every bot, or the one of that name.
    ///
    /// # Errors
    /// [`NoSuchBot`].
    #[boxed]
    pub async fn check(
        &self,
        _: &BotOperator,
        name: Option<&str>,
    ) -> Result<Vec<BotReport>, NoSuchBot> {
        let chosen = self.chosen(name)?;
        let accounts = self.accounts().await;
        let examined = self.bots.iter().zip(&accounts).filter(|(bot, _)| chosen(bot));
        let reports = examined.map(|(bot, account)| async {
            let findings = Examination::new(self, bot, &accounts).run(account.as_ref()).await;
            BotReport { bot: bot.name.clone(), findings }
        });
        Ok(join_all(reports).await)
    }

    /// Sets the webhook address of every bot, or of the one of that name, where another one or none
    /// is set. Nothing is set with an access token that may be that of another bot. Returns what was
    /// done and what failed.
    ///
    /// # Errors
    /// [`NoSuchBot`].
    #[boxed]
    pub async fn set_webhooks(
        &self,
        _: &BotOperator,
        name: Option<&str>,
    ) -> Result<Vec<BotReport>, NoSuchBot> {
        let chosen = self.chosen(name)?;
        let accounts = self.accounts().await;
        let mut reports = Vec::new();
        for (bot, account) in self.bots.iter().zip(&accounts).filter(|(bot, _)| chosen(bot)) {
            let examination = Examination::new(self, bot, &accounts);
            let found = examination.run_ownership(account.as_ref()).await;
            if found.iter().any(SetupFinding::doubts_ownership) {
                continue;
            }
            if let Some(finding) = self.set_webhook(bot).await {
                reports.push(BotReport { bot: bot.name.clone(), findings: vec![finding] });
            }
        }
        *self.recent.lock().await = None;
        Ok(reports)
    }

    /// Sets the webhook address of a bot; `None` if that is not needed, or not possible for a
    /// reason that [`BotSetupService::check`] tells.
    async fn set_webhook(&self, bot: &ConfiguredBot) -> Option<SetupFinding> {
        let setup = bot.setup.as_ref()?;
        let address = self.addresses(bot).into_iter().next()?;
        if !setup.may_receive_at(&address) {
            return None;
        }
        let set = match setup.webhook().await {
            Ok(Some(found)) if self.is_address_of(bot, &found.address) => return None,
            Ok(_) => setup.set_webhook(&address).await,
            Err(error) => Err(error),
        };
        Some(match set {
            Ok(()) => SetupFinding::WebhookSet { address },
            Err(error) => SetupFinding::unanswered(Subject::SettingWebhook, &error),
        })
    }

    /// Returns a check of every bot with its time, made now or within the last minutes: opening a page
    /// again and again does not use up the platform's limits. Of several at once one asks.
    #[boxed]
    pub async fn recent_check(&self, operator: &BotOperator) -> TimedReports {
        let mut recent = self.recent.lock().await;
        let now = self.clock.now();
        match &*recent {
            Some(checked) if now.since(checked.at) < RECENT && checked.at <= now => checked.clone(),
            _ => {
                // Without a name nothing can be unknown.
                let reports = self.check(operator, None).await.unwrap_or_default();
                let checked = TimedReports { at: now, reports: reports.into() };
                recent.insert(checked).clone()
            }
        }
    }

    /// Has the next page ask the platform again.
    #[boxed]
    pub async fn forget_check(&self, _: &BotOperator) {
        *self.recent.lock().await = None;
    }

    /// Asks about the accounts of all bots: two of them may be one.
    async fn accounts(&self) -> Vec<Option<Result<TimedAccount, PlatformError>>> {
        join_all(self.bots.iter().map(|bot| self.account(bot))).await
    }

    /// Returns the test whether a bot is asked for.
    fn chosen(&self, name: Option<&str>) -> Result<impl Fn(&ConfiguredBot) -> bool, NoSuchBot> {
        if let Some(name) = name
            && !self.bots.iter().any(|bot| bot.name == name)
        {
            let known: Vec<_> = self.bots.iter().map(|bot| bot.name.as_str()).collect();
            return Err(NoSuchBot { name: name.to_owned(), known: known.join(", ") });
        }
        Ok(move |bot: &ConfiguredBot| name.is_none_or(|name| bot.name == name))
    }

    /// Asks about the account of a bot, and notes the time around the answer; `None` without an
    /// access token.
    async fn account(&self, bot: &ConfiguredBot) -> Option<Result<TimedAccount, PlatformError>> {
        let setup = bot.setup.as_ref()?;
        let before = self.clock.machine();
        let account = setup.account().await;
        let after = self.clock.machine();
        Some(account.map(|account| TimedAccount { account, before, after }))
    }

    /// Returns the addresses at which the webhooks of a bot are received, the usual one first; none
    /// where the public address is not known.
    fn addresses(&self, bot: &ConfiguredBot) -> Vec<String> {
        let Some(base) = &self.base else { return Vec::new() };
        let platform = format!("{base}/webhook/{}", bot.platform);
        let own = format!("{platform}/{}", bot.name);
        let alone = self.bots.iter().filter(|other| other.platform == bot.platform).count() == 1;
        if alone { vec![platform, own] } else { vec![own] }
    }

    /// Returns whether the webhooks of a bot are received at an address.
    fn is_address_of(&self, bot: &ConfiguredBot, address: &str) -> bool {
        let same = |own: &String| match (Url::parse(own), Url::parse(address)) {
            (Ok(own), Ok(found)) => own == found,
            _ => own == address,
        };
        self.addresses(bot).iter().any(same)
    }
}

/// Shows no secret.
impl fmt::Debug for ConfiguredBot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfiguredBot").field("name", &self.name).finish_non_exhaustive()
    }
}
