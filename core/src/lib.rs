//! Chatkeep's domain types, its settings and its telemetry.

pub mod assistant;
pub mod blob;
pub mod bounds;
pub mod causes;
pub mod config;
pub mod disk;
pub mod event;
pub mod health;
pub mod heavy;
pub mod http;
pub mod id;
pub mod message;
pub mod metric;
pub mod outage;
pub mod panics;
pub mod plan;
pub mod profile;
pub mod pseudonym;
pub mod random;
pub mod role;
pub mod secret;
pub mod signing;
pub mod sqlite;
pub mod telemetry;
pub mod time;
pub mod trace;
