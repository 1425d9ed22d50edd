//! The sending half: what is written, sent, acknowledged, and the four decisions about it.

use super::deferral::Bursts;
use super::model::Model;
use super::pacing::Pacer;
use super::parameters::Parameters;
use super::repair::{Relearning, Repair};
use super::usage::InUse;
use super::validation::Validation;
use crate::backoff::{self, Backoff};
use crate::congestion_control::send_times::SendTimes;
use crate::congestion_control::{self, CongestionControl, Window};
use crate::late::Late;
use crate::loss_cause::LossCause;
use crate::loss_detection::LossDetection;
use crate::rto::{self, Estimator};
use crate::scoreboard::Scoreboard;
use crate::send_memory::SendMemory;
use crate::{Buffers, Config, LostSyn, loss_cause, loss_detection, spurious};
use retx_units::{Duration, SeqNr, Time};
use std::num::NonZeroU64;

fn bursts(config: &Config) -> Late<Bursts> {
    let mut bursts: Late<Bursts> = Late::NONE;
    if config.buffers == Buffers::Linux {
        let buffer = config.send_buffer.bytes(config.mss);
        bursts.memory = Some(match config.send_autotuning {
            Some(most) => SendMemory::growing(buffer, most.bytes(config.mss)),
            None => SendMemory::fixed(buffer),
        });
    }
    bursts
}

fn first_window(config: &Config) -> Window {
    let smss = config.mss;
    let ssthresh = config.initial_ssthresh.map_or(u64::MAX, |size| size.bytes(smss));
    Window { cwnd: config.initial_window.bytes(smss), ssthresh, smss }
}

/// The segment being timed: the position that must be acknowledged, and when it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timed {
    end: NonZeroU64,
    pub sent: Time,
}

impl Timed {
    /// A segment that ends there, behind the SYN's beginning.
    #[inline]
    pub fn new(end: u64, sent: Time) -> Option<Self> {
        NonZeroU64::new(end).map(|end| Self { end, sent })
    }

    /// An acknowledgment up to there covers it.
    #[inline]
    pub const fn is_covered(&self, ack: u64) -> bool {
        ack >= self.end.get()
    }
}

/// The sending half of a connection. What each segment needs comes first, in as few cache lines as
/// it takes; the first of them is all that an end needs which only gets data.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Sender {
    /// First unacknowledged position.
    pub snd_una: u64,
    /// Position after the last ever sent.
    pub snd_max: u64,
    /// Next position to send; behind `snd_max` while data are sent again after a timeout.
    pub snd_nxt: u64,
    /// Position after the last byte that the application has written.
    pub written: u64,
    /// The peer's window in bytes.
    pub snd_wnd: u64,
    /// Peer's position in the segment that last updated the window (`SND.WL1`).
    pub snd_wl1: u64,
    /// Acknowledgment in that segment (`SND.WL2`).
    pub snd_wl2: u64,
    /// Initial sequence number: position 0.
    pub iss: SeqNr,
    /// The shift of the peer's window field.
    pub snd_wscale: u8,
    /// A FIN follows the last written byte.
    pub fin_queued: bool,
    /// Both ends use SACK, and loss detection reads it.
    pub selective: bool,
    /// The segments in flight are on the board: `selective`, or loss detection counts duplicate
    /// ACKs there.
    pub tracks: bool,

    pub window: Window,
    /// The segment being timed (Karn).
    pub timed: Option<Timed>,
    pub last_sent: Time,
    /// `SND.UNA` at the acknowledgment before.
    pub last_una: u64,
    /// Bytes that duplicate ACKs have stood for since the last acknowledgment of new data.
    pub by_duplicates: u64,

    pub estimator: rto::State,
    /// Whether what was sent lately says that a larger window would help.
    pub validation: Validation,
    max_cwnd: u64,

    pub congestion_control: congestion_control::State,
    pub backoff: backoff::State,
    /// The largest window that the peer has offered.
    pub max_snd_wnd: u64,
    /// The segments in flight; empty unless `tracks`.
    pub board: Late<Scoreboard>,
    /// What there is to know of losses and what was sent again, once there were any.
    pub repair: Late<Repair>,

    /// Bytes in flight that limited transmit has sent.
    pub limited_bytes: u64,
    /// What was sent before the last timeout ends here; 0 when that is over.
    pub timeout_recovery_end: u64,
    /// Duplicate ACKs in a row.
    pub duplicates: u32,
    /// Segments that limited transmit may have beyond `cwnd`.
    pub limited_credit: u32,
    /// ACKs on which Vegas looks yet whether the first segment in flight is overdue.
    pub looks: u32,
    /// New segments to be sent whatever `cwnd` says (F-RTO).
    pub forced_new: u32,
    /// Timeouts in a row without progress.
    pub timeouts_in_row: u32,
    /// Zero-window probes in a row.
    pub probes_in_row: u32,
    /// How often the SYN has been sent again.
    pub syn_retransmissions: u16,
    /// Retransmit the segment at `snd_una` next, whatever the window.
    pub retransmit_first: bool,
    /// A probe is due.
    pub probe: bool,
    /// A tail loss probe is due.
    pub tail_probe: bool,
    /// Nobody asks in which order segments were sent.
    pub without_times: bool,
    /// The board counts what is in flight as Linux does.
    pub counts_as_linux: bool,
    pub spurious: spurious::State,

    pub loss_detection: loss_detection::State,
    pub loss_cause: loss_cause::State,
    /// Present where the congestion control models the path.
    pub model: Option<Box<Model>>,
    /// The gate that data wait at, where they are paced.
    pub pacer: Option<Box<Pacer>>,
    /// When each segment was sent, where every ACK is a sample and the board is empty.
    pub send_times: Late<SendTimes>,
    /// What Linux lets go at once, and where it pushes.
    pub bursts: Late<Bursts>,
    /// The raw RTT measured last, and the least; [`Duration::MAX`] before there was one.
    pub last_rtt: Duration,
    pub least_rtt: Duration,
}

