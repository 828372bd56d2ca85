//! The `chatkeep` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    chatkeep::cli::main()
}
