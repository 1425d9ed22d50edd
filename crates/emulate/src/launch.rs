//! Start of a worker, and communication with it.

use crate::clock::Clock;
use crate::error::EmulateError;
use crate::progress::{Progress, WorkerReport, listen};
use crate::protocol::{
    Command, WorkerMessage, WorkerSetup, receive, receive_descriptor, send, send_descriptor,
};
use crate::worker;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use retx_units::Time;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command as Process, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Longest time that a worker may take to exit.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of open files needed in addition to those of flows.
const OTHER_FILES: usize = 100;

/// Parameters for starting a worker.
#[derive(Debug, Clone)]
pub struct LaunchOptions {
    /// Command that runs [`crate::worker`].
    pub command: Vec<String>,
    /// True if the standard output of user programs goes to this process's standard error.
    pub output_to_error: bool,
}

/// Worker that has set up its hosts, and whose flows have not been started.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    socket: UnixStream,
    /// Channel through which the worker passes the sockets of the flows' senders.
    pub senders: Option<OwnedFd>,
    /// Descriptor of each host's device.
    pub devices: Vec<OwnedFd>,
    /// Sockets for reports, by UDP flow: the emulator tells a source that keeps its first hop full
    /// the fates of its packets in that hop. `None` for other UDP flows.
    pub sources: Vec<Option<OwnedFd>>,
    /// Kernel settings of each host, as read back.
    pub sysctls: BTreeMap<String, BTreeMap<String, String>>,
    /// Names of the devices' offload features that are off.
    pub offloads_off: Vec<String>,
}

/// Worker whose flows are running.
#[derive(Debug)]
pub struct RunningWorker {
    worker: Worker,
    /// State of the worker, updated from the worker's messages.
    pub progress: Arc<Progress>,
    report: mpsc::Receiver<WorkerReport>,
}

impl Worker {
    /// Starts a worker, which creates the hosts and opens the sockets of the flows.
    ///
    /// # Errors
    /// The machine lacks something that the worker needs, or does not allow it.
    pub fn launch(launch: &LaunchOptions, setup: &WorkerSetup) -> Result<Self, EmulateError> {
        // A worker left over from a killed emulator would compete for the processor.
        worker::kill_orphans();
        allow_files(setup)?;
        let lost = || EmulateError::io_error("the worker cannot be started");
        // Messages and sockets have separate channels, so that messages do not wait behind sockets
        // that the main loop has not received yet.
        let (socket, other) = UnixStream::pair().map_err(lost())?;
        let (senders, other_senders) = UnixStream::pair().map_err(lost())?;
        let (program, arguments) = launch.command.split_first().expect("a command has a name");
        let mut process = Process::new(program);
        process.args(arguments).arg(worker::worker_argument()).stdin(OwnedFd::from(other));
        if launch.output_to_error {
            let error = io::stderr().as_fd().try_clone_to_owned();
            // The programs write to standard error, because this process prints its results on
            // standard output.
            process.stdout(error.map_or_else(|_| Stdio::null(), Stdio::from));
        }
        let child = process.spawn().map_err(lost())?;
        let mut worker = Self {
            child,
            socket,
            senders: Some(senders.into()),
            devices: Vec::new(),
            sources: Vec::new(),
            sysctls: BTreeMap::new(),
            offloads_off: Vec::new(),
        };
        // Closes this process's copy of the worker's end of the socket. Otherwise the socket would
        // stay open after the end of the worker.
        drop(process);
        worker.set_up(setup, other_senders.as_fd()).map_err(|error| match error {
            EmulateError::Broken { .. } => worker.failure(error),
            other => other,
        })?;
        Ok(worker)
    }

    fn set_up(&mut self, setup: &WorkerSetup, senders: BorrowedFd<'_>) -> Result<(), EmulateError> {
        let lost = || EmulateError::io_error("the worker has gone");
        send(&self.socket, setup).map_err(lost())?;
        send_descriptor(&self.socket, senders).map_err(lost())?;
        if setup.passes_stdin {
            send_descriptor(&self.socket, io::stdin().as_fd()).map_err(lost())?;
        }
        match receive::<WorkerMessage>(&self.socket).map_err(lost())? {
            WorkerMessage::Ready { sysctls, offloads_off } => {
                self.sysctls = sysctls;
                self.offloads_off = offloads_off;
            }
            WorkerMessage::Refused(sentence) => return Err(EmulateError::Machine(sentence)),
            other => unreachable!("{other:?} before it is ready"),
        }
        for _ in &setup.hosts {
            self.devices.push(receive_descriptor(&self.socket).map_err(lost())?);
        }
        for flow in &setup.datagrams {
            self.sources.push(match flow.source.fills_first_hop() {
                true => Some(receive_descriptor(&self.socket).map_err(lost())?),
                false => None,
            });
        }
        Ok(())
    }

    /// Returns the worker's refusal if it sent one before it ended, otherwise `error`.
    fn failure(&self, error: EmulateError) -> EmulateError {
        match receive::<WorkerMessage>(&self.socket) {
            Ok(WorkerMessage::Refused(sentence)) => EmulateError::Machine(sentence),
            _ => error,
        }
    }

    /// Starts the flows.
    ///
    /// # Errors
    /// The worker has ended.
    pub fn start(self, clock: Clock, warmup: Time) -> Result<RunningWorker, EmulateError> {
        let lost = || EmulateError::io_error("the worker has gone");
        send(&self.socket, &Command::Start { clock, warmup }).map_err(lost())?;
        let progress = Arc::new(Progress::default());
        let (sender, report) = mpsc::channel();
        let socket = self.socket.try_clone().map_err(lost())?;
        let shared = Arc::clone(&progress);
        thread::spawn(move || listen(&socket, &shared, &sender));
        Ok(RunningWorker { worker: self, progress, report })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The worker should exit when the socket closes. If it does not, it is killed.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let until = std::time::Instant::now() + RESPONSE_TIMEOUT;
        while let Ok(None) = self.child.try_wait() {
            if std::time::Instant::now() > until {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl RunningWorker {
    /// Ends the run.
    ///
    /// # Errors
    /// The worker has ended.
    pub fn stop(self) -> Result<WorkerReport, EmulateError> {
        let lost = || EmulateError::io_error("the worker has gone");
        send(&self.worker.socket, &Command::Stop).map_err(lost())?;
        let gone = |_| lost()(io::ErrorKind::BrokenPipe.into());
        // The thread that reads the socket forwards the report.
        self.report.recv_timeout(RESPONSE_TIMEOUT).map_err(gone)
    }
}

/// Raises the limit of open files, for this process and the worker, to the number that flows need.
fn allow_files(setup: &WorkerSetup) -> Result<(), EmulateError> {
    // Each flow needs at most four descriptors: a listener, two ends, and a second descriptor of
    // the sender.
    let needed = (4 * (setup.flows.len() + setup.hosts.len()) + OTHER_FILES) as u64;
    // The limit of this process is raised because the worker, which needs the most files, inherits
    // it.
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((u64::MAX, u64::MAX));
    if needed <= soft {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed.min(hard), hard)
        .ok()
        .filter(|()| needed <= hard)
        .ok_or_else(|| {
            EmulateError::Machine(format!(
                "{} flows need {needed} open files, and this process may have {hard}: raise the \
                 limit (ulimit -n), or emulate fewer",
                setup.flows.len()
            ))
        })
}
