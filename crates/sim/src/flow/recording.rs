//! Recording of a flow: updates its record from the state of both connections and from the packets
//! between them.

use super::{Flow, RECEIVER, SENDER};
use crate::drop::PacketDrop;
use crate::packet::{OtherCopies, Packet, PacketMut, PacketRef};
use crate::recorder::Recorder;
use retx_record::capture::Transmission;
use retx_record::flow::{EpisodeStart, NecessaryRetransmissions, SentSegment};
use retx_record::reason::{EpisodeKind, InferredCause, SenderInference};
use retx_record::truth::{ArrivedData, SegmentCopy, Trigger};
use retx_tcp::{Connection, PlainTransmit, loss_cause};
use retx_units::{Duration, Time};
use retx_wire::Flags;

/// Receiving endpoint, which shows whether the data of a retransmission were missing, so that the
/// retransmission was necessary.
struct Receiver<'a>(&'a Connection);

impl ArrivedData for Receiver<'_> {
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        self.0.first_missing(from, to)
    }
}

/// Longest time without data that does not count as a pause: the smoothed RTT. Before the first RTT
/// sample it is the RTO: the initial RTO, doubled for each loss of the SYN.
#[inline]
fn longest_pause(sender: &Connection) -> Duration {
    sender.srtt().unwrap_or_else(|| sender.rto())
}

impl Flow {
    /// Records a plain segment of the data sender; returns its number among the sender's packets.
    #[inline(always)]
    pub(super) fn record_sent_plain(&mut self, now: Time, sent: &PlainTransmit) -> u64 {
        let number = self.record.count_packet();
        let payload_bytes = sent.segment.payload_bytes;
        if payload_bytes > 0 {
            let [sender, receiver] = &self.ends;
            let (from, to) = (sent.position, sent.position + u64::from(payload_bytes));
            let segment = SentSegment { copy: SegmentCopy { number, from, to }, payload_bytes };
            let longest = || longest_pause(sender);
            let transmission = self.record.on_sent(now, segment, longest, &Receiver(receiver));
            assert!(transmission == Transmission::First, "what counts as a retransmission");
        }
        number
    }

    /// Records a segment of the data sender, and sets three fields of its packet: copy number, kind
    /// of transmission, and row.
    #[inline]
    pub(super) fn record_sent(
        &mut self,
        now: Time,
        retransmission: bool,
        packet: &mut PacketMut<'_>,
        recorder: &mut Recorder,
    ) {
        packet.set_copy_number(self.record.count_packet());
        if packet.seq_len() == 0 {
            return;
        }
        let segment = sent_segment(packet, packet.copy_number());
        let [sender, receiver] = &self.ends;
        let longest = || longest_pause(sender);
        let transmission = self.record.on_sent(now, segment, longest, &Receiver(receiver));
        assert!(
            retransmission == (transmission != Transmission::First),
            "what counts as a retransmission"
        );
        packet.set_transmission(transmission);
        if retransmission || recorder.records_segments() {
            self.record_row(now, packet, recorder);
        }
    }

    /// Writes a segment of the data sender into the tables.
    #[inline(never)]
    pub(super) fn record_row(
        &mut self,
        now: Time,
        packet: &mut PacketMut<'_>,
        recorder: &mut Recorder,
    ) {
        let smss = self.ends[SENDER].window().smss;
        let (segment, transmission) =
            (sent_segment(packet, packet.copy_number()), packet.transmission());
        let tables = &mut recorder.tables;
        if let Some(row) = self.record.write_sent((now, smss), segment, transmission, tables) {
            packet.set_table_row(row);
        }
    }

    /// Records that a segment of the data sender has reached the receiver, which may have discarded
    /// it. Inlined for the usual case, in which `rcv_nxt` shows that the segment was accepted.
    #[inline(always)]
    pub(super) fn record_arrival(
        &mut self,
        now: Time,
        packet: PacketRef<'_>,
        recorder: &mut Recorder,
    ) {
        self.record.note_arrival(now);
        let (receiver, end) = (&self.ends[RECEIVER], packet.end_position());
        if receiver.rcv_nxt() < end && !receiver.has_received(packet.position, end) {
            self.record_refusal(packet.for_rare_call(), recorder);
        } else {
            self.record.on_arrived(|| {
                (copy_of(&packet, packet.copy_number()), !packet.is_first_transmission())
            });
        }
    }

    #[cold]
    fn record_refusal(&mut self, packet: PacketRef<'_>, recorder: &mut Recorder) {
        recorder.on_discarded(packet);
        let copy = copy_of(&packet, packet.copy_number());
        if packet.other_copies() == OtherCopies::OnTheirWay {
            self.record.note_discarded_copy(copy);
        } else {
            let necessary = self.record.on_discarded(copy, &mut recorder.tables);
            self.correct_capture(necessary, recorder);
        }
    }

