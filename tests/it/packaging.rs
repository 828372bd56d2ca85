//! The Debian package, in a bare Debian with its real maintainer scripts.

use std::time::Duration;

use crate::harness::process::Program;
use crate::pipeline::conversation::emulator;
use crate::stack::{SECRET, TOKEN};

/// Timeout of packing and of a dozen runs of dpkg, also on a loaded machine.
const DEADLINE: Duration = Duration::from_mins(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_package_is_installed_upgraded_removed_and_purged() {
    // cargo-deb asks Cargo for the version and the files of the package.
    let cargo = std::path::Path::new(env!("CARGO")).parent().unwrap().display();
    let path = format!("{cargo}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let line = emulator().await;
    let api_base = line.api_base();
    let mut program = Program::new("tests/packaging/check")
        .args([env!("CARGO_BIN_EXE_chatkeep"), &api_base, SECRET, TOKEN])
        .folder(env!("CARGO_MANIFEST_DIR"))
        .env("PATH", path);
    for (name, value) in [("HOME", option_env!("HOME")), ("CARGO_HOME", option_env!("CARGO_HOME"))]
    {
        if let Some(value) = value {
            program = program.env(name, value);
        }
    }
    let mut check = program.start();
    let status = check.finish_within(DEADLINE).await;
    let said = format!("{}\n{}", check.stdout().join("\n"), check.stderr().join("\n"));
    assert!(status.success(), "{said}");
    assert!(said.contains("packaging: everything holds"), "{said}");
}
