//! Rules that gave the bot's replies, for the readers of these.

use std::collections::{BTreeSet, HashMap};

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::Rule;
use chatkeep_core::id::{ChannelId, MessageId, RuleId};
use chatkeep_core::role::{Role, Scope};
use chatkeep_store::StoredMessage;
use chatkeep_view::pseudonyms::Masked;

use super::super::ServiceError;
use super::super::access::{ChannelAccess, Member, ReadMessages};
use super::{AssistantService, HistoryAccess, SettingsAccess};

/// Rules by id, as far as a caller may know them.
#[derive(Clone, Debug, Default)]
pub enum VisibleRules {
    /// The caller may not see rules.
    #[default]
    Hidden,
    /// Rules that exist.
    Of(HashMap<RuleId, Rule>),
}

impl AssistantService {
    /// Returns the rules that gave these messages, to a caller who may read the assistant's
    /// settings.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn rules_behind(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        messages: &[Masked<StoredMessage>],
    ) -> Result<VisibleRules, ServiceError> {
        let rules = messages.iter().filter_map(|message| message.reply.as_ref()?.rule.as_ref());
        self.visible_rules(access, rules).await
    }

    /// Returns those of these rules that exist, to a caller who may read the assistant's settings.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn visible_rules(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        rules: impl Iterator<Item = &RuleId>,
    ) -> Result<VisibleRules, ServiceError> {
        let reads = access.role >= Role::Admin && access.caller.bounds.has(Scope::WriteAssistant);
        if !reads {
            return Ok(VisibleRules::Hidden);
        }
        Ok(VisibleRules::Of(self.rules_by_id(access.without_reading(), rules.collect()).await?))
    }

    /// Returns the message that a rule answered with that message of the bot, as far as it is known.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn question_of(
        &self,
        access: &HistoryAccess,
        reply: &MessageId,
    ) -> Result<Option<MessageId>, ServiceError> {
        Ok(self.store.assistant().question_of(access.without_reading(), reply).await?)
    }

    /// Returns the rules with these ids, as far as they exist.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn chosen_rules(
        &self,
        access: &SettingsAccess,
        rules: BTreeSet<&RuleId>,
    ) -> Result<HashMap<RuleId, Rule>, ServiceError> {
        self.rules_by_id(access.without_reading(), rules).await
    }

    async fn rules_by_id(
        &self,
        channel: &ChannelId,
        rules: BTreeSet<&RuleId>,
    ) -> Result<HashMap<RuleId, Rule>, ServiceError> {
        if rules.is_empty() {
            return Ok(HashMap::new());
        }
        let rules: Vec<_> = rules.into_iter().collect();
        let found = self.store.assistant().chosen_rules(channel, &rules).await?;
        Ok(found.into_iter().map(|rule| (rule.id.clone(), rule)).collect())
    }
}
