//! Length limit of a tool result. A model pays for every token of it, and some clients pass on both
//! the structured form and the text, so both are counted, as they are sent: what is escaped in JSON is
//! longer than what somebody wrote.

/// Approximate maximum of tokens in a result; the parts around its rows have their share.
const TOKENS: usize = 9_600;
/// The same of a result of one row: a message of 5,000 characters of any script is whole in both
/// forms.
const FIRST: usize = 10_400;

/// Share of the parts around the rows.
const AROUND: usize = 300;

/// Remaining budget for rows, in estimated tokens. All texts are given as they are sent.
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
    pub(super) fn spend(&mut self, sent: &[&str]) {
        self.left = self.left.saturating_sub(cost(sent));
    }

    /// Takes the cost of the parts around the rows, as far as it is beyond their share.
    pub(super) fn spend_around(&mut self, sent: &[&str]) {
        self.left = self.left.saturating_sub(cost(sent).saturating_sub(AROUND));
    }

    /// Takes the cost of a row; returns `false`, and takes nothing, if it exceeds the budget.
    pub(super) fn take(&mut self, sent: &[&str]) -> bool {
        let cost = cost(sent);
        if cost > self.left && self.begun {
            return false;
        }
        self.begun = true;
        self.left = self.left.saturating_sub(cost);
        true
    }

    /// Returns the largest length of a text, up to `max`, with which a row is within the budget if it
    /// is the first one; `sent` returns what is sent of the row with a text of at most that length.
    /// Later rows are left out instead.
    pub(super) fn longest<const N: usize>(
        &self,
        max: usize,
        sent: impl Fn(usize) -> [String; N],
    ) -> usize {
        let room = self.left + (FIRST - TOKENS);
        let fits = |length: usize| {
            let sent = sent(length);
            cost(&sent.each_ref().map(String::as_str)) <= room
        };
        if self.begun || fits(max) {
            return max;
        }
        let (mut shorter, mut longer) = (0, max);
        while longer - shorter > 1 {
            let middle = shorter.midpoint(longer);
            if fits(middle) {
                shorter = middle;
            } else {
                longer = middle;
            }
        }
        shorter
    }
}

/// Returns a text as it is sent in a JSON string.
pub(super) fn sent(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let bare = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    bare.unwrap_or_default().to_owned()
}

fn cost(sent: &[&str]) -> usize {
    sent.iter().map(|text| tokens(text)).sum()
}

/// Estimates the tokens of a text, rather too many. Names, numbers and JSON need one for three
/// letters, most other scripts one a character, emoji and rare characters two.
fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|character| !character.is_ascii());
    let others: usize = others.map(|character| 1 + usize::from(character > '\u{ffff}')).sum();
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

    #[test]
    fn a_first_row_is_as_long_as_it_fits() {
        let mut budget = TokenBudget::default();
        let row = |letter: &'static str| {
            move |length: usize| {
                let text = letter.repeat(length);
                [sent(&text), sent(&sent(&text))]
            }
        };
        assert_eq!(budget.longest(5_000, row("日")), 5_000);
        assert_eq!(budget.longest(6_000, row("日")), 5_200);
        // Two and four characters; the thirds of both forms are rounded up.
        assert_eq!(budget.longest(6_000, row("\"")), 5_199);
        assert_eq!(budget.longest(5_000, row("😀")), 2_600);
        budget.spend(&[&"x".repeat(3 * 400)]);
        assert_eq!(budget.longest(6_000, row("日")), 5_000);
        assert!(budget.take(&["row"]));
        assert_eq!(budget.longest(6_000, row("日")), 6_000, "it is left out if it does not fit");
    }

    #[test]
    fn parts_around_the_rows_have_a_share() {
        let longest = |around: usize| {
            let mut budget = TokenBudget::default();
            budget.spend_around(&[&"x".repeat(3 * around)]);
            budget.longest(20_000, |length| ["日".repeat(length)])
        };
        assert_eq!((longest(0), longest(AROUND), longest(AROUND + 7)), (FIRST, FIRST, FIRST - 7));
    }

    #[test]
    fn a_text_is_counted_as_it_is_sent() {
        assert_eq!(sent("a\"b\\c\n日"), "a\\\"b\\\\c\\n日");
        assert_eq!(sent(""), "");
        assert_eq!((tokens("abcd"), tokens("日本"), tokens("😀")), (2, 2, 2));
    }
}
