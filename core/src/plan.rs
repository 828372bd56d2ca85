//! Plans, quotas and the usage status derived from them.

use std::fmt;

use crate::named;

/// A user's plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plan {
    /// 500 MB.
    #[default]
    Free,
    /// 50 GB.
    Standard,
    /// 500 GB; the only one with semantic matching.
    Pro,
}

named! {
    pub Plan {
        Free = "free",
        Standard = "standard",
        Pro = "pro",
    }
}

impl Plan {
    /// Returns the next larger plan; `None` for the largest.
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::Free => Some(Self::Standard),
            Self::Standard => Some(Self::Pro),
            Self::Pro => None,
        }
    }

    /// Returns the quota in bytes.
    pub const fn quota(self) -> i64 {
        match self {
            Self::Free => 524_288_000,
            Self::Standard => 53_687_091_200,
            Self::Pro => 536_870_912_000,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Fill level of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageStatus {
    /// Below 80 %.
    Ok,
    /// 80 % and above.
    Warning,
    /// 90 % and above.
    Critical,
    /// Full: backup pauses.
    Exceeded,
}

named! {
    pub UsageStatus {
        Ok = "OK",
        Warning = "WARNING",
        Critical = "CRITICAL",
        Exceeded = "EXCEEDED",
    }
}

/// Usage of a user's quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes used, never below 0.
    pub used: i64,
    /// The quota in bytes.
    pub quota: i64,
}

impl Usage {
    /// Creates the usage of a user on `plan`.
    pub fn new(used: i64, plan: Plan) -> Self {
        Self { used: used.max(0), quota: plan.quota() }
    }

    /// Returns the bytes left, never below 0.
    pub fn remaining(self) -> i64 {
        (self.quota - self.used).max(0)
    }

    /// Returns hundredths of a percent used, rounded down and clamped to 0..=10,000.
    fn basis_points(self) -> i64 {
        let exact = i128::from(self.used) * 10_000 / i128::from(self.quota);
        i64::try_from(exact).unwrap_or(i64::MAX).clamp(0, 10_000)
    }

    /// Returns the percentage used with two decimals, rounded down, 0..=100.
    #[expect(clippy::cast_precision_loss, reason = "at most 10,000: exact in an f64")]
    pub fn percentage(self) -> f64 {
        self.basis_points() as f64 / 100.0
    }

    /// Returns the status of the percentage.
    pub fn status(self) -> UsageStatus {
        match self.basis_points() {
            10_000.. => UsageStatus::Exceeded,
            9_000.. => UsageStatus::Critical,
            8_000.. => UsageStatus::Warning,
            _ => UsageStatus::Ok,
        }
    }

    /// Returns whether this user's quota pauses their backup.
    pub fn exceeded(self) -> bool {
        self.status() == UsageStatus::Exceeded
    }
}

#[cfg(test)]
#[path = "plan_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(used: i64) -> Usage {
        Usage::new(used, Plan::Free)
    }

    #[test]
    fn statuses_change_exactly_at_their_bounds() {
        let quota = Plan::Free.quota();
        let cases = [
            (0, UsageStatus::Ok),
            (quota * 8 / 10 - 1, UsageStatus::Ok),
            (quota * 8 / 10, UsageStatus::Warning),
            (quota * 9 / 10 - 1, UsageStatus::Warning),
            (quota * 9 / 10, UsageStatus::Critical),
            (quota - 1, UsageStatus::Critical),
            (quota, UsageStatus::Exceeded),
            (quota * 3, UsageStatus::Exceeded),
        ];
        for (used, status) in cases {
            assert_eq!(at(used).status(), status, "{used} bytes");
        }
    }

    #[test]
    fn figures_stay_inside_their_ranges() {
        assert!((at(-5).percentage() - 0.0).abs() < f64::EPSILON);
        assert!((at(i64::MAX).percentage() - 100.0).abs() < f64::EPSILON);
        assert_eq!(at(i64::MAX).remaining(), 0);
        assert!((at(Plan::Free.quota() - 1).percentage() - 99.99).abs() < f64::EPSILON);
    }
}
