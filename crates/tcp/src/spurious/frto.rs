//! *What it does.* Sends two new segments after the retransmission of a timeout, instead of more
//! retransmissions, and infers from the next ACKs whether the original had arrived.
//!
//! *Reference.* RFC 5682 §2.1 (basic) and §3.1 (SACK-enhanced, used where the connection has SACK).
//!
//! *Where we differ.* The response is a separate parameter; RFC 5682 leaves it open.

use super::{Ack, Detector, NewRecovery, Response, UndoScope, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// F-RTO: detection by two new segments after a timeout (RFC 5682; SACK-enhanced with SACK).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Response to a spurious timeout.
    pub response: Response,
}

/// The steps of RFC 5682.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Off,
    /// Step 2: waiting for the ACK of the retransmission.
    First,
    /// Step 3: waiting for the next ACK.
    Second,
}

/// State of F-RTO.
#[derive(Debug, Clone)]
pub struct State {
    response: Response,
    step: Step,
    /// `SND.MAX` at the timeout: `recover`, RecoveryPoint.
    recover: u64,
}

impl State {
    /// Creates a detector with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { response: config.response, step: Step::Off, recover: 0 }
    }

    /// True if a segment that was sent only once, before the timeout, has arrived: the timeout was
    /// then spurious. Linux tests this before the steps (`tcp_process_loss`, FLAG_ORIG_SACK_ACKED).
    pub(super) fn sees_original(&mut self, ack: &Ack) -> bool {
        let original = self.step != Step::Off
            && ack.lowest_original_end.is_some_and(|end| end <= self.recover);
        if original {
            self.step = Step::Off;
        }
        original
    }

    /// Handles a duplicate ACK as Linux does (step 3.a): while data sent after the timeout are in
    /// flight, it proves the loss. If F-RTO itself sent these data, step 3 of the RFC applies
    /// instead.
    pub(super) fn on_duplicate(&mut self, snd_max: u64) {
        if self.step == Step::First && snd_max > self.recover {
            self.step = Step::Off;
        }
    }

    /// Evaluates the first ACK after the timeout (§2.1, step 2; §3.1, step 2).
    fn on_first(&mut self, ack: &Ack) -> Verdict {
        if !ack.advances() {
            // With SACK a duplicate only updates the scoreboard.
            if ack.sacked.is_none() {
                self.step = Step::Off;
            }
            return Verdict::Undecided;
        }
        // (2a) The ACK acknowledges everything, or no new data can be sent: the loss counts as
        // real. (2b) Otherwise new data are sent.
        if ack.snd_una >= self.recover || !ack.can_send_new {
            self.step = Step::Off;
            return Verdict::Undecided;
        }
        self.step = Step::Second;
        Verdict::SendNew
    }

    /// Evaluates the second ACK after the timeout (§2.1, step 3; §3.1, step 3).
    fn on_second(&mut self, ack: &Ack) -> Verdict {
        self.step = Step::Off;
        let genuine = Verdict::Genuine { cwnd_segments: 3 };
        match ack.sacked {
            None if ack.advances() => Verdict::Spurious(UndoScope::ALL),
            None => genuine,
            // (3a) The ACK covers data sent after the timeout. (3b) It acknowledges new data, all
            // of them sent before the timeout.
            Some(_) if ack.highest > self.recover => genuine,
            Some(sacked) if ack.advances() || sacked > 0 => Verdict::Spurious(UndoScope::ALL),
            Some(_) => genuine,
        }
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &NewRecovery) {
        // §3.1, step 1: F-RTO is not used while another recovery is in progress.
        self.step = if begin.by_timeout && !begin.in_recovery { Step::First } else { Step::Off };
        self.recover = begin.snd_max;
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        match self.step {
            Step::Off => Verdict::Undecided,
            Step::First => self.on_first(ack),
            Step::Second => self.on_second(ack),
        }
    }

    fn is_waiting(&self) -> bool {
        self.step == Step::Second
    }

    fn response(&self) -> Response {
        self.response
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    /// Ten segments of 1000 bytes were in flight at the timeout: `recover` is 10,001.
    fn timed_out() -> State {
        begun(true, false)
    }

    fn begun(by_timeout: bool, in_recovery: bool) -> State {
        let tcp = (crate::presets::find("sack").expect("a preset").config)();
        let mut state = State::new(&Config::default(), &tcp);
        state.on_begin(&testing::new_recovery(by_timeout, in_recovery));
        state
    }

    /// ACK that moves SND.UNA between these positions.
    fn ack(previous_una: u64, snd_una: u64) -> Ack {
        Ack { snd_max: 12_001, ..testing::ack(previous_una, snd_una) }
    }

    /// RFC 5682 §3.1, step 1: only a timeout outside of another recovery starts F-RTO.
    #[test]
    fn only_a_timeout_outside_recovery_starts_it() {
        for (by_timeout, in_recovery) in [(true, true), (false, false), (false, true)] {
            let verdict = begun(by_timeout, in_recovery).on_ack(&ack(1, 1_001));
            assert_eq!(verdict, Verdict::Undecided, "{by_timeout}, {in_recovery}");
        }
        assert_eq!(begun(true, false).on_ack(&ack(1, 1_001)), Verdict::SendNew);
    }

    /// RFC 5682 §2.1, step 2: new data are sent if the ACK advances, but not to `recover` (2b).
    #[test]
    fn the_first_ack() {
        let first = |ack: &Ack| timed_out().on_ack(ack);
        assert_eq!(first(&ack(1, 10_000)), Verdict::SendNew);
        assert_eq!(first(&ack(1, 10_001)), Verdict::Undecided, "(2a) it reaches `recover`");
        assert_eq!(first(&ack(1, 1)), Verdict::Undecided, "(2a) a duplicate");
        let blocked = Ack { can_send_new: false, ..ack(1, 1_001) };
        assert_eq!(first(&blocked), Verdict::Undecided, "nothing new can be sent");
        // Without SACK the duplicate ends F-RTO; with SACK it only updates the scoreboard.
        let after_duplicate = |sacked| {
            let mut state = timed_out();
            state.on_ack(&Ack { sacked, ..ack(1, 1) });
            state.on_ack(&Ack { sacked, ..ack(1, 1_001) })
        };
        assert_eq!(after_duplicate(None), Verdict::Undecided);
        assert_eq!(after_duplicate(Some(0)), Verdict::SendNew);
    }

    /// RFC 5682 §2.1 and §3.1, step 3: (3a) a duplicate, or with SACK an ACK that covers more than
    /// `recover`, reduces the window to three segments; (3b) an ACK of new data up to `recover`
    /// shows that the timeout was spurious.
    #[test]
    fn the_second_ack() {
        let second = |ack: &Ack| {
            let mut state = timed_out();
            assert_eq!(
                state.on_ack(&Ack { sacked: ack.sacked, ..super::tests::ack(1, 1_001) }),
                Verdict::SendNew
            );
            let verdict = state.on_ack(ack);
            assert_eq!(state.on_ack(ack), Verdict::Undecided, "once");
            verdict
        };
        let (genuine, spurious) =
            (Verdict::Genuine { cwnd_segments: 3 }, Verdict::Spurious(UndoScope::ALL));
        assert_eq!(
            [(1_001, 1_001), (1_001, 2_001)].map(|(from, to)| second(&ack(from, to))),
            [genuine, spurious]
        );
        let selective = |snd_una, sacked, highest| {
            second(&Ack { sacked: Some(sacked), highest, ..ack(1_001, snd_una) })
        };
        assert_eq!([selective(2_001, 0, 2_001), selective(1_001, 1_000, 3_001)], [spurious; 2]);
        assert_eq!(selective(1_001, 0, 1_001), genuine);
        assert_eq!(
            [10_001, 10_002].map(|highest| selective(1_001, 1_000, highest)),
            [spurious, genuine]
        );
        assert_eq!(
            [10_001, 10_002].map(|snd_una| selective(snd_una, 0, snd_una)),
            [spurious, genuine]
        );
    }

    /// `tcp_process_loss`, FLAG_ORIG_SACK_ACKED: the arrival of a segment sent once, before the
    /// timeout, shows once that the timeout was spurious.
    #[test]
    fn an_original_from_before_the_timeout_shows_it() {
        let sees = |state: &mut State, lowest_original_end| {
            state.sees_original(&Ack { lowest_original_end, ..ack(1, 1_001) })
        };
        let ends = [None, Some(10_001), Some(10_002)];
        assert_eq!(ends.map(|end| sees(&mut timed_out(), end)), [false, true, false]);
        let mut state = timed_out();
        assert_eq!([(); 2].map(|()| sees(&mut state, Some(5_001))), [true, false], "once");
        assert!(!sees(&mut begun(false, false), Some(5_001)), "no timeout");
    }
}
