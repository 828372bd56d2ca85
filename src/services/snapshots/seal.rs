//! Encryption of objects with age, on the way to the archive and back.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use age::x25519::Recipient;
use age::{Decryptor, Encryptor, IdentityFile};
use bytes::Bytes;
use chatkeep_blobs::BoxError;
use futures_util::stream::{BoxStream, try_unfold};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};

use super::SnapshotError;
use super::layout::AGE;

/// Content on its way.
pub(super) type Content = BoxStream<'static, Result<Bytes, BoxError>>;

/// Public keys that snapshots are encrypted to; with none, nothing is encrypted.
#[derive(Clone, Debug, Default)]
pub(super) struct AgeRecipients {
    /// Sorted, as in manifests.
    names: Vec<String>,
    keys: Vec<Recipient>,
}

/// Private keys that decrypt snapshots.
#[derive(Clone, Default)]
pub struct AgeIdentities(Vec<Arc<dyn age::Identity + Send + Sync>>);

impl fmt::Debug for AgeIdentities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgeIdentities").field(&self.0.len()).finish()
    }
}

impl AgeRecipients {
    /// Parses public keys in the form of age.
    ///
    /// # Errors
    /// [`SnapshotError::Recipient`].
    pub(super) fn parse(texts: &[String]) -> Result<Self, SnapshotError> {
        let key = |text: &String| text.parse().map_err(|_| SnapshotError::Recipient(text.clone()));
        let mut names = texts.to_vec();
        names.sort();
        names.dedup();
        let keys = names.iter().map(key).collect::<Result<_, _>>()?;
        Ok(Self { names, keys })
    }

    /// Returns the keys as manifests have them.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns true if something is encrypted.
    pub(super) const fn encrypt(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Returns the name of an object that holds a file of that name.
    pub(super) fn stored_name(&self, file: &str) -> String {
        if self.encrypt() { format!("{file}{AGE}") } else { file.to_owned() }
    }

    /// Encrypts a content, if there are keys.
    ///
    /// # Errors
    /// [`SnapshotError::Recipients`], or when the beginning cannot be encrypted.
    pub(super) fn seal<S, E>(&self, content: S) -> Result<Content, SnapshotError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let content = content.map_err(Into::into);
        if !self.encrypt() {
            return Ok(content.boxed());
        }
        let keys = self.keys.iter().map(|key| key as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(keys)
            .map_err(|error| SnapshotError::Recipients(error.to_string()))?;
        let out = SharedBuffer::default();
        let writer = encryptor.wrap_output(out.clone())?;
        let state = Some((content.boxed(), writer, out));
        Ok(try_unfold(state, async |state| {
            let Some((mut content, mut writer, out)) = state else { return Ok(None) };
            if let Some(piece) = content.try_next().await? {
                writer.write_all(&piece)?;
                return Ok(Some((out.take(), Some((content, writer, out)))));
            }
            writer.finish()?;
            Ok(Some((out.take(), None)))
        })
        .boxed())
    }
}

impl AgeIdentities {
    /// Reads the private keys of files, as `age-keygen` writes them.
    ///
    /// # Errors
    /// [`SnapshotError::Identity`]; what the file holds is not repeated.
    pub fn read(files: &[impl AsRef<Path>]) -> Result<Self, SnapshotError> {
        let mut all = Vec::new();
        for file in files {
            let name = file.as_ref().display().to_string();
            let failed = |why: String| SnapshotError::Identity { file: name.clone(), why };
            let read = File::open(file).map_err(|error| failed(error.to_string()))?;
            let found = IdentityFile::from_buffer(BufReader::new(read))
                .map_err(|_| failed("it is not a file of age identities".to_owned()))?;
            let found = found.into_identities();
            let found = found.map_err(|_| failed("it has an unusable identity".to_owned()))?;
            all.extend(found.into_iter().map(Arc::from));
        }
        Ok(Self(all))
    }

    /// Returns true if there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Decrypts the file `from` into the new file `into`.
    ///
    /// # Errors
    /// [`SnapshotError::Undecryptable`], or when a file fails.
    pub(super) async fn open(
        &self,
        object: &str,
        from: &Path,
        into: &Path,
    ) -> Result<(), SnapshotError> {
        let (keys, from, into) = (self.0.clone(), from.to_owned(), into.to_owned());
        let work = move || decrypt(&keys, &from, &into);
        let done = tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?;
        done.map_err(|why| SnapshotError::Undecryptable { object: object.to_owned(), why })
    }
}

fn decrypt(
    keys: &[Arc<dyn age::Identity + Send + Sync>],
    from: &Path,
    into: &Path,
) -> Result<(), String> {
    let text_of = |error: &dyn fmt::Display| error.to_string();
    let from = File::open(from).map_err(|error| text_of(&error))?;
    let decryptor =
        Decryptor::new_buffered(BufReader::new(from)).map_err(|error| text_of(&error))?;
    let keys = keys.iter().map(|key| &**key as &dyn age::Identity);
    let mut content = decryptor.decrypt(keys).map_err(|error| text_of(&error))?;
    let mut into = File::create_new(into).map_err(|error| text_of(&error))?;
    io::copy(&mut content, &mut into).map_err(|error| text_of(&error))?;
    Ok(())
}

/// Bytes that the encryption has written and nobody has taken yet.
#[derive(Clone, Debug, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    fn take(&self) -> Bytes {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
