//! Samples of a sender's state (windows, RTT, timeout) for the table `samples`.

use super::{Flow, Phase, SENDER};
use crate::recorder::Recorder;
use retx_record::reason::SenderState;
use retx_record::tables::Sample;
use retx_units::Time;

impl Flow {
    /// Records the state of the sender, if its connection is open.
    pub fn record_sample(&self, now: Time, recorder: &mut Recorder) {
        let Some(samples) = &mut recorder.tables.samples else { return };
        if self.phase != Phase::Open {
            return;
        }
        let sender = &self.ends[SENDER];
        samples.push(Sample {
            flow: self.record.flow(),
            time: now,
            cwnd_bytes: sender.cwnd(),
            ssthresh_bytes: sender.ssthresh(),
            flight_size_bytes: sender.flight_size(),
            rwnd_bytes: sender.snd_wnd(),
            srtt: sender.srtt(),
            rttvar: sender.rttvar(),
            rto: sender.rto(),
            backoff: sender.backoff(),
            state: if sender.in_recovery() {
                SenderState::FastRecovery
            } else if sender.window().in_slow_start() {
                SenderState::SlowStart
            } else {
                SenderState::CongestionAvoidance
            },
            ack_bytes: self.acked_bytes(),
        });
    }

    /// Bytes acknowledged to the data sender on all connections so far.
    pub fn acked_bytes(&self) -> u64 {
        if self.phase != Phase::Open {
            return self.earlier_bytes;
        }
        let file = self.app.plan().file_bytes(self.app.file_number()).unwrap_or(0);
        let file =
            self.exchanges.as_ref().map_or(file, |exchanges| exchanges.response_bytes_written);
        // SYN and FIN occupy positions, but are not bytes of data.
        self.earlier_bytes + self.ends[SENDER].snd_una().saturating_sub(1).min(file)
    }
}
