//! The settings of the object store in which media files may be.

use secrecy::SecretString;

use super::ConfigError;
use super::reader::Reader;
use super::values::web_address;

/// The object store; used when `blobs` names a bucket.
#[derive(Clone, Debug)]
pub struct S3Config {
    /// Its address, without a slash at its end; `None` for AWS in that region.
    pub endpoint: Option<String>,
    /// The region that calls are signed for.
    pub region: String,
    /// The public half of the access key; `None` to ask the machine for a role's keys.
    pub access_key_id: Option<SecretString>,
    /// The secret half.
    pub secret_access_key: Option<SecretString>,
    /// Whether the bucket stands in the path instead of before the host name.
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

/// It becomes a part of host names and of signatures.
fn region(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
}
