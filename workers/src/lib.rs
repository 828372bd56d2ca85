//! The pipeline: one module a stage, and the runner that drives them all.
//!
//! A stage turns events into effects and returns an outcome ([`Outcome`]); pulling, leases,
//! acknowledgement, retries, dead letters, timeouts, metrics and draining are the runner's, once,
//! for every stage (docs/architecture.md#rule-4).

pub mod assistant;
pub mod backup;
pub mod dead_letters;
mod direct_message;
pub mod failure;
pub mod gate;
mod item_failures;
pub mod jobs;
pub mod lease;
pub mod media;
pub mod members;
pub mod notices;
pub mod notifier;
mod outcome;
pub mod periodic;
mod pipeline;
mod recent_traces;
pub mod replica;
mod runner;
mod stages;
pub mod supervisor;
pub mod tap;

pub use item_failures::ItemFailures;
pub use outcome::{Outcome, Unfinished};
pub use pipeline::PipelineStage;
pub use recent_traces::RecentTraces;
pub use runner::{LONG_WAIT, Runner, RunnerSettings, Stage};
pub use stages::StageName;
