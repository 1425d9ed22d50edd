//! Evidence of acknowledgments on whether retransmissions were needed.

use super::direction::PacketContext;
use super::record::RetransmissionRecord;
use crate::answer::{Evidence, Necessity};

/// A cumulative acknowledgment.
#[derive(Clone, Copy)]
pub struct Echo {
    /// Previous cumulative acknowledgment.
    pub before: i64,
    /// True if the ACK covers more data than a delayed ACK does.
    pub is_jump: bool,
    /// Time of the latest transmission of the first data that the ACK covers.
    pub head_ns: i64,
    /// Timestamp echo; none without timestamps.
    pub echoed: Option<u32>,
    /// True if the first data that the ACK covers were retransmitted, but arrived before their
    /// retransmission: the ACK echoes an older timestamp.
    pub is_head_older: bool,
    /// True if the receiver reports with SACK blocks what arrives beyond a gap.
    pub reports_arrivals: bool,
}

impl Echo {
    /// Ticks by which the timestamp of a retransmission is later than the echoed one.
    fn age_of(&self, record: &RetransmissionRecord) -> Option<i32> {
        let (echoed, value) = self.echoed.zip(record.timestamp_value)?;
        Some(value.wrapping_sub(echoed) as i32)
    }

    /// True if the timestamp echoed is older than that of this retransmission, and false if not;
    /// none if timestamps do not distinguish the retransmission from the previous copy.
    pub fn precedes(&self, record: &RetransmissionRecord) -> Option<bool> {
        let is_distinct = record.previous_timestamp_value != record.timestamp_value;
        self.age_of(record).filter(|_| is_distinct).map(|age| age > 0)
    }

    /// True if the ACK does not show when this retransmission's data arrived: without SACK, the ACK
    /// of earlier data covers them.
    pub fn hides_arrival(&self, record: &RetransmissionRecord) -> bool {
        record.start > self.before && !self.reports_arrivals
    }

    /// True if the ACK echoes a timestamp from before this retransmission. If the retransmission
    /// had filled the gap, the ACK would echo the timestamp of the retransmission instead.
    pub fn is_older_than(&self, record: &RetransmissionRecord) -> bool {
        record.start <= self.before && self.age_of(record).is_some_and(|age| age > 0)
    }
}

/// Verdict on a retransmission from the first acknowledgment of its data, with its confidence and
/// its evidence.
pub fn needless_evidence(
    record: &RetransmissionRecord,
    echo: Option<&Echo>,
    now: &PacketContext,
    least: Option<i64>,
    thins_acks: bool,
) -> Option<(Necessity, f64, Evidence)> {
    let elapsed = now.time_ns - record.time_ns;
    // The ACK came sooner than a round trip permits, so an earlier copy has caused it.
    if least.is_some_and(|least| elapsed < least / 20 * 19) {
        return Some((Necessity::Yes, 0.98, Evidence::EarlyAck));
    }
    let echo = echo?;
    let precedes = echo.precedes(record);
    if record.start <= echo.before {
        // The retransmission fills the gap, so its own timestamp is echoed.
        return Some(if precedes? {
            (Necessity::Yes, 0.99, Evidence::OlderTimestamp)
        } else {
            (Necessity::No, 0.99, Evidence::OwnTimestamp)
        });
    }
    if record.time_ns < echo.head_ns {
        return None;
    }
    // The data before these were retransmitted earlier, and that retransmission had not arrived
    // either. A delayed ACK covers both, and echoes the timestamp of the first (RFC 7323 §4.3).
    if echo.is_head_older && precedes == Some(true) {
        return Some((Necessity::Yes, 0.97, Evidence::OlderTimestamp));
    }
    // An earlier segment filled a gap and triggered this ACK. The ACK also covers the retransmitted
    // data, so an earlier copy of them had arrived. A lost ACK can cause the same observation. With
    // SACK, the receiver would have reported that copy: the first block of an ACK contains the
    // segment that triggered it (RFC 2018 §4).
    if echo.is_jump && !echo.reports_arrivals {
        return match echo.age_of(record) {
            Some(age) if age > 0 => Some((Necessity::Yes, 0.97, Evidence::OlderTimestamp)),
            _ if thins_acks => None,
            _ => Some((Necessity::Yes, 0.9, Evidence::Jump)),
        };
    }
    None
}
