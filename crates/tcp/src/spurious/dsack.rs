//! *What it does.* A recovery is spurious if the receiver has reported every retransmission as a
//! duplicate.
//!
//! *Reference.* RFC 2883 §4; RFC 3708 §2 and §3: a DSACK for data that were not retransmitted is
//! due to duplication in the network, and proves nothing. SACK is required.
//!
//! *Where we differ.* Retransmissions of an earlier recovery or tail loss probe that are in flight
//! when a recovery begins must be reported as well (as in Linux `tcp_init_undo`). Linux's own count
//! is in `linux`.

use super::{Ack, Detector, NewRecovery, Response, Retransmission, UndoScope, Verdict};
use crate::Ranges;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Detection by duplicate SACKs (RFC 2883, RFC 3708); needs `sack = true`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Response to a spurious recovery.
    pub response: Response,
}

/// State of DSACK detection.
#[derive(Debug, Clone)]
pub struct State {
    response: Response,
    armed: bool,
    /// `SND.UNA` at the start of the recovery: DSACKs for data below this position do not concern
    /// this recovery.
    from: u64,
    /// Retransmitted data whose duplicates the receiver may report.
    sent_again: Ranges,
    /// Retransmissions of this recovery, all of which must be reported as duplicates.
    due: Ranges,
    reported: Ranges,
    /// Number of copies that the receiver must report as duplicates.
    copies: u64,
    copies_reported: u64,
}

impl State {
    /// Creates a detector with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self {
            response: config.response,
            armed: false,
            from: 0,
            sent_again: Ranges::default(),
            due: Ranges::default(),
            reported: Ranges::default(),
            copies: 0,
            copies_reported: 0,
        }
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &NewRecovery) {
        if !begin.in_recovery {
            self.armed = true;
            self.from = begin.snd_una;
            self.sent_again.remove_below(begin.snd_una);
            self.due = Ranges::default();
            self.reported = Ranges::default();
            self.copies = begin.retransmitted + u64::from(begin.awaits_probe);
            self.copies_reported = 0;
        }
    }

    fn on_retransmission(&mut self, retransmission: &Retransmission) {
        let Retransmission { position, end, .. } = *retransmission;
        self.sent_again.insert(position, end);
        if self.armed {
            self.due.insert(position, end);
            self.copies += 1;
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        let sent_again = &self.sent_again;
        let is_about_this =
            |&(left, right): &(u64, u64)| left >= self.from && sent_again.contains(left, right);
        let (true, Some((left, right))) = (self.armed, ack.dsack.filter(is_about_this)) else {
            return Verdict::Undecided;
        };
        self.reported.insert(left, right);
        // One block may report several segments.
        self.copies_reported += (right - left).div_ceil(ack.smss.into());
        let all = self.due.iter().all(|(left, right)| self.reported.contains(left, right));
        if !all || self.copies_reported < self.copies {
            return Verdict::Undecided;
        }
        self.armed = false;
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
    use crate::LossState;

    fn report(state: &mut State, left: u64, right: u64) -> Verdict {
        state.on_ack(&Ack {
            state: LossState::Recovery,
            highest: 10_001,
            retransmitted: 2,
            sacked: Some(0),
            dsack: Some((left, right)),
            can_send_new: false,
            ..testing::ack(1, 1)
        })
    }

    /// Two segments were retransmitted. Neither a duplicate of another segment nor two reports of
    /// the first prove anything about the second.
    #[test]
    fn each_retransmission_has_to_be_reported() {
        let tcp = (crate::presets::find("sack").unwrap().config)();
        let mut state = State::new(&Config::default(), &tcp);
        state.on_begin(&testing::new_recovery(false, false));
        for position in [1, 1_001] {
            state.on_retransmission(&testing::retransmission(position, None));
        }
        for (left, right) in [(5_001, 6_001), (1, 1_001), (1, 1_001)] {
            assert_eq!(report(&mut state, left, right), Verdict::Undecided, "{left}");
        }
        assert_eq!(report(&mut state, 1_001, 2_001), Verdict::Spurious(UndoScope::ALL));
        assert_eq!(report(&mut state, 1_001, 2_001), Verdict::Undecided, "once");
    }

    fn begun(retransmitted: u64, awaits_probe: bool) -> State {
        let tcp = (crate::presets::find("sack").expect("a preset").config)();
        let mut state = State::new(&Config::default(), &tcp);
        let begin = testing::new_recovery(false, false);
        state.on_begin(&NewRecovery { retransmitted, awaits_probe, ..begin });
        state
    }

    /// Number of reports of the first segment after which the recovery counts as spurious.
    fn reports(state: &mut State) -> Option<usize> {
        (1..=5).find(|_| report(state, 1, 1_001) != Verdict::Undecided)
    }

    /// RFC 3708 §2: each copy must be reported, also those of an earlier recovery and of a tail
    /// loss probe (Linux `tcp_init_undo`).
    #[test]
    fn each_copy_has_to_be_reported() {
        let once = |mut state: State| {
            state.on_retransmission(&testing::retransmission(1, None));
            reports(&mut state)
        };
        assert_eq!([0, 1, 2].map(|before| once(begun(before, false))), [Some(1), Some(2), Some(3)]);
        assert_eq!([0, 2].map(|before| once(begun(before, true))), [Some(2), Some(4)]);
        let mut twice = begun(0, false);
        (0..2).for_each(|_| twice.on_retransmission(&testing::retransmission(1, None)));
        assert_eq!(reports(&mut twice), Some(2));
    }

    /// RFC 3708 §2: a DSACK for data that were not retransmitted is due to the network, and counts
    /// for nothing. One block may report several segments.
    #[test]
    fn a_duplicate_of_the_network_does_not_count() {
        let mut state = begun(0, false);
        (0..2).for_each(|_| state.on_retransmission(&testing::retransmission(1, None)));
        assert_eq!(report(&mut state, 5_001, 6_001), Verdict::Undecided);
        assert_eq!(reports(&mut state), Some(2));
        let mut state = begun(0, false);
        for position in [1_001, 2_001, 3_001] {
            state.on_retransmission(&testing::retransmission(position, None));
        }
        let verdict = report(&mut state, 1_001, 4_001);
        assert_eq!(verdict, Verdict::Spurious(UndoScope::ALL), "three segments");
    }
}
