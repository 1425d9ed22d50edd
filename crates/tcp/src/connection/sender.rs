//! Sending half: data written, sent and acknowledged, and the algorithms that decide about them.

use super::deferral::Bursts;
use super::model::ModelInputs;
use super::pacing::Pacer;
use super::parameters::Parameters;
use super::repair::{Repair, RttRestart};
use super::usage::FlightState;
use super::validation::Validation;
use crate::backoff::{self, Backoff};
use crate::congestion_control::send_times::SendTimes;
use crate::congestion_control::{self, CongestionControl, Window};
use crate::lazy::Lazy;
use crate::loss_cause::LossCause;
use crate::loss_detection::LossDetection;
use crate::rto::{self, Estimator};
use crate::scoreboard::Scoreboard;
use crate::send_memory::SendMemory;
use crate::{Buffers, Config, LostSyn, loss_cause, loss_detection, spurious};
use retx_units::{Duration, SeqNr, Time};
use std::num::NonZeroU64;

fn bursts(config: &Config) -> Lazy<Bursts> {
    let mut bursts: Lazy<Bursts> = Lazy::NONE;
    if config.buffers == Buffers::Linux {
        let buffer = config.send_buffer.bytes(config.mss);
        bursts.memory = Some(match config.send_autotuning {
            Some(most) => SendMemory::growing(buffer, most.bytes(config.mss)),
            None => SendMemory::fixed(buffer),
        });
    }
    bursts
}

pub(super) fn first_window(config: &Config) -> Window {
    let smss = config.mss;
    let ssthresh = config.initial_ssthresh.map_or(u64::MAX, |size| size.bytes(smss));
    Window { cwnd: config.initial_window.bytes(smss), ssthresh, smss }
}

/// Timed segment: the position that must be acknowledged, and the time of transmission.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timed {
    end: NonZeroU64,
    pub sent: Time,
}

impl Timed {
    /// Times a segment that ends at `end`; `None` at the start of the stream.
    #[inline]
    pub fn new(end: u64, sent: Time) -> Option<Self> {
        NonZeroU64::new(end).map(|end| Self { end, sent })
    }

    /// True if an acknowledgment up to `ack` covers this segment.
    #[inline]
    pub const fn is_covered(&self, ack: u64) -> bool {
        ack >= self.end.get()
    }
}

