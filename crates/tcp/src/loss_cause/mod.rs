//! Why was it lost? *Corruption* means: retransmit, and leave the window alone.

use crate::ConfigError;
use crate::congestion_control::{Ack, Sent, Window};
use retx_units::{Duration, Time};

retx_units::registry! { $
    /// Why was it lost?
    tag = "name", schema = "LossCause", context = &crate::Config;
    none, threshold boxed, veno_n boxed, jitter boxed, spike boxed, zigzag boxed, mbiaz boxed,
    zbs boxed, trend boxed, eln, python boxed
}

mod spacing;
#[cfg(test)]
mod testing;

impl Config {
    /// Those that need nothing but their name: all but `python`, the last.
    pub const BUILT_IN: &'static [&'static str] = Self::NAMES.split_at(Self::NAMES.len() - 1).0;

    /// Checks what the types of the parameters alone cannot.
    ///
    /// # Errors
    /// The first parameter that contradicts another.
    pub fn check(&self) -> Result<(), ConfigError> {
        // The paths of the parameters below `[tcp.NAME]`.
        let parts = match self {
            Self::spike(config) => vec![(config.check(), "loss_cause.end")],
            Self::zigzag(config) => vec![(config.check(), "loss_cause.gain")],
            Self::zbs(config) => vec![
                (config.check(), "loss_cause.limits"),
                (config.spike.check(), "loss_cause.spike.end"),
                (config.zigzag.check(), "loss_cause.zigzag.gain"),
            ],
            _ => vec![],
        };
        for (checked, field) in parts {
            checked.map_err(|message| ConfigError { field, message })?;
        }
        Ok(())
    }
}

/// Cause of a loss, as the sender takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A full queue: slow down.
    Congestion,
    /// A bad channel: retransmit only.
    Corruption,
}

impl Cause {
    /// Corruption when that is so, congestion when it is not.
    pub(crate) const fn corruption_if(so: bool) -> Self {
        if so { Self::Corruption } else { Self::Congestion }
    }
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
    /// A relay has told that the first unacknowledged segment was lost on a bad channel (ELN).
    pub noticed: bool,
    /// Segments taken for lost at this moment, at least 1; without SACK a sender knows of no more.
    pub lost_segments: u64,
}

/// A rule that tells congestion from corruption.
pub trait LossCause {
    /// Data were sent.
    fn on_sent(&mut self, sent: &Sent) {
        let _ = sent;
    }

    /// Any acknowledgment, duplicates included, with the window as it was when it came.
    fn on_ack(&mut self, ack: &Ack, window: &Window);

    /// The verdict on a loss.
    fn cause(&mut self, loss: &Loss) -> Cause;
}

impl LossCause for State {
    fn on_sent(&mut self, sent: &Sent) {
        dispatch!(self, it => it.on_sent(sent));
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) {
        dispatch!(self, it => it.on_ack(ack, window));
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        dispatch!(self, it => it.cause(loss))
    }
}
