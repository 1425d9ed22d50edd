//! Starts the worker, and talks with it.

use crate::clock::Clock;
use crate::error::EmulateError;
use crate::protocol::{
    Command, DatagramReport, FlowReport, Order, ProxyReport, Told, receive, receive_descriptor,
    send, send_descriptor,
};
use crate::worker;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use retx_units::Time;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command as Process, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// How long a worker may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// Files that are open whatever the flows.
const OTHER_FILES: usize = 100;

/// How a worker is started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The command that ends in [`crate::worker`].
    pub command: Vec<String>,
    /// Programs of the user's write where errors go.
    pub output_to_error: bool,
}

/// A worker that is ready.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    socket: UnixStream,
    /// Here come the sockets of the flows' senders.
    pub senders: Option<OwnedFd>,
    /// One for each host.
    pub devices: Vec<OwnedFd>,
    /// One for each flow of UDP that keeps its first hop full: there its source is told of that.
    pub sources: Vec<Option<OwnedFd>>,
    /// What was set in each host.
    pub sysctls: BTreeMap<String, BTreeMap<String, String>>,
    /// Features of the devices that are off.
    pub offloads_off: Vec<String>,
}

/// What a worker has told so far, for those who move packets meanwhile.
#[derive(Debug, Default)]
pub struct Progress {
    flows_done: AtomicUsize,
    programs_done: AtomicUsize,
    all_sent: Mutex<BTreeMap<usize, u64>>,
    exit_codes: Mutex<BTreeMap<usize, i32>>,
    lost: AtomicBool,
    refusal: Mutex<Option<String>>,
}

impl Progress {
    /// Finite flows over TCP that are over.
    pub fn flows_done(&self) -> usize {
        self.flows_done.load(Ordering::Relaxed)
    }

