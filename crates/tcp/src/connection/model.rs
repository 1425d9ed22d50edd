//! Support for congestion controls that model the path. They set the window at every
//! acknowledgment, also during recovery. Here they get the information that they need, and the
//! connection's own changes of the window are left out.
//!
//! *Reference.* Linux `tcp_input.c`: `tcp_cong_control`, which only calls the module's
//! `cong_control` if there is one; `tcp_init_cwnd_reduction` and `tcp_end_cwnd_reduction`, which do
//! not change cwnd for a module with a `cong_control`; `tcp_add_reno_sack`,
//! `tcp_remove_reno_sacks`, `tcp_limit_reno_sacked` for peers without SACK.

use super::recover::Progress;
use super::{Connection, Sender};
use crate::congestion_control::{self, CongestionControl, Delivery, Phase, Start};
use crate::loss_detection::{LossDetection, Reaction};
use crate::rto::Estimator;
use crate::scoreboard::{Delivered, RemovedInTimeOrder};
use retx_units::{Duration, Time};

/// State that a congestion control with a model of the path needs in addition to each
/// acknowledgment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ModelInputs {
    /// Bytes in flight before the acknowledgment.
    flight_before: u64,
    /// Number of losses known before the acknowledgment.
    losses_before: u64,
    /// Number of losses detected without a scoreboard.
    losses: u64,
    /// Bytes that have left the network according to duplicate ACKs; 0 with SACK.
    left_network: u64,
}

impl Sender {
    fn losses(&self, inputs: &ModelInputs) -> u64 {
        self.board.losses + inputs.losses
    }

    /// Records the data in flight and the losses before an acknowledgment is processed.
    #[inline]
    pub fn prepare_model(&mut self) {
        let Some(mut inputs) = self.model_inputs.take() else { return };
        inputs.flight_before = self.pipe();
        inputs.losses_before = self.losses(&inputs);
        self.model_inputs = Some(inputs);
    }

    /// Like [`Self::prepare_model`] while no data are in flight.
    #[inline(always)]
    pub fn prepare_idle_model(&mut self) {
        let losses = self.board.losses;
        if let Some(inputs) = &mut self.model_inputs {
            inputs.flight_before = 0;
            inputs.losses_before = losses + inputs.losses;
        }
    }

    /// Called before the application writes: detects that the application has limited the sender
    /// (`tcp_rate_check_app_limited`). This is the case if less than a segment is unsent, the
    /// window is not full, and no lost segment waits for its retransmission.
    #[inline]
    pub fn check_app_limited(&mut self) {
        self.check_app_limited_at(self.snd_nxt.max(1), self.written);
    }

    /// Like [`Self::check_app_limited`], as if the data before `next` had been sent, and those
    /// before `written` had been written.
    pub fn check_app_limited_at(&mut self, next: u64, written: u64) {
        if self.model_inputs.is_none() {
            return;
        }
        let short = written.saturating_sub(next) < u64::from(self.window.smss);
        let flight = self.pipe() + next.saturating_sub(self.snd_nxt.max(1));
        if short && flight < self.window.cwnd && self.board.lost_bytes() == 0 {
            let flight = self.in_segments(flight);
            self.congestion_control.on_app_limited(flight);
        }
    }

    /// Restarts the model, before data are sent, if none are in flight.
    #[inline]
    pub fn restart_model(&mut self, now: Time) {
        if self.model_inputs.is_some() && self.snd_una == self.snd_max {
            self.congestion_control.on_restart(&mut self.window, now);
        }
    }

    /// Bytes known to have left the network, without SACK.
    pub fn left_network(&self) -> u64 {
        self.model_inputs.as_ref().map_or(0, |inputs| inputs.left_network)
    }

    fn in_segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.window.smss.into())
    }

    /// Segments newly delivered by an acknowledgment on a connection without SACK, one per
    /// duplicate ACK.
    fn delivered_without_sack(&mut self, acked: u64) -> u64 {
        let smss = u64::from(self.window.smss);
        let flight_size = self.flight_size();
        let in_segments = self.in_segments(acked);
        let Some(inputs) = &mut self.model_inputs else { return 0 };
        if acked == 0 {
            let most = flight_size.saturating_sub(smss);
            inputs.left_network = (inputs.left_network + smss).min(most);
            return 1;
        }
        // The first segment acknowledged fills the hole. The others may have been counted already,
        // by the duplicate ACKs that their arrival caused.
        let segments = in_segments;
        let counted = inputs.left_network / smss;
        inputs.left_network = inputs.left_network.saturating_sub((segments - 1) * smss);
        segments.saturating_sub(counted).max(1)
    }

    /// Restores the window of a model after the reaction that loss detection requested.
    fn keep_window(&mut self, reaction: Reaction, cwnd: u64) {
        self.end_reduction();
        let Some(inputs) = &mut self.model_inputs else { return };
        self.window.cwnd = cwnd;
        // No limited transmit: only the model decides how much is sent.
        self.limited_credit = 0;
        match reaction {
            Reaction::FastRetransmit | Reaction::PartialAck { .. } | Reaction::GoBackN => {
                inputs.losses += 1;
            }
            Reaction::EndRecovery | Reaction::NextRecovery => inputs.left_network = 0,
            _ => {}
        }
    }
}

