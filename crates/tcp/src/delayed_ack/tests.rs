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
        push: false,
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
    // The expiry of the timer shows that a second segment does not arrive so soon.
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

/// Data sent soon after received data are a response, and further ACKs wait for the next one.
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
    assert_eq!(take(&mut pending, &Arrival { push: true, ..full(16) }), AckTiming::Within(ms(40)));
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
