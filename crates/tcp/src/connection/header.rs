//! Header fields of a segment: window and options.

use super::Connection;
use super::fast_path::Receiving;
use retx_units::Time;
use retx_wire::{Options, SackBlocks, Timestamps};

impl Connection {
    /// Window field, and the right edge that it denotes.
    #[inline(never)]
    pub(super) fn window_field(&self) -> (u16, u64) {
        self.field_of(self.receiver.window(&self.parameters))
    }

    #[inline]
    fn field_of(&self, window: u64) -> (u16, u64) {
        let shift = self.receiver.rcv_wscale;
        let field = (window >> shift).min(65_535);
        (field as u16, self.receiver.rcv_nxt + (field << shift))
    }

    /// Like [`Self::window_field`] for a fixed buffer, cached: computed only after data have
    /// arrived or been read. Most connections have one end at which this never happens.
    #[inline]
    pub(super) fn cached_window_field(&mut self) -> (u16, u64) {
        let receiver = &self.receiver;
        if receiver.has_advertised_window() {
            return (receiver.advertised_field, receiver.right_edge);
        }
        if self.fast_paths.receiving == Receiving::Next {
            let (field, edge) = self.field_of(receiver.fast_path_window(&self.parameters));
            self.receiver.note_advertised_window(field);
            return (field, edge);
        }
        let (field, edge) = self.window_field();
        let receiver = &mut self.receiver;
        if receiver.memory.is_none() {
            receiver.note_advertised_window(field);
        }
        (field, edge)
    }

    /// Window field of a segment to send while nothing is out of order. The second value is the
    /// right edge that the field denotes; `None` if nothing has changed since the last segment, so
    /// that sending its window again has no effect on the receiver.
    #[inline(always)]
    pub(super) fn window_to_send(&mut self) -> (u16, Option<u64>) {
        let receiver = &self.receiver;
        // Without window scaling, each window depends on the previous one, so it is computed each
        // time.
        let again = !receiver.ack_now
            && receiver.rcv_wscale > 0
            && receiver.has_advertised_window()
            && receiver.pending.is_initial();
        if again {
            return (receiver.advertised_field, None);
        }
        let (field, edge) = self.detailed_window();
        (field, Some(edge))
    }

    /// Like [`Self::window_field`], but cached if the window does not depend on the previous one.
    /// Also records a shortage of memory.
    #[inline(always)]
    fn detailed_window(&mut self) -> (u16, u64) {
        let receiver = &self.receiver;
        if receiver.rcv_wscale > 0 && receiver.has_advertised_window() {
            return (receiver.advertised_field, receiver.right_edge);
        }
        let (window, short) = self.receiver.known_window(&self.parameters);
        if short {
            self.receiver.pending.on_short_window();
        }
        let (field, edge) = self.field_of(window);
        self.receiver.note_advertised_window(field);
        (field, edge)
    }

    /// Like [`Self::window_field`]; also records a shortage of memory.
    pub(super) fn window_field_and_shortage(&mut self) -> (u16, u64) {
        let (window, short) = self.receiver.window_and_shortage(&self.parameters);
        if short {
            self.receiver.pending.on_short_window();
        }
        self.field_of(window)
    }

    /// Timestamps of a segment sent now, after the handshake; `None` unless both ends use them.
    #[inline(always)]
    pub fn timestamps_at(&self, now: Time) -> Option<Timestamps> {
        if !self.timestamps {
            return None;
        }
        Some(Timestamps { value: self.timestamp(now), echo: self.receiver.ts_recent })
    }

    /// Options of a segment after the handshake.
    #[inline(never)]
    pub(super) fn options(&self, now: Time) -> Options {
        let timestamps = self.timestamps_at(now);
        let sack = if self.sends_sack_blocks() { self.blocks() } else { SackBlocks::default() };
        Options { timestamps, sack, ..Options::default() }
    }

    /// Largest payload that a segment sent now can have in addition to a SACK option (RFC 9293
    /// §3.7.1, `Eff.snd.MSS`). The SMSS already excludes timestamps.
    pub(super) fn max_payload(&self) -> u64 {
        let smss = self.segment_size();
        let blocks = if self.sends_sack_blocks() { self.blocks().as_slice().len() } else { 0 };
        // The option has a kind and a length, two bytes of alignment, and two numbers per block.
        let option = if blocks == 0 { 0 } else { 4 + 8 * blocks as u64 };
        smss.saturating_sub(option).max(1)
    }

    /// Payload of a full segment; as in Linux, the peer's largest window may reduce it.
    #[inline]
    pub(super) fn segment_size(&self) -> u64 {
        let sender = &self.sender;
        if self.parameters.tso { sender.bounded_smss() } else { sender.window.smss.into() }
    }

    /// SACK blocks, as many as fit into 40 bytes of options (RFC 2018 §3).
    pub(super) fn blocks(&self) -> SackBlocks {
        self.receiver.sack_blocks(if self.timestamps { 3 } else { 4 })
    }

    /// True if there is something to acknowledge selectively.
    pub(super) fn sends_sack_blocks(&self) -> bool {
        self.receiver.sack && self.receiver.has_sack_blocks()
    }
}
