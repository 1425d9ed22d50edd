//! *What it does.* Determines from the echoed timestamp whether the first acceptable ACK was
//! triggered by the original segment or by its retransmission.
//!
//! *Reference.* RFC 3522 §3.2; Ludwig & Katz 2000. Without timestamps it detects nothing.
//!
//! *Where we differ.* RFC 3522 leaves open a recovery that begins while retransmissions of the
//! previous one are in flight; here it is handled as in Linux since 6.12
//! (`tcp_retrans_stamp_cleanup`). Linux's own undo is in `linux`.

use super::{Ack, Detector, NewRecovery, Response, Retransmission, UndoScope, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Eifel detection algorithm, by timestamps (RFC 3522); needs `timestamps = true`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Response to a spurious recovery.
    pub response: Response,
}

/// State of Eifel detection.
#[derive(Debug, Clone)]
pub struct State {
    response: Response,
    armed: bool,
    /// `RetransmitTS`: TSval of the first retransmission of this recovery.
    retransmit_ts: Option<u32>,
    dsack_seen: bool,
}

impl State {
    /// Creates a detector with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { response: config.response, armed: false, retransmit_ts: None, dsack_seen: false }
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &NewRecovery) {
        // A repeated timeout keeps the timestamp of the first retransmission.
        if !begin.in_recovery {
            self.armed = true;
            // If retransmissions of an earlier recovery are in flight, the timestamp of that
            // recovery is kept: an ACK of one of them echoes a time before this recovery, although
            // it is not for an original.
            if begin.retransmitted == 0 && !begin.first_retransmitted {
                self.retransmit_ts = None;
            }
        }
    }

    fn on_retransmission(&mut self, retransmission: &Retransmission) {
        if self.armed && self.retransmit_ts.is_none() {
            self.retransmit_ts = retransmission.timestamp;
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        self.dsack_seen |= ack.dsack.is_some();
        // Step 4: the first acceptable ACK.
        let (true, Some(sent), Some(echo)) =
            (self.armed && ack.advances(), self.retransmit_ts, ack.echo)
        else {
            return Verdict::Undecided;
        };
        let answers_original = (echo.wrapping_sub(sent) as i32) < 0;
        self.armed = false;
        // Step 5: a DSACK, or an ACK of everything from a peer that never sent a DSACK, may respond
        // to a duplicate whose first ACK was lost.
        let all = ack.snd_una == ack.snd_max && !self.dsack_seen;
        if !answers_original || all || ack.dsack.is_some() {
            return Verdict::Undecided;
        }
        Verdict::Spurious(UndoScope::ALL)
    }

    fn response(&self) -> Response {
        self.response
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    /// Ten segments of 1000 bytes in flight at a timeout, the first retransmitted with TSval 100.
    fn retransmitted() -> State {
        let tcp = (crate::presets::find("sack").expect("a preset").config)();
        let mut state = State::new(&Config::default(), &tcp);
        state.on_begin(&testing::new_recovery(true, false));
        state.on_retransmission(&testing::retransmission(1, Some(100)));
        state
    }

    /// ACK that moves SND.UNA from 1 to `snd_una`, with this echoed timestamp.
    fn ack(snd_una: u64, echo: u32) -> Ack {
        Ack { sacked: Some(0), echo: Some(echo), ..testing::ack(1, snd_una) }
    }

    /// RFC 3522 §3.2, step 5: the timeout was spurious if the first acceptable ACK echoes a time
    /// before that of the retransmission, and neither carries a DSACK option nor acknowledges all
    /// outstanding data. The last condition is needed only while no DSACK option has arrived.
    #[test]
    fn only_the_first_acceptable_ack_decides() {
        let spurious = Verdict::Spurious(UndoScope::ALL);
        let first = |ack: &Ack| retransmitted().on_ack(ack);
        assert_eq!([first(&ack(1_001, 99)), first(&ack(10_000, 99))], [spurious; 2]);
        assert_eq!(first(&ack(1_001, 100)), Verdict::Undecided, "of the retransmission");
        assert_eq!(first(&ack(10_001, 99)), Verdict::Undecided, "of all data");
        let with_dsack = |snd_una| Ack { dsack: Some((1, 1_001)), ..ack(snd_una, 99) };
        assert_eq!(first(&with_dsack(1_001)), Verdict::Undecided);
        let mut state = retransmitted();
        assert_eq!(state.on_ack(&ack(1_001, 100)), Verdict::Undecided);
        assert_eq!(state.on_ack(&ack(2_001, 99)), Verdict::Undecided, "the second ACK");
        // A DSACK in a duplicate ACK, which is not an acceptable ACK, shows that the peer sends
        // DSACKs.
        let mut state = retransmitted();
        assert_eq!(state.on_ack(&with_dsack(1)), Verdict::Undecided);
        assert_eq!(state.on_ack(&ack(1, 99)), Verdict::Undecided);
        assert_eq!(state.on_ack(&ack(10_001, 99)), spurious);
    }

    /// RFC 3522 §3.2, step 2: RetransmitTS is that of the first retransmission of the recovery. It
    /// is kept while retransmissions of an earlier recovery are in flight (Linux
    /// `tcp_retrans_stamp_cleanup`), and at a repeated timeout.
    #[test]
    fn the_first_retransmission_counts() {
        let spurious = Verdict::Spurious(UndoScope::ALL);
        let mut state = retransmitted();
        state.on_retransmission(&testing::retransmission(1_001, Some(200)));
        assert_eq!(state.on_ack(&ack(1_001, 150)), Verdict::Undecided);
        let second = |in_recovery, retransmitted_before, first_retransmitted| {
            let mut state = retransmitted();
            state.on_begin(&NewRecovery {
                retransmitted: retransmitted_before,
                first_retransmitted,
                ..testing::new_recovery(true, in_recovery)
            });
            state.on_retransmission(&testing::retransmission(1, Some(200)));
            state.on_ack(&ack(1_001, 150))
        };
        assert_eq!(second(false, 0, false), spurious, "since the second recovery");
        assert_eq!(second(false, 1, false), Verdict::Undecided);
        assert_eq!(second(false, 0, true), Verdict::Undecided);
        assert_eq!(second(true, 0, false), Verdict::Undecided, "a repeated timeout");
    }
}
