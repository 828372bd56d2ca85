//! Findings about a bot's set-up: severity, sentence, and the place where each is mended.

use chatkeep_i18n::{Language, Value};
use chatkeep_platform::PlatformError;

/// Weight of a finding, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The bot does not work, or not as it should.
    Wrong,
    /// The platform did not answer a question.
    Unanswered,
    /// The bot works, and something is about to change that or cannot be judged.
    Warning,
    /// Right or wrong as somebody wants it: they have to look.
    Look,
    /// As it should be.
    Fine,
}

/// Question to the platform, for the sentence that it was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Account,
    Token,
    Secret,
    Webhook,
    WebhookTest,
    SettingWebhook,
    Quota,
}

/// Finding about a bot. `setting` is an environment variable, `ours` an address that LINE should
/// have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupFinding {
    TokenWorks { name: String },
    TokenMissing { setting: String },
    TokenRefused { setting: String },
    TokenExpires { hours: u64, setting: String },
    TokenUnverified,
    SecretFits,
    SecretMissing { setting: String },
    SecretOther { channel: String, setting: String },
    SecretSwapped { bot: String, setting: String },
    SameChannel { bot: String },
    BotAnswers,
    PeopleAnswer,
    ClockRight,
    ClockAhead { seconds: u64 },
    ClockBehind { seconds: u64 },
    NoPublicAddress,
    NotHttps { ours: String },
    WebhookWorks { address: String },
    WebhookSet { address: String },
    WebhookUnset { ours: String },
    WebhookNowhere,
    WebhookElsewhere { found: String, ours: String },
    WebhookOfOther { bot: String, ours: String },
    WebhookOff,
    WebhookUnreachable { address: String, reason: String },
    WebhookUnsigned { address: String, setting: String },
    WebhookRefused { address: String, status: u16 },
    QuotaLeft { used: u64, limit: u64 },
    QuotaNearlyUsed { used: u64, limit: u64 },
    QuotaUnlimited { used: u64 },
    QuotaUsedUp { limit: u64 },
    AskRedelivery,
    AskReplies,
    AskGroups,
    Unanswered { subject: Subject, why: &'static str, status: u16 },
}

impl Severity {
    /// Returns its name for programs and on terminals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Unanswered => "unanswered",
            Self::Warning => "warning",
            Self::Look => "look",
            Self::Fine => "fine",
        }
    }
}

impl Subject {
    const fn key(self) -> &'static str {
        match self {
            Self::Account => "line-about-account",
            Self::Token => "line-about-token",
            Self::Secret => "line-about-secret",
            Self::Webhook => "line-about-webhook",
            Self::WebhookTest => "line-about-webhook-test",
            Self::SettingWebhook => "line-about-setting-webhook",
            Self::Quota => "line-about-quota",
        }
    }
}

impl SetupFinding {
    /// Creates the finding that the platform did not answer.
    pub(super) fn unanswered(subject: Subject, error: &PlatformError) -> Self {
        let (why, status) = match error {
            PlatformError::Unreachable(_) | PlatformError::Unavailable { .. } => {
                ("line-why-unreachable", 0)
            }
            PlatformError::RateLimited { .. } => ("line-why-hasty", 0),
            PlatformError::Unauthorized => ("line-why-token", 0),
            PlatformError::Refused { status, .. } => ("line-why-status", *status),
            PlatformError::NotFound => ("line-why-status", 404),
            _ => ("line-why-unknown", 0),
        };
        Self::Unanswered { subject, why, status }
    }

