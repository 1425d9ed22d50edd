//! Explicit congestion notification: queues mark packets, the receiver echoes the marks, the sender
//! reduces its window as it would for a loss.
//!
//! *Reference.* RFC 3168 §6.1.
//!
//! *Where we differ.* With Linux's details an echo reduces the window acknowledgment by
//! acknowledgment (`tcp_enter_cwr`), and does not hold up a sender with a window of one segment. A
//! loss that is found within the window that an echo has reduced does not reduce it again (as
//! Linux). A congestion control that models the path has no use for echoes and answers them with
//! CWR alone, as Linux' BBR does.

use super::reduction::Reduction;
use super::{Connection, Event};
use crate::congestion_control::CongestionControl;
use crate::late::{Late, Nothing};
use crate::loss_detection::LossDetection;
use crate::spurious::Detector;
use retx_units::Time;
use retx_wire::{Ecn, Flags, PlainSegment, Segment};

/// What an end knows of marks.
#[derive(Debug, Clone)]
pub(super) struct Notification {
    /// This end is willing.
    offered: bool,
    /// Both are.
    enabled: bool,
    /// The ECN field of the packet that is being handled, but where nobody looks at it.
    arriving: Ecn,
    /// As a receiver: data have come that could be marked.
    markable: bool,
    /// As a receiver: a packet was marked, and the sender has not said that it knows.
    echoes: bool,
    /// As a sender: the acknowledgment that is being handled echoes a mark, and is none older than
    /// another.
    echoed: bool,
    /// As a sender: the window was reduced; the next new data say so.
    reduced: bool,
    /// As a sender: the window was one segment when an echo came; nothing new goes until the
    /// retransmission timer expires.
    held: bool,
    /// As a sender: a reduction by an echo goes on (Linux `TCP_CA_CWR`).
    reducing: bool,
    /// As a sender, where both are willing: the windows that were reduced.
    reductions: Late<Reductions>,
}

/// The window that was reduced last is over once more than this is acknowledged.
#[derive(Debug, Clone, Copy, Default)]
struct Reductions {
    /// For whatever reason.
    recover: u64,
    /// By an echo.
    echo_recover: u64,
}

impl Nothing for Reductions {
    const NOTHING: &'static Self = &Self { recover: 0, echo_recover: 0 };
}

impl Notification {
    pub const fn new(offered: bool) -> Self {
        Self {
            offered,
            enabled: false,
            arriving: Ecn::NotEct,
            markable: false,
            echoes: false,
            echoed: false,
            reduced: false,
            held: false,
            reducing: false,
            reductions: Late::NONE,
        }
    }

    /// A SYN of ours that opens (RFC 3168 §6.1.1). One that is sent again does without, as whatever
    /// lost the first may have done so for its bits (§6.1.1.1).
    pub const fn opening(&self, retransmission: bool) -> Flags {
        if self.offered && !retransmission {
            Flags::SYN.with(Flags::ECE).with(Flags::CWR)
        } else {
            Flags::SYN
        }
    }

    /// Our SYN/ACK.
    pub const fn answering(&self) -> Flags {
        let flags = Flags::SYN.with(Flags::ACK);
        if self.enabled { flags.with(Flags::ECE) } else { flags }
    }

    /// The peer's SYN, or its SYN/ACK.
    pub const fn negotiate(&mut self, flags: Flags) {
        let asks_or_agrees =
            flags.contains(Flags::ECE) && flags.contains(Flags::CWR) != flags.contains(Flags::ACK);
        self.enabled = self.offered && asks_or_agrees;
    }

    /// Both ends use it.
    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The echo is on every acknowledgment until the sender says that it has reduced its window.
    pub const fn echo(&self) -> Flags {
        if self.echoes { Flags::ECE } else { Flags(0) }
    }

    /// The acknowledgment that is being handled echoes a mark: the window does not grow by it.
    pub const fn is_echo(&self) -> bool {
        self.echoed
    }

