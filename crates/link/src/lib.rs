//! Links: stages that take a packet and hand it on later, with their channels (the fate of each
//! frame) and queues (room for each packet).

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
