//! Welcome of new members: their names and the chat's, or neutral words for unknown names.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::{ChannelRef, Event};
use chatkeep_core::id::UserId;
use chatkeep_index::is_blank;
use chatkeep_platform::Directory;
use chatkeep_store::{MessageFilter, Order, ReplySource, StoreError};

use super::neutral::Language;
use super::{Assistant, Assistants, Compiled, Planned, text};
use crate::outcome::Unfinished;

/// Number of messages of a channel that are read to detect its language, as a last resort.
const MESSAGES: u32 = 50;

/// People who join a channel.
#[derive(Clone, Debug, Default)]
pub struct Newcomers {
    /// Names of those whose names are known; a blank one counts as one of the others.
    pub names: Vec<String>,
    /// `true` if there are others.
    pub others: bool,
}

impl Assistant {
    /// Plans the welcome of everybody who joined in one event.
    pub(super) async fn welcome(
        &self,
        event: &Event,
        channel: &ChannelRef,
        users: &[UserId],
    ) -> Result<Option<Planned>, Unfinished> {
        let Some(compiled) = self.assistants.of(&channel.id).await? else {
            return Ok(None);
        };
        let Some(template) = compiled.welcome() else {
            return Ok(None);
        };
        let directory = self.bot_of(event)?;
        let opt_outs = self.store.members().opt_outs(users).await?;
        let now = self.clock.now();
        // The bot's own words are stored: they do not name people who opted out.
        let shown: Vec<_> =
            users.iter().filter(|user| !opt_outs.refuse(&channel.id, user, now)).collect();
        let names = names(directory, channel, &shown).await;
        let newcomers = Newcomers { others: names.len() < users.len(), names };
        let group = self.group_name(directory, channel).await?;
        let text =
            self.assistants.welcome_text(&compiled, template, newcomers, group, channel).await?;
        let rule = None;
        Ok(Some(Planned { source: ReplySource::Welcome, rule, text, cooldown: Duration::ZERO }))
    }

    /// Returns the chat's name; `None` if it has none or it is unknown.
    async fn group_name(
        &self,
        directory: &Directory,
        channel: &ChannelRef,
    ) -> Result<Option<String>, Unfinished> {
        if let Ok(Some(summary)) = directory.summary(channel).await
            && let Some(name) = summary.name.and_then(non_blank)
        {
            return Ok(Some(name));
        }
        let known = self.store.channels().channel(&channel.id).await?;
        Ok(known.and_then(|channel| channel.name).and_then(non_blank))
    }
}

impl Assistants {
    /// Returns the welcome that `template` makes for these people in a channel with the name `group`.
    /// Unknown names are replaced by neutral words of the channel's language.
    ///
    /// # Errors
    /// Fails when the store fails.
    #[boxed]
    pub async fn welcome_text(
        &self,
        compiled: &Compiled,
        template: &str,
        newcomers: Newcomers,
        group: Option<String>,
        channel: &ChannelRef,
    ) -> Result<String, StoreError> {
        let Newcomers { names: known, others } = newcomers;
        let count = known.len();
        let mut names: Vec<_> = known.into_iter().filter_map(non_blank).collect();
        let group = group.and_then(non_blank);
        let unknown = others || names.is_empty() || names.len() < count;
        let language = if unknown || group.is_none() {
            self.language(compiled, template, group.as_deref(), channel).await?
        } else {
            Language::English
        };
        if unknown {
            names.push(language.person().to_owned());
        }
        let group = group.unwrap_or_else(|| language.chat(channel.kind).to_owned());
        let of_template = Language::of(&text::fill(template, "", ""));
        Ok(text::fill(template, &text::joined(&names, of_template), &group))
    }

    /// Returns the language that people use in a channel; English if it is not detected.
    async fn language(
        &self,
        compiled: &Compiled,
        template: &str,
        group: Option<&str>,
        channel: &ChannelRef,
    ) -> Result<Language, StoreError> {
        let plain = text::fill(template, "", "");
        if let Some(language) = compiled.language(&plain).or_else(|| Language::of(group?)) {
            return Ok(language);
        }
        let newest =
            MessageFilter { order: Order::Descending, limit: MESSAGES, ..MessageFilter::default() };
        let page = self.store.messages().list(&channel.id, &newest).await?;
        let people = page.messages.iter().filter(|message| !message.is_bot);
        let texts = people.filter_map(|message| message.content.as_ref()?.typed_words());
        let said = texts.collect::<Vec<_>>().join("\n");
        Ok(Language::of(&said).unwrap_or(Language::English))
    }
}

impl Compiled {
    /// Returns the language of the welcome text, else that of the other settings.
    fn language(&self, welcome: &str) -> Option<Language> {
        let rules = self.rules.iter().take(100).flat_map(|rule| {
            [rule.answer.as_str(), rule.question.as_str()]
                .into_iter()
                .chain(rule.keywords.iter().map(String::as_str))
        });
        [welcome, &self.group_rules].into_iter().chain(rules).find_map(Language::of)
    }
}

/// Returns a name unless it is blank.
fn non_blank(name: String) -> Option<String> {
    (!is_blank(&name)).then_some(name)
}

/// Returns the new members' names, which may be blank; those that the platform does not name are
/// left out.
async fn names(directory: &Directory, channel: &ChannelRef, users: &[&UserId]) -> Vec<String> {
    let asked = users.iter().map(|user| directory.profile(channel, user));
    let answers = futures_util::future::join_all(asked).await;
    let profiles = answers.into_iter().filter_map(|answer| answer.ok().flatten());
    profiles.map(|profile| profile.display_name).collect()
}
