use super::*;
use crate::connection::testing::{at, config, open, sent_by};
use crate::connection::{Event, Parameters};

const KEEPALIVE: KeepAlive = KeepAlive {
    idle: Duration::from_millis(1_000),
    interval: Duration::from_millis(200),
    count: 2,
};

fn near() -> Connection {
    open(&config("sack"))[0].clone()
}

/// Cork and `MSG_MORE` hold back what lies above the last requested push.
#[test]
fn short_segments_are_held_back_above_the_push() {
    for (cork, more, push, expected) in [
        (false, false, 0, false),
        (true, false, 0, true),
        (false, true, 0, true),
        (true, true, 99, true),
        (true, false, 100, false),
        (false, true, 101, false),
    ] {
        let requests = Requests { cork, more, push, ..Requests::default() };
        assert_eq!(requests.holds_back(100), expected, "{requests:?}");
        assert_eq!(requests.overrides_nagle(100), push >= 100);
        assert_eq!(requests.pushes_end(), !more);
    }
}

/// Bytes up to the next end of a record that is followed by data.
#[test]
fn a_segment_ends_with_its_record() {
    let requests = Requests { records: [1_001, 2_001].into(), ..Requests::default() };
    let left = |position, written| requests.to_end_of_record(position, written);
    assert_eq!([1, 1_000, 1_001].map(|it| left(it, 9_000)), [Some(1_000), Some(1), Some(1_000)]);
    assert_eq!([2_000, 2_001, 2_002].map(|it| left(it, 9_000)), [Some(1), None, None]);
    assert_eq!([2_000, 2_001, 2_002].map(|written| left(1_500, written)), [None, None, Some(501)]);
}

#[test]
fn ended_records_are_kept_once_and_until_they_are_acknowledged() {
    let mut near = near();
    near.write(at(40), 500);
    near.end_record();
    near.end_record();
    near.write(at(40), 300);
    near.end_record();
    assert_eq!(near.sender.repair.requests.records, [501, 801]);
    near.sender.snd_una = 501;
    near.write(at(40), 100);
    near.end_record();
    assert_eq!(near.sender.repair.requests.records, [801, 901]);
}

/// `__tcp_sock_set_cork`: the end of the cork pushes only with `TCP_NODELAY`.
#[test]
fn the_end_of_a_cork_pushes_without_nagle() {
    let after = |nagle: bool, steps: &[bool]| {
        let mut near = near();
        near.parameters = Parameters { nagle, ..*near.parameters }.into();
        near.write_with_more(at(40), 100);
        steps.iter().for_each(|on| near.set_cork(*on));
        let requests = &near.sender.repair.requests;
        (requests.cork, requests.more, requests.push)
    };
    assert_eq!(after(true, &[true]), (true, true, 0));
    assert_eq!(after(false, &[true]), (true, true, 0));
    assert_eq!(after(true, &[true, false]), (false, false, 0));
    assert_eq!(after(false, &[true, false]), (false, false, 101));
    let mut near = near();
    near.set_cork(true);
    assert!(!near.sender.repair.requests.more, "a cork announces nothing");
    near.write(at(40), 70);
    near.push();
    assert_eq!(near.sender.repair.requests.push, 71);
}

/// An arrival releases what `MSG_MORE` held back, and shows that the peer lives.
#[test]
fn an_arrival_ends_the_wait() {
    let mut near = near();
    assert_eq!(near.write_with_more(at(40), 100), 100);
    near.sender.repair.requests.probes = 3;
    near.note_arrival(at(50));
    let requests = &near.sender.repair.requests;
    assert_eq!((requests.more, requests.probes), (false, 0));
    assert_eq!(requests.last_segment_arrival, at(50));
}

#[test]
fn a_device_that_never_closed_needs_no_state() {
    let mut near = near();
    near.set_device_closed(false);
    assert!(near.sender.repair.requests.get().is_none());
    near.set_device_closed(true);
    assert!(near.sender.repair.requests.device_closed);
    near.set_device_closed(false);
    assert!(near.sender.repair.requests.get().is_some_and(|it| !it.device_closed));
}

#[test]
fn the_user_timeout_is_reached_at_its_end() {
    let mut near = near();
    let past = |near: &Connection, ms| near.is_past_user_timeout(at(ms), at(100));
    assert_eq!(past(&near, 9_000), None);
    near.set_user_timeout(Some(Duration::from_millis(500)));
    assert_eq!([599, 600, 601].map(|ms| past(&near, ms)), [Some(false), Some(true), Some(true)]);
    let wait = Duration::from_millis(300);
    let limited = |ms| near.limit_to_user_timeout(at(ms), wait, at(100)).as_nanos() / 1_000_000;
    assert_eq!([100, 300, 400, 599, 900].map(limited), [300, 300, 200, 1, 1]);
}

#[test]
fn probes_end_with_the_user_timeout() {
    let mut near = near();
    assert!(!near.is_probe_past_user_timeout(at(50)), "no requests");
    near.set_user_timeout(Some(Duration::from_millis(500)));
    let past = [100, 599, 600, 601].map(|ms| near.is_probe_past_user_timeout(at(ms)));
    assert_eq!(past, [false, false, true, true]);
}

