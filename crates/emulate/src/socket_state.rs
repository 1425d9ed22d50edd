//! State of a TCP sender during the run, as reported by `TCP_INFO`. For the values at the end of
//! the run see [`crate::tcp_info`].
//!
//! *Source.* `include/uapi/linux/tcp.h` and `tcp_get_info` of `net/ipv4/tcp.c`. `tcpi_rttvar` is
//! Linux's `mdev_us`, the mean deviation before a lower bound is applied.

use crate::boundary;
use crate::tcp_info::TcpInfoBytes;
use retx_units::Duration;
use std::io;
use std::os::fd::BorrowedFd;

/// Bytes of `struct tcp_info` requested; older kernels fill fewer.
const BYTES: usize = 248;
/// `TCP_INFINITE_SSTHRESH`: no threshold has been set yet.
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

/// Loss recovery state of a sender (`tcpi_ca_state`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LossState {
    /// No sign of a loss.
    #[default]
    Open,
    /// Duplicate or selective acknowledgments have arrived, but do not indicate a loss yet.
    Disorder,
    /// The window is being reduced for a reason other than a loss, mostly ECN-Echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

impl LossState {
    /// Converts the kernel's number.
    pub const fn from_kernel(number: u64) -> Self {
        match number {
            0 => Self::Open,
            1 => Self::Disorder,
            2 => Self::Cwr,
            3 => Self::Recovery,
            _ => Self::Loss,
        }
    }
}

/// State of a sender at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketState {
    /// `TCP_ESTABLISHED` (1) and so on (`include/net/tcp_states.h`).
    pub tcp_state: u64,
    /// Loss recovery state.
    pub loss_state: LossState,
    /// Consecutive timeouts.
    pub consecutive_timeouts: u64,
    /// Number of backoffs (doublings of the timeout).
    pub backoff: u32,
    /// Negotiated options: bits `TCPI_OPT_…`.
    pub options: u64,
    /// Timeout in force, backoff included.
    pub rto: Duration,
    /// Payload of a full segment.
    pub mss: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Mean deviation of the RTT; `None` before the first sample.
    pub rttvar: Option<Duration>,
    /// Slow start threshold, in segments; `None` before it is set.
    pub ssthresh: Option<u64>,
    /// Congestion window, in segments.
    pub cwnd: u64,
    /// Bytes of data sent for the first time.
    pub unique_bytes_sent: u64,
    /// Bytes written to the socket and not sent yet.
    pub notsent_bytes: u64,
    /// Segments estimated to be in the network: sent, and neither selectively acknowledged nor
    /// marked lost.
    pub pipe_segments: u64,
    /// Segments marked lost and not retransmitted.
    pub lost_segments: u64,
    /// Smallest RTT; `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// Window advertised by the peer, in bytes; `None` before Linux 5.4.
    pub snd_wnd: Option<u64>,
    /// Number of timeouts, including those of a SYN; `None` before Linux 6.7.
    pub timeouts: Option<u64>,
}

impl SocketState {
    /// Reads the state of a socket.
    ///
    /// # Errors
    /// Not a TCP socket.
    pub fn from_socket(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        let length = boundary::tcp_info(socket, &mut bytes)?;
        Ok(Self::read(&TcpInfoBytes(&bytes[..length])))
    }

    fn read(filled: &TcpInfoBytes<'_>) -> Self {
        let srtt = filled.u32(68);
        // Before the first sample the kernel reports its initial values.
        let sampled = |micros| (srtt > 0).then(|| Duration::from_micros(micros));
        let ssthresh = filled.u32(76);
        let [unacked, sacked, lost, resent] = [24, 28, 32, 36].map(|offset| filled.u32(offset));
        let min_rtt = filled.u32(148);
        Self {
            tcp_state: filled.integer(0, 1).unwrap_or(0),
            loss_state: LossState::from_kernel(filled.integer(1, 1).unwrap_or(0)),
            consecutive_timeouts: filled.integer(2, 1).unwrap_or(0),
            backoff: filled.integer(4, 1).unwrap_or(0) as u32,
            options: filled.integer(5, 1).unwrap_or(0),
            rto: Duration::from_micros(filled.u32(8)),
            mss: filled.u32(16),
            srtt: sampled(srtt),
            rttvar: sampled(filled.u32(72)),
            ssthresh: (ssthresh < INFINITE_SSTHRESH).then_some(ssthresh),
            cwnd: filled.u32(80),
            // `tcpi_bytes_sent` includes the retransmitted bytes (`tcpi_bytes_retrans`), which are
            // subtracted.
            unique_bytes_sent: filled.u64(200).saturating_sub(filled.u64(208)),
            notsent_bytes: filled.u32(144),
            // As in the kernel's `tcp_packets_in_flight`.
            pipe_segments: (unacked + resent).saturating_sub(sacked + lost),
            lost_segments: lost.saturating_sub(resent),
            min_rtt: (min_rtt < u64::from(u32::MAX)).then(|| Duration::from_micros(min_rtt)),
            snd_wnd: filled.integer(228, 4),
            timeouts: filled.integer(240, 2),
        }
    }

