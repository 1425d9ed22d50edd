//! Flows with little data at a time, in which a wait is often the only one of its kind.

use crate::build::{Header, tcp};
use crate::script::{SEGMENT, Script};
use retx_diagnose::answer::Limits;

const ACK: u8 = 16;
const PSH: u8 = 8;

/// True if two times agree to within a fifth of a millisecond.
fn is(seconds: f64, expected: f64) -> bool {
    (seconds - expected).abs() < 2e-4
}

/// A segment whose acknowledgment takes 240 ms instead of 40, and a partial segment that waits for
/// it; both times are those at the sender.
fn delayed(first_ms: u64, mut script: Script) -> Limits {
    script.data(first_ms, 0);
    script.ack(first_ms + 240, 1);
    script.packet(first_ms + 240, true, (1 + SEGMENT, 1), (200, ACK | PSH));
    script.packet(first_ms + 480, false, (1, 1_201), (0, ACK));
    let flow = script.flow();
    assert!(is(flow.life_s, 0.3), "{flow:?}");
    flow.limited_by
}

/// All RTTs of data contain the receiver's delay; only the handshake shows that of the path.
#[test]
fn the_handshake_shows_how_long_an_acknowledgment_was_delayed() {
    let of = delayed(40, Script::open(false));
    assert!(is(of.delayed_ack, 0.2) && is(of.nagle, 0.04), "{of:?}");
}

/// The gap between the last two acknowledgments is the receiver's delay, and not the time that a
/// link needs for a segment: a rate of 40 kbit/s would make the link the limit of all that follows.
#[test]
fn a_delayed_acknowledgment_shows_no_rate() {
    let mut script = Script::open(false);
    (0..3).for_each(|number| script.data(40, number));
    script.ack(80, 2);
    script.ack(280, 3);
    (3..7).for_each(|number| script.data(280, number));
    script.ack(320, 5);
    script.ack(320, 7);
    (7..11).for_each(|number| script.data(320, number));
    script.ack(360, 9);
    script.ack(360, 11);
    let of = script.flow().limited_by;
    assert!(of.bottleneck == 0.0 && of.slow_start > 0.05, "{of:?}");
}

/// Four segments fill the initial window. Only their first acknowledgment makes room for a partial
/// segment, which Nagle's algorithm then holds back.
#[test]
fn nagle_holds_back_only_what_fits_into_the_window() {
    let mut script = Script::open(false);
    (0..4).for_each(|number| script.data(40, number));
    script.ack(80, 2);
    script.ack(90, 4);
    script.packet(90, true, (1 + 4 * SEGMENT, 1), (200, ACK | PSH));
    script.packet(130, false, (1, 1 + 4 * SEGMENT + 200), (0, ACK));
    let of = script.flow().limited_by;
    assert!(is(of.slow_start, 0.04) && is(of.nagle, 0.01), "{of:?}");
}

/// Requests of 100 bytes, and responses of a single segment, at the sender's end.
fn responses() -> Limits {
    let mut script = Script::default();
    let syn = |flags, seq, ack| {
        let mut bytes = tcp(Header { seq, ack, payload: 0, flags, timestamps: None });
        // An MSS of 1,460 bytes.
        bytes[12] = 6 << 4;
        bytes.extend([2, 4, 5, 0xb4]);
        bytes
    };
    script.frame(0, false, &syn(2, 0, 0));
    script.frame(0, true, &syn(18, 0, 1));
    for number in 0..5 {
        let (request, response) = (1 + 100 * number, 1 + SEGMENT * number);
        let ms = 40 + 40 * u64::from(number);
        script.packet(ms, false, (request, response), (100, ACK | PSH));
        script.packet(ms, true, (response, request + 100), (SEGMENT, ACK | PSH));
    }
    script.packet(240, false, (501, 1 + 5 * SEGMENT), (0, ACK));
    script.flow().limited_by
}

/// The handshake ends when the client is connected: the SYN/ACK takes 20 ms to it, and the SYN has
/// taken as long. The responses are shorter than the MSS, and PSH marks them as complete.
#[test]
fn the_application_limits_a_server_that_has_answered() {
    let of = responses();
    assert!(is(of.handshake, 0.04) && is(of.application, 0.2), "{of:?}");
}

/// A partial segment that arrives a round trip after an acknowledgment was held back, although no
/// rate is known at the receiver's end.
#[test]
fn a_delayed_acknowledgment_is_seen_at_the_receiver() {
    let mut script = Script::default();
    script.packet(0, true, (0, 0), (0, 2));
    script.packet(0, false, (0, 1), (0, 18));
    script.packet(40, true, (1, 1), (0, ACK));
    script.data(40, 0);
    script.ack(240, 1);
    script.packet(280, true, (1 + SEGMENT, 1), (200, ACK | PSH));
    script.packet(480, false, (1, 1_201), (0, ACK));
    let of = script.flow().limited_by;
    // The capture is half a millisecond less certain there.
    assert!((of.delayed_ack - 0.2).abs() < 1e-3 && (of.nagle - 0.04).abs() < 1e-3, "{of:?}");
}

/// Responses of 200 segments each. In a series of requests, a wait is often the only one of its
/// kind, so the shares are less certain than those of a download.
#[test]
fn shares_of_a_series_of_requests_are_less_certain() {
    let certainty = |responses: u32| {
        let mut script = Script::open(false);
        for number in 0..responses {
            let (ms, first) = (40 + 1_000 * u64::from(number), 200 * number);
            script.packet(ms, false, (1 + 400 * number, 1 + SEGMENT * first), (400, 24));
            (first..first + 200).for_each(|segment| script.data(ms, segment));
            script.packet(
                ms + 40,
                false,
                (401 + 400 * number, 1 + SEGMENT * (first + 200)),
                (0, 16),
            );
        }
        script.flow().certainty
    };
    assert!(certainty(2) < certainty(1), "{} {}", certainty(2), certainty(1));
}

/// The answer to the first SYN is lost, in a capture at the receiver's end without timestamps. The
/// sender's timer repeats the answer shortly before it answers the second SYN, 60 ms after which
/// that answer arrives. The handshake ends 30 ms after the receiver has acknowledged the first of
/// both answers.
#[test]
fn the_newest_syn_shows_the_round_trip_if_no_timestamps_do() {
    let mut script = Script::default();
    script.packet(0, false, (0, 0), (0, 2));
    script.packet(1_000, false, (0, 0), (0, 2));
    for ms in [1_058, 1_060] {
        script.packet(ms, true, (0, 1), (0, 18));
        script.packet(ms, false, (1, 1), (0, ACK));
    }
    for number in 0..4 {
        let ms = 1_120 + 60 * u64::from(number);
        script.data(ms, number);
        script.ack(ms, number + 1);
    }
    let flow = script.flow();
    assert!(flow.sender_loop_s.is_some_and(|seconds| is(seconds, 0.06)), "{flow:?}");
    let handshake = flow.limited_by.handshake;
    assert!((handshake - 1.088).abs() < 0.003, "{flow:?}");
}
