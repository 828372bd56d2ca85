//! What chatkeep shows of its things, in one form on every surface: REST, exports, events.

mod member;
mod message;

pub(crate) use member::MemberView;
pub(crate) use message::{GapView, MessageView};