    /// True during the handshake (`TCP_SYN_SENT`, `TCP_SYN_RECV`).
    pub const fn in_handshake(&self) -> bool {
        matches!(self.tcp_state, 2 | 3)
    }

    /// True if the connection is over (`TCP_TIME_WAIT`, `TCP_CLOSE`).
    pub const fn is_closed(&self) -> bool {
        matches!(self.tcp_state, 6 | 7)
    }

    /// True during the recovery from a loss.
    pub const fn is_recovering(&self) -> bool {
        matches!(self.loss_state, LossState::Recovery | LossState::Loss)
    }

    /// True if SACK was negotiated (`TCPI_OPT_SACK`).
    pub const fn has_sack(&self) -> bool {
        self.options & 2 != 0
    }

    /// True if ECN was negotiated (`TCPI_OPT_ECN`).
    pub const fn has_ecn(&self) -> bool {
        self.options & 8 != 0
    }

    /// Number of timeouts since an earlier query.
    pub fn timeouts_since(&self, before: &Self) -> u64 {
        match (self.timeouts, before.timeouts) {
            // The kernel's counter has 16 bits.
            (Some(now), Some(then)) => u64::from((now as u16).wrapping_sub(then as u16)),
            _ => self.consecutive_timeouts.saturating_sub(before.consecutive_timeouts),
        }
    }

    /// Congestion window in bytes.
    pub const fn cwnd_bytes(&self) -> u64 {
        self.cwnd * self.mss
    }

    /// Window at which a recovery ends (the slow start threshold), in bytes.
    pub fn recovery_target_bytes(&self) -> u64 {
        self.ssthresh.unwrap_or(self.cwnd) * self.mss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    /// Checks that the values are plausible for a connection over loopback.
    #[test]
    fn the_kernel_tells_how_a_sender_is_doing() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let mut sender = TcpStream::connect(listener.local_addr().expect("it is bound"))
            .expect("somebody listens");
        let _receiver = listener.accept().expect("somebody has connected");
        sender.write_all(&[0; 1000]).expect("it is connected");
        let state = SocketState::from_socket(sender.as_fd()).expect("a TCP socket");
        assert_eq!((state.tcp_state, state.loss_state), (1, LossState::Open));
        assert_eq!((state.unique_bytes_sent, state.backoff, state.ssthresh), (1000, 0, None));
        assert!(state.cwnd >= 10 && state.rto >= Duration::from_millis(200), "{state:?}");
        assert!(state.snd_wnd.is_none_or(|window| window > 1000), "{state:?}");
        sender.shutdown(std::net::Shutdown::Both).expect("it is connected");
        assert!(!SocketState::from_socket(sender.as_fd()).expect("a TCP socket").in_handshake());
    }

    #[test]
    fn an_older_kernel_counts_timeouts_in_a_row_alone() {
        let mut bytes = [0; 228];
        let before = SocketState::read(&TcpInfoBytes(&bytes));
        bytes[2] = 2;
        let state = SocketState::read(&TcpInfoBytes(&bytes));
        assert_eq!((state.timeouts, state.snd_wnd, state.timeouts_since(&before)), (None, None, 2));
        assert_eq!(before.timeouts_since(&state), 0);
        let after = SocketState { timeouts: Some(1), ..before };
        assert_eq!(after.timeouts_since(&SocketState { timeouts: Some(65_535), ..before }), 2);
    }
}
