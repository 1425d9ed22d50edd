//! Links and other stages of the network: each takes in a packet and delivers it later. A channel
//! model decides the fate of each frame; a queue discipline decides which packets wait and which
//! are dropped.

pub mod channel;
mod checked;
mod frame;
pub mod modulation;
pub mod pipe;
pub mod queue;
pub mod rates;
pub mod relay;
pub mod ring;
pub mod stage;
pub mod wlan;

pub use pipe::Pipe;
