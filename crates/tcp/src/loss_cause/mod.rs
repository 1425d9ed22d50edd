//! Why was it lost? *Corruption* means: retransmit, and leave the window alone.

use crate::congestion_control::{Ack, Window};
use retx_units::{Duration, Time};

retx_units::registry! { $
    /// Why was it lost?
    tag = "name", schema = "LossCause", context = &crate::Config;
    none
}

/// What a sender takes a loss to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A full queue: slow down.
    Congestion,
    /// A bad channel: retransmit only.
    Corruption,
}

/// A loss, with what the sender knows when it finds it.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// When it was found.
    pub now: Time,
    /// Found by the retransmission timer rather than by duplicate or selective ACKs.
    pub by_timeout: bool,
    /// Smoothed RTT, if there is one.
    pub srtt: Option<Duration>,
    /// The raw RTT measured last, if any was.
    pub last_rtt: Option<Duration>,
    /// The window before any reaction.
    pub window: Window,
    /// Data in flight.
    pub flight_size: u64,
    /// Segments taken for lost at this moment, at least 1; without SACK a sender knows of no more.
    pub lost_segments: u64,
}

/// A rule that tells congestion from corruption.
pub trait LossCause {
    /// Any acknowledgment, duplicates included, with the window as it was when it came.
    fn on_ack(&mut self, ack: &Ack, window: &Window);

    /// The verdict on a loss.
    fn cause(&mut self, loss: &Loss) -> Cause;
}

impl LossCause for State {
    fn on_ack(&mut self, ack: &Ack, window: &Window) {
        dispatch!(self, it => it.on_ack(ack, window));
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        dispatch!(self, it => it.cause(loss))
    }
}
