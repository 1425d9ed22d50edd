//! Worker: a process that creates the hosts, and runs the flows in them. Everything that the worker
//! creates is bound to its process, so nothing is left when the process ends, for whatever reason.
//!
//! The worker is started twice. The first process enters new namespaces: a mount namespace, a PID
//! namespace and, if it is not root, a user namespace. It starts the second process, which has the
//! id 1 in the PID namespace: when it ends, the kernel kills all other processes of the namespace.
//! Standard input is the socket to the emulator; when the socket closes, the worker exits.

mod datagrams;
mod device;
mod ends;
mod hosts;
mod leftover;
mod programs;
mod proxy;
mod sockets;
mod traffic;

pub use leftover::{kill_orphans, worker_argument};

use crate::boundary;
use crate::protocol::{
    Command, WorkerMessage, WorkerSetup, receive, receive_descriptor, send, send_sender_socket,
};
use hosts::Hosts;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Uid, getgid, getuid};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command as Process, Stdio};
use std::sync::{Arc, Mutex};
use traffic::{RunContext, Traffic};

/// Argument that identifies the second process of the worker.
pub const INNER_PROCESS_ARGUMENT: &str = "--inner";

/// Sender of messages to the emulator, shared by all threads.
#[derive(Debug, Clone)]
struct MessageSender {
    socket: Arc<Mutex<UnixStream>>,
    /// Channel through which senders' sockets are passed.
    senders: Arc<OwnedFd>,
}

impl MessageSender {
    fn report(&self, message: &WorkerMessage) {
        let socket = self.socket.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Messages are dropped once the emulator is gone.
        let _ = send(&socket, message);
    }

    /// Passes the socket of a flow's data sender to the emulator, which then can query it. This
    /// happens before the sender connects or writes.
    fn hand_over(&self, flow: u32, socket: BorrowedFd<'_>) {
        let _ = send_sender_socket(self.senders.as_fd(), flow, socket);
    }
}

/// Runs a worker until it ends; returns its exit code. `command` starts another process that calls
/// this function with `inner` set.
pub fn run(command: &[String], inner: bool) -> i32 {
    // Ctrl-C is handled by the emulator, which then closes the socket to the worker.
    let blocked = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT]);
    if blocked.thread_block().is_err() {
        return 1;
    }
    let result = if inner { inside() } else { outside(command) };
    match result {
        Ok(code) => code,
        Err(sentence) => {
            if let Ok(socket) = socket() {
                let _ = send(&socket, &WorkerMessage::Refused(sentence));
            }
            2
        }
    }
}

fn socket() -> io::Result<UnixStream> {
    let input: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(UnixStream::from(input))
}

/// Runs the first process of the worker: enters new namespaces, starts the second process there,
/// and returns its exit code.
fn outside(command: &[String]) -> Result<i32, String> {
    // The kernel then kills this process when the emulator ends. The second process makes the same
    // call, so it is killed when this process ends.
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    // User programs also run in these namespaces. They can neither see nor signal processes
    // outside.
    let new = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    // The ids are read before `unshare`, because the new user namespace does not map them at first.
    let [user, group] = [getuid().as_raw(), getgid().as_raw()];
    match unshare(new) {
        Ok(()) => {}
        Err(Errno::EPERM) => {
            unshare(new | CloneFlags::CLONE_NEWUSER).map_err(no_namespaces)?;
            let map = |file: &str, text: String| {
                let written = fs::write(format!("/proc/self/{file}"), text);
                written.map_err(|error| {
                    no_namespaces(Errno::from_raw(error.raw_os_error().unwrap_or(0)))
                })
            };
            // An ordinary user may write the map of groups only after this step
            // (user_namespaces(7)).
            map("setgroups", "deny".into())?;
            map("uid_map", format!("0 {user} 1"))?;
            map("gid_map", format!("0 {group} 1"))?;
        }
        Err(error) => return Err(no_namespaces(error)),
    }
    let (program, arguments) = command.split_first().expect("a command has a name");
    let mut child = Process::new(program)
        .args(arguments)
        .arg(INNER_PROCESS_ARGUMENT)
        .stdin(Stdio::inherit())
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    let status = child.wait().map_err(|error| format!("{program} is lost: {error}"))?;
    Ok(status.code().unwrap_or(1))
}

fn no_namespaces(error: Errno) -> String {
    let root = if Uid::effective().is_root() { "even root" } else { "an ordinary user" };
    format!(
        "the kernel does not let {root} make namespaces here ({}): emulation needs root \
         (CAP_SYS_ADMIN), or user namespaces (sysctls user.max_user_namespaces, \
         kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
        error.desc()
    )
}

/// Mounts a `/proc` of the new PID namespace, which shows no other processes. If the kernel does
/// not allow this, as in some containers, the old `/proc` stays. It shows other processes, but
/// these cannot be signalled.
fn show_own_processes() {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    if mount(NOTHING, "/", NOTHING, private, NOTHING).is_ok() {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), "/proc", Some("proc"), flags, NOTHING).ok();
    }
}

const NOTHING: Option<&str> = None;

/// Runs the second process of the worker, inside the new namespaces, until the emulator stops it.
/// Returns the exit code.
fn inside() -> Result<i32, String> {
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    // Sleeps end without timer slack, and senders get a higher priority than other programs if this
    // is allowed.
    let _ = prctl::set_timerslack(1);
    let _ = boundary::set_nice(-20);
    show_own_processes();
    let broken = |error: io::Error| format!("the emulator is lost: {error}");
    let socket = socket().map_err(broken)?;
    let setup: WorkerSetup = receive(&socket).map_err(broken)?;
    let senders = receive_descriptor(&socket).map_err(broken)?;
    let input = match setup.passes_stdin {
        true => Some(receive_descriptor(&socket).map_err(broken)?),
        false => None,
    };
    let hosts = Arc::new(Hosts::create(&setup)?);
    let traffic = Traffic::prepare(&setup, &hosts)?;
    send(
        &socket,
        &WorkerMessage::Ready {
            sysctls: hosts.sysctls.clone(),
            offloads_off: hosts.offloads_off.clone(),
        },
    )
    .map_err(broken)?;
    hosts.hand_over(&socket).map_err(broken)?;
    traffic.hand_over(&socket).map_err(broken)?;
    let writer = socket.try_clone().map_err(broken)?;
    let messages =
        MessageSender { socket: Arc::new(Mutex::new(writer)), senders: Arc::new(senders) };
    let mut running = None;
    loop {
        match receive::<Command>(&socket) {
            Ok(Command::Start { clock, warmup }) => {
                let run = RunContext {
                    clock,
                    warmup,
                    hosts: Arc::clone(&hosts),
                    messages: messages.clone(),
                };
                running = Some((traffic.start(&run)?, clock));
                programs::start_programs(&setup, input.as_ref(), &hosts, &messages)?;
            }
            Ok(Command::Stop) => {
                let report = running.as_ref().map(|(running, clock)| running.report(clock.now()));
                let (flows, proxies, datagrams) = report.unwrap_or_default();
                // The drops are read after the flows have ended.
                let device_drops = hosts.device_drops();
                messages.report(&WorkerMessage::Report { flows, proxies, datagrams, device_drops });
                return Ok(0);
            }
            // The emulator is gone.
            Err(_) => return Ok(0),
        }
    }
}
