use super::*;

const MSS: u64 = 1000;

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// State after 20 segments of 1000 bytes were sent, with a window of 20 segments.
fn open() -> SocketState {
    SocketState {
        tcp_state: 1,
        options: 2,
        rto: Duration::from_millis(240),
        mss: MSS,
        cwnd: 20,
        unique_bytes_sent: 20 * MSS,
        timeouts: Some(0),
        ..SocketState::default()
    }
}

fn recovery() -> SocketState {
    let state = SocketState { ssthresh: Some(10), cwnd: 19, ..open() };
    SocketState { loss_state: LossState::Recovery, ..state }
}

/// Queries of a sender that has sent 20 segments, of which `from` are acknowledged.
struct Watched {
    watch: TransitionDetector,
    at: u64,
    acked: u64,
    found: Vec<Finding>,
}

impl Watched {
    fn new() -> Self {
        let mut watch = TransitionDetector::default();
        let query = Query {
            at: ms(0),
            previous_una: 1,
            snd_una: 1,
            snd_max: 1,
            retransmitted_position: None,
        };
        let mut found = Vec::new();
        watch.evaluate(&open(), &query, &mut found);
        assert!(found.is_empty());
        Self { watch, at: 0, acked: 1, found }
    }

    fn query(&mut self, state: SocketState, acked: u64, again: Option<u64>) -> Vec<Finding> {
        self.at += 1;
        let query = Query {
            at: ms(self.at),
            previous_una: self.acked,
            snd_una: acked,
            snd_max: 20 * MSS + 1,
            retransmitted_position: again,
        };
        self.acked = acked;
        self.watch.evaluate(&state, &query, &mut self.found);
        std::mem::take(&mut self.found)
    }

    fn ack(&mut self, state: SocketState, acked: u64) -> Vec<Finding> {
        self.query(state, acked, None)
    }

    fn again(&mut self, state: SocketState, position: u64) -> Vec<Finding> {
        self.query(state, self.acked, Some(position))
    }
}

fn fast_retransmit(at: u64, trigger: u64) -> DetectedLoss {
    DetectedLoss {
        kind: EpisodeKind::FastRetransmit,
        at: ms(at),
        trigger,
        repaired_by_probe: false,
        cwnd_before_bytes: 20 * MSS,
        cwnd_after_bytes: 10 * MSS,
        rto: Duration::from_millis(240),
        backoff: 0,
        backoff_now: 0,
        same_window_of_data: false,
    }
}

#[test]
fn fast_recovery_begins_with_its_first_retransmission() {
    let mut it = Watched::new();
    let disorder = SocketState { loss_state: LossState::Disorder, ..open() };
    assert_eq!(it.ack(disorder, 3001), []);
    assert_eq!(it.ack(recovery(), 3001), []);
    assert_eq!(it.again(recovery(), 4001), [Finding::Loss(fast_retransmit(2, 4001))]);
    assert_eq!(it.again(recovery(), 5001), []);
    assert_eq!(it.ack(recovery(), 9001), []);
    // Everything sent before the recovery is acknowledged, but the sender is in recovery, so a
    // second recovery has begun.
    assert_eq!(it.ack(recovery(), 20_001), []);
    let second = DetectedLoss {
        cwnd_before_bytes: 19 * MSS,
        same_window_of_data: true,
        ..fast_retransmit(6, 20_001)
    };
    // The second recovery ends before any of its retransmissions is observed.
    let after = SocketState { cwnd: 10, ssthresh: Some(10), ..open() };
    let over = it.ack(after, 24_001);
    assert_eq!(over, [Finding::Loss(second), Finding::RecoveryEnd(ms(7))]);
}

/// Without SACK a recovery continues until more than its recovery point is acknowledged (RFC
/// 6582 §6, `tcp_is_non_sack_preventing_reopen`).
#[test]
fn without_sack_a_recovery_outlasts_what_it_was_about() {
    let mut it = Watched::new();
    let plain = |state| SocketState { options: 0, ..state };
    it.ack(plain(recovery()), 3001);
    assert_eq!(it.again(plain(recovery()), 3001).len(), 1);
    assert_eq!(it.ack(plain(recovery()), 20_001), []);
    assert_eq!(it.again(plain(recovery()), 20_001), []);
}

