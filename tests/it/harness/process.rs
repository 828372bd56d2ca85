//! The program as its users run it: started with arguments and environment, watched by its output
//! and its addresses, ended by signals.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::launch::{Launch, Running, Signal};
use super::wait::{DEADLINE, until};

/// Variable that names the file of counters of a program that was built to count (`tests/coverage`).
const COUNTERS: &str = "LLVM_PROFILE_FILE";

/// Returns the variable for counters, if this process has it.
#[expect(clippy::disallowed_methods, reason = "the counters of the compiler are no setting")]
fn counters() -> Option<(&'static str, OsString)> {
    std::env::var_os(COUNTERS).map(|file| (COUNTERS, file))
}

/// Command line, not started yet. Its environment is the search path, the variable for counters and
/// the variables set here: neither the developer's settings nor proxies reach a test.
pub(crate) struct Program {
    launch: Launch,
}

impl Program {
    /// Creates a command line for the program under test.
    pub(crate) fn chatkeep() -> Self {
        Self::new(env!("CARGO_BIN_EXE_chatkeep"))
    }

    /// Creates a command line for any other program.
    pub(crate) fn new(program: &str) -> Self {
        let mut launch = Launch::new(program, Signal::Kill, None);
        let path = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
        launch.command().env_clear().env("PATH", path).env("RUST_BACKTRACE", "1");
        launch.command().envs(counters());
        // Nor do those of a service that is installed on the machine.
        launch.command().env("CHATKEEP_CONFIG", "");
        launch.command().stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { launch }
    }

    /// Adds arguments.
    pub(crate) fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.launch.command().args(args);
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.launch.command().env(name, value);
        self
    }

    /// Sets the working directory; without it, the one of the tests.
    pub(crate) fn folder(mut self, folder: impl AsRef<std::path::Path>) -> Self {
        self.launch.command().current_dir(folder);
        self
    }

    /// Starts it.
    pub(crate) fn start(self) -> Process {
        let mut running = self.launch.start();
        let child = running.child();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Process { running, stdout: Output::of(stdout), stderr: Output::of(stderr) }
    }
}

/// Maximum number of lines about problems that a failed test shows of each process.
const PROBLEMS: usize = 50;

/// Started program. Dropping it kills it.
pub(crate) struct Process {
    running: Running,
    stdout: Output,
    stderr: Output,
}

impl Drop for Process {
    /// Shows the problems in its log if the test fails.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let lines = self.stdout().into_iter().chain(self.stderr());
        let is_problem = |line: &String| {
            let marks = [" WARN ", " ERROR ", "\"WARN\"", "\"ERROR\"", "unavailable"];
            marks.iter().any(|mark| line.contains(mark))
        };
        for line in lines.filter(is_problem).take(PROBLEMS) {
            eprintln!("{line}");
        }
    }
}

impl Process {
    /// Returns the lines of standard output so far.
    pub(crate) fn stdout(&self) -> Vec<String> {
        self.stdout.lines()
    }

    /// Returns the lines of standard error so far.
    pub(crate) fn stderr(&self) -> Vec<String> {
        self.stderr.lines()
    }

    /// Waits for a line, on either output, that contains `text`, and returns it.
    ///
    /// # Panics
    /// Panics if the process ends without it, or on timeout, with all its output.
    pub(crate) async fn line(&mut self, text: &str) -> String {
        let mut found = None;
        let what = format!("a line with {text:?}");
        self.wait_for(&what, async |process| {
            let lines = process.stdout().into_iter().chain(process.stderr());
            found = lines.into_iter().find(|line| line.contains(text));
            found.is_some()
        })
        .await;
        found.unwrap_or_else(|| unreachable!("the wait ends with a line"))
    }

    /// Waits until `GET path` at `address` returns 200.
    ///
    /// # Panics
    /// Panics if the process ends before, or on timeout, with all its output.
    pub(crate) async fn ready(&mut self, address: SocketAddr, path: &str) {
        let what = format!("http://{address}{path} to answer 200");
        self.wait_for(&what, async |_| status(address, path).await == Some(200)).await;
    }

    /// Kills it as `kill -9` does and waits until it is gone.
    pub(crate) async fn kill(&mut self) {
        self.running.signal(Signal::Kill);
        self.running.wait(DEADLINE).await;
    }

    /// Sends SIGTERM and waits for its exit status.
    pub(crate) async fn terminate(&mut self) -> ExitStatus {
        self.terminate_within(DEADLINE).await
    }

