//! Settings with types of their own: database, bus, blob store, addresses.

use std::fmt;
use std::path::{Path, PathBuf};

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::redact::public;

/// The database.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub enum Database {
    /// One file in the data folder.
    Sqlite,
    /// A PostgreSQL server; the URL may hold a password.
    Postgres(SecretString),
}

/// The bus.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub enum BusKind {
    /// One file in the data folder, one process.
    Embedded,
    /// NATS servers; the URL may hold credentials.
    Nats(SecretString),
}

/// Location of media files.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum BlobsKind {
    /// A folder.
    Folder(PathBuf),
    /// An object store.
    S3 {
        /// The bucket.
        bucket: String,
        /// Prefix of every key in it; may be empty.
        prefix: String,
    },
}

impl Database {
    /// Accepted values.
    const ALLOWED: &str = "\"sqlite\" or \"postgres://user:password@host/name\"";

    fn parse(text: &str) -> Option<Self> {
        if text == "sqlite" {
            return Some(Self::Sqlite);
        }
        let url = Url::parse(text).ok()?;
        // libpq's way to name a Unix socket: postgres:///name?host=/run/postgresql
        let placed = url.host_str().is_some_and(|host| !host.is_empty())
            || url.query_pairs().any(|(name, value)| name == "host" && !value.is_empty());
        let fits = matches!(url.scheme(), "postgres" | "postgresql")
            && placed
            && is_whole(&url)
            && url.fragment().is_none();
        fits.then(|| Self::Postgres(text.to_owned().into()))
    }
}

impl BusKind {
    /// Accepted values.
    const ALLOWED: &str = "\"embedded\", or \"nats://host[,host…]\" (with TLS: \"tls://host[,host…]\") \
                           without options";

    fn parse(text: &str) -> Option<Self> {
        if text == "embedded" {
            return Some(Self::Embedded);
        }
        let (scheme, servers) = text.split_once("://")?;
        let own = format!("{scheme}://");
        let fits = matches!(scheme, "nats" | "tls")
            && servers.split(',').map(str::trim).all(|server| {
                let server = server.strip_prefix(&own).unwrap_or(server);
                let host = server.rsplit_once('@').map_or(server, |(_, host)| host);
                Url::parse(&format!("{own}{host}")).is_ok_and(|url| is_server(&url))
            });
        fits.then(|| Self::Nats(text.to_owned().into()))
    }
}

impl BlobsKind {
    /// Accepted values.
    const ALLOWED: &str = "\"\", a folder, or \"s3://bucket/prefix\", with 3 to 63 lower-case letters, \
                           digits, hyphens and dots in the name of the bucket, without options";

    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::Folder(PathBuf::new()));
        }
        if let Some(rest) = text.strip_prefix("s3://") {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            let prefix = prefix.trim_matches('/').to_owned();
            // Options would become a part of every key.
            let fits = is_bucket(bucket) && !prefix.contains(['?', '#']);
            return fits.then(|| Self::S3 { bucket: bucket.to_owned(), prefix });
        }
        // With one slash it would be a folder of that name, where nobody looks for it.
        let is_scheme = text.contains("://") || text.starts_with("s3:");
        let fits = !is_scheme && !text.trim().is_empty();
        fits.then(|| Self::Folder(PathBuf::from(text)))
    }

    /// Returns true for an empty path, which stands for the default.
    pub(super) fn is_unnamed(&self) -> bool {
        matches!(self, Self::Folder(path) if path.as_os_str().is_empty())
    }

    /// Replaces an empty path by the default folder in the data folder.
    pub(super) fn in_folder(self, data: &Path) -> Self {
        if self.is_unnamed() { Self::Folder(data.join("blobs")) } else { self }
    }
}

/// Parses a text with the type's `parse`, with the accepted values as error.
macro_rules! try_from_text {
    ($($kind:ident),*) => {
        $(impl TryFrom<String> for $kind {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text).ok_or(Self::ALLOWED)
            }
        })*
    };
}
try_from_text!(Database, BusKind, BlobsKind);

/// Returns whether an address names a server and nothing else, which the client of NATS would ignore.
fn is_server(url: &Url) -> bool {
    url.host_str().is_some_and(|host| !host.is_empty())
        && matches!(url.path(), "" | "/")
        && url.query().is_none()
        && url.fragment().is_none()
}

/// Checks S3's rule for bucket names; it also keeps credentials from passing for one.
fn is_bucket(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (3..=63).contains(&name.len())
        && name.chars().all(|c| plain(c) || matches!(c, '-' | '.'))
        && name.starts_with(plain)
        && name.ends_with(plain)
}

/// Returns whether an address was parsed as it was meant: with an `@` further on, the password has
/// a slash in it that is not written `%2F`, and the apparent host is the user.
fn is_whole(url: &Url) -> bool {
    !url.path().contains('@')
}

/// Parses a web address to join paths to, without credentials and query; drops a trailing slash.
pub(super) fn web_address(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    let fits = matches!(url.scheme(), "http" | "https") && bare && is_whole(&url);
    fits.then(|| url.as_str().trim_end_matches('/').to_owned())
}

/// Parses a comma-separated list of origins; an origin is a web address without a path.
pub(super) fn origins(text: &str) -> Option<Vec<String>> {
    let listed = text.split(',').map(str::trim).filter(|origin| !origin.is_empty());
    let origin = |text: &str| {
        let address = web_address(text)?;
        let url = Url::parse(&address).ok()?;
        (url.path() == "/").then_some(address)
    };
    listed.map(origin).collect()
}

/// Shows the setting as it is written, without credentials.
impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite => f.write_str("sqlite"),
            Self::Postgres(url) => f.write_str(&public(url.expose_secret())),
        }
    }
}

/// Shows the setting as it is written, without credentials.
impl fmt::Display for BusKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded"),
            Self::Nats(url) => f.write_str(&public(url.expose_secret())),
        }
    }
}

/// Shows the setting as it is written.
impl fmt::Display for BlobsKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({self})")
    }
}

impl fmt::Debug for BusKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BusKind({self})")
    }
}