/// Sending half of a connection. The fields that each segment needs come first, in as few cache
/// lines as possible; a pure receiver of data needs only the first line.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Sender {
    /// First unacknowledged position.
    pub snd_una: u64,
    /// Position after the last one ever sent.
    pub snd_max: u64,
    /// Next position to send; below `snd_max` while data are retransmitted after a timeout.
    pub snd_nxt: u64,
    /// Position after the last byte written by the application.
    pub written: u64,
    /// Window advertised by the peer, in bytes.
    pub snd_wnd: u64,
    /// Position of the peer's segment that last updated `snd_wnd` (`SND.WL1`).
    pub snd_wl1: u64,
    /// Acknowledgment number of the peer's segment that last updated `snd_wnd` (`SND.WL2`).
    pub snd_wl2: u64,
    /// Initial sequence number: position 0.
    pub iss: SeqNr,
    /// Shift of the peer's window field.
    pub snd_wscale: u8,
    /// True if a FIN follows the last written byte.
    pub fin_queued: bool,
    /// True if both ends use SACK, and loss detection reads the SACK blocks.
    pub selective: bool,
    /// True if the segments in flight are on the scoreboard: `selective`, or loss detection counts
    /// duplicate ACKs there.
    pub uses_scoreboard: bool,

    pub window: Window,
    /// Segment being timed (Karn).
    pub timed: Option<Timed>,
    pub last_sent: Time,
    /// `SND.UNA` at the previous acknowledgment.
    pub last_una: u64,
    /// Bytes counted as delivered by duplicate ACKs since the last acknowledgment of new data.
    pub delivered_by_dupacks: u64,

    pub estimator: rto::State,
    /// Recent use of the congestion window, which decides whether this window may grow.
    pub validation: Validation,
    max_cwnd: u64,

    pub congestion_control: congestion_control::State,
    pub backoff: backoff::State,
    /// Largest window that the peer has offered.
    pub max_snd_wnd: u64,
    /// Segments in flight; empty unless `uses_scoreboard`.
    pub board: Lazy<Scoreboard>,
    /// State of losses and retransmissions, allocated when first needed.
    pub repair: Lazy<Repair>,

    /// Bytes in flight sent by limited transmit.
    pub limited_bytes: u64,
    /// Position after the data sent before the last timeout; 0 once its recovery is over.
    pub timeout_recovery_end: u64,
    /// Consecutive duplicate ACKs.
    pub dupacks: u32,
    /// Segments that limited transmit may send beyond `cwnd`.
    pub limited_credit: u32,
    /// Number of ACKs on which Vegas still checks whether the first segment in flight is overdue.
    pub overdue_checks: u32,
    /// New segments to be sent regardless of `cwnd` (F-RTO).
    pub frto_segments: u32,
    /// Consecutive timeouts without progress.
    pub consecutive_timeouts: u32,
    /// Consecutive zero-window probes.
    pub probes_in_row: u32,
    /// Number of retransmissions of the SYN.
    pub syn_retransmissions: u16,
    /// True to retransmit the segment at `snd_una` next, regardless of `cwnd`.
    pub retransmit_first: bool,
    /// True if a zero-window probe is due.
    pub zero_window_probe_due: bool,
    /// True if a tail loss probe is due.
    pub tail_probe_due: bool,
    /// True if loss detection does not need the order in which segments were sent.
    pub without_times: bool,
    /// True if the data in flight are counted by the scoreboard with Linux's rules.
    pub counts_as_linux: bool,
    pub spurious: spurious::State,

    pub loss_detection: loss_detection::State,
    pub loss_cause: loss_cause::State,
    /// State for a congestion control that models the path.
    pub model_inputs: Option<Box<ModelInputs>>,
    /// State of pacing, if data are paced.
    pub pacer: Option<Box<Pacer>>,
    /// Transmission time of each segment, if every ACK gives an RTT sample and SACK is not used.
    pub send_times: Lazy<SendTimes>,
    /// State of Linux's bursts and forced pushes.
    pub bursts: Lazy<Bursts>,
    /// Most recent raw RTT; [`Duration::MAX`] before the first.
    pub last_rtt: Duration,
    /// Smallest raw RTT; [`Duration::MAX`] before the first.
    pub least_rtt: Duration,
}

impl Sender {
    pub fn new(config: &Config, iss: SeqNr) -> Self {
        let smss = config.mss;
        let window = first_window(config);
        let congestion_control = config.congestion_control.build(config);
        let paced = config.paces_with(&congestion_control, &window);
        Self {
            iss,
            snd_una: 0,
            last_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            snd_wnd: 0,
            max_snd_wnd: 0,
            snd_wl1: 0,
            snd_wl2: 0,
            snd_wscale: 0,
            written: 1,
            fin_queued: false,
            window,
            max_cwnd: config.max_cwnd.map_or(u64::MAX, |size| size.bytes(smss)),
            model_inputs: congestion_control.models_path().then(Box::default),
            congestion_control,
            loss_detection: config.loss_detection.build(config),
            loss_cause: config.loss_cause.build(config),
            spurious: config.spurious.build(config),
            estimator: config.rto.build(config),
            backoff: config.backoff.build(config),
            selective: false,
            uses_scoreboard: false,
            board: Lazy::NONE,
            without_times: false,
            counts_as_linux: false,
            repair: Lazy::NONE,
            pacer: paced.then(Box::default),
            frto_segments: 0,
            send_times: Lazy::NONE,
            timed: None,
            retransmit_first: false,
            dupacks: 0,
            overdue_checks: 0,
            limited_credit: 0,
            limited_bytes: 0,
            timeout_recovery_end: 0,
            consecutive_timeouts: 0,
            probes_in_row: 0,
            zero_window_probe_due: false,
            tail_probe_due: false,
            delivered_by_dupacks: 0,
            syn_retransmissions: 0,
            last_sent: Time::ZERO,
            last_rtt: Duration::MAX,
            least_rtt: Duration::MAX,
            bursts: bursts(config),
            validation: Validation::new(config.cwnd_validation),
        }
    }

