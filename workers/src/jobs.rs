//! Jobs: follow-up work that one stage leaves on the bus for another.

use chatkeep_bus::{Outgoing, Stream};
use chatkeep_core::id::{ChannelId, MessageId};
use serde::{Deserialize, Serialize};

/// Queue of the media stage.
pub const MEDIA: &str = "media";

/// Queue of files that the platform does not have itself.
pub const EXTERNAL_MEDIA: &str = "external_media";

/// A message whose file is to be downloaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaJob {
    /// Version of this format: 1.
    pub v: u8,
    /// The channel.
    pub channel: ChannelId,
    /// The message.
    pub message: MessageId,
    /// Bot that received it, if that is known; otherwise it is the channel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bot: Option<String>,
}

/// Returns the jobs to download files. `cause` is part of their ids, so that a repeated download is
/// not dropped as a duplicate.
///
/// # Errors
/// Never in practice: a job is always valid JSON.
pub fn media_jobs(
    messages: impl IntoIterator<Item = (ChannelId, MessageId)>,
    cause: &str,
) -> Result<Vec<Outgoing>, serde_json::Error> {
    let job = |(channel, message)| media_job(channel, message, None, cause);
    messages.into_iter().map(job).collect()
}

/// Returns the job to download one file, by the bot that received its message if that is known.
///
/// # Errors
/// Never in practice: a job is always valid JSON.
pub fn media_job(
    channel: ChannelId,
    message: MessageId,
    bot: Option<String>,
    cause: &str,
) -> Result<Outgoing, serde_json::Error> {
    let subject = format!("{}.{MEDIA}.{}", Stream::Jobs.prefix(), channel.shard());
    let asks = bot.as_deref().unwrap_or_default();
    let id = format!("{MEDIA}:{cause}:{asks}:{channel}:{message}");
    let job = MediaJob { v: 1, channel, message, bot };
    Ok(Outgoing { subject, id, payload: serde_json::to_vec(&job)?.into(), trace: None })
}

/// Returns a job for the stage that downloads files from elsewhere than the platform. `cause` as
/// for [`media_jobs`].
///
/// # Errors
/// Never in practice: a job is always valid JSON.
pub fn external_media_job(job: &MediaJob, cause: &str) -> Result<Outgoing, serde_json::Error> {
    let MediaJob { channel, message, .. } = job;
    let subject = format!("{}.{EXTERNAL_MEDIA}.{}", Stream::Jobs.prefix(), channel.shard());
    let id = format!("{EXTERNAL_MEDIA}:{cause}:{channel}:{message}");
    Ok(Outgoing { subject, id, payload: serde_json::to_vec(job)?.into(), trace: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_jobs_name_their_bot_and_old_ones_need_not() {
        let job = media_job("C1".into(), "1".into(), Some("shop".to_owned()), "new").unwrap();
        let named: MediaJob = serde_json::from_slice(&job.payload).unwrap();
        assert_eq!(named.bot.as_deref(), Some("shop"));
        let old = r#"{"v":1,"channel":"C1","message":"1"}"#;
        let old: MediaJob = serde_json::from_str(old).unwrap();
        assert_eq!(old, MediaJob { bot: None, ..named });
    }
}
