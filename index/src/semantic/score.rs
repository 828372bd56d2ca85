//! Scores from the weighted sums of a message's similarities.
//!
//! A sum alone is not a score: among many rules one is likely to resemble a message by accident,
//! and a message that resembles two rules is often about neither.

use super::Calibration;

/// Number of rules below which scores are higher: see [`Calibration::few_rules`].
const MANY_RULES: f32 = 150.0;
/// Maximum score of a message that is not one of the rule's phrases.
const BELOW_EQUAL: f32 = 0.99;
/// Lead of a score for each unit of lead of its sum: the slope of the logistic function at 0.8.
const SUM_LEAD: f32 = 0.16;
/// Minimum lexical score that shows by itself that two texts are the same but for a typo.
const NEARLY_EQUAL: f32 = 0.75;

/// Returns how near a message is to a text, to be compared with other texts: texts that are the same
/// but for a typo first, then by the weighted sum.
pub(super) fn nearness(sum: f32, lexical: f32) -> (f32, f32) {
    (if lexical >= NEARLY_EQUAL { lexical } else { 0.0 }, sum)
}

/// Mapping of sums to scores for one message.
pub(super) struct Scores {
    rival: f32,
    bias: f32,
    /// Highest sum, then the second; 0 if there is none.
    best: f32,
    second: f32,
}

impl Scores {
    /// Prepares a channel of `rules` rules and a message that has these weighted `sums` with them.
    pub(super) fn new(
        calibration: &Calibration,
        rules: usize,
        sums: impl Iterator<Item = f32>,
    ) -> Self {
        let (best, second) = sums.fold((0.0_f32, 0.0_f32), |(best, second), sum| {
            (best.max(sum), second.max(best.min(sum)))
        });
        #[expect(clippy::cast_precision_loss, reason = "a number of rules")]
        let share = (rules.max(1) as f32 / MANY_RULES).min(1.0);
        let bias = calibration.bias - calibration.few_rules * share.ln();
        Self { rival: calibration.rival, bias, best, second }
    }

    /// Returns the score of a rule with this `sum`, of which the lexical score is a part: a
    /// logistic function of the sum, less the rival's share. Of two that are nearly 1 the better one
    /// can still be told: [`shown`] cuts them.
    pub(super) fn score(&self, sum: f32, lexical: f32) -> f32 {
        let rival = if sum < self.best { self.best } else { self.second };
        let whole = sum - self.rival * rival + self.bias;
        let score = 1.0 / (1.0 + (-whole).exp());
        if lexical >= NEARLY_EQUAL { score.max(lexical.min(BELOW_EQUAL)) } else { score }
    }
}

/// Returns a score as it is shown: only a message that is one of the rule's phrases has 1.
pub(super) fn shown(score: f32) -> f32 {
    score.min(BELOW_EQUAL)
}

/// Returns the lead of a score over another. Near 1, where scores hardly differ any more, it is the
/// lead of their sums.
pub(super) fn lead(best: f32, second: f32) -> f32 {
    let odds = |score: f32| {
        let score = score.clamp(1e-6, 1.0 - 1e-6);
        (score / (1.0 - score)).ln()
    };
    (best - second).max(SUM_LEAD * (odds(best) - odds(second)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::AcceptanceLevels;

    const CALIBRATION: Calibration = Calibration {
        nearest: 1.0,
        centroid: 1.0,
        classifier: 1.0,
        lexical: 1.0,
        rival: 0.25,
        bias: -5.0,
        few_rules: 0.2,
        acceptance: AcceptanceLevels::new([0.6; 3], 0.02),
    };

    fn score(rules: usize, sums: &[f32]) -> f32 {
        Scores::new(&CALIBRATION, rules, sums.iter().copied()).score(sums[0], 0.0)
    }

    #[test]
    fn a_rival_lowers_the_score() {
        let alone = score(150, &[6.0, 0.0, -1.0]);
        assert!((alone - 0.731).abs() < 1e-3, "{alone}");
        assert_eq!(alone.to_bits(), score(150, &[6.0]).to_bits());
        let beside = score(150, &[6.0, 2.0, 4.0]);
        assert!((beside - 0.5).abs() < 1e-3, "only the best rival counts: {beside}");
        assert!(score(150, &[4.0, 6.0, 2.0]) < score(150, &[4.0, 2.0]), "also below the best");
    }

    #[test]
    fn few_rules_need_less() {
        assert!(score(3, &[6.0]) > score(12, &[6.0]));
        assert!(score(12, &[6.0]) > score(150, &[6.0]));
        assert_eq!(score(150, &[6.0]).to_bits(), score(9_000, &[6.0]).to_bits());
        assert!(score(0, &[6.0]).is_finite());
    }

    #[test]
    fn nearly_the_same_words_are_enough() {
        let scores = Scores::new(&CALIBRATION, 150, [1.0, 1.0].into_iter());
        assert!(scores.score(1.0, 0.74) < 0.1);
        assert!((scores.score(1.0, 0.8) - 0.8).abs() < 1e-6);
        assert!((scores.score(1.0, 1.0) - BELOW_EQUAL).abs() < 1e-6);
    }

    #[test]
    fn near_one_the_sums_tell_which_is_better() {
        let scores = Scores::new(&CALIBRATION, 150, [11.0].into_iter());
        let (better, worse) = (scores.score(12.0, 0.0), scores.score(11.0, 0.0));
        assert_eq!(shown(better).to_bits(), shown(worse).to_bits());
        assert!(better - worse < 0.02 && lead(better, worse) > 0.1);
        assert!((lead(0.65, 0.64) - 0.01).abs() < 1e-4, "in the middle nothing changes");
        assert!(lead(1.0, 1.0).abs() < f32::EPSILON);
    }
}