    /// Position after everything to send: data, and the FIN once it is queued.
    pub fn write_seq(&self) -> u64 {
        self.written + u64::from(self.fin_queued)
    }

    /// True if there is nothing to send: all written data are acknowledged, and no probe is
    /// requested. False for a paced sender that has sent data, because the time from which pacing
    /// permits the next segment has to be checked first.
    pub fn is_quiescent(&self) -> bool {
        let asked = self.tail_probe_due | self.retransmit_first;
        let is_unpaced = || self.pacer.as_ref().is_none_or(|pacer| pacer.open_time().is_none());
        self.snd_una == self.write_seq() && !asked && is_unpaced() && !self.keepalive_due()
    }

    /// True if the peer has acknowledged our FIN.
    pub fn fin_acknowledged(&self) -> bool {
        self.fin_queued && self.snd_una > self.written
    }

    /// FlightSize (RFC 5681 §2): bytes sent and not acknowledged. After a timeout only
    /// retransmitted data count; the rest is assumed to have left the network.
    pub fn flight_size(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// Position of a pure acknowledgment: the end of all data sent, so that it lies in the peer's
    /// window even while older data are retransmitted. If data were sent beyond the window, for
    /// example by a probe, the position is the end of the window.
    pub fn ack_position(&self) -> u64 {
        self.snd_max.min(self.snd_una + self.snd_wnd).max(self.snd_una)
    }

    /// Estimate of the data in the network: FlightSize, or with SACK the pipe of RFC 6675.
    pub fn pipe(&self) -> u64 {
        self.pipe_of(self.flight_size())
    }

    /// Like [`Self::pipe`], for a known FlightSize.
    pub fn pipe_of(&self, flight_size: u64) -> u64 {
        if self.uses_scoreboard {
            return self.board.pipe(flight_size);
        }
        flight_size.saturating_sub(self.left_network())
    }

    /// Bytes that `cwnd` still permits; limited transmit permits more new data (RFC 3042 §2).
    pub fn available_cwnd(&self) -> u64 {
        let segments = if self.snd_nxt >= self.snd_max { self.limited_credit } else { 0 };
        let credit = u64::from(segments) * u64::from(self.window.smss);
        // F-RTO tests a timeout with new data even if the reduced window is full.
        let room = self.window.cwnd.saturating_add(credit).saturating_sub(self.pipe());
        if self.frto_segments > 0 { room.max(self.window.smss.into()) } else { room }
    }

    /// Retransmission timeout in force, backoff included (RFC 6298 §5.5), at most `max_rto`.
    #[inline(always)]
    pub fn rto(&self, max_rto: Duration) -> Duration {
        let exponent = self.backoff.exponent();
        let rto = self.estimator.rto(&self.window);
        if exponent == 0 { rto } else { rto.saturating_mul(1 << exponent).min(max_rto) }
    }

    /// Passes the RTT sample of a selective acknowledgment to the backoff.
    pub fn pass_sample_to_backoff(&mut self) {
        self.backoff.on_ack(&backoff::Ack {
            advances: false,
            has_rtt_sample: true,
            loss_state_over: self.timeout_recovery_end == 0,
        });
    }

    /// Resets the backoff at the end of the handshake.
    pub fn reset_backoff(&mut self) {
        self.backoff.reset();
    }

    /// Fields of [`congestion_control::Ack`] known for every ACK; the caller sets the others.
    pub fn ack_summary(&self, now: Time, rtt: Option<Duration>) -> congestion_control::Ack {
        congestion_control::Ack {
            now,
            bytes_acked: 0,
            delivered: 0,
            flight_size: self.flight_size(),
            rtt,
            srtt: self.estimator.srtt(),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            cwnd_limited: self.validation.allows_growth(&self.window),
            in_recovery: self.loss_detection.in_recovery() || self.timeout_recovery_end > 0,
            receiver_time: None,
        }
    }

    /// Loss as passed to the congestion control, with FlightSize limited to cwnd. FlightSize
    /// includes selectively acknowledged data, and may be many times cwnd while SACK repairs a
    /// loss. Half of FlightSize would then be no reduction. RFC 5681 §3.1 requires an ssthresh of
    /// at most half of FlightSize; Linux takes half of cwnd.
    pub fn loss_summary(&self, now: Time) -> congestion_control::Loss {
        let flight_size = self.flight_size().saturating_sub(self.limited_bytes);
        congestion_control::Loss {
            now,
            flight_size: flight_size.min(self.window.cwnd),
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            srtt: self.estimator.srtt(),
        }
    }

    /// Infers the cause of a loss.
    pub fn infer_loss_cause(&mut self, now: Time, by_timeout: bool) -> loss_cause::Cause {
        if !by_timeout && self.lacks_only_mtu_probe() {
            return loss_cause::Cause::Corruption;
        }
        let loss = loss_cause::Loss {
            now,
            by_timeout,
            srtt: self.estimator.srtt(),
            last_rtt: (self.last_rtt != Duration::MAX).then_some(self.last_rtt),
            window: self.window,
            flight_size: self.flight_size(),
            notified: self.repair.notified == self.snd_una,
            // Without SACK the sender knows of a single loss.
            lost_segments: self.board.lost_bytes().div_ceil(self.window.smss.into()).max(1),
        };
        self.loss_cause.cause(&loss)
    }

    /// True if, after a timeout, no new data are sent until the data sent before the timeout are
    /// acknowledged, even if the window permits them (`linux24`).
    pub fn withholds_new_data(&self) -> bool {
        self.timeout_recovery_end > 0
            && self.snd_nxt >= self.timeout_recovery_end
            && self.estimator.holds_new_data()
    }

    /// State of the sender with `flight` bytes in flight.
    pub fn flight_state(&self, flight: u64) -> FlightState {
        FlightState { snd_una: self.snd_una, snd_max: self.snd_max, pipe: self.pipe_of(flight) }
    }

    /// Limits `cwnd` to `max_cwnd`.
    pub fn clamp_cwnd(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.max_cwnd);
    }

    /// Sets the congestion window at the start of the connection: the initial window, or one
    /// segment if the SYN was lost.
    pub fn initialize_cwnd(&mut self, parameters: &Parameters) {
        let smss = self.window.smss;
        let narrow = match parameters.lost_syn {
            LostSyn::First => self.syn_retransmissions > 0,
            // `tcp_init_transfer`: a single lost SYN does not reduce the initial window.
            LostSyn::Second => self.syn_retransmissions > 1 && self.repair.syn_timed_out,
        };
        let initial = parameters.initial_window.bytes(smss);
        self.window.cwnd = if narrow { smss.into() } else { initial };
        self.clamp_cwnd();
    }

    /// Restarts the estimate with the first RTT of data sent after the undo of a timeout.
    #[cold]
    pub fn restart_rtt(&mut self, rtt: Duration, limits: &rto::Limits) {
        let Some(RttRestart { from, least }) = self.repair.rtt_restart else { return };
        if self.snd_una > from {
            self.repair.rtt_restart = None;
            self.estimator.restart_rtt(rtt, least, limits);
        }
    }
}
