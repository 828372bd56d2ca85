//! Examination of one bot: each check asks the platform and notes what it finds.

use std::time::Duration;

use chatkeep_core::config::public;
use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use chatkeep_platform::{
    BotAccount, ClockDeviation, MessageAllowance, PlatformError, SharedSetup, TokenGrant,
    WebhookTest,
};

use super::finding::{SetupFinding, Subject};
use super::{BotSetupService, ConfiguredBot};

/// Remaining time of an access token below which somebody has to issue the next one.
const SOON: Duration = Duration::from_hours(7 * 24);
/// Share of the quota, in percent, from which on it is nearly used up.
const NEARLY: u64 = 90;

/// Account of a bot, with the time of this machine before and after it was asked for.
#[derive(Debug)]
pub(super) struct TimedAccount {
    pub(super) account: BotAccount,
    pub(super) before: Timestamp,
    pub(super) after: Timestamp,
}

/// Accounts of all bots, as far as they could be asked for, in the order of the bots.
pub(super) type Accounts = [Option<Result<TimedAccount, PlatformError>>];

/// Examination of a bot.
pub(super) struct Examination<'a> {
    service: &'a BotSetupService,
    bot: &'a ConfiguredBot,
    accounts: &'a Accounts,
    found: Vec<SetupFinding>,
}

impl<'a> Examination<'a> {
    pub(super) const fn new(
        service: &'a BotSetupService,
        bot: &'a ConfiguredBot,
        accounts: &'a Accounts,
    ) -> Self {
        Self { service, bot, accounts, found: Vec::new() }
    }

    /// Makes all checks. Without an answer about the account itself there is nothing to ask.
    pub(super) async fn run(
        mut self,
        account: Option<&Result<TimedAccount, PlatformError>>,
    ) -> Vec<SetupFinding> {
        if let Some((setup, account)) = self.identify(account) {
            self.account(&account.account);
            self.clock(account);
            self.token(setup).await;
            self.webhook(setup).await;
            self.rest(setup).await;
        }
        self.found
    }

    /// Makes only the checks of whose channel the access token is: whether the channel's settings
    /// are this bot's to change.
    pub(super) async fn run_ownership(
        mut self,
        account: Option<&Result<TimedAccount, PlatformError>>,
    ) -> Vec<SetupFinding> {
        if let Some((setup, account)) = self.identify(account) {
            self.account(&account.account);
            self.token(setup).await;
        }
        self.found
    }

