//! Jobs: follow-up work that one stage leaves on the bus for another.

use bytes::Bytes;
use chatkeep_bus::{Outgoing, Stream};
use chatkeep_core::id::{ChannelId, MessageId};
use serde::Deserialize;
use serde_json::json;

/// Queue of the media stage.
pub const MEDIA: &str = "media";

/// Queue of files that the platform does not have itself.
pub const EXTERNAL_MEDIA: &str = "external_media";

/// A message whose file is to be downloaded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct MediaJob {
    /// Version of this format: 1.
    pub v: u8,
    /// The channel.
    pub channel: ChannelId,
    /// The message.
    pub message: MessageId,
    /// Bot that received it, if that is known; otherwise it is the channel's.
    #[serde(default)]
    pub bot: Option<String>,
}

impl MediaJob {
    /// Returns the job as JSON. Built of texts alone, it cannot fail as a serializer may.
    fn payload(&self) -> Bytes {
        let Self { v, channel, message, bot } = self;
        let mut job = json!({ "v": v, "channel": channel.as_str(), "message": message.as_str() });
        if let Some(bot) = bot {
            job["bot"] = bot.as_str().into();
        }
        job.to_string().into()
    }
}

/// Returns the jobs to download files. `cause` is part of their ids, so that a repeated download is
/// not dropped as a duplicate.
pub fn media_jobs(
    messages: impl IntoIterator<Item = (ChannelId, MessageId)>,
    cause: &str,
) -> Vec<Outgoing> {
    let job = |(channel, message)| media_job(channel, message, None, cause);
    messages.into_iter().map(job).collect()
}

/// Returns the job to download one file, by the bot that received its message if that is known.
pub fn media_job(
    channel: ChannelId,
    message: MessageId,
    bot: Option<String>,
    cause: &str,
) -> Outgoing {
    let subject = format!("{}.{MEDIA}.{}", Stream::Jobs.prefix(), channel.shard());
    let asks = bot.as_deref().unwrap_or_default();
    let id = format!("{MEDIA}:{cause}:{asks}:{channel}:{message}");
    let job = MediaJob { v: 1, channel, message, bot };
    Outgoing { subject, id, payload: job.payload(), trace: None }
}

/// Returns a job for the stage that downloads files from elsewhere than the platform. `cause` as
/// for [`media_jobs`].
pub fn external_media_job(job: &MediaJob, cause: &str) -> Outgoing {
    let MediaJob { channel, message, .. } = job;
    let subject = format!("{}.{EXTERNAL_MEDIA}.{}", Stream::Jobs.prefix(), channel.shard());
    let id = format!("{EXTERNAL_MEDIA}:{cause}:{channel}:{message}");
    Outgoing { subject, id, payload: job.payload(), trace: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_jobs_name_their_bot_and_old_ones_need_not() {
        let job = media_job("C1".into(), "1".into(), Some("shop".to_owned()), "new");
        let named: MediaJob = serde_json::from_slice(&job.payload).unwrap();
        assert_eq!(named.bot.as_deref(), Some("shop"));
        let old = r#"{"v":1,"channel":"C1","message":"1"}"#;
        let old: MediaJob = serde_json::from_str(old).unwrap();
        assert_eq!(old, MediaJob { bot: None, ..named });
    }
}
