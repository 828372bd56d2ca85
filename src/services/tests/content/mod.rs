//! Rules of the use cases about what is said in a channel: reading and searching it, answering it,
//! handing it out, and the checks of what a caller sends for that.

mod assistant_history;
mod assistant_import;
mod assistant_rules;
mod assistant_settings;
mod assistant_trials;
mod conversation;
mod cursors;
mod decoding;
mod export_requests;
mod inputs;
mod media_files;
mod message_pages;
mod saved_search_drafts;
mod saved_search_order;
mod search_pages;
mod welcome_names;
