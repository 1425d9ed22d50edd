//! Channel models: each answers one question per frame, *what becomes of it?*, and never moves
//! packets itself. Models compose in a list; the first that loses a frame decides, delays add up.

mod law;

pub use law::LawKind;

pub(crate) use crate::checked::checked;
pub use crate::frame::{Frame, Reason};
use crate::rates::Rates;
use retx_units::{Duration, Rate, Stream, Time};
use std::fmt::Debug;

retx_units::registry! { $
    /// What becomes of a frame?
    tag = "model", schema = "Channel";
    bernoulli, ber, periodic, script, gilbert_elliott, gilbert_elliott_time, outage, random_delay,
    jitter, duplicate, reorder, fading, trace
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives, later than the propagation delay alone by `extra_delay`, and not before those
    /// that were sent before it: what comes behind a delayed frame waits for it.
    Deliver {
        /// Time on top of the propagation delay.
        extra_delay: Duration,
    },
    /// It arrives later by `extra_delay`, out of line: it waits for no other, and others overtake
    /// it.
    Stray {
        /// Time on top of the propagation delay.
        extra_delay: Duration,
    },
    /// It arrives right behind the `packets`-th of those that arrive after it in line, at the
    /// latest `at_most` after its own turn.
    HoldBack {
        /// How many overtake it; at least one.
        packets: u32,
        /// How long it waits for them.
        at_most: Duration,
    },
    /// It arrives in line, and a copy of it `after` later, out of line.
    Twice {
        /// From the frame to its copy.
        after: Duration,
    },
    /// It is lost, and this is what a loss counts as.
    Lose(Reason),
}

impl Fate {
    /// True when the frame does not arrive.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::Lose(_))
    }
}

/// The frame arrives undelayed.
pub const DELIVER: Fate = Fate::Deliver { extra_delay: Duration::ZERO };

/// A running channel model.
pub trait Channel: Sized {
    /// The fate of `frame`, whose transmission ends at `now`. Asked once per frame, in the order
    /// of transmission.
    fn fate(&mut self, now: Time, frame: &Frame, stream: &mut Stream) -> Fate;

    /// The frame that is asked for next goes out at this rate. Only a cell says so, whose frames
    /// have several.
    fn tune(&mut self, _: Rate) {}

    /// A schedule changes the parameters to those of `new`, which has not run yet. A model that
    /// remembers something carries it over.
    fn adopt(&mut self, new: Self) {
        *self = new;
    }
}

/// What a model's configuration owes besides being read and written.
pub trait Model {
    /// The running form.
    type Running: Channel + Into<State>;

    /// The running form with these parameters.
    fn build(&self) -> Self::Running;

    /// The long-run share of frames of `bytes` that is lost, where it has a closed form.
    fn loss_rate(&self, bytes: u32) -> Option<f64>;

    /// The mean number of frames lost in a row, where it has a closed form. It holds for any times
    /// between frames.
    fn mean_burst(&self, bytes: u32) -> Option<f64>;

    /// What this says of the rate of the link that it belongs to.
    fn rates(&self) -> Option<Rates> {
        None
    }

    /// True for a model that loses frames and does nothing else to them.
    fn only_loses(&self) -> bool {
        true
    }

    /// True when every frame that it does not lose arrives once, and none before one that was sent
    /// before it.
    fn keeps_order(&self) -> bool {
        self.only_loses()
    }
}

impl Channel for State {
    #[inline]
    fn fate(&mut self, now: Time, frame: &Frame, stream: &mut Stream) -> Fate {
        dispatch!(self, it => it.fate(now, frame, stream))
    }

    fn tune(&mut self, rate: Rate) {
        dispatch!(self, it => it.tune(rate));
    }

    fn adopt(&mut self, new: Self) {
        dispatch_pair!(self, new, (old, new) => old.adopt(new), (old, new) => *old = new);
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        dispatch_config!(self, it => it.build().into())
    }

    fn loss_rate(&self, bytes: u32) -> Option<f64> {
        dispatch_config!(self, it => it.loss_rate(bytes))
    }

    fn mean_burst(&self, bytes: u32) -> Option<f64> {
        dispatch_config!(self, it => it.mean_burst(bytes))
    }

    fn rates(&self) -> Option<Rates> {
        dispatch_config!(self, it => it.rates())
    }

    fn only_loses(&self) -> bool {
        dispatch_config!(self, it => it.only_loses())
    }

    fn keeps_order(&self) -> bool {
        dispatch_config!(self, it => it.keeps_order())
    }
}

/// Independent losses of probability p come in bursts of mean length 1/(1 − p).
fn independent_burst(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| 1.0 / (1.0 - p))
}
