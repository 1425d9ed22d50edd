//! Statistics of a TCP socket reported by the kernel: `TCP_INFO`.

use crate::boundary;
use retx_units::Duration;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::BorrowedFd;

/// Bytes of `struct tcp_info` requested; older kernels fill fewer.
const BYTES: usize = 256;

/// Selected fields of `struct tcp_info` (`include/uapi/linux/tcp.h`), in its units.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpInfo {
    /// Number of connections combined.
    pub connections: u64,
    /// `tcpi_backoff`, at the end.
    pub backoff: u64,
    /// `tcpi_rto`, at the end, in µs.
    pub rto_us: u64,
    /// `tcpi_snd_mss`: payload of a full segment, without options.
    pub snd_mss: u64,
    /// `tcpi_rtt`: the smoothed RTT at the end, in µs.
    pub rtt_us: u64,
    /// `tcpi_rttvar`, at the end, in µs.
    pub rttvar_us: u64,
    /// `tcpi_min_rtt` in µs; the minimum over all connections.
    pub min_rtt_us: u64,
    /// `tcpi_snd_ssthresh`, at the end.
    pub snd_ssthresh: u64,
    /// `tcpi_snd_cwnd`, at the end.
    pub snd_cwnd: u64,
    /// `tcpi_reordering`, at the end.
    pub reordering: u64,
    /// `tcpi_total_retrans`.
    pub total_retrans: u64,
    /// `tcpi_data_segs_out`.
    pub data_segs_out: u64,
    /// `tcpi_segs_out`.
    pub segs_out: u64,
    /// `tcpi_bytes_retrans`.
    pub bytes_retrans: u64,
    /// `tcpi_dsack_dups`.
    pub dsack_dups: u64,
    /// `tcpi_reord_seen`.
    pub reord_seen: u64,
    /// `tcpi_delivered_ce`.
    pub delivered_ce: u64,
    /// `tcpi_busy_time` in µs.
    pub busy_us: u64,
    /// `tcpi_rwnd_limited` in µs.
    pub rwnd_limited_us: u64,
    /// `tcpi_sndbuf_limited` in µs.
    pub sndbuf_limited_us: u64,
    /// `tcpi_total_rto`: timeouts, including those of a SYN; `None` before Linux 6.7.
    pub total_rto: Option<u64>,
    /// `tcpi_total_rto_recoveries`: number of recoveries that began with a timeout; `None` before
    /// Linux 6.7.
    pub total_rto_recoveries: Option<u64>,
    /// `tcpi_total_rto_time` in ms: from the first timeout of each episode to its end; `None`
    /// before Linux 6.7.
    pub total_rto_time_ms: Option<u64>,
}

/// Bytes filled by the kernel.
pub(crate) struct TcpInfoBytes<'a>(pub &'a [u8]);

impl TcpInfoBytes<'_> {
    /// Integer of `size` bytes at `offset`; `None` if the kernel has not filled these bytes.
    pub fn integer(&self, offset: usize, size: usize) -> Option<u64> {
        let field = self.0.get(offset..offset + size)?;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(field);
        Some(u64::from_le_bytes(bytes))
    }

    pub fn u32(&self, offset: usize) -> u64 {
        self.integer(offset, 4).unwrap_or(0)
    }

    pub fn u64(&self, offset: usize) -> u64 {
        self.integer(offset, 8).unwrap_or(0)
    }
}

impl TcpInfo {
    /// Reads the statistics of a socket.
    ///
    /// # Errors
    /// Not a TCP socket.
    pub fn from_socket(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        let length = boundary::tcp_info(socket, &mut bytes)?;
        Ok(Self::read(&TcpInfoBytes(&bytes[..length])))
    }

