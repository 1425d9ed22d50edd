//! Setup of a script: the endpoint's configuration, and the strictness of the comparison.

mod command;
mod sysctl;

use crate::fault::Refusal;
use crate::options::Options;
use crate::script::{Flag, Script};
use retx_scenario::suggest::did_you_mean;
use retx_tcp::{Config, presets};
use retx_units::{Duration, SeqNr};

pub use command::{CommandEffects, command_effects};

/// Field of `[tcp.NAME]` and its new value.
pub type Change = (String, String);

/// Configuration of the endpoint, and rules of the comparison, for one script.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The endpoint's configuration.
    pub config: Config,
    /// Absolute tolerance of times.
    pub tolerance: Duration,
    /// Relative tolerance, in percent of the time since the previous event; the larger tolerance
    /// applies.
    pub tolerance_percent: f64,
    /// True if the script contains everything that the endpoint sends.
    pub exact: bool,
    /// True if segments are not joined for comparison.
    pub strict_segments: bool,
    /// Tick of the clock by which timestamp values are checked; `None` if they are not checked.
    pub timestamp_tick: Option<Duration>,
    /// True to compute the actual value of an echoed timestamp that the endpoint never sent, by its
    /// distance from the first timestamp.
    pub scaled_echo: bool,
    /// The endpoint's initial sequence number.
    pub initial_sequence: SeqNr,
    /// `net.ipv4.tcp_notsent_lowat`, in bytes; `None` if it sets no limit.
    pub unsent_low_water: Option<u64>,
    /// True if the device refuses packets from the start.
    pub device_closed: bool,
    /// True if listeners accept ECN.
    pub accepts_ecn: bool,
    /// True if path MTU probing is on.
    pub mtu_probing: bool,
    /// Initial MSS of path MTU probing, bytes.
    pub base_mss: u32,
}

impl Setup {
    /// Applies the effects of commands.
    ///
    /// # Errors
    /// A field's value that no endpoint can run with.
    pub fn apply(&mut self, effects: &CommandEffects, line: u32) -> Result<(), Refusal> {
        let changes = renamed_for(&self.config, effects.changes.clone());
        self.config = adjusted(&self.config, Names::Kernel, &changes, line)?;
        self.note(effects);
        Ok(())
    }

    fn note(&mut self, effects: &CommandEffects) {
        if let Some(bytes) = effects.unsent_low_water {
            self.unsent_low_water = Some(bytes.into()).filter(|_| bytes != u32::MAX);
        }
        self.device_closed = effects.device_closed.unwrap_or(self.device_closed);
        self.mtu_probing = effects.mtu_probing.unwrap_or(self.mtu_probing);
        self.base_mss = effects.base_mss.unwrap_or(self.base_mss);
        self.accepts_ecn = effects.accepts_ecn.unwrap_or(self.accepts_ecn);
    }
}

/// Initial sequence number. It is arbitrary, because scripts count from 0.
const INITIAL_SEQUENCE: SeqNr = SeqNr(0xC0DE_1234);

/// Flags that configure a real network.
const WITHOUT_COUNTERPART: [&str; 7] = [
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "bind_port",
    "connect_port",
    // The size into which an offloading card would cut arriving packets has no effect, because
    // packets arrive as written.
    "mss",
];

