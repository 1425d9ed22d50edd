//! Variables that code blocks can read from the connection.

use crate::code::{NameSource, Value};
use crate::host::{Host, SocketEnd, unsent_bytes};
use retx_tcp::{LossState, State};
use retx_units::{Duration, Time};

/// Source of the variables and constants that a code block can read.
pub struct Variables<'a> {
    /// Machine under test.
    pub host: &'a Host,
    /// Current time.
    pub now: Time,
}

/// Linux's `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

/// Names of constants, as in Linux.
const CONSTANTS: [(&str, i128); 23] = [
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("TCP_INFINITE_SSTHRESH", INFINITE_SSTHRESH as i128),
];

type Look = fn(&SocketEnd, Time) -> u64;

/// Variables of a connection. Variables with Linux's names have Linux's units: cwnd and ssthresh in
/// segments, advertised windows in bytes, times since an event in milliseconds, and other times in
/// microseconds. The names of all other variables state the unit.
const LOOKS: &[(&str, Look)] = &[
    ("tcpi_state", |end, _| state(end)),
    ("tcpi_ca_state", |end, _| match end.connection.info().loss_state {
        LossState::Open => 0,
        LossState::Disorder => 1,
        LossState::Cwr => 2,
        LossState::Recovery => 3,
        LossState::Loss => 4,
    }),
    ("tcpi_retransmits", |end, _| end.connection.info().consecutive_timeouts.into()),
    ("tcpi_probes", |end, _| end.connection.info().probes_in_row.into()),
    ("tcpi_backoff", |end, _| end.connection.backoff().into()),
    ("tcpi_options", |end, _| {
        let info = end.connection.info();
        u64::from(info.timestamps) + 2 * u64::from(info.sack) + 4 * u64::from(info.window_scaling)
    }),
    ("tcpi_snd_wscale", |end, _| end.connection.info().snd_wscale.into()),
    ("tcpi_rcv_wscale", |end, _| end.connection.info().rcv_wscale.into()),
    ("tcpi_rto", |end, _| micros(end.connection.rto())),
    ("tcpi_snd_mss", |end, _| smss(end)),
    ("tcpi_advmss", |end, _| {
        u64::from(end.mss) - if end.connection.info().timestamps { 12 } else { 0 }
    }),
    ("tcpi_unacked", |end, _| end.segments_in_flight() as u64),
    ("tcpi_sacked", |end, _| end.connection.info().segments_sacked),
    ("tcpi_lost", |end, _| end.connection.info().segments_lost),
    ("tcpi_retrans", |end, _| end.connection.info().segments_retransmitted),
    ("tcpi_last_data_sent", |end, now| millis(now, end.counters.last_data_sent)),
    ("tcpi_last_data_recv", |end, now| millis(now, end.counters.last_data_received)),
    ("tcpi_last_ack_recv", |end, now| millis(now, end.counters.last_ack_received)),
    ("tcpi_rtt", |end, _| end.connection.srtt().map_or(0, micros)),
    ("tcpi_rttvar", |end, _| end.connection.rttvar().map_or(0, micros)),
    ("tcpi_min_rtt", |end, _| end.counters.rtt_min.map_or(u32::MAX.into(), micros)),
    ("tcpi_snd_ssthresh", |end, _| (end.connection.ssthresh() / smss(end)).min(INFINITE_SSTHRESH)),
    ("tcpi_snd_cwnd", |end, _| end.connection.cwnd() / smss(end)),
    ("tcpi_reordering", |end, _| end.connection.info().reordering.into()),
    ("tcpi_total_retrans", |end, _| end.counters.retransmissions),
    ("tcpi_total_rto", |end, _| end.counters.timeouts),
    ("tcpi_bytes_acked", |end, _| end.connection.snd_una().saturating_sub(1)),
    ("tcpi_bytes_received", |end, _| end.connection.rcv_nxt().saturating_sub(1)),
    ("tcpi_bytes_sent", |end, _| end.counters.bytes_out),
    ("tcpi_bytes_retrans", |end, _| end.counters.bytes_retransmitted),
    ("tcpi_notsent_bytes", |end, _| unsent_bytes(&end.connection)),
    ("tcpi_segs_out", |end, _| end.counters.segments_out),
    ("tcpi_segs_in", |end, _| end.counters.segments_in),
    ("tcpi_data_segs_out", |end, _| end.counters.data_segments_out),
    ("tcpi_data_segs_in", |end, _| end.counters.data_segments_in),
    ("tcpi_snd_wnd", |end, _| end.connection.snd_wnd()),
    ("tcpi_rcv_wnd", |end, _| end.connection.rcv_wnd()),
    ("tcpi_pacing_rate", |end, _| {
        // As in Linux, all bits are set if there is no rate.
        end.connection.pacing_rate().map_or(u64::MAX, |rate| rate.as_bit_s() / 8)
    }),
    ("tcpi_rcv_mss", |end, _| end.connection.info().rcv_mss.into()),
    ("tcpi_rcv_rtt", |end, _| end.connection.info().rcv_rtt.map_or(0, micros)),
    ("tcpi_busy_time", |end, now| micros(end.limits.busy_time(now))),
    ("tcpi_rwnd_limited", |end, now| micros(end.limits.peer_window_limited_time(now))),
    ("tcpi_sndbuf_limited", |end, now| micros(end.limits.send_buffer_limited_time(now))),
    ("retx_cwnd_bytes", |end, _| end.connection.cwnd()),
    ("retx_ssthresh_bytes", |end, _| end.connection.ssthresh()),
    ("retx_flight_bytes", |end, _| end.connection.flight_size()),
];

/// Field of Linux's `TCP_INFO`, such as `tcpi_snd_cwnd`; `None` if it is not modelled.
pub fn tcp_info(name: &str, end: &SocketEnd, now: Time) -> Option<u64> {
    LOOKS.iter().find(|(known, _)| *known == name).map(|(_, look)| look(end, now))
}

impl NameSource for Variables<'_> {
    fn value(&self, name: &str) -> Result<Value, String> {
        if let Some((_, number)) = CONSTANTS.iter().find(|(known, _)| *known == name) {
            return Ok(Value::Integer(*number));
        }
        let Some((_, look)) = LOOKS.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = LOOKS.iter().map(|(known, _)| *known).collect();
            return Err(format!(
                "there is no {}; there are {}",
                crate::token::clip(name),
                names.join(", ")
            ));
        };
        match self.host.current_connection() {
            Some(end) => Ok(Value::Integer(look(self.host.end(end), self.now).into())),
            None => Err(format!("{name}: there is no connection yet")),
        }
    }
}

fn state(end: &SocketEnd) -> u64 {
    match end.connection.state() {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

fn smss(end: &SocketEnd) -> u64 {
    end.connection.window().smss.into()
}

const fn micros(duration: Duration) -> u64 {
    duration.as_nanos() / 1_000
}

fn millis(now: Time, then: Time) -> u64 {
    now.since(then).as_nanos() / 1_000_000
}
