//! *What it does.* The link retransmits lost frames up to `retries` times. The sender learns the
//! fate of a frame `feedback` after the end of its transmission; feedback is never lost and takes
//! no capacity. `stop_and_wait` sends nothing meanwhile. `selective_repeat` continues with new
//! frames and retransmits lost frames, before new ones, when it learns of the losses.
//!
//! *Reference.* S. Lin, D. J. Costello, M. J. Miller, "Automatic-repeat-request error-control
//! schemes", IEEE Communications Magazine 22(12), 1984; RFC 3366 (advice on ARQ for links that
//! carry IP: persistence, order).
//!
//! *Equations.* With k retries and independent losses of probability p: a packet is lost with
//! p^(k+1); its frames number (1 − p^(k+1)) / (1 − p) on average; a saturated sender delivers (1 −
//! p) / t packets per second by `selective_repeat`, where t is the time of a frame, and (1 − p) /
//! (t + feedback) by `stop_and_wait`; a single packet that needs i retries arrives i · (t +
//! feedback) later.
//!
//! *Where we differ.* The window of `selective_repeat` is unlimited, and so is the buffer of its
//! receiver. With `in_order` the far end waits for a lost packet until the sender, which knows of
//! the loss by the feedback, has announced it, one propagation delay later.

use super::{Exit, Job, Kind, Sent, Turn};
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

/// Frames that the channel loses are retransmitted by the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Behaviour of the sender while it waits for feedback.
    pub mode: Mode,
    /// Largest number of link-layer retransmissions of a frame; a frame lost after them is dropped
    /// for `retry_limit`.
    #[schemars(range(max = 255))]
    pub retries: u32,
    /// Time from the end of a transmission to the sender's feedback; by default twice the
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
    /// Checks the values; an error holds the key and the reason.
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

/// Running sender.
#[derive(Debug, Clone)]
pub(super) struct State {
    stops: bool,
    retries: u32,
    feedback: Duration,
    /// End of the wait for feedback (`stop_and_wait`).
    idle_until: Time,
    /// Lost frames, ordered by the time of their feedback.
    lost: VecDeque<Lost>,
    /// Frame in retransmission.
    current: Option<Lost>,
}

#[derive(Debug, Clone, Copy)]
struct Lost {
    job: Job,
    /// Time of the feedback.
    due: Time,
    /// Transmissions so far.
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

    pub fn turn(&self, busy_until: Time, first: Option<Time>) -> Option<Turn> {
        let free = busy_until.max(self.idle_until);
        let turn = |ready: Time, kind| Turn { at: ready.max(free), ready, kind };
        let again = self.lost.front().map(|lost| turn(lost.due, Kind::Again));
        let new = first.map(|came| turn(came, Kind::New));
        // At equal times the retransmission goes first.
        match (again, new) {
            (Some(again), Some(new)) if new.at < again.at => Some(new),
            (again, new) => again.or(new),
        }
    }

    /// The frame to retransmit now.
    pub fn again(&mut self) -> Frame {
        let lost = self.lost.pop_front().expect("the turn of a lost frame");
        self.current = Some(lost);
        lost.job.packet.frame
    }

    pub fn sent(&mut self, job: Option<Job>, sent: &Sent, exit: &mut Exit<'_>) {
        let tries = |tries| move |job| Lost { job, due: Time::NEVER, tries };
        // A first transmission brings its packet along; a retransmission is that of `current`.
        let lost = job.map(tries(0)).or_else(|| self.current.take());
        let Lost { job, tries, .. } = lost.expect("a transmission has a frame");
        let Sent { end, arrival, lost, .. } = *sent;
        let due = later(end, self.feedback);
        // Stop-and-wait sends nothing until the feedback, even if the frame arrived.
        if self.stops {
            self.idle_until = due;
        }
        let named = (job.number, job.packet.id);
        if lost.is_none() {
            exit.deliver(named, arrival);
        } else if tries < self.retries {
            // Feedback has a constant delay, so `lost` stays sorted by `due`.
            self.lost.push_back(Lost { job, due, tries: tries + 1 });
        } else {
            // The sender learns of the loss by the feedback; its notice takes one propagation
            // delay.
            let known = later(arrival, self.feedback);
            exit.give_up(named, (end, known), Reason::RetryLimit);
        }
    }
}