    /// Records that the sender has detected a loss, correctly or not.
    #[cold]
    pub(super) fn record_episode(
        &mut self,
        now: Time,
        (kind, found): (EpisodeKind, &retx_tcp::Episode),
        recorder: &mut Recorder,
    ) {
        let [sender, receiver] = &self.ends;
        let inferred = match found.inferred_cause {
            loss_cause::Cause::Congestion => InferredCause::Congestion,
            loss_cause::Cause::Corruption => InferredCause::Corruption,
        };
        let start = EpisodeStart {
            at: now,
            inference: SenderInference { kind, inferred },
            trigger: Trigger { position: found.trigger, repaired: found.repaired },
            smss: sender.window().smss,
            cwnd_before_bytes: found.cwnd_before,
            cwnd_after_bytes: found.cwnd_after,
            rto: found.rto,
            backoff: found.backoff,
            backoff_now: sender.backoff(),
            same_window_of_data: found.same_window_of_data,
            stale_timer: found.stale_timer,
        };
        self.record.begin_episode(start, &Receiver(receiver), &mut recorder.tables);
        self.invalidate_cached_limit();
    }

    /// Records that a packet of this flow was dropped.
    pub fn record_dropped(
        &mut self,
        packet: PacketRef<'_>,
        drop: &PacketDrop,
        recorder: &mut Recorder,
    ) {
        let smss = self.ends[SENDER].window().smss;
        recorder.on_dropped(packet, smss, drop);
        self.record_loss(packet, drop, recorder);
    }

    /// Records that a relay has absorbed an acknowledgment of this flow.
    pub fn record_absorbed(
        &self,
        packet: PacketRef<'_>,
        drop: &PacketDrop,
        recorder: &mut Recorder,
    ) {
        recorder.on_dropped(packet, self.ends[SENDER].window().smss, drop);
    }

    /// Records that a relay has freed the last copy of a packet after all others had been dropped.
    pub fn record_lost_with_last_copy(
        &mut self,
        packet: PacketRef<'_>,
        drop: &PacketDrop,
        recorder: &mut Recorder,
    ) {
        recorder.record_loss(packet, drop);
        self.record_loss(packet, drop, recorder);
    }

    /// Records that a relay has freed the last copy of a packet, after other copies had arrived. If
    /// the receiver has discarded all copies, the packet is lost.
    pub fn record_given_up_after_arrival(
        &mut self,
        packet: PacketRef<'_>,
        recorder: &mut Recorder,
    ) {
        if self.is_of_this_connection(packet) && self.has_discarded_copy(packet) {
            let copy = copy_of(&packet, packet.copy_number());
            let necessary = self.record.on_discarded(copy, &mut recorder.tables);
            self.correct_capture(necessary, recorder);
        }
    }

    fn record_loss(&mut self, packet: PacketRef<'_>, drop: &PacketDrop, recorder: &mut Recorder) {
        if !self.is_of_this_connection(packet) || self.is_delivered_by_copy(packet) {
            return;
        }
        if !packet.carries_data_direction() {
            if packet.flags.contains(Flags::ACK) {
                let sender = &self.ends[SENDER];
                let ack = packet.ack.unwrap_near(sender.initial_sequence(), sender.snd_una());
                self.record.on_ack_dropped(ack.max(0) as u64);
            }
            return;
        }
        if packet.seq_len() > 0 {
            let copy = copy_of(&packet, packet.copy_number());
            let necessary = if packet.other_copies() == OtherCopies::Arrived {
                // Another copy arrived earlier, and the receiver discarded it.
                self.record.on_discarded(copy, &mut recorder.tables)
            } else {
                self.record.on_dropped(copy, drop.cause, &mut recorder.tables)
            };
            self.correct_capture(necessary, recorder);
        }
    }

    fn has_discarded_copy(&self, packet: PacketRef<'_>) -> bool {
        packet.carries_data_direction() && self.record.has_discarded_copy(packet.copy_number())
    }

    /// True if another copy of a dropped packet, made by the network, has delivered the same bytes
    /// or may still do so.
    fn is_delivered_by_copy(&self, packet: PacketRef<'_>) -> bool {
        match packet.other_copies() {
            OtherCopies::None => false,
            OtherCopies::OnTheirWay => true,
            OtherCopies::Arrived => !self.has_discarded_copy(packet),
        }
    }

    fn correct_capture(&self, necessary: NecessaryRetransmissions, recorder: &mut Recorder) {
        if let Some(capture) = &mut recorder.capture {
            for number in necessary {
                capture.mark_necessary(self.record.flow(), number);
            }
        }
    }
}

fn copy_of(packet: &Packet, number: u64) -> SegmentCopy {
    SegmentCopy { number, from: packet.position, to: packet.end_position() }
}

fn sent_segment(packet: &Packet, number: u64) -> SentSegment {
    SentSegment { copy: copy_of(packet, number), payload_bytes: packet.payload_bytes() }
}
