//! Injected faults: responses of the API to the next calls.

use std::time::Duration;

use axum::http::Method;

/// Calls that a fault applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Reply messages.
    Reply,
    /// Push messages.
    Push,
    /// Profiles of friends and of members.
    Profile,
    /// Group summaries, member counts, and what concerns the bot's own account and channel.
    Info,
    /// Content of messages and transcoding states.
    Content,
    /// Previews.
    Preview,
    /// Every call.
    Any,
}

/// Fault of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Error response; the call has no effect.
    Status {
        /// The HTTP status.
        status: u16,
        /// `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// Error response after the call has taken effect.
    StatusAfter {
        /// The HTTP status.
        status: u16,
    },
    /// Error response of an exhausted monthly quota; the call has no effect.
    MonthlyLimit,
    /// This body with status 200, as something between LINE and its caller sends it; the call has no
    /// effect.
    Intercepted(&'static str),
    /// Normal response after this delay.
    Delay(Duration),
    /// The connection is cut; it is not acted upon.
    CutBefore,
    /// The call takes effect, and the connection is closed without a response.
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

    /// Takes the fault for a call to `target`; each applies once.
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
    /// Returns the kind of a call.
    pub(super) fn of(method: &Method, path: &str) -> Self {
        let is_post = method == Method::POST;
        match path {
            "/v2/bot/message/reply" if is_post => Self::Reply,
            "/v2/bot/message/push" if is_post => Self::Push,
            path if path.starts_with("/v2/bot/message/quota") => Self::Info,
            path if path.ends_with("/content/preview") => Self::Preview,
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
        assert_eq!(get("/v2/bot/message/1/content/preview"), Target::Preview);
        assert_eq!(get("/v2/bot/group/C1/member/U1"), Target::Profile);
        assert_eq!(get("/v2/bot/group/C1/members/count"), Target::Info);
        assert_eq!(get("/v2/bot/profile/U1"), Target::Profile);
        assert_eq!(get("/v2/bot/message/quota/consumption"), Target::Info);
    }
}
