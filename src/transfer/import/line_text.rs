//! Import of a text exported by the LINE app.

use chatkeep_core::message::{Content, EarlierTexts, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ImportId, ImportedMedia, ImportedMessage, ImportedPerson, MediaReason, MediaStatus,
};

use super::super::TransferError;
use super::super::line::{ParsedLine, ParsedMessage};
use super::people::{MINUTE, NameDirectory, NamedPerson, SyntheticId, SyntheticIds};
use super::plan::LinePlan;
use super::source::open;
use super::summary::{ImportProgress, Summary};
use super::text::TextLine;
use super::zone::Zone;
use super::{Import, Numbered};

impl Import<'_> {
    /// Imports the text that was planned.
    pub(super) async fn line(
        &self,
        import: Option<ImportId>,
        plan: &LinePlan,
        watch: &mut impl FnMut(ImportProgress),
    ) -> Result<Summary, TransferError> {
        let people = NameDirectory::of(self.store, self.channel).await?;
        let mut reader = plan.reader(people.names().chain(self.names.iter().map(String::as_str)));
        let mut text = TextImport { people, ids: SyntheticIds::new(self.channel), zone: plan.zone };
        let (mut summary, mut sink) = (plan.summary(), self.sink(import));
        let mut input = Numbered::new(open(&plan.path)?, plan.size, plan.encoding)?;
        let mut found = Vec::new();
        loop {
            let line = input.next(&summary, watch)?;
            let ended = line.is_none();
            match line {
                Some((number, TextLine::Text(mut line))) => {
                    summary.make_storable(&mut line);
                    reader.line(number, &line, &mut found);
                }
                Some((number, TextLine::Broken(why))) => {
                    summary.unknown(number, Some(why.to_owned()), "");
                }
                None => reader.end(&mut found),
            }
            for found in found.drain(..) {
                match found {
                    ParsedLine::Said(said) => {
                        let (message, person) = text.message(&said)?;
                        summary.said(&message, Some(said.name));
                        sink.take(message, person, &mut summary).await?;
                    }
                    ParsedLine::Happened => summary.happened += 1,
                    ParsedLine::Unknown { line, text, why } => summary.unknown(line, why, &text),
                }
            }
            if ended {
                break;
            }
        }
        sink.flush(&mut summary).await?;
        Ok(summary)
    }
}

/// Conversion of a text's messages into those of a channel.
struct TextImport {
    people: NameDirectory,
    ids: SyntheticIds,
    zone: Zone,
}

impl TextImport {
    fn message(
        &mut self,
        said: &ParsedMessage,
    ) -> Result<(ImportedMessage, Option<ImportedPerson>), TransferError> {
        let name = said.name.clone();
        let minute = self.zone.at(said.at);
        let SyntheticId { id, former_id, sent_at } = self.ids.next(minute, said);
        let named = self.people.find(&name);
        let is_member = matches!(named, NamedPerson::Member(_));
        let (user, candidates, unnamed_candidates) = match named {
            NamedPerson::Member(user) => (user.clone(), Vec::new(), Vec::new()),
            NamedPerson::Shared(id, people) => (id, people.to_vec(), Vec::new()),
            NamedPerson::Unknown(id, people) => (id, Vec::new(), people.to_vec()),
        };
        let person = (!is_member).then(|| ImportedPerson {
            id: user.clone(),
            display_name: Some(name),
            picture_url: None,
        });
        let kind = said.content.as_ref().map_or(MessageType::Text, Content::kind);
        let media = kind.is_media().then_some(ImportedMedia {
            status: MediaStatus::Expired,
            reason: Some(MediaReason::NotInExport),
        });
        let message = ImportedMessage {
            id,
            former_id: Some(former_id),
            sent_at,
            sent_until: Some(Timestamp::from_millis(minute.millis() + MINUTE - 1)),
            kept_at: None,
            sender: Some(user),
            candidates,
            unnamed_candidates,
            kind,
            content: said.content.as_ref().map(serde_json::to_string).transpose()?,
            quoted: None,
            is_bot: false,
            edited_at: None,
            unsent_at: said.content.is_none().then_some(sent_at),
            media,
            earlier_texts: EarlierTexts::default(),
        };
        Ok((message, person))
    }
}
