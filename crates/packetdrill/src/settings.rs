//! Configuration of the TCP under test, including the script's commands.
//!
//! packetdrill itself runs commands such as `sysctl`. Its `PATH` can begin with programs that write
//! their command line to a file instead; this file is read here.

use retx_drill::{Change, configure};
use retx_tcp::Config;
use std::ffi::OsString;
use std::fs;

/// Environment variable that names the file of command lines.
const COMMANDS: &str = "RETX_COMMANDS";

/// Preset used unless `--so_flags` names one.
const TCP: &str = "linux";

/// Sources of the endpoint's configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    tcp: String,
    own: Vec<Change>,
    file: Option<OsString>,
    read: String,
}

impl Settings {
    /// Reads `--so_flags`: `tcp=PRESET` and fields of this TCP, separated by commas.
    ///
    /// # Errors
    /// A part that is not `key=value`.
    pub fn new(flags: &str, file: Option<OsString>) -> Result<Self, String> {
        let mut tcp = TCP.to_owned();
        let mut own = Vec::new();
        for part in flags.split(',').filter(|part| !part.trim().is_empty()) {
            match part.split_once('=') {
                Some(("tcp", name)) => tcp = name.to_owned(),
                Some((key, value)) => own.push((key.to_owned(), value.to_owned())),
                None => return Err(format!("--so_flags: \"{part}\" is not key=value")),
            }
        }
        Ok(Self { tcp, own, file, read: String::new() })
    }

    /// Settings from `--so_flags` and the environment of packetdrill's process.
    pub fn from_env(flags: &str) -> Result<Self, String> {
        Self::new(flags, std::env::var_os(COMMANDS))
    }

    /// Configuration after all commands so far.
    ///
    /// # Errors
    /// An unknown command, or a value that no endpoint can run with.
    pub fn configuration(&self) -> Result<Config, String> {
        let commands: Vec<String> = self.read.lines().map(str::to_owned).collect();
        configure(&self.tcp, &self.own, &commands).map_err(|refusal| {
            let number = refusal.line as usize;
            let command = number.checked_sub(1).and_then(|index| commands.get(index));
            match command {
                Some(command) => format!("{}, in `{command}`", refusal.message),
                None => refusal.message,
            }
        })
    }

    /// New configuration if commands were run since the last call; otherwise `None`.
    ///
    /// # Errors
    /// As for [`Self::configuration`], or the file cannot be read.
    pub fn reread_configuration(&mut self) -> Result<Option<Config>, String> {
        let Some(file) = &self.file else { return Ok(None) };
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            // No command has run.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{COMMANDS}={}: {error}", file.display())),
        };
        if text == self.read {
            return Ok(None);
        }
        self.read = text;
        self.configuration().map(Some)
    }
}