/// RFC 9293 §3.8.4, `tcp_keepalive_timer`: probes after the idle time and then at intervals, each
/// below `SND.NXT`, until the permitted number is reached.
#[test]
fn a_silent_peer_is_probed_and_given_up() {
    let mut near = near();
    near.set_keepalive(at(40), None);
    assert!(near.sender.repair.requests.get().is_none(), "off is off");
    near.set_keepalive(at(40), Some(KEEPALIVE));
    assert_eq!(near.timers.rare.keepalive, at(1_040));
    near.sender.repair.requests.last_segment_arrival = at(41);
    near.on_keepalive_timer(at(1_040));
    assert_eq!((near.timers.rare.keepalive, near.sender.keepalive_due()), (at(1_041), false));
    for (probes, ms) in [(1, 1_041), (2, 1_241)] {
        near.on_keepalive_timer(at(ms));
        assert_eq!(near.timers.rare.keepalive, at(ms + 200));
        assert_eq!(
            (near.sender.keepalive_due(), near.sender.repair.requests.probes),
            (true, probes)
        );
        let sent = sent_by(&mut near, at(ms));
        let seqs: Vec<_> =
            sent.iter().map(|it| (it.segment.seq, it.segment.payload_bytes)).collect();
        assert_eq!(seqs, [(near.seq_at(0), 0)]);
        assert!(!near.sender.take_keepalive(), "one probe each");
    }
    near.on_keepalive_timer(at(1_441));
    assert_eq!(near.poll_event(), Some(Event::Reset));
}

/// Other timers probe the peer while data or a SYN are outstanding.
#[test]
fn an_active_peer_is_not_probed() {
    for change in [
        (|it| assert_eq!(it.write(at(50), 100), 100)) as fn(&mut Connection),
        |it| it.sender.fin_queued = true,
        |it| it.state = State::SynSent,
        |it| it.state = State::SynReceived,
    ] {
        let mut near = near();
        near.set_keepalive(at(40), Some(KEEPALIVE));
        change(&mut near);
        near.on_keepalive_timer(at(1_040));
        assert_eq!((near.timers.rare.keepalive, near.sender.keepalive_due()), (at(2_040), false));
    }
    let mut near = near();
    near.set_keepalive(at(40), Some(KEEPALIVE));
    near.state = State::Closed;
    near.on_keepalive_timer(at(1_040));
    assert!(!near.sender.keepalive_due());
}

/// The user timeout replaces the permitted number of probes: the connection ends after this
/// silence, but not before one probe.
#[test]
fn the_user_timeout_replaces_the_count_of_probes() {
    let aborts = |timeout_ms, count, times: &[u64]| {
        let mut near = near();
        near.set_keepalive(at(0), Some(KeepAlive { count, ..KEEPALIVE }));
        near.sender.repair.requests.last_segment_arrival = at(0);
        near.set_user_timeout(Some(Duration::from_millis(timeout_ms)));
        times.iter().for_each(|ms| near.on_keepalive_timer(at(*ms)));
        near.state == State::Closed
    };
    assert!(!aborts(500, 1, &[1_000]), "one probe first");
    assert!(aborts(500, 9, &[1_000, 1_200]));
    assert!(!aborts(1_201, 1, &[1_000, 1_200]) && aborts(1_200, 1, &[1_000, 1_200]));
}

/// A refused probe does not count, and is repeated after `TCP_RESOURCE_PROBE_INTERVAL`.
#[test]
fn a_closed_device_delays_the_probe() {
    let mut near = near();
    near.set_keepalive(at(40), Some(KEEPALIVE));
    near.set_device_closed(true);
    near.on_keepalive_timer(at(1_040));
    assert_eq!((near.timers.rare.keepalive, near.sender.keepalive_due()), (at(1_540), false));
    assert_eq!(near.sender.repair.requests.probes, 0);
}

/// While the device refuses packets, data in flight wait for the retransmission timer, and new data
/// for the persist timer.
#[test]
fn attempts_are_scheduled_while_the_device_is_closed() {
    let waiting = |change: fn(&mut Connection)| {
        let mut near = near();
        near.set_device_closed(true);
        near.timers.retransmit = Time::NEVER;
        change(&mut near);
        near.wait_for_device(at(100));
        assert!(!near.sender.zero_window_probe_due || near.sender.snd_una < near.sender.snd_max);
        (near.timers.retransmit, near.timers.rare.persist, near.sender.probes_in_row)
    };
    let never = Time::NEVER;
    assert_eq!(waiting(|_| ()), (never, never, 0), "nothing to send");
    let flying = |it: &mut Connection| {
        it.sender.written += 9;
        (it.sender.snd_max, it.sender.snd_nxt) = (5, 5);
    };
    assert_eq!(waiting(flying), (at(600), never, 0));
    let timed = |it: &mut Connection| {
        (it.sender.snd_max, it.sender.snd_nxt, it.sender.written) = (5, 5, 5);
        it.timers.retransmit = at(130);
    };
    assert_eq!(waiting(timed), (at(130), never, 0));
    let first = |it: &mut Connection| it.sender.written += 9;
    let base = near();
    let wait = base.rto().max(base.parameters.persist_timeout);
    assert_eq!(waiting(first), (never, at(100) + wait, 1));
    let scheduled = |it: &mut Connection| {
        it.sender.written += 9;
        it.timers.set(|rare| &mut rare.persist, at(140));
    };
    assert_eq!(waiting(scheduled), (never, at(140), 0));
    let due = |it: &mut Connection| {
        it.sender.written += 9;
        it.sender.zero_window_probe_due = true;
    };
    assert_eq!(waiting(due), (never, at(600), 0));
}
