//! `TCP_INFO` as bytes, for packetdrill's `%{ … }%`.

use retx_drill::host::SocketEnd;
use retx_drill::tcp_info;
use retx_units::Time;

/// Length of Linux's `struct tcp_info` (include/uapi/linux/tcp.h) as packetdrill knows it.
pub const TCP_INFO_BYTES: usize = 280;

/// Layout: name, offset and size of each field. Other fields stay 0.
const FIELDS: &[(&str, usize, usize)] = &[
    ("tcpi_state", 0, 1),
    ("tcpi_ca_state", 1, 1),
    ("tcpi_retransmits", 2, 1),
    ("tcpi_probes", 3, 1),
    ("tcpi_backoff", 4, 1),
    ("tcpi_options", 5, 1),
    ("tcpi_rto", 8, 4),
    ("tcpi_snd_mss", 16, 4),
    ("tcpi_rcv_mss", 20, 4),
    ("tcpi_unacked", 24, 4),
    ("tcpi_sacked", 28, 4),
    ("tcpi_lost", 32, 4),
    ("tcpi_retrans", 36, 4),
    ("tcpi_last_data_sent", 44, 4),
    ("tcpi_last_data_recv", 52, 4),
    ("tcpi_last_ack_recv", 56, 4),
    ("tcpi_rtt", 68, 4),
    ("tcpi_rttvar", 72, 4),
    ("tcpi_snd_ssthresh", 76, 4),
    ("tcpi_snd_cwnd", 80, 4),
    ("tcpi_advmss", 84, 4),
    ("tcpi_reordering", 88, 4),
    ("tcpi_rcv_rtt", 92, 4),
    ("tcpi_total_retrans", 100, 4),
    ("tcpi_bytes_acked", 120, 8),
    ("tcpi_bytes_received", 128, 8),
    ("tcpi_segs_out", 136, 4),
    ("tcpi_segs_in", 140, 4),
    ("tcpi_notsent_bytes", 144, 4),
    ("tcpi_min_rtt", 148, 4),
    ("tcpi_data_segs_in", 152, 4),
    ("tcpi_data_segs_out", 156, 4),
    ("tcpi_busy_time", 168, 8),
    ("tcpi_rwnd_limited", 176, 8),
    ("tcpi_sndbuf_limited", 184, 8),
    ("tcpi_bytes_sent", 200, 8),
    ("tcpi_bytes_retrans", 208, 8),
    ("tcpi_snd_wnd", 228, 4),
    ("tcpi_rcv_wnd", 232, 4),
    ("tcpi_total_rto", 240, 2),
];

/// Offset of the byte shared by the two window scales.
const SCALES: usize = 6;

/// `TCP_INFO` of a connection.
pub fn tcp_info_bytes(end: &SocketEnd, now: Time) -> [u8; TCP_INFO_BYTES] {
    let mut bytes = [0; TCP_INFO_BYTES];
    let look = |name| tcp_info(name, end, now).unwrap_or_default();
    for (name, first, count) in FIELDS {
        let value = look(name).min(u64::MAX >> (64 - 8 * count)).to_ne_bytes();
        let significant = if cfg!(target_endian = "big") { 8 - count } else { 0 };
        bytes[*first..first + count].copy_from_slice(&value[significant..significant + count]);
    }
    // The scales are bit-fields of one byte: the first is the lower half on little-endian machines.
    let (send, receive) = (look("tcpi_snd_wscale") as u8, look("tcpi_rcv_wscale") as u8);
    bytes[SCALES] =
        if cfg!(target_endian = "big") { send << 4 | receive } else { receive << 4 | send };
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_apart_and_inside() {
        let mut end = 0;
        for (name, first, count) in FIELDS {
            assert!(*first >= end, "{name} begins within the field before");
            assert!(first % count == 0, "{name} is aligned");
            end = first + count;
        }
        assert!(end <= TCP_INFO_BYTES);
    }
}
