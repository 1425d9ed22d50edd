//! Why was it lost? *Corruption* means: retransmit, and leave the window alone.

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
    /// Found by the retransmission timer rather than by duplicate ACKs.
    pub by_timeout: bool,
    /// Smoothed RTT, if there is one.
    pub srtt: Option<Duration>,
}

/// A rule that tells congestion from corruption.
pub trait LossCause {
    /// A raw RTT sample.
    fn on_rtt(&mut self, now: Time, rtt: Duration);

    /// The verdict on a loss.
    fn cause(&mut self, loss: &Loss) -> Cause;
}

impl LossCause for State {
    fn on_rtt(&mut self, now: Time, rtt: Duration) {
        dispatch!(self, it => it.on_rtt(now, rtt));
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        dispatch!(self, it => it.cause(loss))
    }
}
