//! Pictures of people and channels. A page must not load them from the platform, which would learn
//! who reads what: this service fetches them, makes them small, and keeps them on disk for a day.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_core::cache::Cache;
use chatkeep_core::id::UserId;
use chatkeep_platform::Bots;
use chatkeep_store::Store;
use chatkeep_workers::log_failure;
use chatkeep_workers::media::small_picture;
use chatkeep_workers::periodic::{JobFailure, PeriodicJob};
use sha2::{Digest as _, Sha256};
use tokio::fs;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::ServiceError;
use super::access::{ChannelAccess, Member, ReadMessages};

/// Length of a picture's longer side, in pixels: sharp at 64 points on a phone.
const SIDE: u32 = 192;
/// Age after which a picture is fetched again.
const AGE: Duration = Duration::from_hours(24);
/// Time in which a picture that could not be fetched is not tried again.
const PAUSE: Duration = Duration::from_mins(10);
/// Maximum number of such pictures that are remembered, and of fetches under way.
const REMEMBERED: usize = 10_000;
/// Maximum number of pictures that are fetched at once.
const FETCHES: usize = 8;
/// Maximum number of pictures on disk, about 8 KB each.
const MAX_PICTURES: usize = 50_000;

/// Pictures of people and channels. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PictureService {
    store: Store,
    bots: Bots,
    /// Folder of this process' pictures.
    folder: Arc<PathBuf>,
    /// Pictures that are being fetched or could not be, by the name of their file. Those who ask
    /// for the same one wait for one fetch.
    fetched: Cache<String, Option<Bytes>>,
    turns: Arc<Semaphore>,
}

/// Removes old pictures.
pub struct PictureSweep(pub PictureService);

impl PictureService {
    pub(super) fn new(store: Store, bots: Bots, folder: PathBuf) -> Self {
        let fetched = Cache::with_ages(REMEMBERED, |fetched: &Option<_>| {
            // A picture is on disk, and needs no memory, too.
            if fetched.is_some() { Duration::ZERO } else { PAUSE }
        });
        let turns = Arc::new(Semaphore::new(FETCHES));
        Self { store, bots, folder: Arc::new(folder), fetched, turns }
    }

    /// Returns the JPEG picture of a person in the channel, with its version; `None` when there is
    /// none.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn of_person(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        person: &UserId,
    ) -> Result<Option<(String, Bytes)>, ServiceError> {
        let member = self.store.members().member(access.without_reading(), person).await?;
        self.fetch(access, member.and_then(|member| member.picture_url)).await
    }

    /// Returns the JPEG picture of the channel, with its version; `None` when there is none.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn of_channel(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
    ) -> Result<Option<(String, Bytes)>, ServiceError> {
        let channel = self.store.channels().channel(access.without_reading()).await?;
        self.fetch(access, channel.and_then(|channel| channel.picture_url)).await
    }

    async fn fetch(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        address: Option<String>,
    ) -> Result<Option<(String, Bytes)>, ServiceError> {
        let Some(address) = address else { return Ok(None) };
        let version = version(&address);
        let file = self.folder.join(format!("{version}.jpg"));
        if let Some(picture) = young(&file).await {
            return Ok(Some((version, picture)));
        }
        let channel = self.store.channels().channel(access.without_reading()).await?;
        let bot = channel.ok_or(ServiceError::PermissionDenied)?.bot;
        // Another bot may get what this one cannot.
        let key = format!("{version}:{bot}");
        let picture = self.fetched.get_or_compute(&key, self.load(&bot, &address, &file)).await;
        Ok(picture.map(|picture| (version, picture)))
    }

    /// Fetches a picture and stores it.
    async fn load(&self, bot: &str, address: &str, file: &Path) -> Option<Bytes> {
        let _turn = self.turns.acquire().await.ok()?;
        let platform = self.bots.of_channel(bot).ok()?.platform();
        let picture = match platform.picture(address).await {
            Ok(picture) => picture,
            Err(error) => {
                log_failure!(debug, &error, "a picture is not available");
                return None;
            }
        };
        let small = small_picture(picture, SIDE).await?;
        if let Err(error) = write(file, &small).await {
            log_failure!(warn, &error, "a picture cannot be stored");
        }
        Some(small)
    }

    /// Removes pictures that are too old or too many.
    async fn sweep(&self) -> std::io::Result<()> {
        let mut files = Vec::new();
        let mut folder = match fs::read_dir(&*self.folder).await {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            folder => folder?,
        };
        while let Some(entry) = folder.next_entry().await? {
            if let Some(age) = age(&entry.path()).await {
                files.push((age, entry.path()));
            }
        }
        files.sort_unstable();
        let old =
            files.iter().enumerate().filter(|(nth, (age, _))| *nth >= MAX_PICTURES || *age >= AGE);
        for (_, (_, file)) in old {
            match fs::remove_file(file).await {
                // Another process that shares the folder was faster.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }
}

/// Returns the version of a picture: its address on the platform changes with it. It is also the
/// name of its file.
pub fn version(address: &str) -> String {
    hex::encode(&Sha256::digest(address.as_bytes())[..16])
}

/// Reads a picture that is not too old.
async fn young(file: &Path) -> Option<Bytes> {
    age(file).await.filter(|age| *age < AGE)?;
    fs::read(file).await.ok().map(Bytes::from)
}

/// Returns the time since a file was written.
async fn age(file: &Path) -> Option<Duration> {
    let written = fs::metadata(file).await.ok()?.modified().ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default())
}

/// Writes a file so that nobody reads a half of it.
async fn write(file: &Path, content: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).await?;
    }
    let part = file.with_extension(format!("{}.part", chatkeep_core::random::text(8)));
    fs::write(&part, content).await?;
    fs::rename(&part, file).await
}

impl PeriodicJob for PictureSweep {
    const NAME: &'static str = "picture_sweep";
    const PERIOD: Duration = Duration::from_hours(1);
    const FAILURE: &'static str = "old pictures cannot be removed";

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        Ok(self.0.sweep().await?)
    }
}
