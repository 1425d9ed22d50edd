//! Comparison of a packet of the script with the one that was sent.

use crate::script::{EcnMark, OptionList, Packet, TcpOption};
use crate::show;
use retx_units::Duration;
use retx_wire::{Ecn, Flags, Timestamps};

/// Rules for the comparison of timestamps.
#[derive(Debug, Clone, Copy)]
pub struct Checks {
    /// True to compare echoed timestamps, too.
    pub exact: bool,
    /// Tick of the clock with which timestamp values are compared; `None` if they are not compared.
    pub timestamp_tick: Option<Duration>,
    /// Maximum difference between expected and actual timestamps.
    pub timestamp_tolerance: Duration,
}

/// Differences between two packets. PSH is ignored, because it depends on how a stream is cut into
/// segments.
pub fn differences(expected: &Packet, actual: &Packet, checks: &Checks) -> Vec<String> {
    let mut found = Vec::new();
    let mut field = |name: &str, expected: String, actual: String| {
        if expected != actual {
            found.push(format!("{name}: expected {expected}, sent {actual}"));
        }
    };
    let bits = |packet: &Packet| show::format_flags(Flags(packet.flags.0 & !Flags::PSH.0));
    field("flags", bits(expected), bits(actual));
    field("seq", expected.seq.to_string(), actual.seq.to_string());
    field("payload", expected.payload_bytes.to_string(), actual.payload_bytes.to_string());
    field("ack", expected.ack.to_string(), actual.ack.to_string());
    if let (Some(expected), Some(actual)) = (expected.window, actual.window) {
        field("win", expected.to_string(), actual.to_string());
    }
    if let Some(mark) = expected.ecn {
        let sent = actual.ecn.unwrap_or(EcnMark::Exactly(Ecn::NotEct));
        let holds = match mark {
            EcnMark::Exactly(_) => mark == sent,
            EcnMark::Capable => matches!(sent, EcnMark::Exactly(Ecn::Ect0 | Ecn::Ect1)),
        };
        if !holds {
            let [mark, sent] = [mark, sent].map(show::format_ecn);
            found.push(format!("ecn: expected {mark}, sent {sent}"));
        }
    }
    if let (OptionList::Exactly(expected), OptionList::Exactly(actual)) =
        (&expected.options, &actual.options)
        && let Some(difference) = option_difference(expected, actual, checks)
    {
        found.push(difference);
    }
    found
}

fn option_difference(
    expected: &[TcpOption],
    actual: &[TcpOption],
    checks: &Checks,
) -> Option<String> {
    if expected.len() != actual.len() {
        return Some("options".into());
    }
    for pair in expected.iter().zip(actual) {
        match pair {
            (TcpOption::Timestamps(expected), TcpOption::Timestamps(actual)) => {
                if let Some(difference) = stamp_difference(*expected, *actual, checks) {
                    return Some(difference);
                }
            }
            (expected, actual) if expected == actual => {}
            _ => return Some("options".into()),
        }
    }
    None
}

fn stamp_difference(expected: Timestamps, actual: Timestamps, checks: &Checks) -> Option<String> {
    if let Some(tick) = checks.timestamp_tick {
        let ticks = (expected.value.wrapping_sub(actual.value) as i32).unsigned_abs();
        if tick.saturating_mul(ticks.into()) > checks.timestamp_tolerance {
            let (expected, actual) = (expected.value, actual.value);
            return Some(format!("TS val: expected {expected}, sent {actual}"));
        }
    }
    (checks.exact && expected.echo != actual.echo)
        .then(|| format!("TS ecr: expected {}, sent {}", expected.echo, actual.echo))
}