#[test]
fn each_timeout_is_an_episode() {
    let mut it = Watched::new();
    let lost = |timeouts, backoff| SocketState {
        loss_state: LossState::Loss,
        timeouts: Some(timeouts),
        backoff,
        cwnd: 1,
        ssthresh: Some(10),
        ..open()
    };
    let rto = |at, before: SocketState, backoff_now| DetectedLoss {
        kind: EpisodeKind::Rto,
        cwnd_before_bytes: before.cwnd_bytes(),
        cwnd_after_bytes: MSS,
        backoff: before.backoff,
        backoff_now,
        same_window_of_data: before.is_recovering(),
        ..fast_retransmit(at, 1)
    };
    let [first, second] = [lost(1, 1), lost(2, 2)];
    assert_eq!(it.again(first, 1), [Finding::Loss(rto(1, open(), 1))]);
    assert_eq!(it.again(second, 1), [Finding::Loss(rto(2, first, 2))]);
    assert_eq!(it.ack(second, 1001), []);
    assert_eq!(it.again(second, 1001), []);
    let after = SocketState { loss_state: LossState::Open, ..second };
    assert_eq!(it.ack(after, 20_001), [Finding::RecoveryEnd(ms(5))]);
}

#[test]
fn a_threshold_that_comes_back_is_an_undo() {
    let mut it = Watched::new();
    let lost = SocketState {
        loss_state: LossState::Loss,
        timeouts: Some(1),
        cwnd: 1,
        ssthresh: Some(10),
        ..open()
    };
    it.again(lost, 1);
    let restored = SocketState { timeouts: Some(1), ..open() };
    assert_eq!(it.ack(restored, 20_001), [Finding::Undo(ms(2)), Finding::RecoveryEnd(ms(2))]);
}

#[test]
fn timeouts_of_a_handshake_do_not_count() {
    let mut watch = TransitionDetector::default();
    let mut found = Vec::new();
    let query = Query {
        at: ms(1),
        previous_una: 0,
        snd_una: 0,
        snd_max: 1,
        retransmitted_position: Some(0),
    };
    let opening = SocketState { tcp_state: 2, ..open() };
    watch.evaluate(&opening, &query, &mut found);
    watch.evaluate(&SocketState { timeouts: Some(1), ..opening }, &query, &mut found);
    assert_eq!(found, []);
}

#[test]
fn a_probe_is_an_episode_when_it_has_repaired_a_loss() {
    for repaired in [true, false] {
        let mut it = Watched::new();
        assert_eq!(it.again(open(), 19_001), []);
        assert_eq!(it.watch.open_probe(), Some(19_001));
        // This ACK covers exactly the data sent before the probe, and thus does not tell whether
        // the probe repaired a loss.
        assert_eq!(it.ack(open(), 20_001), []);
        let after = SocketState { cwnd: 10, ssthresh: Some(10), ..open() };
        let found = it.ack(if repaired { after } else { open() }, 21_001);
        let expected = DetectedLoss { repaired_by_probe: repaired, ..fast_retransmit(3, 19_001) };
        let all = [Finding::Loss(expected), Finding::RecoveryEnd(ms(3))];
        assert_eq!(found, all[..if repaired { 2 } else { 0 }]);
        assert_eq!(it.watch.open_probe(), None);
    }
}

#[test]
fn an_echo_is_no_loss() {
    let mut it = Watched::new();
    let echo = SocketState { loss_state: LossState::Cwr, options: 2 | 8, ..open() };
    assert_eq!(it.ack(echo, 1001), [Finding::EcnReduction(ms(1))]);
    assert_eq!(it.ack(echo, 2001), []);
    let local = SocketState { options: 2, ..echo };
    let mut it = Watched::new();
    assert_eq!(it.ack(local, 1001), []);
}

#[test]
fn a_recovery_ends_with_its_connection() {
    let mut it = Watched::new();
    it.ack(recovery(), 3001);
    let closed = SocketState { tcp_state: 7, ..recovery() };
    let found = it.ack(closed, 3001);
    assert_eq!(found, [Finding::Loss(fast_retransmit(1, 3001)), Finding::RecoveryEnd(ms(2))]);
    assert_eq!(it.watch.last, None);
}
