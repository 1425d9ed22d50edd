//! Packets that arrive, and packets that the endpoint must send.

use super::compare::{self, Checks};
use super::times::TimeWindow;
use super::{Difference, Player};
use crate::fault::{EarlyEnd, Refusal};
use crate::host::SentPacket;
use crate::script::{EcnMark, Event, OptionList, Packet, TcpOption};
use crate::show;
use retx_tcp::State;
use retx_units::{Duration, Time};
use retx_wire::{Ecn, Flags, Segment};

/// Time for which the player still waits for an overdue packet, so that the error message can show
/// the packet.
const MAX_WAIT: Duration = Duration::from_secs(2);

impl Player<'_> {
    /// Delivers a packet to the endpoint.
    pub fn deliver_inbound(&mut self, event: &Event, packet: &Packet) -> Result<(), EarlyEnd> {
        let refuse = |message: String| EarlyEnd::Refused(Refusal::new(event.line, message));
        let known = self.host.current_connection();
        let end = self.host.connection_for(packet.flags).map_err(refuse)?;
        let connection = &self.host.end(end).connection;
        let answers_syn = packet.flags.contains(Flags::SYN) && connection.state() == State::SynSent;
        let scaled = self.setup.scaled_echo;
        let numbers = self.numbers_of(end);
        if known != Some(end) || answers_syn {
            numbers.set_remote_isn(packet.seq);
        }
        let segment = numbers.incoming_segment(packet, scaled).map_err(refuse)?;
        self.note("<", &show::format_packet(packet));
        // The endpoint has no key to check the signature, so the segment is dropped (RFC 2385
        // §3.0).
        if let OptionList::Exactly(options) = &packet.options
            && options.contains(&TcpOption::Md5)
        {
            return Ok(());
        }
        // As in packetdrill, a packet without an ECN mark is not ECN-capable, and `ect01` means
        // ECT(0).
        let ecn = match packet.ecn {
            None => Ecn::NotEct,
            Some(EcnMark::Exactly(ecn)) => ecn,
            Some(EcnMark::Capable) => Ecn::Ect0,
        };
        self.host.deliver(self.now, end, &segment, ecn);
        self.after_action()
    }

    /// Requires a packet that the endpoint has sent, or sends in time.
    pub fn require_outbound(
        &mut self,
        event: &Event,
        packet: &Packet,
        due: &TimeWindow,
    ) -> Result<(), EarlyEnd> {
        let Some(end) = self.host.current_connection() else {
            let message = "there is no connection yet that could send a packet";
            return Err(Refusal::new(event.line, message).into());
        };
        let limit = if due.is_any { Time::NEVER } else { due.end + due.tolerance.max(MAX_WAIT) };
        let Some(first) = self.next_sent(event, end, limit)? else {
            let message = if limit == Time::NEVER {
                "the endpoint sends nothing more".to_owned()
            } else {
                format!("the endpoint sent nothing up to {}", show::format_time(limit))
            };
            return Err(self.differs(event, message, None));
        };
        self.numbers_of(end).add_mapping(packet, &first.segment);
        let (sent, segment) = self.joined(event, packet, first, limit)?;
        let actual = self.numbers_of(end).script_packet(&segment, sent.ecn);
        let checks = Checks {
            exact: self.setup.exact,
            timestamp_tick: self.setup.timestamp_tick,
            timestamp_tolerance: self.timestamp_tolerance(due),
        };
        let mut differences = compare::differences(packet, &actual, &checks);
        if !due.contains(sent.at) {
            differences.push(late(due, sent.at));
        }
        if differences.is_empty() {
            return Ok(());
        }
        let actual = format!("{} > {}", show::format_time(sent.at), show::format_packet(&actual));
        Err(self.differs(event, differences.join("; "), Some(actual)))
    }

    /// Tolerance of timestamps, for clock errors. As in packetdrill, it is the relative tolerance
    /// times the time since the start.
    fn timestamp_tolerance(&self, due: &TimeWindow) -> Duration {
        let share = due.begin.as_secs_f64() * self.setup.tolerance_percent / 100.0;
        self.setup.tolerance.max(Duration::from_secs_f64(share))
    }

    /// Next packet of a connection, up to a time limit.
    fn next_sent(
        &mut self,
        event: &Event,
        end: usize,
        limit: Time,
    ) -> Result<Option<SentPacket>, EarlyEnd> {
        loop {
            while let Some(sent) = self.host.sent.pop_front() {
                self.noted = self.noted.saturating_sub(1);
                if sent.end == end {
                    self.now = self.now.max(sent.at);
                    return Ok(Some(sent));
                }
                if self.setup.exact {
                    // Like packetdrill, the player skips packets of other connections. In an exact
                    // script such packets are differences, which `check_unmentioned` reports.
                    self.host.sent.push_front(sent);
                    self.noted += 1;
                    self.check_unmentioned(event.line, Time::NEVER)?;
                }
            }
            if self.host.is_exhausted() {
                return Err(EarlyEnd::failed(event.line, "the endpoint sends without end"));
            }
            let next = self.next_wake();
            if next > limit || next == Time::NEVER {
                return Ok(None);
            }
            self.wake()?;
        }
    }

    /// Joins several sent segments to match one in the script: like packetdrill, the player ignores
    /// segmentation unless `--strict_segments` is set.
    fn joined(
        &mut self,
        event: &Event,
        packet: &Packet,
        first: SentPacket,
        limit: Time,
    ) -> Result<(SentPacket, Segment), EarlyEnd> {
        let mut all = first.segment;
        let mut last = first;
        while all.payload_bytes > 0
            && all.payload_bytes < packet.payload_bytes
            && !self.setup.strict_segments
        {
            let next = self.next_sent(event, first.end, limit)?;
            let continues = next.filter(|next| continues(&all, &next.segment));
            let Some(next) = continues else {
                let message =
                    format!("after {} of {} bytes", all.payload_bytes, packet.payload_bytes);
                let numbers = self.numbers_of(first.end);
                let actual = match next {
                    Some(next) => {
                        let packet = numbers.script_packet(&next.segment, next.ecn);
                        format!("{} > {}", show::format_time(next.at), show::format_packet(&packet))
                    }
                    None => format!(
                        "nothing more than {}",
                        show::format_packet(&numbers.script_packet(&all, first.ecn))
                    ),
                };
                return Err(self.differs(event, message, Some(actual)));
            };
            // As in packetdrill's `aggregate_packets`: the header of the last segment, with the
            // sequence number and the CWR bit of the first.
            let payload_bytes = all.payload_bytes + next.segment.payload_bytes;
            let reduced = all.flags.0 & Flags::CWR.0;
            let flags = Flags(next.segment.flags.0 & !Flags::CWR.0 | reduced);
            all = Segment { seq: all.seq, payload_bytes, flags, ..next.segment };
            last = next;
        }
        Ok((last, all))
    }
}

/// True if `next` begins where `before` ends, and both could be one segment.
fn continues(before: &Segment, next: &Segment) -> bool {
    let free = Flags::FIN.with(Flags::PSH).with(Flags::CWR).0;
    next.seq == before.seq.add(before.payload_bytes)
        && before.flags.0 & !free == next.flags.0 & !free
        && !before.flags.contains(Flags::FIN)
        && next.ack == before.ack
        && next.payload_bytes > 0
}

fn late(due: &TimeWindow, at: Time) -> String {
    let expected = if due.begin == due.end {
        show::format_time(due.begin)
    } else {
        format!("{} … {}", show::format_time(due.begin), show::format_time(due.end))
    };
    let direction = if at < due.begin { "early" } else { "late" };
    format!("too {direction}: due at {expected}, sent at {}", show::format_time(at))
}

impl From<Difference> for EarlyEnd {
    fn from(difference: Difference) -> Self {
        Self::Failed(Box::new(difference))
    }
}
