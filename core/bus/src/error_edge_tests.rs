//! Tests of errors: which of them mean that whoever asks next will fail, too.

use super::*;

fn storage(error: sqlx::Error) -> BusError {
    error.into()
}

#[test]
fn an_outage_is_told_from_an_error_of_one_call() {
    for (error, is_outage) in [
        (BusError::Full { backlog: 7 }, true),
        (BusError::NotStored("the disk is full".to_owned()), true),
        (BusError::Unavailable("no answer".to_owned()), true),
        (storage(sqlx::Error::Io(std::io::ErrorKind::StorageFull.into())), true),
        (storage(sqlx::Error::PoolTimedOut), true),
        (storage(sqlx::Error::RowNotFound), false),
        (BusError::Locked("/data".to_owned()), false),
        (BusError::Missing("in /data".to_owned()), false),
        (BusError::Foreign("to another database"), true),
        (BusError::NoResponder("search"), false),
        (BusError::RequestTimeout("search"), false),
        (BusError::TooLarge("search"), false),
        (BusError::MessageTooLarge("e1".to_owned()), false),
        (BusError::Config("two consumers".to_owned()), false),
    ] {
        assert_eq!(error.is_outage(), is_outage, "{error}");
        let class = error.class();
        let is_plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        assert!(!class.is_empty() && class.chars().all(is_plain), "{class} is a label of metrics");
    }
}
