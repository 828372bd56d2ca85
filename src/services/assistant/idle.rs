//! Parts of an assistant that are switched on and send nothing.

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::AssistantConfig;
use chatkeep_index::is_blank;
use chatkeep_store::ChannelStatus;

use super::super::ServiceError;
use super::{AssistantService, SettingsAccess};

/// Part of an assistant that is switched on and sends nothing, with what it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdlePart {
    /// All of it: the bot is not in the chat.
    Everything,
    /// Questions and answers, without a rule and without a reply when nothing matches.
    Questions,
    /// The welcome, without a text.
    Welcome,
    /// The group rules, without a text.
    GroupRules,
    /// The group rules, without a word that shows them.
    GroupRulesWords,
    /// The link, without a word that shows it.
    LinkWords,
}

impl AssistantService {
    /// Returns the parts that are switched on and send nothing; none of an assistant that is switched
    /// off.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn idle_parts(&self, access: &SettingsAccess) -> Result<Vec<IdlePart>, ServiceError> {
        let (channel, store) = (access.channel(), self.store.assistant());
        let config = store.assistant_config(channel).await?;
        if !config.enabled {
            return Ok(Vec::new());
        }
        let found = self.store.channels().channel(channel).await?;
        if found.is_none_or(|channel| channel.status == ChannelStatus::Disabled) {
            return Ok(vec![IdlePart::Everything]);
        }
        let group_rules = store.group_rules(channel).await?.value;
        let (rules, _) = store.rule_sizes(channel).await?;
        Ok(idle(&config, &group_rules.text, rules > 0))
    }
}

fn idle(config: &AssistantConfig, group_rules: &str, has_rules: bool) -> Vec<IdlePart> {
    let AssistantConfig { qa, welcome, rules, link, .. } = config;
    let has_reply = qa.no_match_reply.as_deref().is_some_and(|reply| !is_blank(reply));
    [
        (IdlePart::Questions, qa.enabled && !has_rules && !has_reply),
        (IdlePart::Welcome, welcome.enabled && is_blank(&welcome.message)),
        (IdlePart::GroupRules, rules.enabled && is_blank(group_rules)),
        (IdlePart::GroupRulesWords, rules.enabled && rules.trigger_keywords.is_empty()),
        (IdlePart::LinkWords, link.enabled && link.trigger_keywords.is_empty()),
    ]
    .into_iter()
    .filter_map(|(part, is_idle)| is_idle.then_some(part))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_without_what_it_sends_is_idle() {
        let mut config = AssistantConfig::default();
        assert_eq!(idle(&config, "", false), [IdlePart::Questions]);
        assert_eq!(idle(&config, "", true), []);
        config.qa.no_match_reply = Some("I do not know".to_owned());
        assert_eq!(idle(&config, "", false), []);
        (config.welcome.enabled, config.rules.enabled, config.link.enabled) = (true, true, true);
        let lacking = [
            IdlePart::Welcome,
            IdlePart::GroupRules,
            IdlePart::GroupRulesWords,
            IdlePart::LinkWords,
        ];
        assert_eq!(idle(&config, " \u{200b}", true), lacking);
        config.welcome.message = "Hello".to_owned();
        config.rules.trigger_keywords = vec!["rules".to_owned()];
        config.link.trigger_keywords = vec!["link".to_owned()];
        assert_eq!(idle(&config, "Be kind", true), []);
    }
}
