//! Recording during a run: tables and captures, each only if requested.

use crate::capture::Capture;
use crate::drop::PacketDrop;
use crate::options::{Options, RunError};
use crate::packet::{NONE, PacketMut, PacketRef, Packets, Transmission};
use crate::plan::{Plan, Sampling};
use retx_record::reason::SegmentFate;
use retx_record::tables::{self, Tables, packet_number};
use retx_tcp::Connection;
use retx_units::Time;
use retx_wire::Flags;

/// Tables and captures.
#[derive(Debug)]
pub struct Recorder {
    /// Recorded tables.
    pub tables: Tables,
    /// Capture, if requested.
    pub capture: Option<Box<Capture>>,
    /// True to sample at each acknowledgment.
    pub samples_every_ack: bool,
    /// True if each packet sent by an endpoint is recorded, either in a table or in order to
    /// measure how long acknowledgments wait in queues.
    pub notes_sent_packets: bool,
    /// True if packets sent or received by endpoints are recorded, in a table or a capture.
    pub records_packets: bool,
}

impl Recorder {
    /// Creates an empty recorder; `acks_wait` is true if acknowledgments of some flow wait in
    /// queues behind data of other flows.
    ///
    /// # Errors
    /// A name does not fit into a capture file.
    pub fn new(plan: &Plan, options: &Options, acks_wait: bool) -> Result<Self, RunError> {
        let capture = if options.capture_points.is_empty() {
            None
        } else {
            Some(Box::new(Capture::new(plan, &options.capture_points)?))
        };
        Ok(Self {
            notes_sent_packets: options.record_segments || acks_wait,
            records_packets: capture.is_some() || options.record_segments,
            tables: Tables {
                samples: (plan.sampling != Sampling::Off).then(tables::Samples::default),
                link_samples: (plan.sampling != Sampling::Off).then(tables::LinkSamples::default),
                segments: options.record_segments.then(tables::Segments::default),
                acks: options.record_segments.then(tables::Acks::default),
                drops: options.record_drops.then(tables::Drops::default),
                episodes: options.record_episodes.then(tables::Episodes::default),
                exchanges: (options.record_episodes
                    && plan.flows.iter().any(|flow| flow.app.sends_requests()))
                .then(tables::Exchanges::default),
                limits: (plan.sampling != Sampling::Off).then(tables::LimitSpans::default),
            },
            capture,
            samples_every_ack: plan.sampling == Sampling::EveryAck,
        })
    }

    /// Number of rows of `samples` and `link_samples`.
    pub fn sample_rows(&self) -> u64 {
        let Tables { samples, link_samples, .. } = &self.tables;
        let senders = samples.as_ref().map_or(0, tables::Samples::len);
        (senders + link_samples.as_ref().map_or(0, tables::LinkSamples::len)) as u64
    }

    /// True if sent segments are recorded.
    #[inline]
    pub const fn records_segments(&self) -> bool {
        // `segments` and `acks` are recorded together.
        self.tables.segments.is_some()
    }

    /// Records a packet sent by the data receiver.
    #[inline]
    pub fn on_sent_by_receiver(
        &mut self,
        now: Time,
        receiver: &Connection,
        packet: &mut PacketMut<'_>,
    ) {
        if let Some(acks) = &mut self.tables.acks
            && packet.flags.contains(Flags::ACK)
        {
            packet.set_table_row(acks.push(tables::Ack {
                flow: packet.flow(),
                sent: now,
                ack: receiver.rcv_nxt(),
                window_bytes: receiver.rcv_wnd(),
            }));
        }
    }

    /// Records that a packet enters a pipe or another stage at this place.
    #[inline]
    pub fn on_entered(&mut self, now: Time, place: u32, id: u32, packets: &mut Packets) {
        if let Some(capture) = &mut self.capture {
            capture.on_entered(now, place, id, packets);
        }
    }

    /// Records that a packet leaves a pipe at its far end, or another stage at this place.
    #[inline]
    pub fn on_left(&mut self, now: Time, place: u32, id: u32, packets: &mut Packets) {
        if let Some(capture) = &mut self.capture {
            capture.on_left(now, place, id, packets);
        }
    }

    /// Records that a packet has reached its host.
    #[inline(always)]
    pub fn on_delivered(&mut self, now: Time, packet: PacketRef<'_>) {
        if self.records_packets && (packet.table_row() != NONE || self.capture.is_some()) {
            let (id, packets) = packet.parts();
            self.write_delivered(now, id, packets);
        }
    }

    #[inline(never)]
    fn write_delivered(&mut self, now: Time, id: u32, packets: &Packets) {
        let packet = packets.get(id);
        if packet.table_row() != NONE {
            let Tables { segments, acks, .. } = &mut self.tables;
            if packet.carries_data_direction() {
                segments
                    .iter_mut()
                    .for_each(|segments| segments.set_delivered(packet.table_row(), now));
            } else {
                acks.iter_mut().for_each(|acks| acks.set_delivered(packet.table_row(), now));
            }
        }
        if let Some(capture) = &mut self.capture {
            capture.on_delivered(now, packet);
        }
    }

    /// Records that the data receiver has discarded the segment that just arrived.
    #[cold]
    pub fn on_discarded(&mut self, packet: PacketRef<'_>) {
        if packet.table_row() != NONE
            && let Some(segments) = &mut self.tables.segments
        {
            segments.set_discarded(packet.table_row());
        }
    }

    /// Records that a datagram has reached its host.
    pub fn on_datagram_delivered(&mut self, now: Time, packet: PacketRef<'_>) {
        if let Some(capture) = &mut self.capture {
            capture.on_delivered(now, packet);
        }
    }

    /// Records that a datagram was dropped.
    pub fn on_datagram_dropped(&mut self, packet: PacketRef<'_>, drop: &PacketDrop) {
        if let Some(drops) = &mut self.tables.drops {
            drops.push(tables::DropRow {
                time: drop.at,
                place: drop.place,
                reason: drop.reason,
                flow: packet.flow(),
                packet_number: Some(packet.position),
                retransmission: false,
            });
        }
        if let Some(capture) = &mut self.capture {
            capture.on_dropped(packet, drop);
        }
    }

    /// Records that a packet was dropped.
    pub fn on_dropped(&mut self, packet: PacketRef<'_>, smss: u32, drop: &PacketDrop) {
        self.record_loss(packet, drop);
        if let Some(drops) = &mut self.tables.drops {
            let numbered = packet.carries_data_direction() && packet.seq_len() > 0;
            drops.push(tables::DropRow {
                time: drop.at,
                place: drop.place,
                reason: drop.reason,
                flow: packet.flow(),
                packet_number: numbered.then(|| packet_number(packet.position, smss)),
                retransmission: packet.transmission() != Transmission::First,
            });
        }
        if let Some(capture) = &mut self.capture {
            capture.on_dropped(packet, drop);
        }
    }

    /// Records in the packet's row of `segments` or `acks` that the packet does not arrive.
    pub fn record_loss(&mut self, packet: PacketRef<'_>, drop: &PacketDrop) {
        if packet.table_row() != NONE {
            let fate = SegmentFate::from_drop(drop.reason);
            let Tables { segments, acks, .. } = &mut self.tables;
            if packet.carries_data_direction() {
                segments
                    .iter_mut()
                    .for_each(|segments| segments.set_dropped(packet.table_row(), fate));
            } else {
                acks.iter_mut().for_each(|acks| acks.set_dropped(packet.table_row(), fate));
            }
        }
    }
}
