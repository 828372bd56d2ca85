//! Files that were compressed when the program was built.

use std::io::Read as _;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;
use tracing::error;

use super::accept::takes_gzip;
use super::error::HttpError;

/// Response with a file that is stored as gzip: sent as it is to who takes that, otherwise unpacked,
/// as a response that [`served`](crate::served) could compress.
#[derive(Debug)]
pub struct Packed {
    /// The file, as gzip.
    pub gzip: &'static [u8],
    /// Headers of the request.
    pub headers: HeaderMap,
}

impl IntoResponse for Packed {
    fn into_response(self) -> Response {
        if takes_gzip(&self.headers) {
            let headers = [
                (header::CONTENT_ENCODING, HeaderValue::from_static("gzip")),
                (header::VARY, HeaderValue::from_static("accept-encoding")),
            ];
            return (headers, self.gzip).into_response();
        }
        let mut plain = Vec::new();
        match GzDecoder::new(self.gzip).read_to_end(&mut plain) {
            Ok(_) => plain.into_response(),
            Err(error) => {
                error!(%error, "a file of the program cannot be unpacked");
                HttpError::Internal.into_response()
            }
        }
    }
}
