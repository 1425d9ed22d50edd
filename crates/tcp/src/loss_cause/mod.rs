//! Loss cause: decides why a segment was lost. After *corruption* the segment is retransmitted
//! without a reduction of the window.

use crate::ConfigError;
use crate::congestion_control::{Ack, Sent, Window};
use retx_units::{Duration, Time};

retx_units::registry! { $
    /// Loss cause: decides why a segment was lost.
    tag = "name", schema = "LossCause", context = &crate::Config;
    none, threshold boxed, veno_n boxed, jitter boxed, spike boxed, zigzag boxed, mbiaz boxed,
    zbs boxed, trend boxed, eln, python boxed
}

mod spacing;
#[cfg(test)]
mod testing;

impl Config {
    /// Names of rules without required parameters: all but `python`, the last.
    pub const BUILT_IN: &'static [&'static str] = Self::NAMES.split_at(Self::NAMES.len() - 1).0;

    /// Checks conditions that involve several parameters.
    ///
    /// # Errors
    /// The first parameter that contradicts another.
    pub fn check(&self) -> Result<(), ConfigError> {
        // Paths of the parameters below `[tcp.NAME]`.
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

/// Cause of a loss, as inferred by the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A full queue: the window is reduced.
    Congestion,
    /// A bad channel: the segment is only retransmitted.
    Corruption,
}

impl Cause {
    /// Corruption if `so`, otherwise congestion.
    pub(crate) const fn from_is_corruption(so: bool) -> Self {
        if so { Self::Corruption } else { Self::Congestion }
    }
}

/// Loss, with the sender's state at its detection.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// Time of detection.
    pub now: Time,
    /// True if the retransmission timer detected the loss, false if duplicate or selective ACKs
    /// did.
    pub by_timeout: bool,
    /// Smoothed RTT, if any.
    pub srtt: Option<Duration>,
    /// Latest raw RTT sample, if any.
    pub last_rtt: Option<Duration>,
    /// Window before any reduction.
    pub window: Window,
    /// Data in flight, bytes.
    pub flight_size: u64,
    /// True if a relay has notified that the first unacknowledged segment was lost on a bad channel
    /// (ELN).
    pub notified: bool,
    /// Segments considered lost at this moment, at least 1; without SACK always 1.
    pub lost_segments: u64,
}

/// Rule that distinguishes corruption from congestion.
pub trait LossCause {
    /// Handles transmitted data.
    fn on_sent(&mut self, sent: &Sent) {
        let _ = sent;
    }

    /// Handles any acknowledgment, including duplicates, with the window at its arrival.
    fn on_ack(&mut self, ack: &Ack, window: &Window);

    /// Cause of a loss.
    fn cause(&mut self, loss: &Loss) -> Cause;
}

impl LossCause for State {
    forward! {
        fn on_sent(&mut self, sent: &Sent);
        fn on_ack(&mut self, ack: &Ack, window: &Window);
        fn cause(&mut self, loss: &Loss) -> Cause;
    }
}
