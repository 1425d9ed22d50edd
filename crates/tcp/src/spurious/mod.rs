//! Was the wait wrong? Detects timeouts whose segment had not been lost.

retx_units::registry! { $
    /// Was the wait wrong?
    tag = "name", schema = "Spurious", context = &crate::Config;
    none
}

/// An acknowledgment after a timeout.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// First unacknowledged position, this ACK counted.
    pub snd_una: u64,
    /// Bytes acknowledged for the first time; 0 for a duplicate.
    pub bytes_acked: u64,
}

/// A detector of spurious timeouts.
pub trait Detector {
    /// The retransmission timer expired with data up to `snd_max` sent.
    fn on_timeout(&mut self, snd_max: u64);

    /// True when this acknowledgment shows that the last timeout was spurious.
    fn on_ack(&mut self, ack: &Ack) -> bool;
}

impl Detector for State {
    fn on_timeout(&mut self, snd_max: u64) {
        dispatch!(self, it => it.on_timeout(snd_max));
    }

    fn on_ack(&mut self, ack: &Ack) -> bool {
        dispatch!(self, it => it.on_ack(ack))
    }
}