    /// Data are sent for the first time, within the peer's window, and both ends use ECN: the bits
    /// that go with them.
    pub const fn on_new_data(&mut self) -> (Flags, Ecn) {
        let flags = if self.reduced { Flags::CWR } else { Flags(0) };
        self.reduced = false;
        (flags, Ecn::Ect0)
    }

    /// The next new data say that the window has been reduced: it was for a lost SYN, too.
    pub const fn on_lost_syn(&mut self) {
        self.reduced = self.enabled;
    }

    /// New data wait for the retransmission timer.
    pub const fn is_held(&self) -> bool {
        self.held
    }

    /// The timer has expired: true when new data waited for it.
    pub const fn release(&mut self) -> bool {
        std::mem::replace(&mut self.held, false)
    }

    /// The window is being reduced because of an echo, acknowledgment by acknowledgment.
    pub const fn is_reducing(&self) -> bool {
        self.reducing
    }

    /// The reduction by an echo is over once more than this is acknowledged.
    pub fn echo_recover(&self) -> u64 {
        self.reductions.echo_recover
    }

    /// Something else sets the window from here on.
    pub const fn leave_reduction(&mut self) {
        self.reducing = false;
    }

    /// The window has been reduced, for whatever reason (§6.1.2).
    pub fn on_reduction(&mut self, snd_max: u64) {
        self.reduced = self.enabled;
        if self.enabled {
            self.reductions.recover = snd_max;
        }
    }

    /// The window is as it was before: Linux `tcp_ecn_withdraw_cwr`.
    pub const fn withdraw_reduction(&mut self) {
        self.reduced = false;
    }

    /// Data have arrived within the window: out of it they would not count (§6.1.5). True for the
    /// first mark that is to be echoed, and for data that cannot be marked, after others that
    /// could.
    const fn on_data(&mut self, flags: Flags) -> bool {
        if flags.contains(Flags::CWR) {
            self.echoes = false;
        }
        let unmarkable = matches!(self.arriving, Ecn::NotEct);
        let after_others = unmarkable && self.markable;
        self.markable |= !unmarkable;
        let marked = matches!(self.arriving, Ecn::Ce);
        after_others || marked && !std::mem::replace(&mut self.echoes, true)
    }
}

impl Connection {
    /// A packet has arrived, with this ECN field in its IP header: see [`Self::handle_segment`].
    #[inline]
    pub fn handle_packet(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        if !self.course.plain {
            self.ecn.arriving = ecn;
        }
        self.take_segment(now, segment);
    }

    /// A segment without SACK blocks and without a notice has arrived, in a packet that is not
    /// marked: true when it was one of those that come most, and is dealt with. Else nothing has
    /// happened, and it is for [`Self::handle_packet`].
    #[inline(always)]
    pub fn handle_plain(&mut self, now: Time, segment: PlainSegment) -> bool {
        if !self.course.plain {
            self.ecn.arriving = Ecn::NotEct;
        }
        self.take_at_once(now, segment)
    }

    /// True when both ends use ECN.
    pub const fn uses_ecn(&self) -> bool {
        self.ecn.enabled
    }

    /// Acceptable data have arrived: are they marked, or do they answer an echo?
    #[inline]
    pub(super) fn take_mark(&mut self, segment: &Segment) {
        if !self.ecn.enabled || segment.payload_bytes == 0 {
            return;
        }
        let unusual = self.ecn.on_data(segment.flags);
        let receiver = &mut self.receiver;
        if receiver.pending.is_linux() {
            // Linux `__tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`.
            if unusual {
                receiver.pending.on_mark(receiver.advertised());
            }
            receiver.ack_now |= segment.flags.contains(Flags::CWR);
        }
    }

    /// An acknowledgment older than another: its echo does not count.
    #[inline]
    pub(super) const fn ignore_echo(&mut self) {
        self.ecn.echoed = false;
    }

