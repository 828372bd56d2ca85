//! Settings of the object store for media files.

use secrecy::SecretString;
use serde::{Deserialize, Deserializer};

use super::deserialize::{optional_web_address, parsed, secret};

/// Settings of the object store; used if `blobs` names a bucket. The default is for folders, which
/// need none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct S3Config {
    /// Endpoint without a trailing slash; `None` for AWS in the region.
    #[serde(deserialize_with = "optional_web_address")]
    pub endpoint: Option<String>,
    /// Region that requests are signed for.
    #[serde(deserialize_with = "region")]
    pub region: String,
    /// Public half of the access key; `None` to use the machine's role.
    #[serde(deserialize_with = "secret")]
    pub access_key_id: Option<SecretString>,
    /// Secret half of the access key.
    #[serde(deserialize_with = "secret")]
    pub secret_access_key: Option<SecretString>,
    /// `true` if the bucket stands in the path instead of before the host name.
    pub path_style: bool,
}

const REGION: &str = "a name such as \"eu-central-1\"";

/// Deserializes a region, which becomes a part of host names and signatures.
fn region<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let fits = |text: &str| !text.is_empty() && text.chars().all(plain);
    parsed(from, REGION, |text| fits(text).then(|| text.to_owned()))
}
