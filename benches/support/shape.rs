//! Messages as platforms send them: keys in LINE's lengths, because what a row weighs in an index
//! depends on them, and several people in each channel.

/// Number of people who write in each channel.
const PEOPLE: usize = 10;

/// Returns the id of a channel.
pub(crate) fn channel(number: usize) -> String {
    format!("C{number:032x}")
}

/// Returns the id of a message.
pub(crate) fn message(number: usize) -> String {
    format!("{}", 500_000_000_000_000_000 + number)
}

/// Returns the id of an event.
pub(crate) fn event(number: usize) -> String {
    format!("01J{number:023}")
}

/// Returns the id of who sends a message, when `channels` channels take turns.
pub(crate) fn sender(number: usize, channels: usize) -> String {
    let person = number / channels % PEOPLE;
    format!("U{:032x}", number % channels * PEOPLE + person)
}

/// Returns the text of a message.
pub(crate) fn text(number: usize) -> String {
    format!("message {number}: 大家今晚幾點到? see you at the station")
}
