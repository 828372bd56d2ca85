//! Settings of the object store for media files.

use secrecy::SecretString;

use super::ConfigError;
use super::reader::Reader;
use super::values::web_address;

/// Settings of the object store; used if `blobs` names a bucket.
#[derive(Clone, Debug)]
pub struct S3Config {
    /// Endpoint without a trailing slash; `None` for AWS in the region.
    pub endpoint: Option<String>,
    /// Region that requests are signed for.
    pub region: String,
    /// Public half of the access key; `None` to use the machine's role.
    pub access_key_id: Option<SecretString>,
    /// Secret half of the access key.
    pub secret_access_key: Option<SecretString>,
    /// `true` if the bucket stands in the path instead of before the host name.
    pub path_style: bool,
}

const WEB_ADDRESS: &str = "an address such as \"https://s3.example.org\", without user or query";
const REGION: &str = "a name such as \"eu-central-1\"";

impl S3Config {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            endpoint: read.optional("s3.endpoint", WEB_ADDRESS, web_address)?,
            region: read.parsed("s3.region", REGION, region)?,
            access_key_id: read.secret("s3.access_key_id")?,
            secret_access_key: read.secret("s3.secret_access_key")?,
            path_style: read.switch("s3.path_style")?,
        })
    }
}

/// Parses a region, which becomes a part of host names and signatures.
fn region(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
}
