//! What lies between endpoints: stages that take a packet and hand it on later, and the models that
//! they ask: a channel for each frame's fate, a queue for room.

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
