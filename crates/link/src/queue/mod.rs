//! Queues: who may wait for the transmitter, and who is turned away.

retx_units::registry! { $
    /// Who may wait for the transmitter?
    tag = "discipline", schema = "Queue";
    droptail
}

/// What waits in a queue: the packet in transmission has left it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Packets waiting.
    pub packets: u64,
    /// Their bytes, without link overhead.
    pub bytes: u64,
}

/// A queue discipline that decides as packets arrive.
pub trait Queue {
    /// True when a packet of `bytes` may join those that wait.
    fn admits(&mut self, waiting: Occupancy, bytes: u32) -> bool;
}

impl Queue for State {
    fn admits(&mut self, waiting: Occupancy, bytes: u32) -> bool {
        dispatch!(self, it => it.admits(waiting, bytes))
    }
}

impl Config {
    /// The running form.
    pub fn build(&self) -> State {
        match self {
            Self::droptail(config) => State::droptail(droptail::State::new(*config)),
        }
    }
}
