//! TCP endpoint as a pure state machine without clock and I/O. Its inputs are segments, timeouts
//! and calls of the application, each with its time. Its outputs are segments to send, and the time
//! of its next wake-up.
//!
//! A sender over a bad link makes four decisions. The algorithm of each is chosen from a registry:
//! [`congestion_control`] (how fast may I send?), [`loss_detection`] (what is lost?),
//! [`loss_cause`] (why?), and [`rto`] × [`backoff`] × [`spurious`] (how long to wait, and was the
//! timeout spurious?).

pub mod backoff;
pub mod congestion_control;
pub mod loss_cause;
pub mod loss_detection;
pub mod presets;
pub mod rto;
pub mod spurious;
pub mod user;

mod config;
mod connection;
mod delayed_ack;
mod initial_window;
mod lazy;
mod loader;
mod memory;
mod mul_div;
mod ranges;
mod reassembly;
mod receive_memory;
mod ring;
mod sack_compression;
mod scoreboard;
mod send_memory;
mod sent;
mod size;
mod timers;
mod work;

pub use config::{
    AckPolicy, Buffers, Config, ConfigError, DelayedAck, GiveUp, IdleRestart, LostSyn, Push,
    RttSamples,
};
pub use connection::{
    Connection, CwndValidation, Episode, Event, Info, KeepAlive, Limit, LossState, PlainTransmit,
    Polled, SharedConfig, State, Train, Transmit,
};
pub use initial_window::InitialWindow;
pub use loader::{Loader, NoLoader};
pub use ranges::Ranges;
pub use size::Size;
