//! Search for workers that have outlived their emulator.
//!
//! A worker exits when its emulator does, unless the worker was suspended or hangs. Such a worker
//! is found by its arguments, which identify its emulator by process id and start time.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

/// Prefix of the argument that identifies a worker.
const MARK: &str = "retx-emulator=";

/// Argument of a worker that identifies this process as its emulator.
pub fn worker_argument() -> String {
    let own = std::process::id();
    format!("{MARK}{own}.{}", started(own).unwrap_or(0))
}

/// Ends all workers whose emulator no longer exists; returns the number of ended processes.
pub fn kill_orphans() -> usize {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let numbers =
        processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let left_over = numbers.filter(|number| emulator_of(*number).is_some_and(|it| !is_alive(it)));
    left_over.filter(|number| kill(Pid::from_raw(*number as i32), Signal::SIGKILL).is_ok()).count()
}

/// Process id and start time of the emulator of a worker; `None` if the process is not a worker.
fn emulator_of(worker: u32) -> Option<(u32, u64)> {
    let arguments = fs::read_to_string(format!("/proc/{worker}/cmdline")).ok()?;
    let worker_argument = arguments.split('\0').find_map(|argument| argument.strip_prefix(MARK))?;
    let (process, started) = worker_argument.split_once('.')?;
    Some((process.parse().ok()?, started.parse().ok()?))
}

fn is_alive((process, since): (u32, u64)) -> bool {
    // Process ids are reused; only together with the start time they identify a process.
    started(process) == Some(since)
}

/// Start time of a process, in ticks since boot: field 22 of `/proc/PID/stat` (proc(5)).
fn started(process: u32) -> Option<u64> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Field 2, the program name, may contain any characters, so the fields are counted from its
    // closing bracket.
    let after_name = &line[line.rfind(')')? + 1..];
    after_name.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn only_workers_of_the_dead_are_ended() {
        let sleeper = |worker_argument: &str| {
            // With a second command, the shell does not replace itself by `sleep`, and keeps its
            // arguments.
            let script = ["-c", "sleep 100; true", worker_argument];
            let child = Command::new("/bin/sh").args(script).spawn().expect("there is a shell");
            // Directly after the start, the process does not have its arguments yet.
            let arguments = format!("/proc/{}/cmdline", child.id());
            while !fs::read_to_string(&arguments).is_ok_and(|text| text.contains(worker_argument)) {
                std::thread::yield_now();
            }
            child
        };
        let mut of_the_living = sleeper(&worker_argument());
        let mut of_the_dead = sleeper(&format!("{MARK}{}.1", std::process::id()));
        let mut of_nobody = sleeper("something");
        assert!(kill_orphans() >= 1);
        let status = of_the_dead.wait().expect("it was started");
        assert_eq!(status.signal(), Some(9));
        for other in [&mut of_the_living, &mut of_nobody] {
            assert!(other.try_wait().expect("it was started").is_none());
            other.kill().expect("it is there");
            other.wait().expect("it was there");
        }
    }
}
