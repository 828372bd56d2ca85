//! The stages of the program, with their runs compiled here: a generic future is compiled where it
//! is awaited, so once more in the program and in each bench.

use futures_util::future::BoxFuture;

use crate::assistant::Assistant;
use crate::backup::Backup;
use crate::gate::Gated;
use crate::media::Media;
use crate::members::Members;
use crate::runner::{Runner, Stage};

/// A stage whose run is compiled in this crate.
pub trait PipelineStage: Stage + Sized {
    /// Runs the stage until its runner is stopped.
    fn run(runner: Runner<Self>) -> BoxFuture<'static, ()>;
}

macro_rules! pipeline {
    ($($stage:ty),+) => {$(
        impl PipelineStage for $stage {
            fn run(runner: Runner<Self>) -> BoxFuture<'static, ()> {
                Box::pin(runner.run())
            }
        }
    )+};
}

pipeline!(Backup, Gated<Assistant>, Gated<Backup>, Gated<Members>, Media);
