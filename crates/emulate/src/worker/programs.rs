//! User programs in hosts.

use super::MessageSender;
use super::hosts::Hosts;
use crate::boundary;
use crate::protocol::{WorkerMessage, WorkerSetup};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::sethostname;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

/// Length of the longest host name (`HOST_NAME_MAX`).
const NAME_MAX: usize = 64;

/// Host name in the form that the kernel accepts.
fn host_name(name: &str) -> String {
    name.chars().filter(|it| it.is_ascii_graphic()).take(NAME_MAX).collect()
}

/// Gives this thread, and the programs that it starts, a separate host name.
fn take_name(name: &str) {
    if unshare(CloneFlags::CLONE_NEWUTS).is_ok() {
        // A failure is ignored: programs then see the old name.
        let _ = sethostname(name);
    }
}

/// Runs each program in its host, with the emulator's standard output and error. An interactive
/// shell gets the emulator's standard input.
///
/// # Errors
/// A program cannot be started.
pub fn start_programs(
    setup: &WorkerSetup,
    input: Option<&OwnedFd>,
    hosts: &Arc<Hosts>,
    messages: &MessageSender,
) -> Result<(), String> {
    for (number, program) in setup.programs.iter().enumerate() {
        let mut command = match &program.command {
            Some(text) => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", text]).stdin(Stdio::null());
                shell
            }
            None => {
                let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
                let mut shell = Command::new(shell);
                if let Some(input) = input.and_then(|input| input.try_clone().ok()) {
                    shell.stdin(input);
                }
                shell
            }
        };
        let host = &setup.hosts[program.host];
        command.env("RETX_HOST", &host.name).env("RETX_ADDRESS", host.address.to_string());
        let (hosts, messages) = (Arc::clone(hosts), messages.clone());
        let (host, background) = (program.host, program.background);
        let name = host_name(&setup.hosts[host].name);
        thread::Builder::new()
            .spawn(move || {
                // The worker itself has a higher priority, which programs must not inherit.
                let _ = boundary::set_nice(0);
                let started = hosts.enter_namespace(host).and_then(|()| {
                    take_name(&name);
                    command
                        .spawn()
                        .map_err(|error| format!("the program cannot be started: {error}"))
                });
                let code = match started.map(|mut child| child.wait()) {
                    // Exit code as in a shell: 128 plus the number of the signal.
                    Ok(Ok(status)) => status.code().unwrap_or_else(|| {
                        128 + std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0)
                    }),
                    Ok(Err(_)) | Err(_) => 127,
                };
                messages.report(&WorkerMessage::ProgramDone(number, code));
                if !background {
                    messages.report(&WorkerMessage::Awaited);
                }
            })
            .map_err(|error| format!("no thread can be started: {error}"))?;
    }
    Ok(())
}
