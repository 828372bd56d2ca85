//! `chatkeep mcp stdio`: the bridge from a client that starts a program to the service.

use std::io::{self, BufRead, Read as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chatkeep_core::http;
use chatkeep_core::panics;
use chatkeep_http::MAX_BODY;
use chatkeep_transfer::out::{note, stdout};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use url::Url;

use super::EndpointArgs;
use crate::app::PreflightError;

/// Maximum size of a message of the client in bytes, without the end of its line.
const MAX_MESSAGE: usize = MAX_BODY;
/// Maximum number of requests at once.
const CONCURRENCY: usize = 8;
/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Path of a request's own protocol revision.
const REVISION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
/// JSON-RPC error code of a message that is not JSON.
const PARSE_ERROR: i64 = -32_700;
/// JSON-RPC error code of a message that is no request, notification or response.
const INVALID_REQUEST: i64 = -32_600;
/// Error code of this program: the service did not answer.
const NO_ANSWER: i64 = -32_000;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct StdioArgs {
    #[command(flatten)]
    endpoint: EndpointArgs,
}

/// Connection to the service. Clones share it.
#[derive(Clone)]
struct Bridge {
    http: reqwest::Client,
    address: Url,
    key: SecretString,
    /// Revision that the older ones agree on at the beginning.
    revision: Arc<Mutex<Option<String>>>,
}

/// Passes on messages until standard input ends, and then waits for the answers.
pub(super) async fn run(args: &StdioArgs) -> anyhow::Result<()> {
    let key = args.endpoint.key()?;
    let no_key =
        || PreflightError("no key: set CHATKEEP_KEY, or name its file with --key-file".to_owned());
    let bridge = Bridge {
        http: http::patient_client(TIMEOUT)?,
        address: args.endpoint.address()?,
        key: key.ok_or_else(no_key)?,
        revision: Arc::default(),
    };
    let permits = Arc::new(Semaphore::new(CONCURRENCY));
    while let Some(line) = next_line().await? {
        let permit = Arc::clone(&permits).acquire_owned().await?;
        let bridge = bridge.clone();
        let answered = async move {
            let answer = bridge.pass(line).await;
            // A client that is gone has closed its end of standard input, too.
            if let Some(answer) = answer
                && let Err(error) = write_line(&answer)
            {
                note!("chatkeep: cannot answer: {error}");
            }
            drop(permit);
        };
        panics::spawn("mcp_bridge", answered);
    }
    let all = u32::try_from(CONCURRENCY)?;
    permits.acquire_many(all).await.map(drop).context("the bridge was closed")
}

/// Reads the next line of standard input, as [`read_line`] does.
async fn next_line() -> anyhow::Result<Option<Vec<u8>>> {
    let read = tokio::task::spawn_blocking(|| read_line(&mut io::stdin().lock()));
    Ok(read.await??)
}

/// Reads the next line that is not empty, without its end; `None` after the last. Of one that is
/// too long, nothing but more than the maximum is returned.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    // With an end of two bytes.
    let most = MAX_MESSAGE + 2;
    loop {
        let mut line = Vec::new();
        let limit = u64::try_from(most).unwrap_or(u64::MAX);
        if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.ends_with(b"\n") {
            line.pop();
            if line.ends_with(b"\r") {
                line.pop();
            }
        } else if line.len() == most {
            input.skip_until(b'\n')?;
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(line));
        }
    }
}

/// Writes a message, whole and at once: several tasks do.
fn write_line(message: &str) -> io::Result<()> {
    let mut output = stdout();
    output.write_all(format!("{message}\n").as_bytes())?;
    output.flush()
}

impl Bridge {
    /// Passes a message on; returns the answer, which notifications do not get.
    async fn pass(&self, line: Vec<u8>) -> Option<String> {
        if line.len() > MAX_MESSAGE {
            let why = format!("the message is longer than {MAX_MESSAGE} bytes");
            return Some(failure(&Value::Null, PARSE_ERROR, &why));
        }
        let Ok(message) = serde_json::from_slice::<Value>(&line) else {
            return Some(failure(&Value::Null, PARSE_ERROR, "the message is not JSON"));
        };
        if !message.is_object() {
            let why = "the message is not an object: batches are not supported";
            return Some(failure(&Value::Null, INVALID_REQUEST, why));
        }
        let id = message.get("id").cloned();
        match (self.send(&message, line).await, id) {
            (Ok(answer), Some(_)) => answer,
            // The service refuses some notifications, of which nobody waits for an answer.
            (Ok(_), None) => None,
            (Err(why), id) => {
                note!("chatkeep: {why}");
                id.map(|id| failure(&id, NO_ANSWER, &why))
            }
        }
    }