impl Connection {
    /// Starts the congestion control at the end of the handshake.
    pub(super) fn start_congestion_control(&mut self, now: Time, rtt: Option<Duration>) {
        let ours = u64::from(self.sender.iss.0);
        let identity = ours << 32 | u64::from(self.receiver.irs.0);
        let samples_segments = self.samples_segments() && self.sender.selective;
        let start = Start { now, rtt, samples_segments, identity };
        let sender = &mut self.sender;
        sender.congestion_control.on_connected(&mut sender.window, &start);
        sender.clamp_cwnd();
    }

    /// Like [`Connection::react`], but leaves the window to a model, if there is one.
    pub(super) fn react_with_model(&mut self, now: Time, reaction: Reaction, progress: Progress) {
        let cwnd = self.sender.window.cwnd;
        self.react(now, reaction, progress);
        if self.sender.model_inputs.is_some() {
            self.sender.keep_window(reaction, cwnd);
        }
    }

    /// Handles a timeout: everything in flight is lost, and duplicate ACKs are counted anew.
    pub(super) fn note_timeout_for_model(&mut self) {
        let sender = &mut self.sender;
        // With a scoreboard, `board.losses` counts the segments as they are marked.
        let lost = if sender.uses_scoreboard { 0 } else { sender.in_segments(sender.pipe()) };
        if let Some(inputs) = &mut sender.model_inputs {
            inputs.losses += lost;
            inputs.left_network = 0;
        }
    }

    /// Passes an acknowledgment to the model, after everything except the window has been updated.
    #[inline]
    pub(super) fn update_model(
        &mut self,
        ack: &congestion_control::Ack,
        acked: u64,
        selective: Option<&Delivered>,
    ) {
        if self.sender.model_inputs.is_none() {
            return;
        }
        let sender = &mut self.sender;
        // `tcp_ack`: the model is not called for an old acknowledgment, nor if no data were in
        // flight (`no_queue`).
        let is_old = selective.is_some_and(|delivered| delivered.is_old);
        let is_idle = acked == 0 && sender.snd_una == sender.snd_max;
        if sender.loss_detection.as_linux() && (is_old || is_idle) {
            return;
        }
        let segments = match selective {
            Some(delivered) => delivered.segments + sender.delivered_twice(delivered),
            None if sender.uses_scoreboard => sender.in_segments(ack.delivered),
            None => sender.delivered_without_sack(acked),
        };
        let newest = selective.and_then(|delivered| Some(delivered.newest?.end));
        self.deliver_to_model((ack.now, ack.rtt), acked, (segments, selective.is_some()), newest);
    }

    /// Like [`Self::update_model`], for an acknowledgment that only removes the first segments in
    /// flight, each sent once.
    #[inline]
    pub(super) fn update_model_in_order(
        &mut self,
        ack: &congestion_control::Ack,
        it: &RemovedInTimeOrder,
    ) {
        if self.sender.model_inputs.is_some() {
            let (newest, acked) = (Some(it.end), ack.bytes_acked.max(1));
            self.deliver_to_model((ack.now, ack.rtt), acked, (it.segments, true), newest);
        }
    }

    /// Like [`Self::update_model`], for an acknowledgment that only reports SACK blocks.
    #[inline(always)]
    pub(super) fn update_model_by_sack(&mut self, now: Time, delivered: &Delivered) {
        let newest = delivered.newest.map(|newest| newest.end);
        self.deliver_to_model((now, None), 0, (delivered.segments, true), newest);
    }

    fn deliver_to_model(
        &mut self,
        (now, rtt): (Time, Option<Duration>),
        acked: u64,
        (segments, is_selective): (u64, bool),
        newest: Option<u64>,
    ) {
        let Some(inputs) = self.sender.model_inputs.as_deref().copied() else { return };
        let pacing_delay = self.pacing_delay(now);
        let sender = &mut self.sender;
        let lost_total = sender.losses(&inputs);
        let phase = if sender.timeout_recovery_end > sender.snd_una {
            Phase::Loss
        } else if sender.loss_detection.in_recovery() {
            Phase::Recovery
        } else {
            Phase::Open
        };
        let delivery = Delivery {
            now,
            snd_una: sender.snd_una,
            delivered_segments: segments,
            is_selective,
            newest,
            is_short: acked < u64::from(sender.window.smss),
            lost: lost_total - inputs.losses_before,
            lost_total,
            flight_before: sender.in_segments(inputs.flight_before),
            flight: sender.in_segments(sender.pipe()),
            phase,
            rtt,
            srtt: sender.estimator.srtt(),
            pacing_delay,
        };
        sender.congestion_control.on_delivery(&mut sender.window, &delivery);
        sender.clamp_cwnd();
        self.events.note_window(self.sender.window.cwnd);
    }
}
