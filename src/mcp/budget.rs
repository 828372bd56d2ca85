//! Length limit of a tool result. A model pays for every token of it, and some clients pass on both
//! the structured form and the text, so both are counted.

/// Approximate maximum of tokens in a result; the parts around its rows have their share.
const TOKENS: usize = 9_600;

/// Remaining budget for rows, in estimated tokens.
#[derive(Debug)]
pub(super) struct TokenBudget {
    left: usize,
    /// False until the first row, which always fits.
    begun: bool,
}

impl Default for TokenBudget {
    fn default() -> Self {
        Self { left: TOKENS, begun: false }
    }
}

impl TokenBudget {
    /// Takes the cost of what is in the answer whatever it costs.
    pub(super) fn spend(&mut self, texts: &[&str]) {
        let cost = texts.iter().map(|text| tokens(text)).sum::<usize>();
        self.left = self.left.saturating_sub(cost);
    }

    /// Takes the cost of `texts`; returns `false`, and takes nothing, if it exceeds the budget.
    pub(super) fn take(&mut self, texts: &[&str]) -> bool {
        let cost = texts.iter().map(|text| tokens(text)).sum::<usize>();
        if cost > self.left && self.begun {
            return false;
        }
        self.begun = true;
        self.left = self.left.saturating_sub(cost);
        true
    }
}

/// Estimates the tokens of a text, rather too many. Names, numbers and JSON need one for three
/// letters, most other scripts one a character.
fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|character| !character.is_ascii()).count();
    ascii.div_ceil(3) + others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_is_given_whatever_it_costs() {
        let mut budget = TokenBudget::default();
        assert!(budget.take(&[&"x".repeat(100_000)]) && !budget.take(&["y"]));
        let mut budget = TokenBudget::default();
        let row = "日".repeat(1_000);
        assert_eq!((0..20).filter(|_| budget.take(&[&row])).count(), 9);
    }
}
