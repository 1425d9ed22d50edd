//! ACKs of data beyond gaps: sent at once, or held back until a segment would hide blocks of data.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c`: `__tcp_ack_snd_check`, `tcp_sack_new_ofo_skb`,
//! `tcp_sack_compress_send_ack`.

use crate::connection::Connection;
use crate::connection::receive::Receiver;
use crate::receive_memory::ReceiveMemory;
use crate::rto::Estimator;
use crate::sack_compression::SackCompression;
use retx_units::Time;
use retx_wire::{Flags, SackBlock, SackBlocks, Segment};

/// Number of blocks beyond gaps up to which ACKs are held back (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_BLOCKS: usize = 2;

impl Receiver {
    /// Number of newer blocks than the one that `left` … `right` − 1 belong to, if an ACK is held
    /// back and has to be sent before these data are stored beyond a gap.
    #[inline(always)]
    pub fn block_that_ends_compression(&self, left: u64, right: u64) -> Option<usize> {
        if left <= self.rcv_nxt || !self.compression.get().is_some_and(SackCompression::holds_ack) {
            return None;
        }
        self.block_beyond_expected(left, right)
    }

    #[inline(never)]
    fn block_beyond_expected(&self, left: u64, right: u64) -> Option<usize> {
        let newer = self.out_of_order.newer_blocks(left, right);
        (newer >= EXPECTED_BLOCKS).then_some(newer)
    }

    /// SACK blocks, of which the one with this index includes `left` … `right` − 1.
    fn sack_blocks_extended(
        &self,
        blocks: SackBlocks,
        index: usize,
        (left, right): (u64, u64),
    ) -> SackBlocks {
        let (left, right) = (self.irs.add(left as u32), self.irs.add(right as u32));
        let mut extended = SackBlocks::default();
        for (number, &SackBlock { left: first, right: last }) in
            blocks.as_slice().iter().enumerate()
        {
            let grows = number == index;
            extended.push(SackBlock {
                left: if grows && left.distance_from(first) < 0 { left } else { first },
                right: if grows && right.distance_from(last) > 0 { right } else { last },
            });
        }
        extended
    }
}

impl Connection {
    /// Sends the ACK that is held back. Its blocks are those before the arrival of `left` …
    /// `right` − 1, except that the block with this index, if there is one, includes these data.
    pub(in crate::connection) fn send_held_ack(
        &mut self,
        now: Time,
        index: usize,
        (left, right): (u64, u64),
    ) {
        let mut options = self.options(now);
        options.sack = self.receiver.sack_blocks_extended(options.sack, index, (left, right));
        let (window, edge) = self.window_field_and_shortage();
        self.reply = Some(Box::new(Segment {
            seq: self.seq_at(self.sender.ack_position()),
            ack: self.rcv_nxt_seq(),
            window,
            flags: Flags::ACK.with(self.ecn.echo_flags()),
            options,
            ..Segment::default()
        }));
        self.receiver.pending.on_ack_sent(now, false);
        self.receiver.on_ack_sent(&mut self.timers, edge);
    }

    /// Acknowledges at once data that are out of order or fill a gap (RFC 5681 §4.2); as in Linux,
    /// duplicate ACKs after the third are held back and merged.
    #[inline(always)]
    pub(in crate::connection) fn acknowledge_gap(&mut self, now: Time, old_nxt: u64) {
        let receiver = &mut self.receiver;
        receiver.pending.on_gap();
        let duplicate = receiver.rcv_nxt == old_nxt && receiver.sack;
        if !duplicate || !receiver.pending.may_compress_acks() {
            receiver.ack_now = true;
            return;
        }
        let memory = receiver.memory.as_deref();
        let rtt = || {
            let rtt = memory.and_then(ReceiveMemory::rtt)?;
            Some(self.sender.estimator.srtt().map_or(rtt, |srtt| srtt.min(rtt)))
        };
        match receiver.compression.on_gap(now, old_nxt, rtt) {
            None => receiver.ack_now = true,
            Some(deadline) => {
                self.timers.set(
                    |rare| &mut rare.compressed_ack,
                    self.timers.rare.compressed_ack.min(deadline),
                );
            }
        }
    }
}
