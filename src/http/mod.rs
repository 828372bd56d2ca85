//! Parts that all HTTP surfaces share: one form of errors, the identity of the caller, sessions of
//! browsers, and the layers around every response.

mod attachment;
mod browser;
mod caller_kind;
mod complete;
mod cookies;
mod error;
mod error_body;
mod etag;
mod extract;
mod identify;
mod large;
mod layers;
mod measure;
mod pseudonymous;
mod public_url;
mod respond;
mod return_path;
mod trace;

pub(crate) use attachment::attachment;
pub(crate) use browser::{BrowserSessions, Visit};
pub(crate) use caller_kind::{CallerKind, KnownCaller};
pub(crate) use complete::layer as run_to_completion;
pub(crate) use error::{HttpError, sentence};
pub(crate) use error_body::ErrorView;
pub(crate) use etag::{Digest, IfMatch, Prepared, Timed, Versioned, tagged};
pub(crate) use extract::{Body, Path, Query};
pub(crate) use identify::{Identification, bearer, caller, identify};
pub(crate) use large::{LARGE, LargeResponses, Turn, apart};
pub(crate) use layers::served;
pub(crate) use pseudonymous::MaskedBytes;
pub(crate) use public_url::PublicUrl;
pub(crate) use respond::{NextPage, RequestId, takes_json, with_common_layers};
pub(crate) use return_path::is_local;
