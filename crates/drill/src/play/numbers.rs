//! Mapping of sequence numbers and timestamps between script and connection.
//!
//! Numbers in a script are relative to the SYNs. The endpoint chooses its own initial sequence
//! number and timestamp clock, so its numbers differ from the script's by an offset.

use crate::script::{EcnMark, OptionList, Packet, TcpOption};
use retx_units::SeqNr;
use retx_wire::{Ecn, Flags, Options, SackBlock, SackBlocks, Segment, Timestamps};
use std::collections::HashMap;

/// Mapping of one connection's numbers to the script's.
#[derive(Debug, Clone, Default)]
pub struct NumberMapping {
    /// The endpoint's initial sequence number, once it has sent a SYN.
    local: Option<SeqNr>,
    /// The endpoint's initial sequence number in the script.
    local_in_script: u32,
    /// The peer's initial sequence number.
    remote: SeqNr,
    /// Timestamps sent by the endpoint: map from the value in the script to the actual one.
    stamps: HashMap<u32, u32>,
    /// First pair of timestamps: script and actual; `None` before the first.
    first_stamp: Option<(u32, u32)>,
}

impl NumberMapping {
    /// Sets the initial sequence number of the remote end, whose packets the script sends.
    pub fn set_remote_isn(&mut self, seq: u32) {
        self.remote = SeqNr(seq);
    }

    /// Number to add to an acknowledgment number of the script to get that of the connection. The
    /// numbers in a SYN's header are not relative, so a SYN has a different offset.
    fn ack_offset(&self, syn: bool) -> u32 {
        let local = self.local.unwrap_or_default().0;
        if syn { local.wrapping_sub(self.local_in_script) } else { local }
    }

    /// Converts an arriving packet to the connection's numbers.
    ///
    /// # Errors
    /// The packet echoes a timestamp that the endpoint never sent.
    pub fn incoming_segment(&self, packet: &Packet, scaled_echo: bool) -> Result<Segment, String> {
        let syn = packet.flags.contains(Flags::SYN);
        let has_ack = packet.flags.contains(Flags::ACK);
        let offset = self.ack_offset(syn);
        let seq = if syn { SeqNr(packet.seq) } else { self.remote.add(packet.seq) };
        let ack = if has_ack { packet.ack.wrapping_add(offset) } else { packet.ack };
        let mut options = Options::default();
        let written = match &packet.options {
            OptionList::Exactly(written) => written.as_slice(),
            OptionList::Any => return Err("an arriving packet has its options written out".into()),
        };
        for option in written {
            match *option {
                TcpOption::Eol => break,
                TcpOption::Nop | TcpOption::Md5 => {}
                TcpOption::Mss(mss) => options.mss = Some(mss),
                TcpOption::WindowScale(shift) => options.window_scale = Some(shift),
                TcpOption::SackPermitted => options.sack_permitted = true,
                TcpOption::Sack(blocks) => options.sack = moved(&blocks, offset),
                TcpOption::Timestamps(Timestamps { value, echo }) => {
                    let echo = if has_ack { self.real_stamp(echo, scaled_echo)? } else { echo };
                    options.timestamps = Some(Timestamps { value, echo });
                }
            }
        }
        Ok(Segment {
            seq,
            ack: SeqNr(ack),
            window: packet.window.unwrap_or(0),
            flags: packet.flags,
            payload_bytes: packet.payload_bytes,
            options,
            loss_notice: false,
        })
    }

    fn real_stamp(&self, echo: u32, scaled: bool) -> Result<u32, String> {
        if let Some(real) = self.stamps.get(&echo) {
            return Ok(*real);
        }
        match self.first_stamp {
            Some((script, real)) if scaled => Ok(echo.wrapping_sub(script).wrapping_add(real)),
            _ => Err(format!(
                "ecr {echo}: no packet in the script has had this TS val; --tcp_ts_ecr_scaled \
                 works it out from the first"
            )),
        }
    }

    /// Records the mapping for a sent packet, which corresponds to the packet `expected` in the
    /// script.
    pub fn add_mapping(&mut self, expected: &Packet, sent: &Segment) {
        if expected.flags.contains(Flags::SYN) {
            self.local_in_script = expected.seq;
        }
        if let (Some(script), Some(real)) = (timestamps_of(expected), sent.options.timestamps) {
            self.stamps.insert(script.value, real.value);
            self.first_stamp.get_or_insert((script.value, real.value));
        }
    }

    /// Records a sent packet. A SYN reveals the endpoint's initial sequence number.
    pub fn note_sent(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.local = Some(segment.seq);
        }
    }

    /// Converts a sent packet to the script's numbers.
    pub fn script_packet(&self, segment: &Segment, ecn: Ecn) -> Packet {
        let syn = segment.flags.contains(Flags::SYN);
        let seq = segment.seq.0.wrapping_sub(self.ack_offset(syn));
        let remote = if syn { 0 } else { self.remote.0 };
        let has_ack = segment.flags.contains(Flags::ACK);
        Packet {
            flags: segment.flags,
            seq,
            payload_bytes: segment.payload_bytes,
            ack: if has_ack { segment.ack.0.wrapping_sub(remote) } else { segment.ack.0 },
            window: Some(segment.window),
            options: OptionList::Exactly(self.shown_options(segment, remote)),
            ecn: Some(EcnMark::Exactly(ecn)).filter(|_| ecn != Ecn::NotEct),
        }
    }

    /// Options as in the header, padding included.
    fn shown_options(&self, segment: &Segment, remote: u32) -> Vec<TcpOption> {
        let bytes = segment.options.encode();
        let mut rest = bytes.as_slice();
        let mut shown = Vec::new();
        while let Some((&kind, after)) = rest.split_first() {
            let option = match kind {
                0 => TcpOption::Eol,
                1 => TcpOption::Nop,
                2 => TcpOption::Mss(u16::from_be_bytes([after[1], after[2]])),
                3 => TcpOption::WindowScale(after[1]),
                4 => TcpOption::SackPermitted,
                5 => TcpOption::Sack(moved(&segment.options.sack, remote.wrapping_neg())),
                8 => TcpOption::Timestamps(self.shown_stamps(segment)),
                other => unreachable!("the endpoint sent an option of kind {other}"),
            };
            rest = &rest[option.bytes() as usize..];
            shown.push(option);
        }
        shown
    }

    fn shown_stamps(&self, segment: &Segment) -> Timestamps {
        let stamps = segment.options.timestamps.unwrap_or_default();
        let Some((script, real)) = self.first_stamp else { return stamps };
        Timestamps { value: stamps.value.wrapping_sub(real).wrapping_add(script), ..stamps }
    }
}

/// Timestamps of a packet of the script.
pub fn timestamps_of(packet: &Packet) -> Option<Timestamps> {
    let OptionList::Exactly(options) = &packet.options else { return None };
    options.iter().find_map(|option| match option {
        TcpOption::Timestamps(stamps) => Some(*stamps),
        _ => None,
    })
}

fn moved(blocks: &SackBlocks, offset: u32) -> SackBlocks {
    let mut result = SackBlocks::default();
    for block in blocks.as_slice() {
        result.push(SackBlock { left: block.left.add(offset), right: block.right.add(offset) });
    }
    result
}
