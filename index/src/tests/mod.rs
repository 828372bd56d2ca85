//! Tests of the small parts of the crate: times, links, addresses.

mod links;
mod moments;