impl Sender {
    pub fn new(config: &Config, iss: SeqNr) -> Self {
        let smss = config.mss;
        let window = first_window(config);
        let congestion_control = config.congestion_control.build(config);
        let paced = config.pacing || congestion_control.pacing_rate(&window, None).is_some();
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
            model: congestion_control.models_path().then(Box::default),
            congestion_control,
            loss_detection: config.loss_detection.build(config),
            loss_cause: config.loss_cause.build(config),
            spurious: config.spurious.build(config),
            estimator: config.rto.build(config),
            backoff: config.backoff.build(config),
            selective: false,
            tracks: false,
            board: Late::NONE,
            without_times: false,
            counts_as_linux: false,
            repair: Late::NONE,
            pacer: paced.then(Box::default),
            forced_new: 0,
            send_times: Late::NONE,
            timed: None,
            retransmit_first: false,
            duplicates: 0,
            looks: 0,
            limited_credit: 0,
            limited_bytes: 0,
            timeout_recovery_end: 0,
            timeouts_in_row: 0,
            probes_in_row: 0,
            probe: false,
            tail_probe: false,
            by_duplicates: 0,
            syn_retransmissions: 0,
            last_sent: Time::ZERO,
            last_rtt: Duration::MAX,
            least_rtt: Duration::MAX,
            bursts: bursts(config),
            validation: Validation::new(config.cwnd_validation),
        }
    }

    /// Takes what fits into the send buffer.
    pub fn write(&mut self, bytes: u64, buffer: u64) -> u64 {
        if bytes > 0 {
            self.note_shortage();
        }
        let held = self.written - self.snd_una.max(1).min(self.written);
        let taken = bytes.min(buffer.saturating_sub(held));
        self.written += taken;
        taken
    }

    /// Position after everything there is to send: data, and the FIN once it is queued.
    pub fn end(&self) -> u64 {
        self.written + u64::from(self.fin_queued)
    }

    /// All that was written is acknowledged, and nobody asks for a probe: there are no data to
    /// send. A sender that paces looks at its gate first.
    pub fn is_at_rest(&self) -> bool {
        let asked = self.tail_probe | self.retransmit_first;
        self.snd_una == self.end() && self.pacer.is_none() && !asked && !self.asks()
    }

    /// The peer has acknowledged our FIN.
    pub fn fin_acknowledged(&self) -> bool {
        self.fin_queued && self.snd_una > self.written
    }

    /// FlightSize (RFC 5681 §2): sent and not acknowledged. After a timeout only what has been
    /// sent again counts, the rest is taken to have left the network.
    pub fn flight_size(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// The position that a pure acknowledgment carries: after all that was sent, so that the peer
    /// finds it in its window even while older data are sent again, but not beyond that window,
    /// where a probe may have gone.
    pub fn ack_position(&self) -> u64 {
        self.snd_max.min(self.snd_una + self.snd_wnd).max(self.snd_una)
    }

    /// What is taken to be in the network: FlightSize, or with SACK the pipe of RFC 6675.
    pub fn pipe(&self) -> u64 {
        self.pipe_of(self.flight_size())
    }

    /// The same when so much is outstanding.
    pub fn pipe_of(&self, flight_size: u64) -> u64 {
        if self.tracks {
            return self.board.pipe(flight_size);
        }
        flight_size.saturating_sub(self.left_network())
    }

    /// Room that `cwnd` leaves; for new data limited transmit adds to it (RFC 3042 §2).
    pub fn cwnd_room(&self) -> u64 {
        let segments = if self.snd_nxt >= self.snd_max { self.limited_credit } else { 0 };
        let credit = u64::from(segments) * u64::from(self.window.smss);
        let room = self.window.cwnd.saturating_add(credit).saturating_sub(self.pipe());
        if self.forced_new > 0 { room.max(self.window.smss.into()) } else { room }
    }

    /// The timeout in force: RFC 6298 §5.5, held at its maximum.
    #[inline]
    pub fn rto(&self, max_rto: Duration) -> Duration {
        let exponent = self.backoff.exponent();
        let rto = self.estimator.rto(&self.window);
        if exponent == 0 { rto } else { rto.saturating_mul(1 << exponent).min(max_rto) }
    }

    /// A selective acknowledgment has given an RTT sample.
    pub fn backoff_sampled(&mut self) {
        self.backoff.on_ack(&backoff::Ack {
            advances: false,
            sampled: true,
            loss_state_over: self.timeout_recovery_end == 0,
        });
    }

    /// The handshake is over.
    pub fn backoff_reset(&mut self) {
        self.backoff.reset();
    }

    /// What the congestion control is told with every acknowledgment; the rest is filled in.
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

    /// A loss as the congestion control sees it. FlightSize may be many times the window while SACK
    /// repairs a loss, for it counts what has been selectively acknowledged: then a part of it were
    /// no reduction. RFC 5681 §3.1 asks for an ssthresh of no more than half of it; Linux takes
    /// half of cwnd.
    pub fn loss(&self, now: Time) -> congestion_control::Loss {
        let flight_size = self.flight_size().saturating_sub(self.limited_bytes);
        congestion_control::Loss {
            now,
            flight_size: flight_size.min(self.window.cwnd),
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            srtt: self.estimator.srtt(),
        }
    }

    /// Why was it lost?
    pub fn cause_of_loss(&mut self, now: Time, by_timeout: bool) -> loss_cause::Cause {
        if !by_timeout && self.misses_mtu_probe() {
            return loss_cause::Cause::Corruption;
        }
        let loss = loss_cause::Loss {
            now,
            by_timeout,
            srtt: self.estimator.srtt(),
            last_rtt: (self.last_rtt != Duration::MAX).then_some(self.last_rtt),
            window: self.window,
            flight_size: self.flight_size(),
            noticed: self.repair.noticed == self.snd_una,
            // Without SACK a sender knows of one.
            lost_segments: self.board.lost_bytes().div_ceil(self.window.smss.into()).max(1),
        };
        self.loss_cause.cause(&loss)
    }

    /// After a timeout, what was not sent before it waits until that is acknowledged, whatever room
    /// the window has (`linux24`).
    pub fn holds_new_data(&self) -> bool {
        self.timeout_recovery_end > 0
            && self.snd_nxt >= self.timeout_recovery_end
            && self.estimator.holds_new_data()
    }

    /// What is in use of the window with so much in flight.
    pub fn in_use(&self, flight_size: u64) -> InUse {
        InUse { snd_una: self.snd_una, snd_max: self.snd_max, pipe: self.pipe_of(flight_size) }
    }

    /// Holds `cwnd` within its bounds.
    pub fn clamp_cwnd(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.max_cwnd);
    }

    /// The window a connection starts with: the initial one, or one segment when the SYN was lost.
    pub fn open_window(&mut self, parameters: &Parameters) {
        let smss = self.window.smss;
        let narrow = match parameters.lost_syn {
            LostSyn::First => self.syn_retransmissions > 0,
            // `tcp_init_transfer`.
            LostSyn::Second => self.syn_retransmissions > 1 && self.repair.syn_timed_out,
        };
        let initial = parameters.initial_window.bytes(smss);
        self.window.cwnd = if narrow { smss.into() } else { initial };
        self.clamp_cwnd();
    }

    /// An RTT was measured after a spurious timeout: of what was sent since?
    #[cold]
    pub fn relearn(&mut self, rtt: Duration, limits: &rto::Limits) {
        let Some(Relearning { from, least }) = self.repair.relearning else { return };
        if self.snd_una > from {
            self.repair.relearning = None;
            self.estimator.relearn(rtt, least, limits);
        }
    }
}