    fn read(filled: &TcpInfoBytes<'_>) -> Self {
        Self {
            connections: 1,
            backoff: filled.integer(4, 1).unwrap_or(0),
            rto_us: filled.u32(8),
            snd_mss: filled.u32(16),
            rtt_us: filled.u32(68),
            rttvar_us: filled.u32(72),
            snd_ssthresh: filled.u32(76),
            snd_cwnd: filled.u32(80),
            reordering: filled.u32(88),
            total_retrans: filled.u32(100),
            segs_out: filled.u32(136),
            min_rtt_us: filled.u32(148),
            data_segs_out: filled.u32(156),
            busy_us: filled.u64(168),
            rwnd_limited_us: filled.u64(176),
            sndbuf_limited_us: filled.u64(184),
            delivered_ce: filled.u32(196),
            bytes_retrans: filled.u64(208),
            dsack_dups: filled.u32(216),
            reord_seen: filled.u32(220),
            total_rto: filled.integer(240, 2),
            total_rto_recoveries: filled.integer(242, 2),
            total_rto_time_ms: filled.integer(244, 4),
        }
    }

    /// Adds the statistics of a later connection of the flow. Counters are summed; states are those
    /// of the later connection.
    pub fn add(&mut self, later: &Self) {
        if self.connections == 0 {
            // The statistics of the first connection are copied. If they were combined with the
            // default values, the minimum RTT would always be 0.
            *self = later.clone();
            return;
        }
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
        *self = Self {
            connections: self.connections + later.connections,
            min_rtt_us: self.min_rtt_us.min(later.min_rtt_us),
            total_retrans: self.total_retrans + later.total_retrans,
            data_segs_out: self.data_segs_out + later.data_segs_out,
            segs_out: self.segs_out + later.segs_out,
            bytes_retrans: self.bytes_retrans + later.bytes_retrans,
            dsack_dups: self.dsack_dups + later.dsack_dups,
            reord_seen: self.reord_seen + later.reord_seen,
            delivered_ce: self.delivered_ce + later.delivered_ce,
            busy_us: self.busy_us + later.busy_us,
            rwnd_limited_us: self.rwnd_limited_us + later.rwnd_limited_us,
            sndbuf_limited_us: self.sndbuf_limited_us + later.sndbuf_limited_us,
            total_rto: sum(self.total_rto, later.total_rto),
            total_rto_recoveries: sum(self.total_rto_recoveries, later.total_rto_recoveries),
            total_rto_time_ms: sum(self.total_rto_time_ms, later.total_rto_time_ms),
            ..later.clone()
        };
    }

    /// Smoothed RTT; `None` without a sample.
    pub fn rtt(&self) -> Option<Duration> {
        (self.rtt_us > 0).then(|| Duration::from_micros(self.rtt_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    /// Checks that the values are plausible for a connection over loopback.
    #[test]
    fn the_kernel_tells_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let mut sender = TcpStream::connect(listener.local_addr().expect("it is bound"))
            .expect("somebody listens");
        let (mut receiver, _) = listener.accept().expect("somebody has connected");
        sender.write_all(&[0; 1000]).expect("it is connected");
        receiver.read_exact(&mut [0; 1000]).expect("it is connected");
        let info = TcpInfo::from_socket(sender.as_fd()).expect("a TCP socket");
        assert_eq!((info.connections, info.data_segs_out, info.total_retrans), (1, 1, 0));
        // The three segments are the SYN, the ACK of the handshake and the data.
        assert_eq!(info.segs_out, 3);
        assert!(info.snd_cwnd >= 10 && info.snd_mss > 1000 && info.rto_us >= 200_000, "{info:?}");
        assert!(info.rtt_us > 0 && info.min_rtt_us <= info.rtt_us, "{info:?}");
        let mut both = TcpInfo::default();
        both.add(&info);
        both.add(&info);
        assert_eq!((both.connections, both.segs_out, both.snd_mss), (2, 6, info.snd_mss));
    }

    #[test]
    fn an_older_kernel_fills_less() {
        let bytes = [1; 232];
        let info = TcpInfo::read(&TcpInfoBytes(&bytes));
        assert_eq!((info.backoff, info.total_rto), (1, None));
    }
}
