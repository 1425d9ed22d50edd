//! Commands in back quotes: those that configure a kernel's TCP, as changes of the endpoint's
//! configuration. Nothing is run.

use super::{Change, sysctl};
use crate::fault::Refusal;
use crate::token::clipped;

/// What the commands of a line change.
///
/// # Errors
/// A command that is not known.
pub fn changes(text: &str, line: u32) -> Result<Vec<Change>, Refusal> {
    let joined = text.replace("\\\n", " ");
    let mut changes = Vec::new();
    for (index, row) in joined.split('\n').enumerate() {
        let line = line + if joined.len() == text.len() { index as u32 } else { 0 };
        for command in row.split(';').flat_map(|part| part.split("&&")) {
            one(command, &mut changes).map_err(|message| Refusal::new(line, message))?;
        }
    }
    Ok(changes)
}

fn one(command: &str, changes: &mut Vec<Change>) -> Result<(), String> {
    let words = words(command);
    let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    let refuse = || {
        Err(format!(
            "`{}` is not supported: no command is run; sysctl, set_sysctls.py and defaults.sh are \
             understood",
            clipped(command.trim())
        ))
    };
    let Some((name, rest)) = arguments.split_first() else { return Ok(()) };
    match (name.rsplit('/').next().unwrap_or(name), rest) {
        ("defaults.sh", []) => {
            for (name, value) in sysctl::DEFAULTS {
                changes.extend(sysctl::change(name, value)?);
            }
        }
        ("set_sysctls.py", settings) => {
            for setting in settings {
                let Some(path) = setting.strip_prefix("/proc/sys/") else { return refuse() };
                changes.extend(sysctl_change(&path.replace('/', "."))?);
            }
        }
        ("sysctl", options) => {
            for option in options.iter().filter(|option| !matches!(**option, "-q" | "-w" | "-e")) {
                changes.extend(sysctl_change(option)?);
            }
        }
        // Restores what the script has set; caches, offloads and queues of a real machine.
        (restore, []) if restore.starts_with("sysctl_restore_") => {}
        ("ip", ["tcp_metrics", "flush", ..]) | ("nstat", _) => {}
        ("tc", ["qdisc", "add" | "replace", "dev", _, "root", "pfifo"]) => {}
        ("ethtool", ["-K", _, features @ ..]) if only_offloads(features) => {}
        _ => return refuse(),
    }
    Ok(())
}

fn only_offloads(features: &[&str]) -> bool {
    features.chunks(2).all(|pair| matches!(pair, ["tso" | "gso" | "gro" | "lro", "on" | "off"]))
}

/// `net.ipv4.tcp_sack=0`.
fn sysctl_change(setting: &str) -> Result<Vec<Change>, String> {
    let Some((name, value)) = setting.split_once('=') else {
        return Err(format!("{}: write name=value", clipped(setting)));
    };
    sysctl::change(name.trim(), value.trim())
}

/// The words of a command, without quotes, redirections and comments.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in command.chars().chain([' ']) {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => {
                let finished = std::mem::take(&mut word);
                if !finished.is_empty() {
                    words.push(finished);
                }
            }
            _ => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    let end = words.iter().position(|word| word.contains('>') || word.starts_with('#'));
    words.truncate(end.unwrap_or(words.len()));
    words
}