    /// Sends SIGTERM and waits as long for its exit status.
    pub(crate) async fn terminate_within(&mut self, deadline: Duration) -> ExitStatus {
        self.running.signal(Signal::Term);
        self.finish_within(deadline).await
    }

    /// Lets the process hang until [`Process::thaw`].
    pub(crate) fn freeze(&mut self) {
        self.running.signal(Signal::Stop);
    }

    /// Lets the process go on.
    pub(crate) fn thaw(&mut self) {
        self.running.signal(Signal::Continue);
    }

    /// Sends SIGHUP, upon which a service without a terminal reads its secrets again.
    pub(crate) fn reload(&mut self) {
        self.running.signal(Signal::Hangup);
    }

    /// Waits until it ends by itself and all its output is here.
    pub(crate) async fn finish(&mut self) -> ExitStatus {
        self.finish_within(DEADLINE).await
    }

    /// Waits the same with another timeout.
    pub(crate) async fn finish_within(&mut self, deadline: Duration) -> ExitStatus {
        let status = self.running.wait(deadline).await;
        until("the end of its output", DEADLINE, async || self.output_ended()).await;
        status
    }

    /// Returns the processor time of its present threads; zero when it has ended.
    pub(crate) fn processor_time(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.running.pid()));
        let figures = tasks.into_iter().flatten().flatten();
        let figures = figures.map(|task| fs::read_to_string(task.path().join("schedstat")));
        let nanos = figures.flatten().filter_map(|line| line.split(' ').next()?.parse().ok());
        nanos.map(Duration::from_nanos).sum()
    }

    /// Waits until it has worked for that long: a point of its work, on a slow and on a fast
    /// machine. Returns its exit status when it ends before.
    pub(crate) async fn work(&mut self, processor_time: Duration) -> Option<ExitStatus> {
        let mut status = None;
        until("the process to work", DEADLINE, async || {
            status = self.running.exited();
            status.is_some() || self.processor_time() >= processor_time
        })
        .await;
        status
    }

    /// Waits until it ends by itself, and returns its exit status with the processor time that it
    /// took, but for what it did after the last look.
    pub(crate) async fn finish_measured(&mut self) -> (ExitStatus, Duration) {
        let mut worked = Duration::ZERO;
        until("the process to end", DEADLINE, async || {
            worked = worked.max(self.processor_time());
            self.running.exited().is_some()
        })
        .await;
        (self.finish().await, worked)
    }

    /// Returns its resident memory in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Returns its peak resident memory in bytes.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.running.pid()));
        let status = status.unwrap_or_else(|error| panic!("no memory figures: {error}"));
        let kibibytes = status.lines().find_map(|line| {
            line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        kibibytes.unwrap_or_else(|| panic!("the process has ended")) * 1024
    }

    async fn wait_for<C>(&mut self, what: &str, mut condition: C)
    where
        C: AsyncFnMut(&Self) -> bool,
    {
        until(what, DEADLINE, async || {
            // Checked first, so that the condition sees all output of an ended process.
            let ended = self.running.exited().filter(|_| self.output_ended());
            let met = condition(self).await;
            if let (false, Some(status)) = (met, ended) {
                panic!("waited for {what}, but it ended: {status}\n{}", self.printed());
            }
            met
        })
        .await;
    }

    fn output_ended(&self) -> bool {
        self.stdout.ended() && self.stderr.ended()
    }

    fn printed(&self) -> String {
        let (stdout, stderr) = (self.stdout().join("\n"), self.stderr().join("\n"));
        format!("stdout:\n{stdout}\nstderr:\n{stderr}")
    }
}

/// One output of a process, line by line as it comes.
struct Output {
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Output {
    /// Reads on a thread of its own until the pipe ends, so that the process never blocks on it.
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let reader = pipe.map(|pipe| {
            let lines = Arc::clone(&lines);
            thread::spawn(move || collect(BufReader::new(pipe), &lines))
        });
        Self { lines, reader }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn ended(&self) -> bool {
        self.reader.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

fn collect(mut pipe: impl BufRead, lines: &Mutex<Vec<String>>) {
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        lines.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        line.clear();
    }
}

/// Returns the status code of `GET path`, `None` without a response. Plain sockets: readiness must
/// not depend on the HTTP client under test.
async fn status(address: SocketAddr, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok()?;
    let status_line = String::from_utf8_lossy(&answer);
    status_line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}
