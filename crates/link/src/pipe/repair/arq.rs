//! *What it does.* The link retransmits a lost frame up to `retries` times. The sender learns the
//! fate of a frame when the time `feedback` has passed after its transmission; feedback is never
//! lost and takes no capacity. `stop_and_wait` sends nothing before the feedback.
//! `selective_repeat` continues with other frames. When it learns of a loss, it retransmits the
//! frame before it sends new frames.
//!
//! *Reference.* S. Lin, D. J. Costello, M. J. Miller, "Automatic-repeat-request error-control
//! schemes", IEEE Communications Magazine 22(12), 1984; RFC 3366 (advice on ARQ for links that
//! carry IP: persistence, order).
//!
//! *Equations.* With k retries and independent losses of probability p, a packet is lost with
//! probability p^(k+1), and takes (1 − p^(k+1)) / (1 − p) frames on average. If t is the
//! transmission time of a frame, a saturated sender delivers (1 − p) / t packets per second with
//! `selective_repeat`, and (1 − p) / (t + feedback) with `stop_and_wait`. A single packet that
//! needs i retries arrives i · (t + feedback) later than without losses.
//!
//! *Where we differ.* The window of `selective_repeat` is unlimited, and so is the buffer of its
//! receiver. With `in_order`, the far end waits for a packet until the sender has announced that it
//! gives the packet up. The sender gives a packet up when it gets the feedback, and its
//! announcement arrives one propagation delay later.

use super::{Exit, Job, Kind, NextTransmission, Sent};
use crate::channel::{Frame, Reason};
use crate::pipe::later;
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Behaviour of the sender while it waits for feedback about a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Sends no frame until the feedback arrives.
    StopAndWait,
    /// Continues to send frames.
    SelectiveRepeat,
}

/// The link retransmits the frames that its channel loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Behaviour of the sender while it waits for feedback.
    pub mode: Mode,
    /// Maximum number of link-layer retransmissions of a frame. If the last one is lost, too, the
    /// packet is dropped with the reason `retry_limit`.
    #[schemars(range(max = 255))]
    pub retries: u32,
    /// Time from the end of a transmission until the sender gets the feedback; by default twice the
    /// propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Duration>,
    /// Deliver packets in the order in which they entered.
    #[serde(default = "in_order")]
    pub in_order: bool,
}

const fn in_order() -> bool {
    true
}

impl Config {
    /// Checks the values; an error consists of the key and the reason.
    ///
    /// # Errors
    /// More than 255 retries.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.retries > 255 {
            return Err(("retries", format!("{} lies outside 0 … 255", self.retries)));
        }
        Ok(())
    }

    /// Feedback delay of a direction with this propagation delay.
    pub fn feedback_or_default(&self, delay: Duration) -> Duration {
        self.feedback.unwrap_or(Duration::from_nanos(delay.as_nanos().saturating_mul(2)))
    }
}

/// Sender of a link with ARQ, during a run.
#[derive(Debug, Clone)]
pub(super) struct State {
    stops: bool,
    retries: u32,
    feedback: Duration,
    /// Time until which `stop_and_wait` waits for feedback.
    idle_until: Time,
    /// Frames to be retransmitted, ordered by the time of their feedback.
    lost: VecDeque<Lost>,
    /// Frame whose retransmission has begun.
    current: Option<Lost>,
}

#[derive(Debug, Clone, Copy)]
struct Lost {
    job: Job,
    /// Time at which the sender gets the feedback.
    due: Time,
    /// Number of transmissions of the frame so far.
    tries: u32,
}

impl State {
    pub fn new(config: &Config, delay: Duration) -> Self {
        Self {
            stops: config.mode == Mode::StopAndWait,
            retries: config.retries,
            feedback: config.feedback_or_default(delay),
            idle_until: Time::ZERO,
            lost: VecDeque::new(),
            current: None,
        }
    }

    pub fn next_transmission(
        &self,
        busy_until: Time,
        first: Option<Time>,
    ) -> Option<NextTransmission> {
        let free = busy_until.max(self.idle_until);
        let next = |ready: Time, kind| NextTransmission { at: ready.max(free), ready, kind };
        let again = self.lost.front().map(|lost| next(lost.due, Kind::Again));
        let new = first.map(|came| next(came, Kind::New));
        // At equal times the retransmission comes before the new frame.
        match (again, new) {
            (Some(again), Some(new)) if new.at < again.at => Some(new),
            (again, new) => again.or(new),
        }
    }

    /// Removes and returns the lost frame whose retransmission begins now.
    pub fn pop_retransmission(&mut self) -> Frame {
        let lost = self.lost.pop_front().expect("a lost frame is next");
        self.current = Some(lost);
        lost.job.packet.frame
    }

    pub fn on_sent(&mut self, job: Option<Job>, sent: &Sent, exit: &mut Exit<'_>) {
        let tries = |tries| move |job| Lost { job, due: Time::NEVER, tries };
        // `job` is given for a first transmission; a retransmission sends the frame in `current`.
        let lost = job.map(tries(0)).or_else(|| self.current.take());
        let Lost { job, tries, .. } = lost.expect("a transmission has a frame");
        let Sent { end, arrival, lost, .. } = *sent;
        let due = later(end, self.feedback);
        // Stop-and-wait sends nothing until the feedback arrives, even after a success.
        if self.stops {
            self.idle_until = due;
        }
        let named = (job.number, job.packet.id);
        if lost.is_none() {
            exit.deliver(named, arrival);
        } else if tries < self.retries {
            // The delay of feedback is constant, so `lost` stays sorted by `due`.
            self.lost.push_back(Lost { job, due, tries: tries + 1 });
        } else {
            // The far end learns of the loss one propagation delay after the sender has got the
            // feedback.
            let known = later(arrival, self.feedback);
            exit.give_up(named, (end, known), Reason::RetryLimit);
        }
    }
}
