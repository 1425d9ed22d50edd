use super::*;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

const LINUX: DelayedAck = DelayedAck { segments: 2, timeout: ms(200), policy: AckPolicy::Linux };

fn linux() -> PendingAck {
    PendingAck::new(&LINUX)
}

/// A full segment of 1448 bytes into a window of 64 KB, at an RTT of 100 ms.
fn full(at: u64) -> Arrival {
    Arrival {
        now: Time::ZERO + ms(1_000 + at),
        bytes: 1_448,
        header: 32,
        psh: false,
        fin: false,
        window: 64_088,
        rto: ms(300),
        srtt: Some(ms(100)),
    }
}

fn take(pending: &mut PendingAck, arrival: &Arrival) -> AckTiming {
    pending.on_data(arrival);
    let verdict = pending.verdict(arrival, &LINUX, || true);
    if verdict == AckTiming::Now {
        pending.on_ack_sent(arrival.now, false);
    }
    verdict
}

/// Sixteen ACKs are sent at once, then one for every second segment. With a window of six full
/// segments three are sent at once, with a tiny window two.
#[test]
fn quick_at_first() {
    for (window, quick) in [(64_088, 16), (8_760, 3), (1_000, 2)] {
        let mut pending = linux();
        for n in 0..quick {
            let arrival = Arrival { window, ..full(n) };
            assert_eq!(take(&mut pending, &arrival), AckTiming::Now, "{window}: {n}");
        }
        assert_eq!(take(&mut pending, &full(quick)), AckTiming::Within(ms(40)), "{window}");
        assert_eq!(take(&mut pending, &full(quick)), AckTiming::Now, "the second");
    }
}

fn settled() -> PendingAck {
    let mut pending = linux();
    (0..16).for_each(|n| assert_eq!(take(&mut pending, &full(n)), AckTiming::Now));
    pending
}

/// The delay is 40/2 + 30 after a gap of 30 ms, 50/2 + 45 after one of 45 ms, and is then
/// limited by the RTT.
#[test]
fn the_wait_follows_the_arrivals() {
    let mut pending = settled();
    let mut at = 15;
    for (gap, wait) in [(30, 50), (45, 70), (60, 95), (90, 100), (10, 88)] {
        at += gap;
        let verdict = take(&mut pending, &full(at));
        let AckTiming::Within(found) = verdict else { panic!("at once") };
        assert_eq!(found.as_nanos() / 1_000_000, wait, "after {gap}");
        pending.on_ack_sent(full(at).now, false);
    }
    // The timer expired before a second segment arrived, so the wait doubles.
    pending.on_timer(ms(300));
    pending.on_timer(ms(300));
    assert_eq!(pending.linux.unwrap().wait, ms(300), "at most the RTO");
}

#[test]
fn quick_again_after_a_pause_repeated_data_and_growth() {
    let mut pending = settled();
    assert_eq!(take(&mut pending, &full(15 + 301)), AckTiming::Now, "a pause of more than the RTO");
    let mut pending = settled();
    pending.on_repeated_data(64_088);
    assert_eq!(take(&mut pending, &full(16)), AckTiming::Now);
    let mut pending = settled();
    pending.on_window_growth();
    assert_eq!(take(&mut pending, &full(16)), AckTiming::Now);
    assert_eq!(take(&mut pending, &full(17)), AckTiming::Within(ms(40)), "one for each");
}

/// Data sent soon after received data are a response; the following ACKs wait for the next
/// response.
#[test]
fn who_answers_does_not_acknowledge_at_once() {
    let mut pending = linux();
    pending.on_data(&full(0));
    pending.on_ack_sent(full(1).now, true);
    assert_eq!(take(&mut pending, &full(20)), AckTiming::Within(ms(40)));
    pending.on_timer(ms(300));
    assert_eq!(take(&mut pending, &full(70)), AckTiming::Now, "two segments");
    assert_eq!(take(&mut pending, &full(71)), AckTiming::Now, "quick, as none was answered");
}

