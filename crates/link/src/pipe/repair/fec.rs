//! *What it does.* A block consists of k packets and n − k parity frames; any k of its n frames
//! suffice to reconstruct all its packets. Packets are sent at once; the parity frames follow the
//! k-th packet. If only m < k packets have been sent when the block has been open for `block_time`,
//! the n − k parity frames are sent then. They complete a shorter block, of which any m frames
//! suffice. A parity frame is as long as the longest packet of its block, and is sent before the
//! packets of the next block.
//!
//! *Reference.* L. Rizzo, "Effective erasure codes for reliable computer communication protocols",
//! ACM CCR 27(2), 1997: systematic codes, of which any k of n frames suffice; RFC 5510
//! (Reed-Solomon codes) specifies such a code.
//!
//! *Equations.* With independent losses of probability p, a packet of a full block is lost with
//! probability p · P(at least n − k of the other n − 1 frames are lost), a binomial tail. The
//! probability that a block cannot be reconstructed is P(more than n − k of its n frames are lost).
//! With packets of equal size, the frames need n/k times the rate of the packets.
//!
//! *Where we differ.* Blocks are not interleaved, so the losses of a burst fall on one block.
//! Coding takes no time.

use super::{Exit, Job, Kind, NextTransmission, Sent};
use crate::channel::{Frame, Reason};
use crate::pipe::later;
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets are sent with parity frames, from which lost packets are reconstructed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Packets per block.
    #[schemars(range(min = 1, max = 254))]
    pub k: u32,
    /// Frames per block: packets and parity frames.
    #[schemars(range(min = 2, max = 255))]
    pub n: u32,
    /// Maximum time for which a block stays open, counted from the start of its first transmission.
    pub block_time: Duration,
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
    /// No packets, no parity frames, or more than 255 frames (limit of the codes over bytes, RFC
    /// 5510).
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let Self { k, n, .. } = *self;
        if k == 0 {
            return Err(("k", "0 packets make no block: at least 1".into()));
        }
        if n > 255 {
            return Err(("n", format!("{n} lies above 255, the most frames of a block")));
        }
        if n <= k {
            let message =
                format!("{n} frames leave none for parity beside {k} packets: more than k");
            return Err(("n", message));
        }
        Ok(())
    }
}

/// Encoder of a link with FEC, during a run.
#[derive(Debug, Clone)]
pub(super) struct State {
    k: usize,
    /// Parity frames per block.
    parity: u32,
    block_time: Duration,
    block: Block,
}

/// Block being sent.
#[derive(Debug, Clone, Default)]
struct Block {
    packets: usize,
    /// Time at which the block closes even if it is not full.
    closes: Time,
    /// Length of the longest packet, bytes.
    bytes: u32,
    /// Number of the block's frames that were not lost.
    arrived: usize,
    /// Latest arrival of the block's frames.
    last: Time,
    /// Packets of the block that were lost and are not reconstructed yet.
    lost: Vec<(Job, Reason)>,
    parity_sent: u32,
}

impl State {
    pub fn new(config: &Config) -> Self {
        Self {
            k: config.k as usize,
            parity: config.n - config.k,
            block_time: config.block_time,
            block: Block::default(),
        }
    }

    pub fn next_transmission(&self, free: Time, first: Option<Time>) -> Option<NextTransmission> {
        let block = &self.block;
        let next = |ready: Time, kind| NextTransmission { at: ready.max(free), ready, kind };
        let new = first.map(|came| next(came, Kind::New));
        if block.packets == 0 {
            return new;
        }
        // No packet joins a block that is full or has sent a parity frame.
        let closed = block.packets == self.k || block.parity_sent > 0;
        let parity = next(if closed { Time::ZERO } else { block.closes }, Kind::Parity);
        new.filter(|new| !closed && new.at < parity.at).or(Some(parity))
    }

    /// Returns the parity frame whose transmission begins now, and counts it.
    pub fn next_parity_frame(&mut self) -> Frame {
        self.block.parity_sent += 1;
        Frame::control(self.block.bytes)
    }

    pub fn on_sent(&mut self, job: Option<Job>, sent: &Sent, exit: &mut Exit<'_>) {
        let Sent { end, arrival, lost, .. } = *sent;
        let block = &mut self.block;
        if let Some(job) = job {
            if block.packets == 0 {
                // The block time runs from the start of the first transmission, so the packet's
                // wait in the queue is not included.
                block.closes = later(sent.begin, self.block_time);
            }
            block.packets += 1;
            block.bytes = block.bytes.max(job.packet.frame.bytes);
            match lost {
                None => exit.deliver((job.number, job.packet.id), arrival),
                Some(reason) => block.lost.push((job, reason)),
            }
        }
        if lost.is_none() {
            block.arrived += 1;
            block.last = block.last.max(arrival);
        }
        // Once as many frames have arrived as the block has packets, all its packets can be
        // reconstructed.
        if block.arrived >= block.packets {
            for (job, _) in block.lost.drain(..) {
                exit.deliver((job.number, job.packet.id), block.last);
            }
        }
        // After the last parity frame of the block, packets that are still missing remain lost.
        if block.parity_sent == self.parity {
            for (job, reason) in block.lost.drain(..) {
                exit.give_up((job.number, job.packet.id), (end, arrival), reason);
            }
            // The list is empty here; its allocation is kept for the next block.
            let lost = std::mem::take(&mut block.lost);
            *block = Block { lost, ..Block::default() };
        }
    }
}
