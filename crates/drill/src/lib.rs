//! Plays packetdrill scripts against retx's TCP in virtual time.
//!
//! A script says at which times packets arrive, what the application calls, and which packets the
//! endpoint must send. [`parse`](parse::parse) turns its text into typed events and refuses what
//! is not supported before anything runs; [`setup`] makes an endpoint's configuration of its flags
//! and commands; [`host`] puts sockets over `retx_tcp::Connection`; [`play`] compares. The parser
//! is written by hand: the grammar is small, and its errors are half of what a user sees of it.

mod code;
mod fault;
pub mod host;
mod parse;
mod play;
mod script;
mod setup;
mod show;
mod token;

pub use fault::{Difference, Refusal, Verdict};
pub use play::{Options, Played, tcp_info};
pub use script::{MessageFlags, Operation, PollFd, SocketOption, Transfer};
pub use setup::{Change, configure};

/// Largest script that is read, in bytes.
pub const TEXT_MAX_BYTES: usize = 1 << 20;

/// Plays one script. `options` say what it starts from; its own flags come on top.
pub fn play(text: &str, options: &Options) -> Played {
    match parse::parse(text) {
        Ok(script) => play::play(&script, text, options),
        Err(refusal) => Played::refused(refusal),
    }
}
