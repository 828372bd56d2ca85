//! Pictures of people and channels. A page must not load them from the platform, which would learn
//! who reads what: this service fetches them, makes them small, and keeps them on disk for a day.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_core::cache::Cache;
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::id::UserId;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::Bots;
use chatkeep_store::Store;
use chatkeep_workers::log_failure;
use chatkeep_workers::media::small_picture;
use chatkeep_workers::periodic::{JobFailure, PeriodicJob};
use sha2::{Digest as _, Sha256};
use tokio::fs;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::ServiceError;
use super::access::{ChannelAccess, Member, ReadMessages};
use super::disk::DiskSpace;

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
/// Maximum number of pictures on disk that a sweep leaves, about 8 KB each.
const MAX_PICTURES: usize = 50_000;
/// Maximum number of pictures that are stored between two sweeps.
const MAX_UNSWEPT: usize = 10_000;

/// Pictures of people and channels. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PictureService {
    store: Store,
    bots: Bots,
    clock: SharedClock,
    /// Folder of this process' pictures.
    folder: Arc<PathBuf>,
    /// Free disk space that pictures leave to others.
    disk: DiskReserve,
    /// Number of pictures that were stored since the last sweep.
    unswept: Arc<AtomicUsize>,
    /// Pictures that are being fetched or could not be, by the name of their file. Those who ask
    /// for the same one wait for one fetch.
    fetched: Cache<String, Option<Bytes>>,
    turns: Arc<Semaphore>,
}

/// Removes old pictures.
pub struct PictureSweep(pub PictureService);

impl PictureService {
    pub(super) fn new(
        store: Store,
        bots: Bots,
        clock: SharedClock,
        folder: PathBuf,
        disk: DiskReserve,
    ) -> Self {
        let fetched = Cache::with_ages(REMEMBERED, |fetched: &Option<_>| {
            // A picture is on disk, and needs no memory, too.
            if fetched.is_some() { Duration::ZERO } else { PAUSE }
        });
        let (folder, turns) = (Arc::new(folder), Arc::new(Semaphore::new(FETCHES)));
        Self { store, bots, clock, folder, disk, unswept: Arc::default(), fetched, turns }
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
        if let Some(picture) = self.young(&file).await {
            return Ok(Some((version, picture)));
        }
        let channel = self.store.channels().channel(access.without_reading()).await?;
        let bot = channel.ok_or(ServiceError::PermissionDenied)?.bot;
        // Another bot may get what this one cannot.
        let key = format!("{version}:{bot}");
        let picture = self.fetched.get_or_compute(&key, self.load(&bot, &address, &file)).await;
        Ok(picture.map(|picture| (version, picture)))
    }

    /// Fetches a picture, and stores it if there is room.
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
        if let Err(error) = self.keep(file, &small).await {
            log_failure!(warn, &error, "a picture cannot be stored");
        }
        Some(small)
    }

    /// Stores a picture, unless the disk is nearly full or so many were stored since the last sweep
    /// that it waits for the next one.
    async fn keep(&self, file: &Path, picture: &[u8]) -> std::io::Result<()> {
        let folder = Arc::clone(&self.folder);
        let space = spawn_blocking(move || DiskSpace::of(&folder)).await??;
        if self.disk.record(space.free) {
            debug!(free = space.free, "a picture is not stored: the disk is nearly full");
            return Ok(());
        }
        if self.unswept.fetch_add(1, Ordering::Relaxed) >= MAX_UNSWEPT {
            debug!("a picture is not stored: too many are since the last sweep");
            return Ok(());
        }
        write(file, picture).await
    }

    /// Reads a picture that is not too old.
    async fn young(&self, file: &Path) -> Option<Bytes> {
        self.age(file).await.filter(|age| *age < AGE)?;
        fs::read(file).await.ok().map(Bytes::from)
    }

    /// Returns the time since a file was written. Times of files are those of this machine.
    async fn age(&self, file: &Path) -> Option<Duration> {
        let written = fs::metadata(file).await.ok()?.modified().ok()?;
        let written = written.duration_since(UNIX_EPOCH).ok()?.as_millis();
        Some(self.clock.machine().since(Timestamp::from_millis(i64::try_from(written).ok()?)))
    }

    /// Removes pictures that are too old or too many.
    async fn sweep(&self) -> std::io::Result<()> {
        let mut files = Vec::new();
        let mut folder = match fs::read_dir(&*self.folder).await {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            folder => folder?,
        };
        while let Some(entry) = folder.next_entry().await? {
            if let Some(age) = self.age(&entry.path()).await {
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
        self.unswept.store(0, Ordering::Relaxed);
        Ok(())
    }
}

/// Returns the version of a picture: its address on the platform changes with it. It is also the
/// name of its file.
pub fn version(address: &str) -> String {
    hex::encode(&Sha256::digest(address.as_bytes())[..16])
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

#[cfg(test)]
mod tests {
    use chatkeep_core::config::Database;
    use chatkeep_core::time::{Clock as _, ManualClock, SystemClock};
    use tempfile::TempDir;

    use super::*;

    struct Place {
        service: PictureService,
        clock: Arc<ManualClock>,
        folder: TempDir,
    }

    impl Place {
        /// Creates a folder for pictures, which leave that many bytes of its disk free.
        async fn new(reserve: u64) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
            let clock = Arc::new(ManualClock::new(SystemClock.now()));
            let (shared, bots) = (Arc::<ManualClock>::clone(&clock), Bots::new([]));
            let (pictures, disk) = (folder.path().join("pictures"), DiskReserve::new(reserve));
            let service = PictureService::new(store, bots, shared, pictures, disk);
            Self { service, clock, folder }
        }

        fn file(&self, name: &str) -> PathBuf {
            self.folder.path().join("pictures").join(name)
        }

        async fn keep(&self, name: &str) -> bool {
            self.service.keep(&self.file(name), b"picture").await.unwrap();
            self.file(name).exists()
        }

        async fn sweep(&self) {
            let job = PictureSweep(self.service.clone());
            job.run(&CancellationToken::new()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn pictures_go_by_the_clock_of_the_process() {
        let place = Place::new(0).await;
        assert!(place.keep("a.jpg").await);
        place.clock.advance(AGE / 2);
        place.sweep().await;
        assert!(place.service.young(&place.file("a.jpg")).await.is_some());
        place.clock.advance(AGE);
        assert!(place.service.young(&place.file("a.jpg")).await.is_none());
        place.sweep().await;
        assert!(!place.file("a.jpg").exists());
    }

    #[tokio::test]
    async fn a_disk_that_is_nearly_full_gets_no_pictures() {
        assert!(!Place::new(u64::MAX).await.keep("a.jpg").await);
    }

    #[tokio::test]
    async fn pictures_wait_for_a_sweep_once_there_are_too_many() {
        let place = Place::new(0).await;
        place.service.unswept.store(MAX_UNSWEPT - 1, Ordering::Relaxed);
        assert!(place.keep("a.jpg").await);
        assert!(!place.keep("b.jpg").await);
        place.sweep().await;
        assert!(place.keep("b.jpg").await);
    }
}
