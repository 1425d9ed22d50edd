//! Formatting of packets and times in the notation of scripts.

use crate::script::{EcnMark, OptionList, Packet, TcpOption};
use retx_units::Time;
use retx_wire::{Ecn, Flags};

/// Shortens a text of the script to one line of a terminal, without control characters.
pub fn one_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut shown = String::new();
    for (index, c) in text.trim().chars().enumerate() {
        if index == LONGEST {
            shown.push('…');
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Time in seconds with six or more decimals, such as `0.250000`.
pub fn format_time(time: Time) -> String {
    let (seconds, nanos) = (time.as_nanos() / 1_000_000_000, time.as_nanos() % 1_000_000_000);
    if nanos.is_multiple_of(1_000) {
        format!("{seconds}.{:06}", nanos / 1_000)
    } else {
        format!("{seconds}.{nanos:09}")
    }
}

/// Packet as scripts write it, such as `P. 1:1001(1000) ack 1 win 257 <nop,nop,sack 2001:3001>`.
pub fn format_packet(packet: &Packet) -> String {
    let Packet { seq, payload_bytes, .. } = *packet;
    let mut text = String::new();
    if let Some(mark) = packet.ecn {
        text += &format!("[{}] ", format_ecn(mark));
    }
    text += &format_flags(packet.flags);
    text += &format!(" {seq}:{}({payload_bytes})", u64::from(seq) + u64::from(payload_bytes));
    if packet.flags.contains(Flags::ACK) {
        text += &format!(" ack {}", packet.ack);
    }
    if let Some(window) = packet.window {
        text += &format!(" win {window}");
    }
    match &packet.options {
        OptionList::Any => text += " <...>",
        OptionList::Exactly(options) if options.is_empty() => {}
        OptionList::Exactly(options) => {
            let options: Vec<String> = options.iter().map(option).collect();
            text += &format!(" <{}>", options.join(","));
        }
    }
    text
}

/// ECN mark in the notation of scripts.
pub const fn format_ecn(mark: EcnMark) -> &'static str {
    match mark {
        EcnMark::Exactly(Ecn::NotEct) => "noecn",
        EcnMark::Exactly(Ecn::Ect0) => "ect0",
        EcnMark::Exactly(Ecn::Ect1) => "ect1",
        EcnMark::Exactly(Ecn::Ce) => "ce",
        EcnMark::Capable => "ect01",
    }
}

/// Control bits as scripts write them, such as `S.`; `-` for none.
pub fn format_flags(flags: Flags) -> String {
    const LETTERS: [(Flags, char); 7] = [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
        (Flags::ACK, '.'),
    ];
    let text: String = LETTERS
        .iter()
        .filter(|(flag, _)| flags.contains(*flag))
        .map(|(_, letter)| letter)
        .collect();
    if text.is_empty() { "-".into() } else { text }
}

fn option(option: &TcpOption) -> String {
    match option {
        TcpOption::Eol => "eol".into(),
        TcpOption::Nop => "nop".into(),
        TcpOption::Mss(mss) => format!("mss {mss}"),
        TcpOption::WindowScale(shift) => format!("wscale {shift}"),
        TcpOption::SackPermitted => "sackOK".into(),
        TcpOption::Sack(blocks) => {
            let blocks: Vec<String> = blocks
                .as_slice()
                .iter()
                .map(|block| format!("{}:{}", block.left.0, block.right.0))
                .collect();
            format!("sack {}", blocks.join(" "))
        }
        TcpOption::Md5 => "md5".into(),
        TcpOption::Timestamps(stamps) => {
            format!("TS val {} ecr {}", stamps.value, stamps.echo)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_script_is_harmless() {
        assert_eq!(one_line(" a\u{1b}[2J\tb "), "a\\u{1b}[2J\\tb");
        assert_eq!(one_line(&"x".repeat(1_000)).chars().count(), 301);
    }

    #[test]
    fn times_are_as_fine_as_they_are() {
        assert_eq!(format_time(Time::from_nanos(1_250_000_000)), "1.250000");
        assert_eq!(format_time(Time::from_nanos(1_000_000_001)), "1.000000001");
    }
}
