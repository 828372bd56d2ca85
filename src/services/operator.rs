//! Permission of the operator: whoever runs the program's commands on its data.

/// Permission for every account and channel, without a caller. Use cases that take it are for the
/// command line and the demo alone: only they may make one
/// (`tests/it/layering/rules.rs`), and no request ever leads to one.
#[derive(Debug)]
pub struct Operator(());

impl Operator {
    /// Permits what the person at the command line asks for: they have the data anyway.
    pub const fn at_command_line() -> Self {
        Self(())
    }
}
