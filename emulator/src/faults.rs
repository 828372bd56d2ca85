//! Trouble on demand: what the API answers to the next calls instead of the truth.

use std::time::Duration;

use axum::http::Method;

/// Which calls a fault is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Reply messages.
    Reply,
    /// Push messages.
    Push,
    /// Profiles of friends and of members.
    Profile,
    /// Group summaries, member counts and the bot's own data.
    Info,
    /// Content of messages, previews and transcoding states.
    Content,
    /// Every call.
    Any,
}

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with an error, not acted upon.
    Status {
        /// The HTTP status.
        status: u16,
        /// `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// It is acted upon, and answered with this error all the same.
    StatusAfter {
        /// The HTTP status.
        status: u16,
    },
    /// It is answered as if the bot's messages of this month were used up, not acted upon.
    MonthlyLimit,
    /// It is acted upon and answered, but only after this time.
    Delay(Duration),
    /// The connection is cut; it is not acted upon.
    CutBefore,
    /// It is acted upon, then the connection is cut without an answer.
    CutAfter,
}

#[derive(Debug)]
struct Switch {
    target: Target,
    left: usize,
    fault: Fault,
}

/// The switches that are on, oldest first.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Switch>);

impl Faults {
    pub(super) fn next(&mut self, target: Target, calls: usize, fault: Fault) {
        if calls > 0 {
            self.0.push(Switch { target, left: calls, fault });
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The fault for a call to `target`; it is used up by one.
    pub(super) fn take(&mut self, target: Target) -> Option<Fault> {
        let fits = |switch: &Switch| switch.target == target || switch.target == Target::Any;
        let index = self.0.iter().position(fits)?;
        let switch = &mut self.0[index];
        switch.left -= 1;
        let fault = switch.fault.clone();
        if switch.left == 0 {
            self.0.remove(index);
        }
        Some(fault)
    }
}

impl Target {
    /// What a call is about.
    pub(super) fn of(method: &Method, path: &str) -> Self {
        let is_post = method == Method::POST;
        match path {
            "/v2/bot/message/reply" if is_post => Self::Reply,
            "/v2/bot/message/push" if is_post => Self::Push,
            path if path.starts_with("/v2/bot/message/") => Self::Content,
            path if path.starts_with("/v2/bot/profile/") || path.contains("/member/") => {
                Self::Profile
            }
            _ => Self::Info,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_for_their_calls_and_used_up() {
        let mut faults = Faults::default();
        faults.next(Target::Reply, 2, Fault::CutAfter);
        faults.next(Target::Any, 1, Fault::CutBefore);
        assert_eq!(faults.take(Target::Reply), Some(Fault::CutAfter));
        assert_eq!(faults.take(Target::Profile), Some(Fault::CutBefore));
        assert_eq!(faults.take(Target::Profile), None);
        assert_eq!(faults.take(Target::Reply), Some(Fault::CutAfter));
        assert_eq!(faults.take(Target::Reply), None);
    }

    #[test]
    fn targets_are_told_by_path() {
        let get = |path| Target::of(&Method::GET, path);
        assert_eq!(Target::of(&Method::POST, "/v2/bot/message/reply"), Target::Reply);
        assert_eq!(get("/v2/bot/message/1/content"), Target::Content);
        assert_eq!(get("/v2/bot/group/C1/member/U1"), Target::Profile);
        assert_eq!(get("/v2/bot/group/C1/members/count"), Target::Info);
        assert_eq!(get("/v2/bot/profile/U1"), Target::Profile);
    }
}