    /// An acknowledgment up to `ack` has come and is about to be taken in: an echo reduces the
    /// window, once for each window of data (§6.1.2).
    #[inline]
    pub(super) fn take_echo(&mut self, now: Time, flags: Flags, ack: u64) {
        self.ecn.echoed = self.ecn.enabled && flags.contains(Flags::ECE);
        let waits = self.echo_comes_last();
        if self.ecn.echoed && ack > self.ecn.reductions.recover && !waits {
            self.reduce_by_echo(now);
        }
    }

    /// Linux looks at an echo once it knows what else the acknowledgment means
    /// (`tcp_try_to_open`): one that undoes or ends a recovery begins a reduction all the same.
    fn echo_comes_last(&self) -> bool {
        let sender = &self.sender;
        sender.loss_detection.as_linux() && !sender.congestion_control.models_path()
    }

    /// Loss detection has read the acknowledgment.
    #[inline]
    pub(super) fn take_last_echo(&mut self, now: Time) {
        if self.ecn.echoed && self.echo_comes_last() && !self.ecn.reducing {
            self.reduce_by_echo(now);
        }
    }

    /// An acknowledgment with an echo does not grow the window. In Linux the state decides: it does
    /// while a timeout is being repaired.
    #[inline]
    pub(super) fn echo_stops_growth(&self) -> bool {
        self.ecn.reducing || self.ecn.echoed && !self.echo_comes_last()
    }

    #[cold]
    fn reduce_by_echo(&mut self, now: Time) {
        let sender = &mut self.sender;
        let repairs_timeout = sender.timeout_recovery_end > 0
            && !(sender.loss_detection.as_linux() && sender.timeout_recovery_is_over());
        if sender.loss_detection.in_recovery() || repairs_timeout {
            return;
        }
        let cwnd_before = sender.window.cwnd;
        if !sender.congestion_control.models_path() {
            let loss = sender.loss(now);
            sender.congestion_control.on_loss(&mut sender.window, &loss);
            sender.window.cwnd = sender.window.cwnd.min(cwnd_before);
            sender.take_undo();
            sender.spurious.on_echo();
            let detection = &sender.loss_detection;
            if detection.as_linux() && detection.proportional_rate_reduction() {
                // `tcp_enter_cwr`: the window goes down by proportional rate reduction.
                sender.repair.cwnd_after_recovery = sender.window.ssthresh;
                sender.window.cwnd = cwnd_before;
                sender.repair.reduction =
                    Some(Reduction::whole_segments(cwnd_before, sender.window.smss));
                self.ecn.reducing = true;
            }
        }
        self.ecn.held = cwnd_before <= u64::from(self.sender.window.smss)
            && !self.sender.congestion_control.models_path()
            && !self.sender.loss_detection.as_linux();
        let sender = &self.sender;
        self.ecn.on_reduction(sender.snd_max);
        self.ecn.reductions.echo_recover = sender.snd_max;
        let sender = &self.sender;
        let reducing = self.ecn.reducing;
        let cwnd_after =
            if reducing { sender.repair.cwnd_after_recovery } else { sender.window.cwnd };
        self.events.push_back(Event::EchoTaken { cwnd_before, cwnd_after });
    }

    /// Linux `tcp_fastretrans_alert`: the reduction is over once more than what was out at its
    /// beginning is acknowledged.
    pub(super) fn end_reduction_by_echo(&mut self) {
        if self.ecn.reducing && self.sender.snd_una > self.ecn.reductions.echo_recover {
            self.ecn.reducing = false;
            self.sender.end_reduction();
            self.sender.return_to_threshold();
        }
    }

    /// A loss has been found: true when the window was reduced already, for the same window of
    /// data.
    pub(super) fn is_reduced_by_echo(&self) -> bool {
        if self.echo_comes_last() {
            return self.ecn.reducing;
        }
        self.ecn.enabled && self.sender.snd_una <= self.ecn.reductions.echo_recover
    }
}
