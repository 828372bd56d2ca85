//! Encoding of grants for the broadcast: a version, the sender, and each caller with a count.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::table::CallerHash;

/// Version of the encoding; messages of another version are ignored.
const VERSION: u8 = 1;

/// Maximum number of callers in one message: 200 kB.
const CALLERS: usize = 10_000;

/// Encoded size of a caller and its count in bytes.
const ENTRY: usize = 20;

/// Id of a process, so that it ignores its own broadcasts.
pub(super) type PeerId = [u8; 8];

/// Encodes all of `news` in messages of bounded size.
pub(super) fn encode(peer: PeerId, news: &[(CallerHash, u32)]) -> impl Iterator<Item = Bytes> {
    news.chunks(CALLERS).map(move |part| {
        let mut message = BytesMut::with_capacity(9 + part.len() * ENTRY);
        message.put_u8(VERSION);
        message.put_slice(&peer);
        for (caller, count) in part {
            message.put_slice(&caller.0);
            message.put_u32(*count);
        }
        message.freeze()
    })
}

/// Decodes the sender and its grants; `None` for anything but a message of this version.
pub(super) fn decode(message: &[u8]) -> Option<(PeerId, Vec<(CallerHash, u32)>)> {
    let (&[VERSION], rest) = message.split_first_chunk()? else {
        return None;
    };
    let (peer, entries) = rest.split_first_chunk()?;
    let (entries, []) = entries.as_chunks::<ENTRY>() else {
        return None;
    };
    let entry = |entry: &[u8; ENTRY]| {
        let (caller, count) = entry.split_first_chunk()?;
        Some((CallerHash(*caller), u32::from_be_bytes(count.try_into().ok()?)))
    };
    Some((*peer, entries.iter().filter_map(entry).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrive_as_they_were_sent() {
        let callers = (0..=CALLERS).map(|n| CallerHash::new(n.to_string().as_bytes()));
        let news: Vec<_> = callers.zip(7..).collect();
        let messages: Vec<_> = encode(*b"process1", &news).collect();
        assert_eq!(messages.len(), 2);
        let read: Vec<_> = messages.iter().filter_map(|message| decode(message)).collect();
        assert!(read.iter().all(|(peer, _)| peer == b"process1"));
        assert_eq!(read.into_iter().flat_map(|(_, news)| news).collect::<Vec<_>>(), news);
    }

    #[test]
    fn anything_else_is_not_read() {
        let good = encode([7; 8], &[(CallerHash::new(b"a"), 1)]).next().unwrap();
        for wrong in [&good[..good.len() - 1], &good[..5], &[], &[&[2], &good[1..]].concat()] {
            assert!(decode(wrong).is_none(), "{wrong:?}");
        }
    }
}
