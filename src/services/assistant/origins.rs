//! Rules that gave the bot's replies, for the readers of these.

use std::collections::{BTreeSet, HashMap};

use chatkeep_core::assistant::Rule;
use chatkeep_core::id::RuleId;
use chatkeep_core::role::{Role, Scope};
use chatkeep_store::StoredMessage;

use super::super::ServiceError;
use super::super::access::{ChannelAccess, Member, ReadMessages};
use super::AssistantService;

/// Rules by id, as far as a caller may know them.
#[derive(Clone, Debug, Default)]
pub(crate) enum KnownRules {
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
    pub(crate) async fn rules_behind(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        messages: &[StoredMessage],
    ) -> Result<KnownRules, ServiceError> {
        let reads = access.role >= Role::Admin && access.caller.bounds.has(Scope::WriteAssistant);
        if !reads {
            return Ok(KnownRules::Hidden);
        }
        let rules = messages.iter().filter_map(|message| message.reply.as_ref()?.rule.as_ref());
        let rules: Vec<_> = rules.collect::<BTreeSet<_>>().into_iter().collect();
        if rules.is_empty() {
            return Ok(KnownRules::Of(HashMap::new()));
        }
        let found = self.store.assistant().chosen_rules(access.without_reading(), &rules).await?;
        Ok(KnownRules::Of(found.into_iter().map(|rule| (rule.id.clone(), rule)).collect()))
    }
}
