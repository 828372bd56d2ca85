//! Parts that all HTTP surfaces share: one form of errors, the identity of the caller, sessions of
//! browsers, and the layers around every response. [`rate_limit`] bounds the requests of a caller,
//! [`server`] accepts connections.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod accept;
mod attachment;
mod browser;
mod caller_kind;
mod complete;
mod cookies;
mod error;
mod error_body;
mod error_code;
mod etag;
mod extract;
mod identify;
mod large;
mod layers;
mod measure;
mod packed;
mod pseudonymous;
mod public_url;
mod range;
pub mod rate_limit;
mod respond;
mod return_path;
pub mod server;
#[cfg(test)]
mod tests;
mod trace;

pub use accept::{takes_json, takes_pages, weighted};
pub use attachment::{attachment, download, media_body};
pub use browser::{BrowserSessions, UserSession};
pub use caller_kind::{CallerKind, KnownCaller};
pub use complete::layer as run_to_completion;
pub use error::{HttpError, sentence};
pub use error_body::ErrorView;
pub use error_code::ErrorCode;
pub use etag::{Digest, IfMatch, Prepared, Timed, Versioned, tagged};
pub use extract::{Body, OptionalBody, Path, Query, is_json};
pub use identify::{Identification, bearer, caller, identify, session};
pub use large::{LARGE, LargeResponses, Turn, apart};
pub use layers::served;
pub use packed::Packed;
pub use pseudonymous::MaskedBytes;
pub use public_url::PublicUrl;
pub use range::{
    RequestedRange, range_not_satisfiable, requested_range, require_revalidation, set_size,
};
pub use respond::{NextPage, RequestId, with_common_layers};
pub use return_path::is_local;

/// Maximum size of a request's body in bytes, on every surface; of what may have more, the route says
/// so itself.
pub const MAX_BODY: usize = 1024 * 1024;
