//! Handshake options that the other end refuses, or that a device on the path removes.

use super::list;
use crate::answer::Pattern;
use crate::packet::{ControlBits, Options, Packet};

/// Number of segments without the agreed timestamps that proves the removal of the option.
const BARE_MIN: u32 = 3;

/// Options of a connection.
#[derive(Debug, Default)]
pub struct Negotiation {
    /// Number of segments without timestamps from each end.
    bare: [u32; 2],
    /// Frames of each end's SYN.
    syns: [u64; 2],
    first_bare: [u64; 2],
}

/// Names of window scaling, SACK and timestamps, each with true if the SYN offers the option.
fn offered(options: &Options) -> [(&'static str, bool); 3] {
    [
        ("window scaling", options.window_scale.is_some()),
        ("SACK", options.sack_permitted),
        ("timestamps", options.timestamps.is_some()),
    ]
}

impl Negotiation {
    /// Counts this end's packets without timestamps, and records its SYN.
    pub fn on_packet(&mut self, packet: &Packet, side: usize) {
        if packet.control.any(ControlBits::SYN) {
            self.syns[side] = packet.number;
        } else if packet.options.timestamps.is_none()
            // The option may be in the part of the header that was not captured. A RST need not
            // carry it (RFC 7323 §3.2).
            && !packet.options.is_truncated
            && !packet.control.any(ControlBits::RST)
        {
            if self.bare[side] == 0 {
                self.first_bare[side] = packet.number;
            }
            self.bare[side] += 1;
        }
    }

    /// Pattern of refused or removed options; `syn` and `answer` are the options of the SYN and of
    /// the SYN/ACK.
    pub fn finish(&self, [syn, answer]: [&Options; 2], opener: usize) -> Option<Pattern> {
        // If options were not captured, it is unknown whether they were refused.
        if syn.is_truncated || answer.is_truncated {
            return None;
        }
        let [own, other] = [self.syns[opener], self.syns[1 - opener]];
        let (offers, accepts) = (offered(syn), offered(answer));
        let pairs = offers.iter().zip(accepts);
        let refused: Vec<&str> = pairs
            .filter(|((_, offers), (_, accepts))| *offers && !accepts)
            .map(|((name, _), _)| *name)
            .collect();
        // A refusal of timestamps is not reported: it is common and costs little.
        if refused.iter().any(|name| *name != "timestamps") {
            let evidence = format!(
                "the SYN in frame {own} offers {}, the answer in frame {other} lacks {}: the \
                 other end has this switched off, or a device on the path removes it",
                list(&refused),
                if refused.len() == 1 { "it" } else { "them" }
            );
            let packets = vec![own, other];
            return Some(Pattern::new("options_refused", evidence, packets, 0.99));
        }
        let are_agreed = syn.timestamps.is_some() && answer.timestamps.is_some();
        // A few segments without timestamps prove nothing: they may be damaged or forged.
        let side = (0..2).find(|side| self.bare[*side] >= BARE_MIN).filter(|_| are_agreed)?;
        let evidence = format!(
            "both SYNs carry timestamps, but {} segments of one end carry none, from frame {} on: \
             a device on the path removes the option (RFC 7323 §3.2)",
            self.bare[side], self.first_bare[side]
        );
        let packets = vec![self.first_bare[side]];
        Some(Pattern::new("options_removed", evidence, packets, 0.95))
    }
}

/// Pattern of removed options, found by comparing one SYN captured before and behind a device.
pub fn removed_between(before: &Packet, behind: &Packet) -> Option<Pattern> {
    if before.options.is_truncated || behind.options.is_truncated {
        return None;
    }
    let pairs = offered(&before.options).into_iter().zip(offered(&behind.options));
    let removed: Vec<&str> =
        pairs.filter(|(one, other)| one.1 && !other.1).map(|(one, _)| one.0).collect();
    if removed.is_empty() {
        return None;
    }
    let evidence = format!(
        "the SYN in frame {} has {}, its copy in frame {} of the other capture has not: a device \
         between the captures removes it",
        before.number,
        list(&removed),
        behind.number
    );
    let packets = vec![before.number];
    Some(Pattern::new("options_removed", evidence, packets, 0.999))
}
