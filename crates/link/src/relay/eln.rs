//! *What it does.* Explicit loss notification: the relay marks acknowledgments that request a
//! segment lost on the lossy hop, so that the sender can retransmit the segment without reducing
//! its congestion window.
//!
//! *Reference.* Balakrishnan & Katz, Explicit loss notification and wireless web performance,
//! Globecom 1998; ns-2 `tcp/snoop.cc`, `snoop_wless_data` and `snoop_wired_ack` (data from the
//! mobile). Balakrishnan et al., IEEE/ACM ToN 5(6), 1997, measure its benefit for data towards the
//! mobile, with a receiver that is informed of every loss.
//!
//! *Rules.* For data from the mobile, the relay is behind the hop. If it has seen later data, but
//! not the data that an acknowledgment requests, the requested data were lost on the hop, and the
//! acknowledgment is marked. For data towards the mobile, the relay is before the hop. If a
//! duplicate ACK or a SACK block shows that data are missing, they were lost on the hop, provided
//! that the relay has forwarded them and the hop's queue has not dropped them.
//!
//! *Where we differ.* ns-2 remembers 8 runs of consecutive segments and compares whole segments;
//! this relay remembers 64 runs and compares positions. Drops in the mobile's own queue are taken
//! for losses on the hop, because the relay cannot distinguish them.

use super::Verdict;
use retx_units::SeqNr;
use retx_wire::{Flags, Segment};

/// Maximum number of separate ranges of data that are remembered; a further range is joined to the
/// last one, or is not remembered.
const RUNS_MAX: usize = 64;

/// Location of the data sender, as seen from the relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The sender is on the relay's side of the lossy hop: data go over the hop after the relay.
    Toward,
    /// The sender is beyond the lossy hop: data come over the hop to the relay.
    From,
}

/// Observer of one flow's connection.
#[derive(Debug, Clone)]
pub struct ElnObserver {
    side: Side,
    /// Sequence number of the flow's SYN, which has position 0; `None` before a SYN has passed.
    origin: Option<SeqNr>,
    /// Highest position acknowledged so far.
    acked: u64,
    /// Window field of the segment that acknowledged the highest position.
    window: u16,
    /// Position after the highest byte seen.
    end: u64,
    /// Ranges of positions that were seen and are not yet acknowledged, in ascending order.
    runs: Vec<(u64, u64)>,
}

impl ElnObserver {
    /// Creates an observer that has seen no segment.
    pub fn new(side: Side) -> Self {
        let runs = Vec::with_capacity(RUNS_MAX);
        Self { side, origin: None, acked: 1, window: 0, end: 1, runs }
    }

    /// Handles a passing segment.
    pub fn on_segment(&mut self, with_data: bool, segment: &Segment) -> Verdict {
        if with_data {
            self.on_data(segment);
            Verdict::Pass
        } else if self.on_ack(segment) {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }

    fn on_data(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            let runs = std::mem::take(&mut self.runs);
            *self = Self { origin: Some(segment.seq), runs, ..Self::new(self.side) };
            self.runs.clear();
        } else if let Some((from, to)) = self.span(segment) {
            self.add(from.max(self.acked), to);
            self.end = self.end.max(to);
        }
    }

    /// Range of positions, counted from the SYN, that a segment occupies; `None` if it occupies
    /// none, or if no SYN has passed.
    fn span(&self, segment: &Segment) -> Option<(u64, u64)> {
        let from = segment.seq.unwrap_near(self.origin?, self.end);
        let to = from + i64::from(segment.seq_len());
        (to > from && from > 0).then_some((from as u64, to as u64))
    }

    fn add(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let first = self.runs.partition_point(|run| run.1 < from);
        let last = self.runs.partition_point(|run| run.0 <= to);
        if first < last {
            let joined = (self.runs[first].0.min(from), self.runs[last - 1].1.max(to));
            self.runs[first] = joined;
            self.runs.drain(first + 1..last);
        } else if self.runs.len() < RUNS_MAX {
            self.runs.insert(first, (from, to));
        } else if self.side == Side::From && first == self.runs.len() {
            // There is no space for another range, so the last range is extended. The hole between
            // the two ranges, and thus a loss, is forgotten.
            self.runs[first - 1].1 = to;
        }
    }

    fn has(&self, position: u64) -> bool {
        let next = self.runs.partition_point(|run| run.1 <= position);
        self.runs.get(next).is_some_and(|run| run.0 <= position)
    }

    /// Handles an acknowledgment; true if the segment that it asks for was lost on the lossy hop.
    fn on_ack(&mut self, segment: &Segment) -> bool {
        let Some(origin) = self.origin.filter(|_| segment.flags.contains(Flags::ACK)) else {
            return false;
        };
        let ack = segment.ack.unwrap_near(origin, self.acked);
        if ack < self.acked as i64 {
            return false;
        }
        let ack = ack as u64;
        let again = ack == self.acked && segment.window == self.window && segment.seq_len() == 0;
        if ack > self.acked {
            self.acked = ack;
            let gone = self.runs.partition_point(|run| run.1 <= ack);
            self.runs.drain(..gone);
        }
        self.window = segment.window;
        if ack >= self.end {
            return false;
        }
        let beyond = |left: SeqNr| left.unwrap_near(origin, ack) > ack as i64;
        match self.side {
            Side::From => !self.has(ack),
            Side::Toward => {
                let mut blocks = segment.options.sack.as_slice().iter();
                (again || blocks.any(|block| beyond(block.left))) && self.has(ack)
            }
        }
    }

    /// Records that the queue of the lossy hop has dropped a data segment, which therefore does not
    /// count as lost on the hop.
    pub fn on_queue_drop(&mut self, segment: &Segment) {
        let (Side::Toward, Some((from, to))) = (self.side, self.span(segment)) else { return };
        let first = self.runs.partition_point(|run| run.1 <= from);
        let Some(&(left, right)) = self.runs.get(first).filter(|run| run.0 < to) else { return };
        self.runs.remove(first);
        for (from, to) in [(left, from), (to, right)] {
            if from < to && self.runs.len() < RUNS_MAX {
                let at = self.runs.partition_point(|run| run.0 < from);
                self.runs.insert(at, (from, to));
            }
        }
    }
}