    /// Sends a message; returns the answer as one line, or why there is none.
    async fn send(&self, message: &Value, line: Vec<u8>) -> Result<Option<String>, String> {
        let (address, key) = (self.address.clone(), self.key.expose_secret());
        let mut request = self.http.post(address).bearer_auth(key);
        request = request.header(CONTENT_TYPE, "application/json");
        request = request.header(ACCEPT, "application/json, text/event-stream");
        for (name, value) in self.headers(message) {
            request = request.header(name, value);
        }
        let unreachable = |error: reqwest::Error| {
            let what = if error.is_timeout() { "no answer in time from" } else { "cannot reach" };
            format!("{what} {}", self.address)
        };
        let answer = request.body(line).send().await.map_err(unreachable)?;
        let status = answer.status();
        let body = answer.text().await.map_err(unreachable)?;
        if body.trim().is_empty() {
            return if status.is_success() {
                Ok(None)
            } else {
                Err(format!("the service answered {status}"))
            };
        }
        let Ok(parsed) = serde_json::from_str::<Value>(&body) else {
            return Err(format!("the service answered {status} and no JSON: is --url right?"));
        };
        if parsed.get("jsonrpc").is_none() {
            let why = parsed.get("error").and_then(Value::as_str).unwrap_or("no reason");
            return Err(format!("the service answered {status}: {why}"));
        }
        if let Some(Value::String(revision)) = parsed.pointer("/result/protocolVersion") {
            *self.revision.lock().unwrap_or_else(PoisonError::into_inner) = Some(revision.clone());
        }
        // Line breaks are between its tokens: within texts, JSON writes them otherwise.
        Ok(Some(body.replace(['\n', '\r'], "")))
    }

    /// Returns the headers that repeat parts of a message, as the revisions since 2026-07-28 want.
    fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        let text = |path: &str| message.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let agreed = || self.revision.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let own = text(REVISION);
        let repeated = own.is_some();
        let mut headers = Vec::new();
        // The older revisions have none in the first request.
        headers.extend(own.or_else(agreed).map(|revision| ("mcp-protocol-version", revision)));
        if repeated {
            headers.extend(text("/method").map(|method| ("mcp-method", method)));
            let name = text("/params/name").or_else(|| text("/params/uri"));
            headers.extend(name.map(|name| ("mcp-name", header_text(name))));
        }
        headers
    }
}

/// Returns a text as a header may have it: in Base64, marked as such, if it has other characters
/// than those of ASCII, or white space at an end.
fn header_text(text: String) -> String {
    let is_plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if is_plain && text.trim() == text && !text.starts_with("=?") {
        return text;
    }
    format!("=?base64?{}?=", STANDARD.encode(text))
}

/// Formats a JSON-RPC error.
fn failure(id: &Value, code: i64, why: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_no_other_characters_than_those_of_ascii() {
        let header = |text: &str| header_text(text.to_owned());
        assert_eq!(header("search messages"), "search messages");
        assert_eq!(header("早安"), "=?base64?5pep5a6J?=");
        assert_eq!(header(" a"), "=?base64?IGE=?=");
        assert_eq!(header("=?base64?IGE=?="), "=?base64?PT9iYXNlNjQ/SUdFPT89?=");
    }

    #[test]
    fn a_message_may_be_as_long_as_a_request() {
        let (longest, longer) = ("x".repeat(MAX_MESSAGE), "y".repeat(MAX_MESSAGE + 3));
        for end in ["\n", "\r\n"] {
            let text = [&*longest, " ", &*longer, "{}", &*longest].join(end);
            let (mut input, mut lengths) = (text.as_bytes(), Vec::new());
            while let Some(line) = read_line(&mut input).unwrap() {
                assert!(!line.ends_with(b"\n") && !line.ends_with(b"\r"));
                lengths.push(line.len());
            }
            let [first, too_long, short, last] = lengths[..] else { panic!("{lengths:?}") };
            assert_eq!((first, short, last), (MAX_MESSAGE, 2, MAX_MESSAGE));
            assert!(too_long > MAX_MESSAGE);
        }
        for most in [MAX_MESSAGE + 1, MAX_MESSAGE + 2] {
            let line = "z".repeat(most);
            let found = read_line(&mut format!("{line}\n{{}}\n").as_bytes()).unwrap();
            assert!(found.unwrap().len() > MAX_MESSAGE, "{most}");
        }
    }
}