    /// Returns its weight.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::TokenWorks { .. }
            | Self::SecretFits
            | Self::BotAnswers
            | Self::ClockRight
            | Self::WebhookWorks { .. }
            | Self::WebhookSet { .. }
            | Self::QuotaLeft { .. }
            | Self::QuotaUnlimited { .. } => Severity::Fine,
            Self::TokenExpires { .. }
            | Self::TokenUnverified
            | Self::NoPublicAddress
            | Self::QuotaNearlyUsed { .. } => Severity::Warning,
            Self::PeopleAnswer | Self::AskRedelivery | Self::AskReplies | Self::AskGroups => {
                Severity::Look
            }
            Self::Unanswered { .. } => Severity::Unanswered,
            _ => Severity::Wrong,
        }
    }

    /// Returns the webhook address that LINE should have, if setting it mends the finding.
    pub(super) fn mendable_address(&self) -> Option<&str> {
        match self {
            Self::WebhookUnset { ours }
            | Self::WebhookElsewhere { ours, .. }
            | Self::WebhookOfOther { ours, .. } => Some(ours),
            _ => None,
        }
    }

    /// Returns whether the access token may be that of another bot, so that nothing may be changed
    /// with it. A token of which the platform tells nothing is taken for the bot's.
    pub(super) const fn doubts_ownership(&self) -> bool {
        match self {
            Self::TokenMissing { .. }
            | Self::TokenRefused { .. }
            | Self::SecretMissing { .. }
            | Self::SecretOther { .. }
            | Self::SecretSwapped { .. }
            | Self::SameChannel { .. } => true,
            Self::Unanswered { subject, .. } => {
                matches!(subject, Subject::Account | Subject::Token | Subject::Secret)
            }
            _ => false,
        }
    }

    /// Returns its name for programs.
    pub fn code(&self) -> &'static str {
        self.key().strip_prefix("line-").unwrap_or_default()
    }

    /// Returns its sentence.
    pub fn sentence(&self, language: Language) -> String {
        if let Self::Unanswered { subject, why, status } = self {
            let why = match status {
                0 => language.text(why),
                status => language.format(why, &[("status", i64::from(*status).into())]),
            };
            let subject = language.text(subject.key());
            let values = [("subject", Value::from(&subject)), ("why", Value::from(&why))];
            return language.format(self.key(), &values);
        }
        language.format(self.key(), &self.values())
    }

    /// Returns the place where it is mended or seen; `None` for what is as it should be.
    pub fn place(&self, language: Language) -> Option<String> {
        let (key, setting) = match self {
            Self::TokenMissing { setting }
            | Self::TokenRefused { setting }
            | Self::TokenExpires { setting, .. } => ("line-place-token", Some(setting)),
            Self::SecretMissing { setting }
            | Self::SecretOther { setting, .. }
            | Self::SecretSwapped { setting, .. }
            | Self::WebhookUnsigned { setting, .. } => ("line-place-secret", Some(setting)),
            Self::SameChannel { .. } => ("line-place-settings", None),
            Self::PeopleAnswer | Self::AskReplies => ("line-place-responses", None),
            Self::ClockAhead { .. } | Self::ClockBehind { .. } => ("line-place-clock", None),
            Self::NoPublicAddress | Self::NotHttps { .. } => ("line-place-base-url", None),
            Self::WebhookUnset { .. }
            | Self::WebhookNowhere
            | Self::WebhookElsewhere { .. }
            | Self::WebhookOfOther { .. }
            | Self::WebhookOff
            | Self::AskRedelivery => ("line-place-webhook", None),
            Self::WebhookUnreachable { .. } | Self::WebhookRefused { .. } => {
                ("line-place-network", None)
            }
            Self::QuotaNearlyUsed { .. } | Self::QuotaUsedUp { .. } => ("line-place-plan", None),
            Self::AskGroups => ("line-place-groups", None),
            _ => return None,
        };
        Some(match setting {
            Some(setting) => language.format(key, &[("setting", setting.into())]),
            None => language.text(key),
        })
    }

    const fn key(&self) -> &'static str {
        match self {
            Self::TokenWorks { .. } => "line-token-works",
            Self::TokenMissing { .. } => "line-token-missing",
            Self::TokenRefused { .. } => "line-token-refused",
            Self::TokenExpires { .. } => "line-token-expires",
            Self::TokenUnverified => "line-token-unverified",
            Self::SecretFits => "line-secret-fits",
            Self::SecretMissing { .. } => "line-secret-missing",
            Self::SecretOther { .. } => "line-secret-other",
            Self::SecretSwapped { .. } => "line-secret-swapped",
            Self::SameChannel { .. } => "line-same-channel",
            Self::BotAnswers => "line-bot-answers",
            Self::PeopleAnswer => "line-people-answer",
            Self::ClockRight => "line-clock-right",
            Self::ClockAhead { .. } => "line-clock-ahead",
            Self::ClockBehind { .. } => "line-clock-behind",
            Self::NoPublicAddress => "line-no-public-address",
            Self::NotHttps { .. } => "line-not-https",
            Self::WebhookWorks { .. } => "line-webhook-works",
            Self::WebhookSet { .. } => "line-webhook-set",
            Self::WebhookUnset { .. } => "line-webhook-unset",
            Self::WebhookNowhere => "line-webhook-nowhere",
            Self::WebhookElsewhere { .. } => "line-webhook-elsewhere",
            Self::WebhookOfOther { .. } => "line-webhook-of-other",
            Self::WebhookOff => "line-webhook-off",
            Self::WebhookUnreachable { .. } => "line-webhook-unreachable",
            Self::WebhookUnsigned { .. } => "line-webhook-unsigned",
            Self::WebhookRefused { .. } => "line-webhook-refused",
            Self::QuotaLeft { .. } => "line-quota-left",
            Self::QuotaNearlyUsed { .. } => "line-quota-nearly-used",
            Self::QuotaUnlimited { .. } => "line-quota-unlimited",
            Self::QuotaUsedUp { .. } => "line-quota-used-up",
            Self::AskRedelivery => "line-ask-redelivery",
            Self::AskReplies => "line-ask-replies",
            Self::AskGroups => "line-ask-groups",
            Self::Unanswered { .. } => "line-unanswered",
        }
    }

    fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        match self {
            Self::TokenWorks { name } => vec![("name", name.into())],
            Self::TokenExpires { hours, .. } => vec![("hours", number(*hours))],
            Self::SecretOther { channel, .. } => vec![("channel", channel.into())],
            Self::SecretSwapped { bot, .. } | Self::SameChannel { bot } => {
                vec![("bot", bot.into())]
            }
            Self::ClockAhead { seconds } | Self::ClockBehind { seconds } => {
                vec![("seconds", number(*seconds))]
            }
            Self::NotHttps { ours } | Self::WebhookUnset { ours } => vec![("ours", ours.into())],
            Self::WebhookWorks { address }
            | Self::WebhookSet { address }
            | Self::WebhookUnsigned { address, .. } => vec![("address", address.into())],
            Self::WebhookElsewhere { found, ours } => {
                vec![("found", found.into()), ("ours", ours.into())]
            }
            Self::WebhookOfOther { bot, ours } => vec![("bot", bot.into()), ("ours", ours.into())],
            Self::WebhookUnreachable { address, reason } => {
                vec![("address", address.into()), ("reason", reason.into())]
            }
            Self::WebhookRefused { address, status } => {
                vec![("address", address.into()), ("status", i64::from(*status).into())]
            }
            Self::QuotaLeft { used, limit } | Self::QuotaNearlyUsed { used, limit } => {
                vec![("used", number(*used)), ("limit", number(*limit))]
            }
            Self::QuotaUnlimited { used } => vec![("used", number(*used))],
            Self::QuotaUsedUp { limit } => vec![("limit", number(*limit))],
            _ => Vec::new(),
        }
    }
}

fn number(number: u64) -> Value<'static> {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}
