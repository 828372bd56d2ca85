//! Names of the objects of snapshots.
//!
//! `snapshots/<id>/manifest.json` makes a snapshot; beside it lie its parts. Files of messages lie
//! once for all snapshots under `blobs/`. `ledger.jsonl` is the present ledger of erasures, `owner`
//! has the id of the database that all of it is of, and `snapshot-target.id` that of the place.
//! Below `damaged/` are notes about files that a check has found damaged.

use std::time::Duration;

use chatkeep_core::random::random_name;
use chatkeep_core::time::Timestamp;

/// Folder of all snapshots.
pub(super) const SNAPSHOTS: &str = "snapshots";
/// Folder of the files of messages.
pub(super) const BLOBS: &str = "blobs";
/// Folder of notes that stored files are damaged: empty objects, named as these files below it.
pub(super) const DAMAGED: &str = "damaged";
/// Name of the manifest in a snapshot's folder.
pub(super) const MANIFEST: &str = "manifest.json";
/// Present ledger of erasures; encrypted, its name ends in [`AGE`].
pub(super) const LEDGER: &str = "ledger.jsonl";
/// Id of the database that the snapshots and the present ledger are of.
pub(super) const OWNER: &str = "owner";
/// Id of the place, by which a database knows it again.
pub(super) const TARGET_ID: &str = "snapshot-target.id";
/// End of the names of encrypted objects.
pub(super) const AGE: &str = ".age";

/// Part of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartName {
    Bus,
    Database,
    Ledger,
    Settings,
    /// List of the files of messages. Never encrypted: the next snapshot reads it.
    Blobs,
}

impl PartName {
    /// Returns the file name.
    pub(super) const fn file(self) -> &'static str {
        match self {
            Self::Bus => "bus.db",
            Self::Database => "chatkeep.db",
            Self::Ledger => LEDGER,
            Self::Settings => "settings.toml",
            Self::Blobs => "blobs.jsonl",
        }
    }
}

/// Maximum time by which clocks differ.
pub(super) const CLOCKS: Duration = Duration::from_hours(1);

/// Returns a new id: the time in UTC, and random letters. Ids sort by time.
pub(super) fn new_id(now: Timestamp) -> String {
    format!("{}-{}", first_id(now), &random_name()[..8])
}

/// Returns a text that sorts before the ids from that time on.
pub(super) fn first_id(time: Timestamp) -> String {
    time.to_string().chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Returns whether a text has the form of an id; such a text is no path.
pub(super) fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !text.is_empty() && text.len() <= 64 && text.chars().all(plain)
}

/// Returns the name of an object of a snapshot.
pub(super) fn object(id: &str, file: &str) -> String {
    format!("{SNAPSHOTS}/{id}/{file}")
}

/// Returns the id of the snapshot that an object belongs to.
pub(super) fn id_of(object: &str) -> Option<&str> {
    let (id, _) = object.strip_prefix(SNAPSHOTS)?.strip_prefix('/')?.split_once('/')?;
    Some(id)
}

/// Returns the name of the note that a stored file is damaged.
pub(super) fn damage_note(object: &str) -> String {
    format!("{DAMAGED}/{object}")
}

/// Returns the stored file that such a note is about.
pub(super) fn noted_object(note: &str) -> Option<&str> {
    note.strip_prefix(DAMAGED)?.strip_prefix('/')
}

/// Returns the name of a stored file. An encrypted one is never written twice: its content would
/// differ from what an earlier snapshot has noted.
pub(super) fn blob_object(blob: &str, encrypted: bool) -> String {
    let (first, second) = (blob.get(..2).unwrap_or_default(), blob.get(2..4).unwrap_or_default());
    let place = format!("{BLOBS}/{first}/{second}/{blob}");
    if encrypted { format!("{place}.{}{AGE}", &random_name()[..8]) } else { place }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_are_no_paths() {
        let ids = [1_767_323_045_678, 1_767_323_045_679].map(Timestamp::from_millis).map(new_id);
        assert!(ids[0].starts_with("20260102T030405678Z-") && ids[0] < ids[1], "{ids:?}");
        assert!(ids.iter().all(|id| is_id(id)) && !is_id("../x") && !is_id(""));
        assert_eq!(id_of(&object(&ids[0], MANIFEST)), Some(ids[0].as_str()));
        assert_eq!(id_of("blobs/ab/cd"), None);
        assert_eq!(noted_object(&damage_note("blobs/ab/cd")), Some("blobs/ab/cd"));
    }

    #[test]
    fn only_plain_files_have_one_name() {
        let blob = "ab".repeat(32);
        assert_eq!(blob_object(&blob, false), format!("blobs/ab/ab/{blob}"));
        assert_ne!(blob_object(&blob, true), blob_object(&blob, true));
    }
}
