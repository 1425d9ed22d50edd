//! Programs of the user's, in hosts.

use super::Teller;
use super::hosts::Hosts;
use crate::boundary;
use crate::protocol::{Order, Told};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

/// Runs each program in its host, with the emulator's output and error output. The user's shell
/// gets the emulator's input.
///
/// # Errors
/// A program that cannot be started.
pub fn start(
    order: &Order,
    input: Option<&OwnedFd>,
    hosts: &Arc<Hosts>,
    teller: &Teller,
) -> Result<(), String> {
    for (number, program) in order.programs.iter().enumerate() {
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
        let host = &order.hosts[program.host];
        command.env("RETX_HOST", &host.name).env("RETX_ADDRESS", host.address.to_string());
        let (hosts, teller) = (Arc::clone(hosts), teller.clone());
        let (host, background) = (program.host, program.background);
        thread::Builder::new()
            .spawn(move || {
                let _ = boundary::set_nice(0);
                let started = hosts.enter(host).and_then(|()| {
                    command
                        .spawn()
                        .map_err(|error| format!("the program cannot be started: {error}"))
                });
                let code = match started.map(|mut child| child.wait()) {
                    // As a shell says it: 128 and the number of the signal.
                    Ok(Ok(status)) => status.code().unwrap_or_else(|| {
                        128 + std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0)
                    }),
                    Ok(Err(_)) | Err(_) => 127,
                };
                teller.tell(&Told::ProgramDone(number, code));
                if !background {
                    teller.tell(&Told::Awaited);
                }
            })
            .map_err(|error| format!("no thread can be started: {error}"))?;
    }
    Ok(())
}