#[test]
fn what_was_pushed_is_acknowledged_when_it_is_read() {
    let mut pending = settled();
    assert_eq!(take(&mut pending, &Arrival { psh: true, ..full(16) }), AckTiming::Within(ms(40)));
    assert!(pending.ack_due_after_read(true));
    assert!(!pending.ack_due_after_read(false), "the message goes on");
    let mut pending = settled();
    take(&mut pending, &full(16));
    assert!(!pending.ack_due_after_read(true));
    take(&mut pending, &full(17));
    take(&mut pending, &Arrival { bytes: 100, ..full(18) });
    assert!(pending.ack_due_after_read(true), "a short one");
    let mut pending = settled();
    pending.on_data(&full(16));
    assert!(!pending.ack_due_after_read(false));
    pending.on_data(&full(17));
    assert!(pending.ack_due_after_read(false), "more than a full segment");
}

#[test]
fn fixed_counts_segments() {
    let config = DelayedAck { segments: 3, timeout: ms(200), policy: AckPolicy::Fixed };
    let mut pending = PendingAck::new(&config);
    assert_eq!(pending.count_simple(&config), AckTiming::Within(ms(200)));
    assert_eq!(pending.count_simple(&config), AckTiming::Within(ms(200)));
    assert!(!pending.ack_due_after_read(true));
    assert_eq!(pending.count_simple(&config), AckTiming::Now);
}

/// `tcp_initialize_rcv_mss`: the first guess is the MSS, at most half of the window and at most 536
/// bytes, but at least 88.
#[test]
fn the_first_guess_of_the_segment_size() {
    let guess = |mss, window| {
        let mut pending = linux();
        pending.on_open(mss, window);
        pending.mss()
    };
    let cases = [(1_460, 64_240), (535, 64_240), (1_460, 400), (50, 64_240), (1_460, 10)];
    assert_eq!(cases.map(|(mss, window)| guess(mss, window)), [536, 535, 200, 88, 88]);
    let mut larger = linux();
    assert_eq!([(); 2].map(|()| larger.on_data(&full(0))), [true, false], "larger than 536");
}

/// `TCP_MIN_MSS` and `TCP_MSS_DEFAULT` in `tcp_measure_rcv_mss`: two equal segments give the size.
/// With a header of 20 bytes they have at least 536 bytes, or 88 if neither PSH nor FIN is set.
#[test]
fn two_equal_segments_give_the_size() {
    let measured = |bytes, push, fin| {
        let mut pending = linux();
        pending.on_data(&full(0));
        let short = Arrival { bytes, header: 20, psh: push, fin, ..full(1) };
        (0..2).for_each(|_| _ = pending.on_data(&short));
        pending.mss() == bytes
    };
    assert_eq!([535, 536].map(|bytes| measured(bytes, true, false)), [false, true]);
    assert_eq!([535, 536].map(|bytes| measured(bytes, false, true)), [false, true]);
    assert_eq!([87, 88, 535].map(|bytes| measured(bytes, false, false)), [false, true, true]);
    assert_eq!([(true, false), (false, true)].map(|(psh, fin)| measured(88, psh, fin)), [false; 2]);
}

/// 20 ms is half of TCP_ATO_MIN. A pause counts as long if it exceeds the RTO.
#[test]
fn gaps_are_measured_from_the_last_arrival() {
    let mut pending = settled();
    assert_eq!([35, 36].map(|at| pending.is_after_gap(full(at).now)), [false, true]);
    assert_eq!(take(&mut pending, &full(15 + 300)), AckTiming::Within(ms(40)), "exactly the RTO");
    let fixed = PendingAck::new(&DelayedAck { policy: AckPolicy::Fixed, ..LINUX });
    assert!(!fixed.is_after_gap(full(1_000).now));
}

/// `tcp_fin` enters the pingpong mode, in which quick ACKs do not count. The ACK of a FIN may wait
/// for this end's own FIN.
#[test]
fn a_fin_makes_this_end_interactive() {
    let mut pending = linux();
    pending.on_data(&full(0));
    pending.on_fin();
    assert_eq!(pending.verdict(&full(0), &LINUX, || true), AckTiming::Within(ms(40)));
    assert!(pending.may_delay_ack_of_fin());
    let fixed = PendingAck::new(&DelayedAck { policy: AckPolicy::Fixed, ..LINUX });
    assert!(!fixed.may_delay_ack_of_fin());
}

