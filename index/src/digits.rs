//! Decimal digits of all scripts.

/// Zeros of the scripts with digits of their own (Unicode 16, general category Nd); one to nine
/// follow each. Those that look like ASCII, such as full-width ones, are folded before.
#[rustfmt::skip]
const ZEROS: [char; 66] = [
    '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}',
    '\u{b66}', '\u{be6}', '\u{c66}', '\u{ce6}', '\u{d66}', '\u{de6}', '\u{e50}',
    '\u{ed0}', '\u{f20}', '\u{1040}', '\u{1090}', '\u{17e0}', '\u{1810}', '\u{1946}',
    '\u{19d0}', '\u{1a80}', '\u{1a90}', '\u{1b50}', '\u{1bb0}', '\u{1c40}', '\u{1c50}',
    '\u{a620}', '\u{a8d0}', '\u{a900}', '\u{a9d0}', '\u{a9f0}', '\u{aa50}', '\u{abf0}',
    '\u{104a0}', '\u{10d30}', '\u{10d40}', '\u{11066}', '\u{110f0}', '\u{11136}', '\u{111d0}',
    '\u{112f0}', '\u{11450}', '\u{114d0}', '\u{11650}', '\u{116c0}', '\u{116d0}', '\u{116da}',
    '\u{11730}', '\u{118e0}', '\u{11950}', '\u{11bf0}', '\u{11c50}', '\u{11d50}', '\u{11da0}',
    '\u{11f50}', '\u{16a60}', '\u{16ac0}', '\u{16b50}', '\u{16d70}', '\u{1e140}', '\u{1e2f0}',
    '\u{1e4f0}', '\u{1e5f1}', '\u{1e950}',
];

/// Returns the ASCII digit for a digit of any script, and any other character as it is.
///
/// ```
/// use chatkeep_index::ascii_digit;
/// assert_eq!("ชั้น ๔".chars().map(ascii_digit).collect::<String>(), "ชั้น 4");
/// ```
pub fn ascii_digit(c: char) -> char {
    let zero = match ZEROS.partition_point(|zero| *zero <= c) {
        0 => return c,
        next => ZEROS[next - 1],
    };
    char::from_digit(u32::from(c) - u32::from(zero), 10).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_ten_and_nothing_else() {
        assert!(ZEROS.is_sorted());
        for zero in ZEROS {
            for value in 0..10 {
                let digit = char::from_u32(u32::from(zero) + value).unwrap();
                assert!(digit.is_numeric(), "{digit:?}");
                assert_eq!(ascii_digit(digit).to_digit(10), Some(value), "{digit:?}");
            }
        }
        for other in ['7', 'a', '\u{65f}', '\u{66a}', '\u{e5a}', '一', '½', '\u{1e95a}', '👍'] {
            assert_eq!(ascii_digit(other), other);
        }
    }
}
