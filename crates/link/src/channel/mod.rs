//! Channel models. A model decides the fate of one frame at a time and does not move packets
//! itself. A link may have a list of models: a frame is lost if any of them loses it, and delays
//! add up.

mod law;

pub use law::LawKind;

pub(crate) use crate::checked::checked;
pub use crate::frame::{Frame, Reason};
use crate::rates::Rates;
use retx_units::{Duration, RandomStream, Rate, Time};
use std::fmt::Debug;

retx_units::registry! { $
    /// Decides the fate of a frame.
    tag = "model", schema = "Channel";
    bernoulli, ber, periodic, script, gilbert_elliott, gilbert_elliott_time, outage, random_delay,
    jitter, duplicate, reorder, fading, trace, markov, policer
}

/// Fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The frame arrives in order, `extra_delay` after the end of the propagation delay. Frames
    /// sent after it do not arrive before it.
    Deliver {
        /// Delay on top of the propagation delay.
        extra_delay: Duration,
    },
    /// The frame arrives `extra_delay` late and out of order: it does not wait for other
    /// frames, nor do they wait for it.
    Stray {
        /// Delay on top of the propagation delay.
        extra_delay: Duration,
    },
    /// The frame arrives right after the `packets`-th frame that overtakes it, but at most
    /// `at_most` after its regular arrival.
    HoldBack {
        /// Number of frames that overtake this frame, at least 1.
        packets: u32,
        /// Longest time to wait for `packets` frames.
        at_most: Duration,
    },
    /// The frame arrives in order, and a copy of it arrives `after` later, out of order.
    Twice {
        /// Time from the frame's arrival to the copy's.
        after: Duration,
    },
    /// The frame is lost, for this reason.
    Lose(Reason),
}

impl Fate {
    /// True if the frame does not arrive.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::Lose(_))
    }
}

/// The frame arrives without extra delay.
pub const DELIVER: Fate = Fate::Deliver { extra_delay: Duration::ZERO };

/// Running channel model.
pub trait Channel: Sized {
    /// Fate of `frame`, whose transmission ends at `now`. Called once per frame, in the order of
    /// transmission.
    fn fate(&mut self, now: Time, frame: &Frame, stream: &mut RandomStream) -> Fate;

    /// Sets the rate at which the next frame is sent. Only a wlan cell calls this, because its
    /// frames may have different rates.
    fn tune(&mut self, _: Rate) {}

    /// Takes over the parameters of `new`, a model that has seen no frame yet, but keeps the state
    /// of this model where possible. Called when a schedule changes the parameters.
    fn adopt(&mut self, new: Self) {
        *self = new;
    }
}

/// Configuration of a channel model.
pub trait Model {
    /// State of the model in a run.
    type Running: Channel + Into<State>;

    /// Creates a running model with these parameters.
    fn build(&self) -> Self::Running;

    /// Long-run loss rate of frames of `bytes`; `None` if there is no closed form.
    fn loss_rate(&self, bytes: u32) -> Option<f64>;

    /// Mean number of consecutive losses; `None` if there is no closed form, or if it depends on
    /// the times between frames.
    fn mean_burst(&self, _: u32) -> Option<f64> {
        None
    }

    /// Rate of the link over time; `None` unless the model determines it.
    fn rates(&self) -> Option<Rates> {
        None
    }

    /// True if the only effect of the model is to lose frames.
    fn only_loses(&self) -> bool {
        true
    }

    /// True if every frame that is not lost arrives once and in order.
    fn keeps_order(&self) -> bool {
        self.only_loses()
    }
}

impl Channel for State {
    forward! {
        #[inline]
        fn fate(&mut self, now: Time, frame: &Frame, stream: &mut RandomStream) -> Fate;
        fn tune(&mut self, rate: Rate);
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

/// Mean burst of independent losses of probability p: 1/(1 − p).
fn independent_burst(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| 1.0 / (1.0 - p))
}
