//! The official account and its channel, as people set them up in LINE's consoles.

use super::{Emulator, lock};

/// Way in which the account answers people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatMode {
    /// Chat is off: the bot answers.
    Bot,
    /// Chat is on: people of the account answer.
    Chat,
}

/// Kind of the access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Long-lived.
    LongLived,
    /// With a user-specified expiration, in that many seconds.
    Expiring(u64),
    /// Stateless: no endpoint is documented to verify it.
    Stateless,
}

/// Account and channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Id of the Messaging API channel.
    pub channel_id: String,
    /// Response settings of the account.
    pub chat_mode: ChatMode,
    /// The switch "Use webhook": without it no webhook is sent.
    pub use_webhook: bool,
    /// Messages that may be pushed this month; `None` for no limit.
    pub quota: Option<u64>,
    /// Messages that were pushed this month, one for each recipient.
    pub pushed: u64,
    /// Kind of the access token.
    pub token: TokenKind,
    /// Seconds by which the clock of the API is ahead.
    pub clock_ahead: i64,
}

impl Account {
    /// Creates an account with everything as a bot needs it.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            channel_id: (2_000_000_000 + seed).to_string(),
            chat_mode: ChatMode::Bot,
            use_webhook: true,
            quota: None,
            pushed: 0,
            token: TokenKind::LongLived,
            clock_ahead: 0,
        }
    }

    /// Returns true if no more messages may be pushed this month.
    pub(super) fn is_used_up(&self) -> bool {
        self.quota.is_some_and(|quota| self.pushed >= quota)
    }
}

impl ChatMode {
    /// Returns its name in the API.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bot => "bot",
            Self::Chat => "chat",
        }
    }
}

impl Emulator {
    /// Returns the account as it is set up now.
    pub fn account(&self) -> Account {
        lock(&self.shared.account).clone()
    }

    /// Changes how the account is set up.
    pub fn set_up(&self, change: impl FnOnce(&mut Account)) {
        change(&mut lock(&self.shared.account));
    }
}
