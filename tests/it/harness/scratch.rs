//! Folders for servers, under one base folder that outlives no test run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// Script that waits for the end of its input, which comes when the test process is gone, however
/// it ended. Servers may still be dying and writing then, so removal is retried for a while.
const GUARD: &str = r#"
cat >/dev/null
for at in "$1"/*; do umount -l -- "$at" 2>/dev/null; done
tries=0
until rm -rf -- "$1" 2>/dev/null && [ ! -e "$1" ] || [ "$tries" -ge 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
"#;

/// The base folder and the guard, whose standard input this process keeps open.
struct Base {
    path: PathBuf,
    _guard: Child,
}

/// Creates a folder, removed with the returned value or at the latest after the test run.
pub(crate) fn folder(prefix: &str) -> TempDir {
    tempfile::Builder::new()
        .prefix(prefix)
        .tempdir_in(base())
        .unwrap_or_else(|error| panic!("cannot create a scratch folder: {error}"))
}

fn base() -> &'static Path {
    static BASE: OnceLock<Base> = OnceLock::new();
    &BASE.get_or_init(|| create().unwrap_or_else(|error| panic!("no scratch folder: {error}"))).path
}

fn create() -> std::io::Result<Base> {
    let path = tempfile::Builder::new().prefix("chatkeep-it-").tempdir()?.keep();
    // PostgreSQL runs as another user and has to pass through.
    fs::set_permissions(&path, Permissions::from_mode(0o711))?;
    let guard = Command::new("sh")
        .args(["-c", GUARD, "guard"])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A group of its own: Ctrl-C in the terminal must not end it before its work is done.
        .process_group(0)
        .spawn()?;
    Ok(Base { path, _guard: guard })
}
