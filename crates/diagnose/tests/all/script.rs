//! Captures written packet by packet.

use crate::build::{Header, Order, Written, ethernet, ipv4, pcap, tcp};
use retx_diagnose::answer::{Answer, Flow};

/// Payload of a segment.
pub const SEGMENT: u32 = 1_000;
const MS: u64 = 1_000_000;

/// A capture at the sender's end of a path whose round trip takes 40 ms.
#[derive(Default)]
pub struct Script {
    pub frames: Vec<Written>,
    pub timestamps: bool,
    /// Window field of the packets; one that never binds by default.
    pub window: Option<u16>,
}

impl Script {
    /// A connection after its handshake, at 40 ms.
    pub fn open(timestamps: bool) -> Self {
        let mut script = Self { timestamps, ..Self::default() };
        script.packet(0, true, (0, 0), (0, 2));
        script.packet(40, false, (0, 1), (0, 18));
        script.packet(40, true, (1, 1), (0, 16));
        script
    }

    /// A packet of the sender or of the receiver: numbers, payload and flags.
    pub fn packet(
        &mut self,
        ms: u64,
        data: bool,
        (seq, ack): (u32, u32),
        (payload, flags): (u32, u8),
    ) {
        // The receiver's clock runs 20 ms behind; the echo is the newest value that came.
        let value = ms as u32;
        let timestamps = self.timestamps.then_some((value, value.saturating_sub(40)));
        let header = Header { seq, ack, payload: payload as u16, flags, timestamps };
        self.frame(ms, data, &tcp(header));
    }

    pub fn frame(&mut self, ms: u64, data: bool, segment: &[u8]) {
        let mut packet = ipv4(6, segment);
        packet[4..6].fill(0);
        packet[34..36].copy_from_slice(&self.window.unwrap_or(u16::MAX).to_be_bytes());
        if !data {
            // Addresses and ports the other way round.
            packet.swap(15, 19);
            let (from, to) = (packet[20..22].to_vec(), packet[22..24].to_vec());
            packet[20..22].copy_from_slice(&to);
            packet[22..24].copy_from_slice(&from);
        }
        let data = ethernet(0x0800, &packet);
        let original_bytes = data.len() as u32;
        self.frames.push(Written { time_ns: ms * MS, interface: 0, original_bytes, data });
    }

    /// Data segment of this number, from 0.
    pub fn data(&mut self, ms: u64, number: u32) {
        self.packet(ms, true, (1 + number * SEGMENT, 1), (SEGMENT, 16));
    }

    /// Acknowledgment of everything before a segment.
    pub fn ack(&mut self, ms: u64, number: u32) {
        self.packet(ms, false, (1, 1 + number * SEGMENT), (0, 16));
    }

    pub fn answer(&self) -> Answer {
        let file = pcap(Order::Little, 0xa1b2_3c4d, 1, &self.frames);
        retx_diagnose::diagnose(file.as_slice(), "script").expect("a capture")
    }

    pub fn flow(&self) -> Flow {
        let mut flows = self.answer().flows;
        assert_eq!(flows.len(), 1);
        flows.remove(0)
    }
}
