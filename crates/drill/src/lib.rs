//! Plays packetdrill scripts against retx's TCP in virtual time.
//!
//! A script states the times at which packets arrive, the calls of the application, and the packets
//! that the endpoint must send. Modules:
//!
//! - [`parse`](parse::parse) turns the text of a script into typed events, and refuses unsupported
//!   ones before anything runs.
//! - [`setup`] derives an endpoint's configuration from the script's flags and commands.
//! - [`host`] provides sockets over `retx_tcp::Connection`.
//! - [`play`] runs the events, and compares packets and results with the script.
//!
//! The parser is written by hand: the grammar is small, and users see mostly its error messages.

mod code;
mod fault;
pub mod host;
mod options;
mod parse;
mod play;
mod script;
mod setup;
mod show;
mod token;

pub use fault::{Difference, Refusal, Verdict};
pub use options::Options;
pub use play::{PlayResult, tcp_info};
pub use script::{MessageFlags, Operation, PollFd, SocketOption, Transfer};
pub use setup::{Change, configure};

/// Size limit of a script, in bytes.
pub const TEXT_MAX_BYTES: usize = 1 << 20;

/// Plays one script. `options` are the defaults; the script's own flags override them.
pub fn play(text: &str, options: &Options) -> PlayResult {
    match parse::parse(text) {
        Ok(script) => play::play(&script, text, options),
        Err(refusal) => PlayResult::refused(refusal),
    }
}
