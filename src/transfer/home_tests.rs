//! Fixture of tests: a store with a channel to import into and to export from, and a media store,
//! in a folder of their own.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use chatkeep_blobs::Blobs;
use chatkeep_core::config::{BlobsKind, Database, S3Config};
use chatkeep_core::event::{ChannelKind, PlatformKind};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::{ManualClock, SharedClock, Timestamp};
use chatkeep_i18n::Language;
use chatkeep_store::{MessageFilter, Order, Store, StoredMessage};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use chrono_tz::Tz;
use futures_util::TryStreamExt as _;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::import::{Import, ImportProgress, Summary};
use crate::sample_tests::GROUP;
use crate::{Export, Format, MediaLinks, TransferError};

/// Time of all imports: 2026-01-02 03:04:05 UTC.
const NOW: i64 = 1_767_323_045_678;
/// Name of the database in a data folder.
const DATABASE: &str = "chatkeep.db";
/// Maximum size of a file in bytes.
pub(crate) const MAX_FILE: u64 = 1_000;

/// A database that was migrated once, of which every test has a copy.
static TEMPLATE: OnceCell<Vec<u8>> = OnceCell::const_new();

pub(crate) struct TransferHome {
    pub(crate) store: Store,
    pub(crate) blobs: Blobs,
    pub(crate) channel: ChannelId,
    clock: SharedClock,
    folder: TempDir,
}

impl TransferHome {
    /// Creates a home with an empty channel that somebody subscribes to.
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join(DATABASE);
        fs::write(&database, TEMPLATE.get_or_init(migrated).await).unwrap();
        fs::set_permissions(&database, Permissions::from_mode(0o600)).unwrap();
        let store = Store::open(&Database::Sqlite, folder.path(), 2).await.unwrap();
        let (channel, owner) = (ChannelId::from(GROUP), UserId::from("Uowner"));
        let now = Timestamp::from_millis(NOW);
        store.accounts().add_user(&owner, None, now).await.unwrap();
        let (line, group) = (PlatformKind::Line, ChannelKind::Group);
        store.imports().open_for_import(&channel, line, group, &owner, now).await.unwrap();
        let clock: SharedClock = Arc::new(ManualClock::new(now));
        let blobs =
            Blobs::open(&BlobsKind::Folder(folder.path().join("blobs")), &S3Config::default());
        Self { store, blobs: blobs.unwrap(), channel, clock, folder }
    }

    /// Returns a path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Returns an import into the channel, as a command without options has it.
    pub(crate) fn import(&self) -> Import<'_> {
        Import {
            store: &self.store,
            trial: false,
            blobs: Some(&self.blobs),
            clock: &self.clock,
            channel: &self.channel,
            form: crate::import::Form::Auto,
            zone: None,
            date_order: None,
            encoding: None,
            names: &[],
            max_file: MAX_FILE,
        }
    }

    /// Imports a file.
    pub(crate) async fn imported(&self, path: &Path) -> Summary {
        run(&self.import(), path).await.unwrap()
    }

    /// Returns an export of the channel in that format.
    pub(crate) async fn exported(&self, format: Format) -> String {
        let document = crate::export(self.store.clone(), self.channel.clone(), exporting(format));
        let parts: Vec<Bytes> = document.try_collect().await.unwrap();
        String::from_utf8(parts.concat()).unwrap()
    }

    /// Returns the messages of the channel, oldest first.
    pub(crate) async fn messages(&self) -> Vec<StoredMessage> {
        let order = Order::Ascending;
        let filter = MessageFilter { order, limit: 1_000, ..MessageFilter::default() };
        self.store.messages().list(&self.channel, &filter).await.unwrap().messages
    }
}

/// Plans and runs an import.
pub(crate) async fn run(import: &Import<'_>, path: &Path) -> Result<Summary, TransferError> {
    let plan = import.plan(path).await?;
    Box::pin(import.run(plan, &mut |_: ImportProgress| {})).await
}

/// Returns an export of everything, for readers who see people as they are.
pub(crate) fn exporting(format: Format) -> Export {
    Export {
        format,
        from: None,
        to: None,
        not_before: None,
        zone: Tz::UTC,
        language: Language::English,
        media: MediaLinks::None,
        links: Links::default(),
        mask: Mask::none(),
    }
}

async fn migrated() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap().close().await;
    fs::read(folder.path().join(DATABASE)).unwrap()
}