/// Evaluates flags and commands.
///
/// # Errors
/// An unsupported flag or command, or a configuration that no endpoint can run with.
pub fn prepare(script: &Script, options: &Options) -> Result<Setup, Refusal> {
    let preset = preset(script, options)?;
    let mut setup = Setup {
        config: adjusted(&(preset.config)(), names_of(preset), &options.settings, 0)?,
        tolerance: Duration::from_millis(4),
        tolerance_percent: 12.5,
        exact: false,
        strict_segments: false,
        timestamp_tick: None,
        scaled_echo: false,
        initial_sequence: INITIAL_SEQUENCE,
        unsent_low_water: None,
        device_closed: false,
        accepts_ecn: false,
        mtu_probing: false,
        base_mss: 1_024,
    };
    let mut commands = Vec::new();
    for flag in script.flags.iter().filter(|flag| flag.name == "ip_version") {
        // Addresses are ignored, but the IPv6 header is 20 bytes longer, so the MSS is smaller. A
        // route may reduce it further.
        if flag.value.as_deref() == Some("ipv6") {
            commands.push((flag.line, vec![("mss".to_owned(), "1440".to_owned())]));
        }
    }
    for command in &script.commands {
        let effects = command::command_effects(&command.text, command.line)?;
        setup.note(&effects);
        commands.push((command.line, effects.changes));
    }
    for flag in &script.flags {
        if flag.name == "init_scripts" {
            let text = value(flag)?.replace(',', "\n");
            let effects = command::command_effects(&text, flag.line)?;
            setup.note(&effects);
            commands.push((flag.line, effects.changes));
        }
    }
    apply(&mut setup.config, Names::Kernel, commands)?;
    let mut own = Vec::new();
    for flag in &script.flags {
        if let Some(change) = read_flag(flag, &mut setup)? {
            own.push((flag.line, vec![change]));
        }
    }
    apply(&mut setup.config, names_of(preset), own)?;
    Ok(setup)
}

/// Configuration of a preset after changes of its fields, and after commands such as `sysctl -q
/// net.ipv4.tcp_sack=0`. An error names the position of its command.
///
/// # Errors
/// An unknown preset, field or command, or a value that no endpoint can run with.
pub fn configure(tcp: &str, own: &[Change], commands: &[String]) -> Result<Config, Refusal> {
    let preset = named(tcp, 0)?;
    let mut config = adjusted(&(preset.config)(), names_of(preset), own, 0)?;
    let mut all = Vec::new();
    for (line, command) in (1..).zip(commands) {
        all.push((line, command::command_effects(command, line)?.changes));
    }
    apply(&mut config, Names::Kernel, all)?;
    Ok(config)
}

fn preset(script: &Script, options: &Options) -> Result<&'static presets::Preset, Refusal> {
    let own = script.flags.iter().rev().find(|flag| flag.name == "retx-tcp");
    match own {
        Some(flag) => named(value(flag)?, flag.line),
        None => named(&options.tcp, 0),
    }
}

fn named(name: &str, line: u32) -> Result<&'static presets::Preset, Refusal> {
    presets::find(name).ok_or_else(|| {
        let names: Vec<&str> = presets::PRESETS.iter().map(|preset| preset.name).collect();
        let near = did_you_mean(name, names.iter().copied());
        let message = format!("no TCP \"{name}\"{near} (presets are {})", names.join(", "));
        Refusal::new(line, message)
    })
}

/// Replaces placeholders in changes (see [`sysctl::LARGEST`]) by the fields that this TCP has.
fn renamed_for(config: &Config, mut changes: Vec<Change>) -> Vec<Change> {
    for (name, _) in &mut changes {
        if let Some(direction) = name.strip_suffix(sysctl::LARGEST) {
            let grows = match direction {
                "send" => config.send_autotuning.is_some(),
                _ => config.receive_autotuning.is_some(),
            };
            *name = format!("{direction}_{}", if grows { "autotuning" } else { "buffer" });
        }
    }
    changes
}

/// Applies all changes together. If the result is not valid, applies them line by line to find the
/// wrong one.
fn apply(
    config: &mut Config,
    names: Names,
    changes: Vec<(u32, Vec<Change>)>,
) -> Result<(), Refusal> {
    let changes: Vec<(u32, Vec<Change>)> =
        changes.into_iter().map(|(line, changes)| (line, renamed_for(config, changes))).collect();
    let all: Vec<Change> = changes.iter().flat_map(|(_, changes)| changes.clone()).collect();
    if all.is_empty() {
        return Ok(());
    }
    if let Ok(changed) = adjusted(config, names, &all, 0) {
        *config = changed;
        return Ok(());
    }
    for (line, changes) in changes {
        *config = adjusted(config, names, &changes, line)?;
    }
    Ok(())
}