    /// How much the flows of UDP have sent that send no more, by their number among those.
    pub fn all_sent(&self) -> BTreeMap<usize, u64> {
        self.all_sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Programs that have ended of those that the run waits for.
    pub fn programs_done(&self) -> usize {
        self.programs_done.load(Ordering::Relaxed)
    }

    /// The worker has ended.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Why there is a worker no more; `None` when it is there.
    pub fn loss(&self) -> Option<EmulateError> {
        let refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
        let gone = || EmulateError::broken("the worker has gone")(io::ErrorKind::BrokenPipe.into());
        self.is_lost().then(|| refusal.map_or_else(gone, EmulateError::Machine))
    }

    /// The exit code of each program that has ended, by its number.
    pub fn exit_codes(&self) -> BTreeMap<usize, i32> {
        self.exit_codes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a worker reports in the end.
#[derive(Debug)]
pub struct Report {
    /// Of each flow over TCP.
    pub flows: Vec<FlowReport>,
    /// Of each proxy.
    pub proxies: Vec<ProxyReport>,
    /// Of each flow of UDP.
    pub datagrams: Vec<DatagramReport>,
    /// Of each host, packets that its device dropped.
    pub device_drops: Vec<u64>,
}

/// A worker whose flows are running.
#[derive(Debug)]
pub struct Started {
    worker: Worker,
    /// What it tells.
    pub progress: Arc<Progress>,
    report: mpsc::Receiver<Report>,
}

impl Worker {
    /// Starts a worker and lets it set everything up.
    ///
    /// # Errors
    /// What this machine does not allow or lacks.
    pub fn launch(launch: &Launch, order: &Order) -> Result<Self, EmulateError> {
        worker::clean();
        allow_files(order)?;
        let lost = || EmulateError::broken("the worker cannot be started");
        let (socket, other) = UnixStream::pair().map_err(lost())?;
        let (senders, other_senders) = UnixStream::pair().map_err(lost())?;
        let (program, arguments) = launch.command.split_first().expect("a command has a name");
        let mut process = Process::new(program);
        process.args(arguments).arg(worker::mark()).stdin(OwnedFd::from(other));
        if launch.output_to_error {
            let error = io::stderr().as_fd().try_clone_to_owned();
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
        // The command has held the other end of the socket.
        drop(process);
        worker.set_up(order, other_senders.as_fd()).map_err(|error| match error {
            EmulateError::Broken { .. } => worker.failure(error),
            other => other,
        })?;
        Ok(worker)
    }

    fn set_up(&mut self, order: &Order, senders: BorrowedFd<'_>) -> Result<(), EmulateError> {
        let lost = || EmulateError::broken("the worker has gone");
        send(&self.socket, order).map_err(lost())?;
        send_descriptor(&self.socket, senders).map_err(lost())?;
        if order.has_input {
            send_descriptor(&self.socket, io::stdin().as_fd()).map_err(lost())?;
        }
        match receive::<Told>(&self.socket).map_err(lost())? {
            Told::Ready { sysctls, offloads_off } => {
                self.sysctls = sysctls;
                self.offloads_off = offloads_off;
            }
            Told::Refused(sentence) => return Err(EmulateError::Machine(sentence)),
            other => unreachable!("{other:?} before it is ready"),
        }
        for _ in &order.hosts {
            self.devices.push(receive_descriptor(&self.socket).map_err(lost())?);
        }
        for flow in &order.datagrams {
            self.sources.push(match flow.source.fills_first_hop() {
                true => Some(receive_descriptor(&self.socket).map_err(lost())?),
                false => None,
            });
        }
        Ok(())
    }

    /// A worker that goes without a word may have left one before.
    fn failure(&self, error: EmulateError) -> EmulateError {
        match receive::<Told>(&self.socket) {
            Ok(Told::Refused(sentence)) => EmulateError::Machine(sentence),
            _ => error,
        }
    }

    /// Starts the flows.
    ///
    /// # Errors
    /// The worker has gone.
    pub fn start(self, clock: Clock, warmup: Time) -> Result<Started, EmulateError> {
        let lost = || EmulateError::broken("the worker has gone");
        send(&self.socket, &Command::Start { clock, warmup }).map_err(lost())?;
        let progress = Arc::new(Progress::default());
        let (sender, report) = mpsc::channel();
        let socket = self.socket.try_clone().map_err(lost())?;
        let told = Arc::clone(&progress);
        thread::spawn(move || listen(&socket, &told, &sender));
        Ok(Started { worker: self, progress, report })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It ends when it sees the socket close; should it not, by force.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let until = std::time::Instant::now() + PATIENCE;
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

impl Started {
    /// Ends the run.
    ///
    /// # Errors
    /// The worker has gone.
    pub fn stop(self) -> Result<Report, EmulateError> {
        let lost = || EmulateError::broken("the worker has gone");
        send(&self.worker.socket, &Command::Stop).map_err(lost())?;
        let gone = |_| lost()(io::ErrorKind::BrokenPipe.into());
        self.report.recv_timeout(PATIENCE).map_err(gone)
    }
}

/// Lets this process and the worker have as many files open as the sockets of the flows are.
fn allow_files(order: &Order) -> Result<(), EmulateError> {
    // At most a listener, two ends, and a second name for the sender of each.
    let needed = (4 * (order.flows.len() + order.hosts.len()) + OTHER_FILES) as u64;
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
                order.flows.len()
            ))
        })
}

fn listen(socket: &UnixStream, progress: &Progress, sender: &mpsc::Sender<Report>) {
    loop {
        match receive::<Told>(socket) {
            Ok(Told::FlowDone) => {
                progress.flows_done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Told::ProgramDone(number, code)) => {
                let mut codes = progress.exit_codes.lock().unwrap_or_else(PoisonError::into_inner);
                codes.insert(number, code);
            }
            Ok(Told::Awaited) => {
                progress.programs_done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Told::AllSent { flow, packets }) => {
                let mut all = progress.all_sent.lock().unwrap_or_else(PoisonError::into_inner);
                all.insert(flow, packets);
            }
            Ok(Told::Report { flows, proxies, datagrams, device_drops }) => {
                let _ = sender.send(Report { flows, proxies, datagrams, device_drops });
            }
            Ok(Told::Refused(sentence)) => {
                let mut refusal = progress.refusal.lock().unwrap_or_else(PoisonError::into_inner);
                *refusal = Some(sentence);
            }
            Ok(Told::Ready { .. }) | Err(_) => {
                progress.lost.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}
