//! Start of child processes that cannot outlive the test process.
//!
//! `setpriv --pdeathsig` makes the kernel signal the child when its parent dies, also by `kill -9`.
//! "Parent" there means the *thread* that forked, and a test's thread ends with the test. So every
//! child is started by one thread that lives as long as the process.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;
use std::{io, thread};

use super::wait::{DEADLINE, until};

/// Signals of the bench, by the name that `kill` and `setpriv` accept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal {
    /// Ends at once, without a chance to clean up.
    Kill,
    /// PostgreSQL: ends at once, but frees shared memory.
    Quit,
    /// Ends gracefully.
    Term,
    /// Reads secrets again.
    Hangup,
    /// Stands still until it is continued.
    Stop,
    /// Goes on.
    Continue,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Kill => "KILL",
            Self::Quit => "QUIT",
            Self::Term => "TERM",
            Self::Hangup => "HUP",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }
}

/// Returns the path of `setpriv`. A program that is looked up in the `PATH` which its own environment
/// sets can only be started by a fork, which copies the page tables of a process as large as this one.
pub(crate) fn setpriv() -> &'static Path {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let folders = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"];
        let mut programs = folders.map(|folder| Path::new(folder).join("setpriv")).into_iter();
        programs.find(|program| program.exists()).unwrap_or_else(|| "setpriv".into())
    });
    &PATH
}

/// Command line to be started under `setpriv`.
pub(crate) struct Launch {
    command: Command,
}

impl Launch {
    /// Creates one for `program`, which gets `on_death` when the test process dies. It runs as the
    /// system user `user` if given.
    pub(crate) fn new(program: impl AsRef<OsStr>, on_death: Signal, user: Option<&str>) -> Self {
        let mut command = Command::new(setpriv());
        if let Some(user) = user {
            command.args(["--reuid", user, "--regid", user, "--init-groups"]);
            // Another user may not be allowed into the folder the tests run in.
            command.current_dir("/");
        }
        command.args(["--pdeathsig", on_death.name(), "--"]);
        // Tests that run under `nohup` ignore it, and what they start would, too.
        command.args(["env", "--default-signal=HUP"]).arg(program).stdin(Stdio::null());
        Self { command }
    }

    /// Returns the command, for arguments, environment and output.
    pub(crate) fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Has all that it prints written to this file alone.
    pub(crate) fn log_to(&mut self, file: &Path) {
        let log = File::create(file)
            .and_then(|log| Ok((log.try_clone()?, log)))
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
        self.command.stdout(log.0).stderr(log.1);
    }

    /// Starts it.
    ///
    /// # Panics
    /// Panics if `setpriv` cannot be run. A missing program ends with code 127 instead.
    pub(crate) fn start(self) -> Running {
        let name = self.command.get_args().map(OsStr::to_owned).collect::<Vec<OsString>>();
        let child = spawn(self.command)
            .unwrap_or_else(|error| panic!("cannot start setpriv {name:?}: {error}"));
        Running { child }
    }
}

/// Child process. Dropping it kills and reaps it.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    /// Returns the process id. `setpriv` replaces itself, so it is the program's own.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the child itself, to take its pipes.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Returns its exit status, `None` while it runs. Reaps it.
    pub(crate) fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap_or_else(|error| panic!("cannot wait for a child: {error}"))
    }

    /// Sends a signal; a process that has ended already ignores it.
    pub(crate) fn signal(&mut self, signal: Signal) {
        // A reaped child's number may belong to another process by now.
        if self.exited().is_some() {
            return;
        }
        // The shell's own `kill`: std sends no signal but KILL, and the stand-alone program is not
        // on every machine.
        let sent = Command::new("sh")
            .args(["-c", r#"kill -s "$1" "$2""#, "kill", signal.name()])
            .arg(self.pid().to_string())
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "cannot send {signal:?}");
    }

    /// Waits until the condition holds, and returns the process; `None` when it ended instead.
    pub(crate) async fn once(
        mut self,
        what: &str,
        mut condition: impl AsyncFnMut() -> bool,
    ) -> Option<Self> {
        let mut holds = false;
        until(what, DEADLINE, async || {
            holds = condition().await;
            holds || self.exited().is_some()
        })
        .await;
        // Had another process taken its port, that one would respond and ours be gone.
        (holds && self.exited().is_none()).then_some(self)
    }

    /// Waits for its end.
    pub(crate) async fn wait(&mut self, deadline: Duration) -> ExitStatus {
        let what = format!("the end of process {}", self.pid());
        let mut status = None;
        until(&what, deadline, async || {
            status = self.exited();
            status.is_some()
        })
        .await;
        status.unwrap_or_else(|| unreachable!("the loop ends with a status"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only for a child that is gone, which is the goal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Request to the thread that starts children.
type Order = (Command, Sender<io::Result<Child>>);

fn spawn(command: Command) -> io::Result<Child> {
    static LAUNCHER: OnceLock<Sender<Order>> = OnceLock::new();
    let launcher = LAUNCHER.get_or_init(|| {
        let (orders, inbox) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in inbox {
                // The requester may have panicked meanwhile; then nobody needs the child.
                if let Err(unwanted) = reply.send(command.spawn())
                    && let Ok(mut child) = unwanted.0
                {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        });
        orders
    });
    let (reply, answer) = channel();
    launcher.send((command, reply)).map_err(io::Error::other)?;
    answer.recv().map_err(io::Error::other)?
}
