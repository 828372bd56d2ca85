//! Options in the address of a PostgreSQL server.

use chatkeep_core::config::name_hint;
use url::Url;

use super::StoreError;

/// Options that the client of PostgreSQL heeds. It ignores every other one, and logs its value.
const OPTIONS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// Checks that the client heeds each option of an address: a misspelt `sslmode` would leave the
/// connection unencrypted.
///
/// # Errors
/// [`StoreError::UnknownOption`], or [`StoreError::BadUrl`] for a text that is no URL.
pub(super) fn check_options(address: &str) -> Result<(), StoreError> {
    let url = Url::parse(address).map_err(|_| StoreError::BadUrl)?;
    // A password may have a `?` or `&` in it that is not encoded: what follows looks like options.
    let mut is_doubtful = url.query().is_some_and(|query| query.contains('@'));
    for (name, value) in url.query_pairs() {
        if !is_known(&name) {
            let is_shown = !is_doubtful && !value.is_empty() && is_plain(&name);
            return Err(StoreError::UnknownOption(described(is_shown.then_some(&*name))));
        }
        is_doubtful |= name == "password";
    }
    Ok(())
}

/// Returns whether the client heeds an option; `options[name]` is a setting of the session.
fn is_known(name: &str) -> bool {
    let setting = name.strip_prefix("options[").and_then(|rest| rest.strip_suffix(']'));
    setting.is_some_and(|setting| !setting.is_empty()) || OPTIONS.contains(&name)
}

/// Returns whether a text looks like the name of an option.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '[' | ']');
    !name.is_empty() && name.chars().all(plain)
}

/// Describes an unknown option by its name and the one that was probably meant; `None` stands for a
/// name that may be a part of a password.
fn described(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{name}{}", name_hint(&OPTIONS, &name.to_ascii_lowercase())),
        None => "not shown, for it may be part of a password, in which ? is written %3F and & \
                 is written %26"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::super::pools::server_options;
    use super::*;

    /// Returns the error about an address.
    fn refused(address: &str) -> String {
        server_options(&SecretString::from(address)).unwrap_err().to_string()
    }

    #[test]
    fn the_client_heeds_each_known_option() {
        let options = |query: &str| {
            let address = SecretString::from(format!("postgres://me:pw@db:5431/chat{query}"));
            format!("{:?}", server_options(&address).unwrap())
        };
        let without = options("");
        for name in OPTIONS.into_iter().chain(["options[lock_timeout]"]) {
            let value = match name {
                "sslmode" | "ssl-mode" => "verify-full",
                "hostaddr" => "192.0.2.1",
                "port" | "statement-cache-capacity" => "7",
                "options" => "-clock_timeout%3D3s",
                _ => "other",
            };
            assert_ne!(options(&format!("?{name}={value}")), without, "{name}");
        }
        assert_eq!(options("?"), without);
    }

    #[test]
    fn an_unknown_option_is_named_with_the_one_that_was_meant() {
        for (query, expected) in [
            ("sslmod=verify-full", "sslmod (did you mean sslmode?)"),
            ("SSLMODE=verify-full", "SSLMODE (did you mean sslmode?)"),
            (
                "sslmode=require&ssl_root_cert=/ca.pem",
                "ssl_root_cert (did you mean ssl-root-cert?)",
            ),
            ("pasword=hunter2", "pasword (did you mean password?)"),
            ("connect_timeout=3", "connect_timeout"),
            ("options[lock_timeout=3s", "options[lock_timeout"),
        ] {
            let expected = format!("the database address has an unknown option: {expected}");
            assert_eq!(refused(&format!("postgres://me@db/chat?{query}")), expected);
        }
    }

    #[test]
    fn what_may_be_part_of_a_password_is_not_shown() {
        for address in [
            "postgres://me:1?hunter2@db/chat",
            "postgres://me:?hunter=2@db/chat",
            "postgres://db/chat?user=me&password=a&hunter=2",
            "postgres://db/chat?user=me&pass%77ord=a&hunter=2",
            "postgres://db/chat?user=me&hunter",
            "postgres://db/chat?hunter%20=2",
            "postgres://db/chat?=hunter",
        ] {
            let shown = refused(address);
            assert!(shown.contains("unknown option: not shown"), "{address} {shown}");
            assert!(!shown.contains("hunter"), "{address} {shown}");
        }
    }

    #[test]
    fn connections_have_the_name_of_the_program_unless_the_address_has_another_one() {
        let name = |address: &str| {
            let options = server_options(&SecretString::from(address)).unwrap();
            options.get_application_name().map(str::to_owned)
        };
        assert_eq!(name("postgres://db/chat?application_name=backup").as_deref(), Some("backup"));
        assert!(name("postgres://db/chat").is_some());
    }
}