    /// Notes what is missing, and returns the account if the platform named it.
    fn identify<'b>(
        &mut self,
        account: Option<&'b Result<TimedAccount, PlatformError>>,
    ) -> Option<(&'a SharedSetup, &'b TimedAccount)> {
        if self.bot.secret.is_none() {
            let setting = self.bot.secret_setting.clone();
            self.found.push(SetupFinding::SecretMissing { setting });
        }
        let setting = self.bot.token_setting.clone();
        match (&self.bot.setup, account) {
            (Some(setup), Some(Ok(account))) => return Some((setup, account)),
            (_, Some(Err(PlatformError::Unauthorized))) => {
                self.found.push(SetupFinding::TokenRefused { setting });
            }
            (_, Some(Err(error))) => {
                self.found.push(SetupFinding::unanswered(Subject::Account, error));
            }
            _ => self.found.push(SetupFinding::TokenMissing { setting }),
        }
        None
    }

    /// Notes the quota, and what only people can look at.
    async fn rest(&mut self, setup: &SharedSetup) {
        match setup.allowance().await {
            Ok(allowance) => self.found.push(quota(allowance)),
            Err(error) => self.unanswered(Subject::Quota, &error),
        }
        self.found.extend([
            SetupFinding::AskRedelivery,
            SetupFinding::AskReplies,
            SetupFinding::AskGroups,
        ]);
    }

    fn unanswered(&mut self, subject: Subject, error: &PlatformError) {
        self.found.push(SetupFinding::unanswered(subject, error));
    }

    fn account(&mut self, account: &BotAccount) {
        self.found.push(SetupFinding::TokenWorks { name: account.display_name.clone() });
        if let Some(bot) = self.twin(&account.user_id) {
            self.found.push(SetupFinding::SameChannel { bot: bot.name.clone() });
        }
        self.found.extend(account.people_answer.map(|people| {
            if people { SetupFinding::PeopleAnswer } else { SetupFinding::BotAnswers }
        }));
    }

    /// Returns another bot with the same account.
    fn twin(&self, user: &UserId) -> Option<&'a ConfiguredBot> {
        let others = self.service.bots.iter().zip(self.accounts);
        let mut others = others.filter(|(other, _)| other.name != self.bot.name);
        let same = |found: &Option<Result<TimedAccount, PlatformError>>| {
            let account = found.as_ref().and_then(|found| found.as_ref().ok());
            account.is_some_and(|found| found.account.user_id == *user)
        };
        others.find(|(_, found)| same(found)).map(|(other, _)| other)
    }

    fn clock(&mut self, TimedAccount { account, before, after }: &TimedAccount) {
        let Some(time) = account.time else { return };
        self.found.push(match ClockDeviation::of(time, *before, *after) {
            Some(ClockDeviation::Ahead(by)) => SetupFinding::ClockAhead { seconds: by.as_secs() },
            Some(ClockDeviation::Behind(by)) => SetupFinding::ClockBehind { seconds: by.as_secs() },
            None => SetupFinding::ClockRight,
        });
    }

    async fn token(&mut self, setup: &SharedSetup) {
        match setup.token().await {
            Ok(Some(TokenGrant { channel, expires_in })) => {
                if expires_in < SOON {
                    let (hours, setting) =
                        (expires_in.as_secs() / 3_600, self.bot.token_setting.clone());
                    self.found.push(SetupFinding::TokenExpires { hours, setting });
                }
                self.secret(setup, channel).await;
            }
            Ok(None) => self.found.push(SetupFinding::TokenUnverified),
            Err(error) => self.unanswered(Subject::Token, &error),
        }
    }

    /// Checks that the channel secret is that of the access token's channel; if it is not, looks for
    /// the bot whose secret is.
    async fn secret(&mut self, setup: &SharedSetup, channel: String) {
        let Some(secret) = &self.bot.secret else { return };
        match setup.owns(&channel, &secret.get()).await {
            Ok(true) => return self.found.push(SetupFinding::SecretFits),
            Ok(false) => {}
            Err(error) => return self.unanswered(Subject::Secret, &error),
        }
        let setting = self.bot.secret_setting.clone();
        for other in self.service.bots.iter().filter(|other| other.name != self.bot.name) {
            let Some(secret) = &other.secret else { continue };
            if let Ok(true) = setup.owns(&channel, &secret.get()).await {
                let bot = other.name.clone();
                return self.found.push(SetupFinding::SecretSwapped { bot, setting });
            }
        }
        self.found.push(SetupFinding::SecretOther { channel, setting });
    }

    async fn webhook(&mut self, setup: &SharedSetup) {
        let ours = self.service.addresses(self.bot).into_iter().next();
        match &ours {
            None => self.found.push(SetupFinding::NoPublicAddress),
            Some(ours) if !setup.may_receive_at(ours) => {
                self.found.push(SetupFinding::NotHttps { ours: ours.clone() });
            }
            Some(_) => {}
        }
        match setup.webhook().await {
            Ok(None) => {
                self.found.push(match ours {
                    Some(ours) => SetupFinding::WebhookUnset { ours },
                    None => SetupFinding::WebhookNowhere,
                });
            }
            Ok(Some(endpoint)) => {
                if !endpoint.active {
                    self.found.push(SetupFinding::WebhookOff);
                }
                match ours {
                    Some(ours) if !self.service.is_address_of(self.bot, &endpoint.address) => {
                        self.found.push(self.elsewhere(&endpoint.address, ours));
                    }
                    _ => self.test(setup, &endpoint.address, endpoint.active).await,
                }
            }
            Err(error) => self.unanswered(Subject::Webhook, &error),
        }
    }

    /// Returns the finding about an address that is not the bot's.
    fn elsewhere(&self, found: &str, ours: String) -> SetupFinding {
        let mut bots = self.service.bots.iter();
        match bots.find(|other| self.service.is_address_of(other, found)) {
            Some(other) => SetupFinding::WebhookOfOther { bot: other.name.clone(), ours },
            // Addresses of other services may hold a password of theirs.
            None => SetupFinding::WebhookElsewhere { found: public(found), ours },
        }
    }

    async fn test(&mut self, setup: &SharedSetup, endpoint: &str, active: bool) {
        let address = public(endpoint);
        let finding = match setup.test_webhook(endpoint).await {
            Ok(WebhookTest { success: true, .. }) if !active => return,
            Ok(WebhookTest { success: true, .. }) => SetupFinding::WebhookWorks { address },
            Ok(WebhookTest { status: Some(401), .. }) => {
                let setting = self.bot.secret_setting.clone();
                SetupFinding::WebhookUnsigned { address, setting }
            }
            Ok(WebhookTest { status: Some(status), .. }) => {
                SetupFinding::WebhookRefused { address, status }
            }
            Ok(WebhookTest { reason, .. }) => SetupFinding::WebhookUnreachable { address, reason },
            Err(error) => SetupFinding::unanswered(Subject::WebhookTest, &error),
        };
        self.found.push(finding);
    }
}

fn quota(MessageAllowance { limit, used }: MessageAllowance) -> SetupFinding {
    match limit {
        None => SetupFinding::QuotaUnlimited { used },
        Some(limit) if used >= limit => SetupFinding::QuotaUsedUp { limit },
        Some(limit) if used.saturating_mul(100) >= limit.saturating_mul(NEARLY) => {
            SetupFinding::QuotaNearlyUsed { used, limit }
        }
        Some(limit) => SetupFinding::QuotaLeft { used, limit },
    }
}
