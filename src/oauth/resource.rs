//! The `resource` of a request (RFC 8707), which clients write as a person typed the address.

use url::Url;

/// Returns true if `asked` names that resource: scheme and host in any case, with or without the
/// default port and a slash at the end. A fragment is part of no resource.
pub(super) fn is_this_resource(resource: &str, asked: &str) -> bool {
    canonical(asked).is_some_and(|asked| canonical(resource) == Some(asked))
}

/// Returns an address in its one form, without a slash at the end.
fn canonical(address: &str) -> Option<Url> {
    let address = address.strip_suffix('/').unwrap_or(address);
    Url::parse(address).ok().filter(|url| url.fragment().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_known_however_it_is_spelt() {
        let resource = "https://chat.example.org/x/mcp";
        for asked in [
            "https://chat.example.org/x/mcp",
            "https://chat.example.org/x/mcp/",
            "HTTPS://Chat.Example.ORG/x/mcp",
            "https://chat.example.org:443/x/mcp",
            "HTTPS://CHAT.EXAMPLE.ORG:443/x/mcp/",
        ] {
            assert!(is_this_resource(resource, asked), "{asked}");
        }
        for asked in [
            "",
            "/x/mcp",
            "http://chat.example.org/x/mcp",
            "https://chat.example.org:8443/x/mcp",
            "https://chat.example.org.evil.example/x/mcp",
            "https://user@chat.example.org/x/mcp",
            "https://chat.example.org/x/MCP",
            "https://chat.example.org/x/mcp//",
            "https://chat.example.org/x/mcp?",
            "https://chat.example.org/x/mcp?/",
            "https://chat.example.org/x/mcp#",
            "https://chat.example.org/x/mcp#a",
            "https://chat.example.org/x/mcp/#/",
            "https://chat.example.org/x",
            "https://chat.example.org",
        ] {
            assert!(!is_this_resource(resource, asked), "{asked}");
        }
        // So is one whose own address is written otherwise.
        assert!(is_this_resource("http://LOCALHOST:80/mcp", "http://localhost/mcp/"));
    }
}
