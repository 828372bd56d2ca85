//! A real browser: headless Chromium, driven by the W3C protocol of chromedriver.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::process::{Process, Program};
use super::wait::{DEADLINE, until};
use super::{http, ports, scratch};

/// Chromium without what draws its own windows, which takes a third less processor time than
/// `chromium --headless`. Pages are laid out and run by the same code.
const BINARY: &str = "/usr/lib/chromium/chromium-headless-shell";

/// Arguments that keep Chromium from calling anything outside this machine, and let it run as root.
const ARGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
];

/// Key of the keyboard.
#[derive(Clone, Copy)]
pub(crate) enum Key {
    Tab,
    Enter,
    Space,
    Down,
}

impl Key {
    /// Returns the character that names it in the protocol.
    const fn character(self) -> char {
        match self {
            Self::Tab => '\u{e004}',
            Self::Enter => '\u{e007}',
            Self::Space => '\u{e00d}',
            Self::Down => '\u{e015}',
        }
    }
}

/// One browser window. Dropping it ends the browser.
pub(crate) struct Browser {
    driver: Process,
    address: SocketAddr,
    session: String,
    http: reqwest::Client,
    profile: TempDir,
    /// Number of pages that were left.
    pages: AtomicU32,
}

impl Browser {
    pub(crate) async fn start() -> Self {
        let (address, profile) = (ports::free(), scratch::folder("browser-"));
        let port = format!("--port={}", address.port());
        // The driver makes the browser's profile in there.
        let mut driver = Program::new("chromedriver")
            .args([port.as_str()])
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .start();
        driver.line("was started successfully").await;
        let http = http::client(DEADLINE);
        let options = json!({ "binary": BINARY, "args": ARGS });
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}});
        let url = format!("http://{address}/session");
        let made: Value = http.post(url).json(&wanted).send().await.unwrap().json().await.unwrap();
        let session = made["value"]["sessionId"].as_str().unwrap_or_else(|| panic!("{made}"));
        let session = session.to_owned();
        Self { driver, address, session, http, profile, pages: AtomicU32::new(0) }
    }

    /// Opens a page, and waits until it and its scripts are loaded.
    pub(crate) async fn open(&self, url: &str) {
        let mark = self.mark();
        self.script(&format!("window.left = {mark}")).await;
        self.call("url", &json!({ "url": url })).await;
        self.arrives(mark, url).await;
    }

    /// Runs a script that leads to another page, and waits as [`Self::open`] does.
    pub(crate) async fn follow(&self, script: &str) {
        let mark = self.mark();
        self.script(&format!("window.left = {mark}; {script}")).await;
        self.arrives(mark, script).await;
    }

    /// Clicks what leads to another page, and waits as [`Self::open`] does.
    pub(crate) async fn follow_click(&self, selector: &str) {
        let selector = json!(selector);
        self.follow(&format!("document.querySelector({selector}).click()")).await;
    }

    /// Returns the mark of a page that is left: one that somebody comes back to has its own.
    fn mark(&self) -> u32 {
        self.pages.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits until another page than the marked one is loaded: on a busy machine the driver
    /// sometimes goes on before.
    async fn arrives(&self, mark: u32, what: &str) {
        let script = format!("return window.left !== {mark} && document.readyState === 'complete'");
        until(&format!("the page after {what}"), DEADLINE, async || {
            self.script(&script).await == json!(true)
        })
        .await;
    }

    /// Gives pages the size of such a screen, in CSS pixels.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let params =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": true});
        self.command("Emulation.setDeviceMetricsOverride", params).await;
    }

    /// Sends a command of the browser's debugging protocol.
    pub(crate) async fn command(&self, command: &str, params: Value) {
        self.call("goog/cdp/execute", &json!({"cmd": command, "params": params})).await;
    }

    /// Stores a cookie for the site of the open page.
    pub(crate) async fn plant(&self, name: &str, value: &str) {
        let cookie = json!({"name": name, "value": value, "path": "/"});
        self.call("cookie", &json!({ "cookie": cookie })).await;
    }

    /// Returns the violations that axe, the accessibility checker, finds in a part of the open page.
    pub(crate) async fn violations(&self, part: &str) -> Vec<String> {
        const AXE: &str =
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/axe/node_modules/axe-core/axe.min.js");
        if self.script("return typeof axe").await == "undefined" {
            // In the scope of a function it would be gone after the call. Frames are other pages.
            let axe = std::fs::read_to_string(AXE).unwrap();
            let axe = format!("if (window === window.top) {{ {axe}\nwindow.axe = axe; }}");
            self.script(&axe).await;
            // Sending it again for each page takes longer than running it there.
            let again = json!({ "source": axe });
            self.command("Page.addScriptToEvaluateOnNewDocument", again).await;
        }
        let run = "const done = arguments[arguments.length - 1];
            axe.run(arguments[0], {reporter: 'no-passes', resultTypes: ['violations']}).then((found) =>
                done(found.violations.map((one) =>
                    one.id + ': ' + one.nodes.map((node) => node.html + ' ' + node.failureSummary)
                        .join(' | '))));";
        let found = self.call("execute/async", &json!({ "script": run, "args": [part] })).await;
        found.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    }

    /// Returns the result of a piece of JavaScript.
    pub(crate) async fn script(&self, script: &str) -> Value {
        self.call("execute/sync", &json!({ "script": script, "args": [] })).await
    }

    /// Presses a key, as a person does on a keyboard.
    pub(crate) async fn press(&self, key: Key) {
        let key = key.character();
        let presses = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": presses});
        self.call("actions", &json!({ "actions": [keyboard] })).await;
    }

    /// Saves files that pages offer into a folder.
    pub(crate) async fn save_into(&self, folder: &Path) {
        let params = json!({"behavior": "allow", "downloadPath": folder});
        self.command("Browser.setDownloadBehavior", params).await;
    }

    /// Returns all errors of the browser's console.
    pub(crate) async fn errors(&self) -> Vec<Value> {
        let log = self.call("se/log", &json!({ "type": "browser" })).await;
        log.as_array().cloned().unwrap_or_default()
    }

    /// Closes the window, so that no browser process is left behind.
    pub(crate) async fn close(mut self) {
        let url = format!("http://{}/session/{}", self.address, self.session);
        self.http.delete(url).send().await.unwrap();
        self.driver.terminate().await;
    }

    async fn call(&self, what: &str, body: &Value) -> Value {
        let url = format!("http://{}/session/{}/{what}", self.address, self.session);
        let answer = self.http.post(url).json(body).send().await.unwrap();
        let (status, mut body): (_, Value) = (answer.status(), answer.json().await.unwrap());
        assert!(status.is_success(), "{what}: {body}");
        body["value"].take()
    }
}

impl Drop for Browser {
    /// A test that fails does not close its window, and Chromium outlives its driver.
    fn drop(&mut self) {
        let profile = self.profile.path().display().to_string();
        // A closed browser's processes are gone already; then there is nothing to end.
        let _ = Command::new("pkill").args(["-KILL", "-f", &profile]).status();
    }
}
