//! The limit that a connection reports when it has nothing more to send, in rigs in which that
//! limit is known.

use crate::rig::{End, Pair, preset, seconds};
use retx_tcp::{Config, Limit, Size};
use retx_units::Duration;

const FAR: Duration = Duration::from_millis(50);

fn config(preset_name: &str, adapt: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config { mss: 1000, ..preset(preset_name) };
    adapt(&mut config);
    config
}

/// A server that has `bytes` to write, at an RTT of 100 ms.
fn pair(config: &Config, bytes: u64) -> Pair {
    let mut pair = Pair::new(config);
    pair.delay = FAR;
    pair.server.to_write = bytes;
    pair
}

fn limit_at(pair: &mut Pair, at: f64) -> Limit {
    pair.drive(seconds(at));
    pair.server.connection.limit(seconds(at))
}

#[test]
fn before_it_is_established_it_is_the_handshake() {
    let mut pair = pair(&config("sack", |_| ()), 1_000_000);
    // SYN at 0, SYN-ACK at 50 ms, ACK at 150 ms.
    assert_eq!(limit_at(&mut pair, 0.04), Limit::Handshake);
    assert_eq!(limit_at(&mut pair, 0.14), Limit::Handshake);
    assert_eq!(limit_at(&mut pair, 0.151), Limit::CongestionWindow);
}

#[test]
fn with_all_sent_it_is_the_data() {
    let mut pair =
        pair(&config("sack", |config| config.initial_window = Size::Mss(10).into()), 10_000);
    assert_eq!(limit_at(&mut pair, 0.151), Limit::Data);
    assert_eq!(limit_at(&mut pair, 5.0), Limit::Data);
}

/// The application has more data, which the connection cannot know: it reports that all data have
/// been sent.
#[test]
fn with_a_full_send_buffer_all_of_it_is_sent() {
    let config = config("sack", |config| {
        config.send_buffer = Size::Bytes(4000);
        config.initial_window = Size::Mss(10).into();
    });
    let mut pair = pair(&config, 100_000);
    assert_eq!(limit_at(&mut pair, 0.151), Limit::Data);
    assert!(pair.server.to_write > 0);
}

#[test]
fn a_peer_with_a_small_buffer_limits_by_its_window() {
    let config = config("sack", |config| {
        config.receive_buffer = Size::Bytes(4000);
        config.initial_window = Size::Mss(10).into();
    });
    let mut pair = pair(&config, 1_000_000);
    for at in [0.151, 0.4, 0.9] {
        assert_eq!(limit_at(&mut pair, at), Limit::ReceiveWindow, "{at}");
    }
}

/// The client reads nothing: probes of the closed window do not change the limit.
#[test]
fn so_does_one_that_does_not_read() {
    let config = config("sack", |config| config.receive_buffer = Size::Bytes(20_000));
    let mut pair = pair(&config, 1_000_000);
    pair.client.reads = 0;
    for at in [2.0, 10.0, 60.0] {
        assert_eq!(limit_at(&mut pair, at), Limit::ReceiveWindow, "{at}");
    }
    assert_eq!(pair.server.connection.snd_wnd(), 0);
}

/// If neither window has room, the limit that comes first in the order counts.
#[test]
fn of_two_windows_the_peers_comes_first() {
    let config = config("sack", |config| {
        config.receive_buffer = Size::Bytes(10_000);
        config.initial_window = Size::Mss(10).into();
    });
    let mut pair = pair(&config, 1_000_000);
    assert_eq!(limit_at(&mut pair, 0.151), Limit::ReceiveWindow);
    assert_eq!(pair.server.connection.flight_size(), pair.server.connection.cwnd());
}

/// Ten segments are sent at 150 ms, and the first is lost. The third duplicate ACK begins the
/// recovery at 250 ms, and the retransmission is acknowledged at 350 ms.
#[test]
fn fast_recovery_is_told_apart() {
    for preset in ["newreno", "sack", "rack", "linux"] {
        let config = config(preset, |config| {
            config.initial_window = Size::Mss(10).into();
            config.timestamps = false;
        });
        let mut pair = pair(&config, 1_000_000);
        pair.lose_copies(End::Server, &[(1, 0)]);
        assert_eq!(limit_at(&mut pair, 0.24), Limit::CongestionWindow, "{preset}");
        assert_eq!(limit_at(&mut pair, 0.34), Limit::Recovery, "{preset}");
        assert!(pair.server.connection.in_recovery());
        assert_eq!(limit_at(&mut pair, 0.354), Limit::CongestionWindow, "{preset}");
    }
}

/// The last segment is lost. Until the timer fires, the connection has sent all its data; then it
/// repairs the loss.
#[test]
fn after_a_timeout_a_repair_is_no_lack_of_data() {
    let mut pair =
        pair(&config("newreno", |config| config.initial_window = Size::Mss(4).into()), 4000);
    pair.lose_copies(End::Server, &[(3001, 0)]);
    // The third segment's acknowledgment is delayed until 0.45 s, and restarts the timer.
    assert_eq!(limit_at(&mut pair, 0.6), Limit::Data);
    let fired = pair.server.connection.poll_timeout();
    pair.drive(fired + Duration::from_millis(1));
    assert_eq!(pair.server.connection.limit(pair.now), Limit::CongestionWindow);
    pair.drive(fired + Duration::from_secs(5));
    assert_eq!(pair.server.connection.limit(pair.now), Limit::Data);
}

