//! Chatkeep's domain types, and its ports with their adapters.

pub mod assistant;
pub mod blobs;
pub mod bounds;
pub mod bus;
pub mod causes;
pub mod config;
pub mod event;
pub mod health;
pub mod http;
pub mod id;
pub mod message;
pub mod metric;
pub mod outage;
pub mod panics;
pub mod plan;
pub mod platform;
pub mod role;
pub mod signing;
pub mod store;
pub mod telemetry;
pub mod time;
