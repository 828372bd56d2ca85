//! The Debian package, in a bare Debian with its real maintainer scripts; the image, built as it is
//! and run; and packages that do not depend on where and when they are made.

use std::path::Path;
use std::time::Duration;

use crate::harness::process::Program;
use crate::pipeline::conversation::emulator;
use crate::stack::{SECRET, TOKEN};

/// Timeout of packing and of a dozen runs of dpkg, also on a loaded machine.
const DEADLINE: Duration = Duration::from_mins(10);

/// Runs a script of `tests/packaging/` with the built program and more arguments. Its last line has
/// to be `end`.
async fn holds(script: &str, args: &[&str], end: &str) {
    // cargo-deb asks Cargo for the version and the files of the package.
    let cargo = Path::new(env!("CARGO")).parent().unwrap().display();
    let path = format!("{cargo}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let mut program = Program::new(&format!("tests/packaging/{script}"))
        .args([env!("CARGO_BIN_EXE_chatkeep")])
        .args(args.iter().copied())
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
    assert_eq!(check.stdout().last().map(String::as_str), Some(end), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_package_is_installed_upgraded_removed_and_purged() {
    let line = emulator().await;
    let args = [&line.api_base(), SECRET, TOKEN];
    holds("check", &args, "packaging: everything holds").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_image_is_built_and_runs_without_anything_else() {
    let line = emulator().await;
    let args = [&line.api_base(), SECRET, TOKEN];
    holds("image", &args, "image: everything holds").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_program_gives_the_same_packages() {
    holds("twice", &[], "twice: the packages are the same").await;
}