/// Meaning of a congestion control's name in a [`Change`]: retx's or the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Names as in `[tcp.NAME]`.
    Registry,
    /// Names of the kernel's modules, if such a module exists.
    Kernel,
}

/// Meaning of congestion controls' names in flags: the kernel's for a Linux preset, else retx's.
fn names_of(preset: &presets::Preset) -> Names {
    if preset.is_linux() { Names::Kernel } else { Names::Registry }
}

/// Copy of a configuration with changes.
fn adjusted(
    config: &Config,
    names: Names,
    changes: &[Change],
    line: u32,
) -> Result<Config, Refusal> {
    if changes.is_empty() {
        return Ok(config.clone());
    }
    retx_scenario::adjust_tcp(config, names == Names::Kernel, changes)
        .map_err(|error| Refusal::new(line, error.to_string()))
}

/// Evaluates a flag. Returns the change of the endpoint's configuration, if the flag makes one.
fn read_flag(flag: &Flag, setup: &mut Setup) -> Result<Option<Change>, Refusal> {
    let refuse = |message: String| Err(Refusal::new(flag.line, message));
    match flag.name.as_str() {
        "retx-tcp" | "init_scripts" => {}
        "retx-set" => {
            let text = value(flag)?;
            let Some((key, value)) = text.split_once('=') else {
                return refuse(format!("--retx-set={text}: write --retx-set=key=value"));
            };
            return Ok(Some((key.trim().to_owned(), value.trim().to_owned())));
        }
        "retx-exact" => {
            setup.exact = true;
            setup.tolerance = Duration::ZERO;
            setup.tolerance_percent = 0.0;
        }
        "retx-isn" => setup.initial_sequence = SeqNr(number(flag, u64::from(u32::MAX))? as u32),
        "tolerance_usecs" => setup.tolerance = Duration::from_micros(number(flag, 1_000_000_000)?),
        "tolerance_percent" => {
            let text = value(flag)?;
            match text.parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => {
                    setup.tolerance_percent = percent
                }
                _ => return refuse(format!("--tolerance_percent={text}: from 0 to 100")),
            }
        }
        "tcp_ts_tick_usecs" => {
            let tick = Duration::from_micros(number(flag, 1_000_000_000)?);
            setup.timestamp_tick = Some(tick).filter(|tick| !tick.is_zero());
        }
        "tcp_ts_ecr_scaled" => setup.scaled_echo = true,
        "strict_segments" => setup.strict_segments = true,
        "mtu" => {
            let mtu = number(flag, 65_535)?;
            return Ok(Some(("mss".into(), mtu.saturating_sub(40).to_string())));
        }
        "ip_version" if value(flag)? == "ipv4" => {}
        "ip_version" if value(flag)? == "ipv6" => {}
        "ip_version" => return refuse("only ipv4 and ipv6 are played".into()),
        name if WITHOUT_COUNTERPART.contains(&name) => {}
        name => return refuse(format!("the flag --{name} is not supported")),
    }
    Ok(None)
}

fn value(flag: &Flag) -> Result<&str, Refusal> {
    flag.value
        .as_deref()
        .filter(|value| !value.is_empty())
        .ok_or_else(|| Refusal::new(flag.line, format!("--{}: lacks a value: --{0}=…", flag.name)))
}

fn number(flag: &Flag, high: u64) -> Result<u64, Refusal> {
    let text = value(flag)?;
    text.parse().ok().filter(|number| *number <= high).ok_or_else(|| {
        let message = format!("--{}={text}: a whole number from 0 to {high}", flag.name);
        Refusal::new(flag.line, message)
    })
}
