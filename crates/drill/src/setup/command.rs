//! Commands in back quotes: those that configure a kernel's TCP change the endpoint's
//! configuration. No command is executed.

use super::{Change, sysctl};
use crate::fault::Refusal;
use crate::token::clip;

/// Effects of commands on the machine under test; `None` for settings that they do not change.
#[derive(Debug, Clone, Default)]
pub struct CommandEffects {
    /// Changes of the endpoint's configuration.
    pub changes: Vec<Change>,
    /// New state of the device: true if it refuses packets.
    pub device_closed: Option<bool>,
    /// `net.ipv4.tcp_notsent_lowat`.
    pub unsent_low_water: Option<u32>,
    /// `net.ipv4.tcp_mtu_probing`: whether path MTU probing is on.
    pub mtu_probing: Option<bool>,
    /// `net.ipv4.tcp_base_mss`.
    pub base_mss: Option<u32>,
    /// `net.ipv4.tcp_ecn`: true if it is 2, to accept ECN without offering it.
    pub accepts_ecn: Option<bool>,
}

/// Effects of the commands on one line.
///
/// # Errors
/// An unknown command.
pub fn command_effects(text: &str, line: u32) -> Result<CommandEffects, Refusal> {
    let joined = text.replace("\\\n", " ");
    let mut effects = CommandEffects::default();
    for (index, row) in joined.split('\n').enumerate() {
        let line = line + if joined.len() == text.len() { index as u32 } else { 0 };
        for command in row.split(';').flat_map(|part| part.split("&&")) {
            one(command, &mut effects).map_err(|message| Refusal::new(line, message))?;
        }
    }
    Ok(effects)
}

fn one(command: &str, effects: &mut CommandEffects) -> Result<(), String> {
    let words = words(command);
    let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    let refuse = || {
        Err(format!(
            "`{}` is not supported: no command is run; sysctl, set_sysctls.py and defaults.sh are \
             understood",
            clip(command.trim())
        ))
    };
    let Some((name, rest)) = arguments.split_first() else { return Ok(()) };
    match (name.rsplit('/').next().unwrap_or(name), rest) {
        ("defaults.sh", []) => {
            for (name, value) in sysctl::DEFAULTS {
                effects.changes.extend(sysctl::changes_for_sysctl(name, value)?);
            }
            effects.unsent_low_water = Some(u32::MAX);
        }
        ("set_sysctls.py", settings) => {
            for setting in settings {
                let Some(path) = setting.strip_prefix("/proc/sys/") else { return refuse() };
                set(path, effects)?;
            }
        }
        ("sysctl", options) => {
            for option in options.iter().filter(|option| !matches!(**option, "-q" | "-w" | "-e")) {
                set(option, effects)?;
            }
        }
        ("ip", ["route", "change", _, "via", _, "dev", _, attributes @ ..]) => {
            change_route(attributes, 40, effects)?;
        }
        ("ip", ["-6", "route", "change", _, "via", _, "dev", _, attributes @ ..]) => {
            change_route(attributes, 60, effects)?;
        }
        // Commands that restore settings, or concern caches, offloads and queues of a real machine,
        // have no effect.
        (restore, []) if restore.starts_with("sysctl_restore_") => {}
        ("ip", ["tcp_metrics", "flush", ..]) | ("nstat", _) => {}
        ("tc", ["qdisc", "add" | "replace", "dev", _, "root", "pfifo"])
        | ("tc", ["qdisc", "delete" | "del", "dev", _, "root"]) => {
            effects.device_closed = Some(false);
        }
        ("tc", ["qdisc", "add" | "replace", "dev", _, "root", "pfifo", "limit", "0"]) => {
            effects.device_closed = Some(true);
        }
        // The qdisc `fq` paces packets at TCP's pacing rate.
        ("tc", ["qdisc", "add" | "replace", "dev", _, "root", "fq"]) => {
            effects.changes.push(("pacing".into(), "true".into()));
        }
        // 3 enables both tests of HyStart, as in the model.
        ("echo", ["3"]) if command.contains("/tcp_cubic/parameters/hystart_detect") => {}
        // Ignored commands: those that inspect the machine, and those that create files for
        // `sendfile`. The player needs no such files, because a file is as long as required.
        ("rm" | "dd" | "grep" | "cat", _) => {}
        ("ethtool", ["-K", _, features @ ..]) if only_offloads(features) => {}
        _ => return refuse(),
    }
    Ok(())
}

/// Applies the attributes of a route, such as `advmss 1460 mtu lock 1500 initcwnd 10`. IP and TCP
/// headers have `header` bytes.
fn change_route(
    attributes: &[&str],
    header: u32,
    effects: &mut CommandEffects,
) -> Result<(), String> {
    let mut mss = u32::MAX;
    let mut left = attributes.iter().filter(|word| **word != "lock");
    while let Some(name) = left.next() {
        let value: u32 = left
            .next()
            .and_then(|value| value.parse().ok())
            .ok_or_else(|| format!("ip route change: {} lacks its number", clip(name)))?;
        match *name {
            "advmss" => mss = mss.min(value),
            "mtu" => mss = mss.min(value.saturating_sub(header)),
            "initcwnd" => {
                effects.changes.push(("initial_window".into(), format!("{value} mss")));
            }
            _ => return Err(format!("ip route change: {} is not supported", clip(name))),
        }
    }
    if mss < u32::MAX {
        effects.changes.push(("mss".into(), mss.to_string()));
    }
    Ok(())
}

fn only_offloads(features: &[&str]) -> bool {
    features.chunks(2).all(|pair| matches!(pair, ["tso" | "gso" | "gro" | "lro", "on" | "off"]))
}

/// Applies a sysctl such as `net.ipv4.tcp_sack=0`; slashes may replace the dots of the name.
fn set(setting: &str, effects: &mut CommandEffects) -> Result<(), String> {
    let Some((name, value)) = setting.split_once('=') else {
        return Err(format!("{}: write name=value", clip(setting)));
    };
    let name = name.trim().replace('/', ".");
    if name == "net.ipv4.tcp_notsent_lowat" {
        let bytes = value.trim().parse().map_err(|_| format!("{name}: expected a number"))?;
        effects.unsent_low_water = Some(bytes);
        return Ok(());
    }
    match (name.as_str(), value.trim()) {
        ("net.ipv4.tcp_ecn", value) => effects.accepts_ecn = Some(value == "2"),
        ("net.ipv4.tcp_mtu_probing", value @ ("0" | "2")) => {
            effects.mtu_probing = Some(value == "2");
            return Ok(());
        }
        ("net.ipv4.tcp_base_mss", value) => {
            let parsed = value.parse::<u32>().ok();
            effects.base_mss = parsed.filter(|mss| (64..=65_495).contains(mss));
            let refuse = || format!("{name}: expected a number from 64 on");
            return effects.base_mss.map(|_| ()).ok_or_else(refuse);
        }
        _ => {}
    }
    effects.changes.extend(sysctl::changes_for_sysctl(&name, value.trim())?);
    Ok(())
}

/// Words of a command, without quotes, redirections and comments.
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