/// Twelve segments are paced at twice the window per 100 ms: the first ten leave at once, then one
/// every 4.2 ms.
#[test]
fn with_room_and_a_closed_gate_it_is_pacing() {
    let config = config("sack", |config| {
        config.initial_window = Size::Mss(12).into();
        config.pacing = true;
    });
    let mut pair = pair(&config, 1_000_000);
    assert_eq!(limit_at(&mut pair, 0.151), Limit::Pacing);
    assert_eq!(limit_at(&mut pair, 0.175), Limit::CongestionWindow);
}

#[test]
fn nagle_holds_what_is_less_than_a_segment() {
    let config = config("sack", |config| config.initial_window = Size::Mss(10).into());
    let mut pair = pair(&config, 2500);
    assert_eq!(limit_at(&mut pair, 0.151), Limit::Nagle);
    assert_eq!(limit_at(&mut pair, 0.6), Limit::Data);
    let mut pair = self::pair(&Config { nagle: false, ..config }, 2500);
    assert_eq!(limit_at(&mut pair, 0.151), Limit::Data);
}

/// The acknowledgment of a single segment is delayed for 200 ms.
#[test]
fn the_peer_says_when_it_delays_its_acknowledgment() {
    let config = config("newreno", |config| {
        config.initial_window = Size::Mss(1).into();
        config.delayed_ack.segments = 2;
        config.delayed_ack.timeout = Duration::from_millis(200);
    });
    let mut pair = pair(&config, 1_000_000);
    assert_eq!(limit_at(&mut pair, 0.21), Limit::CongestionWindow);
    assert!(pair.client.connection.delays_ack());
    pair.drive(seconds(0.41));
    assert!(!pair.client.connection.delays_ack());
}

/// The limit in the usual case equals that of the full computation: the test uses connections
/// without timestamps, and with timestamps, which close the fast path.
#[test]
fn both_looks_say_the_same() {
    for (receive, send) in [(64_000, 1_000_000), (1_000_000, 64_000), (1_000_000, 1_000_000)] {
        let limits = |timestamps| {
            let config = config("sack", |config| {
                config.timestamps = timestamps;
                config.mss = if timestamps { 1012 } else { 1000 };
                config.receive_buffer = Size::Bytes(receive);
                config.send_buffer = Size::Bytes(send);
            });
            let mut pair = pair(&config, 3_000_000);
            (0..60).map(|tick| limit_at(&mut pair, f64::from(tick) * 0.05)).collect::<Vec<_>>()
        };
        assert_eq!(limits(true), limits(false), "{receive} {send}");
    }
}

/// Linux acknowledges a segment before the application reads it. The windows are those of captures
/// of Linux 6.18 with `SO_RCVBUF` = 3000: when the first segment is acknowledged, it has not been
/// read yet, so that the window's edge does not move.
#[test]
fn linux_acknowledges_before_it_is_read() {
    let mut config = preset("linux");
    config.receive_buffer = Size::Bytes(3_000);
    config.receive_autotuning = None;
    let mut pair = Pair::new(&config);
    pair.server.to_write = 20_000;
    pair.drive(seconds(2.0));
    let acks = pair.sent.iter().filter(|sent| sent.from == End::Client);
    let windows: Vec<u16> = acks.map(|sent| sent.transmit.segment.window).take(6).collect();
    assert_eq!(windows, [2_920, 2_920, 1_472, 2_896, 2_896, 2_896]);
    assert_eq!(pair.client.bytes_read, 20_000);
}

/// A program writes 20,000 bytes at a time: with a send buffer of 16,384 bytes of memory its second
/// write waits. A single large write fills a block, which is half of the peer's window, whatever
/// the size of the buffer (`tcp_sendmsg_locked`).
#[test]
fn a_new_write_waits_for_a_full_send_buffer() {
    let first_flight = |write_size| {
        let mut config = preset("linux");
        config.initial_window = Size::Mss(100).into();
        config.send_buffer = Size::Bytes(8_192);
        config.send_autotuning = None;
        let mut pair = Pair::new(&config);
        pair.server.connection.set_write_size(write_size);
        pair.server.to_write = 1_000_000;
        pair.drive(seconds(20.0));
        assert_eq!(pair.client.bytes_read, 1_000_000);
        let sent = |from| pair.sent.iter().filter(move |sent| sent.from == from);
        let first = sent(End::Server).map(|sent| (sent.at, sent.transmit.segment.payload_bytes));
        let begin = first.clone().find(|(_, bytes)| *bytes > 0).expect("data").0;
        let same_time = first.filter(|(at, _)| *at == begin);
        same_time.map(|(_, bytes)| u64::from(bytes)).sum::<u64>()
    };
    assert_eq!(first_flight(20_000), 20_000);
    assert_eq!(first_flight(u64::MAX), 22 * 1_448);
}
