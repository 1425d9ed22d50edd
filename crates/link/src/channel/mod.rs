//! Channel models: each answers one question per frame, *what becomes of it?*, and never moves
//! packets itself. Models compose in a list; the first that loses a frame decides.

use retx_units::{Duration, Stream, Time};

retx_units::registry! { $
    /// What becomes of a frame?
    tag = "model", schema = "Channel";
    bernoulli, ber, periodic, script
}

/// A frame as a channel sees it.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Bytes of the IP packet in it.
    pub bytes: u32,
    /// The flow that it belongs to, by its index in the run.
    pub flow: u32,
    /// Position of its first payload byte in the stream: SYN 0, first byte of data 1.
    pub position: u64,
    /// Payload bytes.
    pub payload_bytes: u32,
}

impl Frame {
    /// A frame that belongs to no flow: an acknowledgment of the link, say.
    pub const fn control(bytes: u32) -> Self {
        Self { bytes, flow: u32::MAX, position: u64::MAX, payload_bytes: 0 }
    }
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives, later than the propagation delay alone by `extra_delay`.
    Deliver {
        /// Time on top of the propagation delay.
        extra_delay: Duration,
    },
    /// It is lost, and this is what a loss counts as.
    Lose(Reason),
}

/// What a loss in a channel counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Errors of the medium.
    Channel,
    /// A script said so.
    Script {
        /// The script stands for a full queue.
        as_congestion: bool,
    },
}

/// The frame arrives undelayed.
pub const DELIVER: Fate = Fate::Deliver { extra_delay: Duration::ZERO };

/// A channel model.
pub trait Channel {
    /// The fate of `frame`, whose transmission ends at `now`. Asked once per frame, in the order
    /// of transmission.
    fn fate(&mut self, now: Time, frame: &Frame, stream: &mut Stream) -> Fate;
}

impl Channel for State {
    fn fate(&mut self, now: Time, frame: &Frame, stream: &mut Stream) -> Fate {
        dispatch!(self, it => it.fate(now, frame, stream))
    }
}

impl Config {
    /// The running form.
    pub fn build(&self) -> State {
        match self {
            Self::bernoulli(config) => State::bernoulli(bernoulli::State::new(*config)),
            Self::ber(config) => State::ber(ber::State::new(*config)),
            Self::periodic(config) => State::periodic(periodic::State::new(*config)),
            Self::script(config) => State::script(script::State::new(config)),
        }
    }

    /// The long-run share of frames of `bytes` that this model loses, where it has a closed form.
    pub fn loss_rate(&self, bytes: u32) -> Option<f64> {
        match self {
            Self::bernoulli(config) => Some(config.p.value()),
            Self::ber(config) => Some(config.loss_rate(bytes)),
            Self::periodic(config) => Some(1.0 / f64::from(config.every.get())),
            Self::script(_) => None,
        }
    }
}
