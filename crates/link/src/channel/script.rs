//! *What it does.* Loses exactly the frames listed.
//!
//! *Reference.* The scripted drops of Fall & Floyd 1996.

use super::{Channel, DELIVER, Fate, Frame, Model, Reason};
use retx_units::{RandomStream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exactly the listed frames are lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Numbers of the frames to lose, counted from 0 as they enter this direction of the link. In
    /// the forward direction, the first frame of a flow is the SYN if its sender opens the
    /// connection (`initiator = "from"`), and the SYN/ACK if its receiver does (the default).
    pub drop: Vec<u64>,
    /// Sequence numbers, relative as in the `segments` table (SYN 0, first byte of data 1): the
    /// next copy of a segment that carries the byte is lost. Name a byte k times to lose k copies.
    pub drop_seq: Vec<u64>,
    /// Cause under which the losses are counted.
    pub r#as: ScriptedCause,
}

/// Cause under which a scripted loss is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedCause {
    /// Error of the medium.
    #[default]
    Wireless,
    /// Full queue.
    Congestion,
}

/// Running script: the frames and positions that are still to be lost.
#[derive(Debug, Clone)]
pub struct State {
    /// Frames still to be lost, in descending order.
    drop: Vec<u64>,
    drop_seq: Vec<u64>,
    count: u64,
    reason: Reason,
}

impl State {
    /// Creates a channel with these parameters.
    pub fn new(config: &Config) -> Self {
        let mut drop = config.drop.clone();
        drop.sort_unstable_by(|a, b| b.cmp(a));
        drop.dedup();
        Self {
            drop,
            drop_seq: config.drop_seq.clone(),
            count: 0,
            reason: Reason::Script { as_congestion: config.r#as == ScriptedCause::Congestion },
        }
    }

    fn named(&mut self, frame: &Frame) -> bool {
        let index = self.count;
        self.count += 1;
        if self.drop.last() == Some(&index) {
            self.drop.pop();
            return true;
        }
        let end = frame.position + u64::from(frame.payload_bytes);
        let carried = |seq: &u64| (frame.position..end).contains(seq);
        if let Some(found) = self.drop_seq.iter().position(carried) {
            self.drop_seq.swap_remove(found);
            return true;
        }
        false
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State::new(self)
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        None
    }
}

impl Channel for State {
    fn fate(&mut self, _: Time, frame: &Frame, _: &mut RandomStream) -> Fate {
        if self.named(frame) { Fate::Lose(self.reason) } else { DELIVER }
    }

    /// Takes over the lists of `new`, but continues its own count of frames. Entries of `new` for
    /// frames that have passed have no effect.
    fn adopt(&mut self, new: Self) {
        let count = self.count;
        *self = Self { count, ..new };
        while self.drop.last().is_some_and(|index| *index < count) {
            self.drop.pop();
        }
    }
}
