//! Names the schemas of the domain's types, for the derives of this crate's DTOs, and takes the files of
//! Swagger UI that the page `/docs` needs from their crate.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::PathBuf;

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::{CompressionMethod, ZipArchive};

#[path = "../view/aliases.rs"]
mod aliases;

/// Files of the page. The others of the archive are forms of the same script, and examples.
const FILES: [&str; 2] = ["swagger-ui.css", "swagger-ui-bundle.js"];

/// Beginning of a gzip file without a name and a time (RFC 1952, section 2.3).
const GZIP: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../view/aliases.rs");
    aliases::write("chatkeep_view::schema");
    swagger_ui()
}

/// Writes the files of the page as gzip files. Archive and gzip have the same compressed form between
/// their beginnings and ends, so nothing is compressed again.
#[expect(clippy::disallowed_methods, reason = "it is how Cargo tells build scripts of it")]
fn swagger_ui() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    let mut missing = FILES.to_vec();
    for number in 0..archive.len() {
        let mut file = archive.by_index_raw(number)?;
        let path = file.name()?.into_owned();
        let Some(name) = FILES.into_iter().find(|name| is_of_page(&path, name)) else { continue };
        if file.compression() != CompressionMethod::DEFLATE {
            return Err(format!("{name} of Swagger UI is not deflated").into());
        }
        let mut gzip = GZIP.to_vec();
        file.read_to_end(&mut gzip)?;
        gzip.extend(file.crc32().to_le_bytes());
        gzip.extend(u32::try_from(file.size())?.to_le_bytes());
        fs::write(folder.join(format!("{name}.gz")), gzip)?;
        missing.retain(|wanted| *wanted != name);
    }
    if missing.is_empty() { Ok(()) } else { Err(format!("Swagger UI has no {missing:?}").into()) }
}

/// Returns whether a path of the archive is that of a file: `swagger-ui-<version>/dist/<name>`.
fn is_of_page(path: &str, name: &str) -> bool {
    let inner = path.split_once('/').and_then(|(_, inner)| inner.strip_prefix("dist/"));
    inner == Some(name)
}