/// `__tcp_ack_snd_check` does not compress ACKs in quick-ACK mode (`tcp_in_quickack_mode`), which
/// pingpong mode switches off.
#[test]
fn quick_acks_are_not_compressed() {
    let compresses = |quick_acks, interactive| {
        let state = LinuxAckState { quick_acks, interactive, ..LinuxAckState::new() };
        PendingAck { linux: Some(Box::new(state)), ..linux() }.may_compress_acks()
    };
    assert!(compresses(0, false) && compresses(0, true) && compresses(1, true));
    assert!(!compresses(1, false));
    assert!(
        !PendingAck::new(&DelayedAck { policy: AckPolicy::Fixed, ..LINUX }).may_compress_acks()
    );
}

/// Sending an ACK changes no state only if all data are acknowledged, none have arrived beyond a
/// gap, and Linux's own state, if any, is the initial one.
#[test]
fn states_that_an_acknowledgment_leaves() {
    let fixed = PendingAck::new(&DelayedAck { policy: AckPolicy::Fixed, ..LINUX });
    assert!(fixed.is_idle() && fixed.is_initial());
    let mut beyond_gap = fixed.clone();
    beyond_gap.on_gap();
    assert!(!beyond_gap.is_idle() && !beyond_gap.is_initial());
    beyond_gap.on_ack_sent(Time::ZERO, false);
    assert!(beyond_gap.is_idle() && beyond_gap.is_initial());
    let waiting = PendingAck { segments: 1, ..fixed };
    assert!(!waiting.is_idle() && !waiting.is_initial());
    assert!(!linux().is_idle() && linux().is_initial());
    let initial = |state| PendingAck { linux: Some(Box::new(state)), ..linux() }.is_initial();
    assert!(!initial(LinuxAckState { wait: ms(40), ..LinuxAckState::new() }));
    assert!(!initial(LinuxAckState { bytes: 1, ..LinuxAckState::new() }));
    assert!(!initial(LinuxAckState { pushed: [true, false], ..LinuxAckState::new() }));
}

/// `tcp_dec_quickack_mode` counts ACKs of data only.
#[test]
fn an_acknowledgment_without_data_uses_no_quick_ack() {
    let mut pending = settled();
    pending.on_window_growth();
    pending.on_ack_sent(full(16).now, false);
    assert_eq!(take(&mut pending, &full(17)), AckTiming::Now);
    assert_eq!(take(&mut pending, &full(18)), AckTiming::Within(ms(40)));
}

/// `__tcp_ack_snd_check`: more than a full segment is acknowledged at once; in general more than
/// `segments` − 1 of them.
#[test]
fn more_than_a_full_segment_is_acknowledged() {
    for segments in [2, 3] {
        let config = DelayedAck { segments, ..LINUX };
        let at = |bytes| {
            let state = LinuxAckState { bytes, mss: 1_448, ..LinuxAckState::new() };
            let pending = PendingAck { linux: Some(Box::new(state)), ..linux() };
            pending.verdict(&full(0), &config, || true) == AckTiming::Now
        };
        let most = u64::from(segments - 1) * 1_448;
        assert_eq!([most, most + 1].map(at), [false, true], "{segments}");
    }
}

/// `tcp_send_delayed_ack`: an ACK of one-way data is delayed by at most HZ/2, an ACK of messages by
/// at most TCP_DELACK_MAX (700 ms here).
#[test]
fn messages_and_one_way_data_wait_differently() {
    let config = DelayedAck { timeout: ms(700), ..LINUX };
    let wait = |interactive, message| {
        let pushed = [message, false];
        let state = LinuxAckState { wait: ms(600), interactive, pushed, ..LinuxAckState::new() };
        let pending = PendingAck { linux: Some(Box::new(state)), ..linux() };
        pending.verdict(&Arrival { srtt: None, ..full(0) }, &config, || true)
    };
    assert_eq!(wait(false, false), AckTiming::Within(ms(500)));
    for (interactive, message) in [(true, false), (false, true), (true, true)] {
        assert_eq!(wait(interactive, message), AckTiming::Within(ms(600)));
    }
}
