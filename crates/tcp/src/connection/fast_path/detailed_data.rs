//! Arrival of data at an end with more work for each segment: see `detailed.rs`.

use super::Connection;
use crate::connection::receive::SegmentData;
use crate::receive_memory::ReceiverState;
use retx_units::Time;
use retx_wire::{PlainSegment, Timestamps};

/// Copy of a segment for a function that is not inlined, which takes it from memory. If the segment
/// itself were passed, the plain paths could not keep it in registers.
#[inline(always)]
pub(super) const fn for_detailed_path(segment: PlainSegment) -> PlainSegment {
    let PlainSegment { seq, ack, window, flags, payload_bytes } = segment;
    PlainSegment { seq, ack, window, flags, payload_bytes }
}

impl Connection {
    /// Notes the echo of a pure ACK, which later data may not use as an RTT sample.
    #[inline(always)]
    pub(super) fn use_up_echo(&mut self, timestamps: Option<Timestamps>) {
        if let (Some(memory), Some(timestamps)) = (&mut self.receiver.memory, timestamps) {
            memory.last_echo = timestamps.echo;
        }
    }

    /// Handles the next data at an end that has nothing in flight. Returns false, without any
    /// effect, in other cases.
    #[inline(never)]
    pub(super) fn handle_detailed_data(
        &mut self,
        now: Time,
        segment: PlainSegment,
        timestamps: Option<Timestamps>,
    ) -> bool {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let right = receiver.rcv_nxt + u64::from(segment.payload_bytes);
        let idle = sender.snd_una == sender.snd_max && segment.ack == self.seq_at(sender.snd_una);
        // Checked before the first change, because a refused segment must leave no trace.
        if right > receiver.right_edge || !idle || !self.has_good_timestamps(timestamps) {
            return false;
        }
        self.note_timestamp(timestamps);
        self.sender.prepare_idle_model();
        let window = self.scaled_window(segment.window);
        self.update_window(self.receiver.rcv_nxt, self.sender.snd_una, window);
        let payload_bytes = segment.payload_bytes;
        self.update_receive_rtt(now, payload_bytes, timestamps.map(|it| it.echo));
        self.receiver.rcv_nxt = right;
        if self.receiver.pending.is_linux() {
            self.receive_next_as_linux(now, payload_bytes, segment.flags);
        } else {
            self.grow_window(payload_bytes, true, 0, now);
            self.schedule_counted_ack(now);
        }
        self.check_send_memory(now);
        true
    }

    /// Handles new data while there is a gap, at an end that has nothing in flight. Returns false,
    /// without any effect, in other cases.
    #[inline(never)]
    pub(super) fn handle_data_with_gap(
        &mut self,
        now: Time,
        segment: PlainSegment,
        timestamps: Option<Timestamps>,
    ) -> bool {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let ahead = segment.seq.distance_from(self.rcv_nxt_seq());
        let idle = sender.snd_una == sender.snd_max && segment.ack == self.seq_at(sender.snd_una);
        let right = receiver.rcv_nxt + u64::from(segment.payload_bytes) + ahead.max(0) as u64;
        if ahead < 0
            || segment.payload_bytes == 0
            || right > receiver.right_edge
            || !idle
            || !self.has_good_timestamps(timestamps)
        {
            return false;
        }
        let position = receiver.rcv_nxt + ahead as u64;
        if receiver.block_that_ends_compression(position, right).is_some() {
            return false;
        }
        if let Some(timestamps) = timestamps
            && position <= receiver.last_ack_sent
        {
            self.receiver.ts_recent = timestamps.value;
        }
        self.sender.prepare_idle_model();
        let window = self.scaled_window(segment.window);
        self.update_window(position, self.sender.snd_una, window);
        let PlainSegment { payload_bytes, flags, .. } = segment;
        self.update_receive_rtt(now, payload_bytes, timestamps.map(|it| it.echo));
        if self.receiver.has_all_data_below(position) {
            self.take_data_above(now, (position, payload_bytes));
            self.check_send_memory(now);
            return true;
        }
        let data = SegmentData { position: position as i64, payload_bytes, flags };
        self.process_data_and_fin(now, &data);
        self.check_send_memory(now);
        if !self.receiver.has_gap() {
            self.recompute_fast_paths();
        }
        true
    }

    /// Like [`Connection::process_data_and_fin`] for data above all data received so far, as
    /// `Receiver::has_all_data_below` has determined.
    #[inline(always)]
    fn take_data_above(&mut self, now: Time, (position, payload_bytes): (u64, u32)) {
        let receiver = &mut self.receiver;
        let right = position + u64::from(payload_bytes);
        let joins = receiver.out_of_order.end() == Some(position);
        receiver.out_of_order.insert(position, right);
        let at = ReceiverState { highest: right, ..receiver.position_in_order() };
        let waiting = receiver.rcv_nxt - receiver.read_position();
        if let Some(memory) = &mut receiver.memory {
            // The memory of a segment that is not merged with waiting data does not count yet.
            let counted = waiting + memory.beyond_gap;
            memory.beyond_gap += u64::from(payload_bytes);
            let counted = counted + if joins { u64::from(payload_bytes) } else { 0 };
            if receiver.sack && memory.grow_unless_known(payload_bytes, counted, &at) {
                receiver.pending.on_window_growth();
            }
            memory.on_gap(&at);
        }
        self.acknowledge_gap(now, self.receiver.rcv_nxt);
    }
}
