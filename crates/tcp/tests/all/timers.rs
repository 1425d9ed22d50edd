//! RTO, backoff, Karn's algorithm and timer grids, against values computed by hand from RFC 6298.

use crate::rig::{End, Pair, preset, seconds};
use retx_tcp::{Config, Event, Size, State};
use retx_units::{Duration, Time};

/// Times in ms at which the server sent the segment at `position`.
fn copies(pair: &Pair, position: u64) -> Vec<f64> {
    let sent = pair.data_sent(End::Server);
    sent.iter().filter(|sent| sent.1 == position).map(|sent| sent.0).collect()
}

fn losing(position: u64, copies: u32) -> Vec<(u64, u32)> {
    (0..copies).map(|copy| (position, copy)).collect()
}

/// SYN at 0, SYN/ACK at 20, ACK at 40 ms: the first data leave at 60 ms. The handshake gives R = 40
/// ms, so SRTT + 4·RTTVAR = 40 + 80 = 120 ms: the minimum of 1 s is in force, doubled each time
/// (§5.5), up to 64 s (§2.5).
#[test]
fn backoff_doubles_up_to_its_cap() {
    let mut config = preset("riverbed_reno");
    config.timer_granularity = Duration::ZERO;
    for losses in 1..=9_u32 {
        let mut pair = Pair::new(&config);
        pair.lose_copies(End::Server, &losing(1, losses));
        pair.server.to_write = 50_000;
        pair.drive(seconds(1_000.0));
        let waits = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0];
        let mut expected = vec![60.0];
        for wait in &waits[..losses as usize] {
            expected.push(expected[expected.len() - 1] + wait * 1e3);
        }
        assert_eq!(copies(&pair, 1), expected, "{losses} losses");
        assert_eq!(pair.client.bytes_read, 50_000);
    }
}

/// On a grid of 500 ms the timer set at 60 ms for 1 s fires at 1.5 s; the next, 2 s after that, at
/// 3.5 s, which is on the grid, and so on.
#[test]
fn a_coarse_timer_fires_on_its_grid() {
    let mut pair = Pair::new(&preset("riverbed_reno"));
    pair.lose_copies(End::Server, &losing(1, 4));
    pair.server.to_write = 5_000;
    pair.drive(seconds(100.0));
    assert_eq!(copies(&pair, 1), [60.0, 1_500.0, 3_500.0, 7_500.0, 15_500.0]);
}

/// RTTs are measured in ticks of 100 ms: an RTT of 40 ms gives 0 or 1 tick. Between 20 ms (SYN/ACK)
/// and 60 ms there is no tick: R = 0, so RTO = 0 + max(G, 0) = 100 ms, above the minimum of 50 ms.
#[test]
fn coarse_rtt_ticks() {
    let mut config = preset("riverbed_reno");
    config.timer_granularity = Duration::ZERO;
    config.rtt_granularity = Duration::from_millis(100);
    config.min_rto = Duration::from_millis(50);
    let mut pair = Pair::new(&config);
    pair.lose_copies(End::Server, &losing(1, 2));
    pair.server.to_write = 2_000;
    pair.drive(seconds(10.0));
    assert_eq!(copies(&pair, 1), [60.0, 160.0, 360.0]);
}

/// Karn: the ACK of a retransmission does not end the backoff; the first RTT of a segment that was
/// sent once does.
#[test]
fn backoff_is_kept_until_a_valid_sample() {
    let mut config = preset("riverbed_reno");
    config.timer_granularity = Duration::ZERO;
    config.delayed_ack.segments = 1;
    let mut pair = Pair::new(&config);
    // Three copies of the first segment are lost, at 60, 1060 and 3060 ms. The one sent at 7060 ms
    // arrives, and its ACK at 7100 ms covers both segments of the initial window. The next segment
    // is lost as well.
    let mut losses = losing(1, 3);
    losses.push((2_921, 0));
    losses.push((20_441, 0));
    pair.lose_copies(End::Server, &losses);
    pair.server.to_write = 20_441 - 1 + 100;
    pair.drive(seconds(100.0));
    assert_eq!(copies(&pair, 1), [60.0, 1_060.0, 3_060.0, 7_060.0]);
    // The wait is still doubled three times: 8 s after 7.1 s.
    assert_eq!(copies(&pair, 2_921), [7_100.0, 15_100.0]);
    // The last segment of the stream is lost after valid samples: the wait is 1 s again.
    let last = copies(&pair, 20_441);
    assert_eq!(last.len(), 2);
    assert!((last[1] - last[0] - 1_000.0).abs() < 41.0, "{last:?}");
    let backoffs: Vec<u32> = pair
        .server
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::TimedOut(episode) => Some(episode.backoff),
            _ => None,
        })
        .collect();
    assert_eq!(backoffs, [0, 1, 2, 3, 0]);
}

/// RFC 6298 §5.7: after a lost SYN, data start with an RTO of 3 s when the RTO for the SYN was
/// less.
#[test]
fn a_lost_syn_means_three_seconds_for_data() {
    let mut config = preset("reno");
    config.limited_transmit = false;
    let mut pair = Pair::new(&config);
    pair.lose_copies(End::Server, &[(0, 0), (0, 1), (1, 0)]);
    pair.server.to_write = 1_000;
    pair.drive(seconds(100.0));
    let sent = copies(&pair, 1);
    assert!((sent[1] - sent[0] - 3_000.0).abs() < 1e-6, "{sent:?}");
}

#[test]
fn a_connection_gives_up_after_the_allowed_retransmissions() {
    let mut config = preset("reno");
    config.max_retransmissions = Some(3);
    let mut pair = Pair::new(&config);
    pair.lose_copies(End::Server, &losing(1, 50));
    pair.server.to_write = 1_000;
    pair.drive(seconds(1_000.0));
    assert_eq!(copies(&pair, 1).len(), 4);
    assert_eq!(pair.server.connection.state(), State::Closed);
    assert!(pair.server.events.iter().any(|(_, event)| *event == Event::Reset));
}

/// Linux: 15 retransmissions stand for 924.6 s, however long the RTO is (`tcp_retries2`).
#[test]
fn linux_gives_up_by_time() {
    let mut config = preset("linux");
    config.min_rto = Duration::from_secs(2);
    let mut pair = Pair::new(&config);
    pair.lose_copies(End::Server, &losing(1, 50));
    pair.server.to_write = 1_000;
    pair.drive(seconds(3_000.0));
    assert_eq!(pair.server.connection.state(), State::Closed);
    let sent = copies(&pair, 1);
    // The tail loss probe, which is sent second, does not count.
    let (first, last) = (sent[2], sent[sent.len() - 1]);
    let end = pair.server.events.iter().find(|(_, event)| *event == Event::Reset);
    let end = end.unwrap().0.as_nanos() as f64 / 1e6;
    assert!(last - first < 924_600.0 && end - first >= 924_600.0, "{sent:?}, then {end}");
}

/// Timestamps time retransmissions too (RFC 7323 §4.1): the backoff ends with their ACK.
#[test]
fn timestamps_end_the_backoff_at_once() {
    let mut config = preset("reno");
    config.timestamps = true;
    config.limited_transmit = false;
    config.delayed_ack.segments = 1;
    config.initial_window = Size::Mss(2).into();
    let mut pair = Pair::new(&config);
    pair.lose_copies(End::Server, &losing(1, 3));
    pair.server.to_write = 1_448 * 4;
    pair.drive(seconds(7.2));
    assert_eq!(copies(&pair, 1), [60.0, 1_060.0, 3_060.0, 7_060.0]);
    assert_eq!(pair.server.connection.backoff(), 0);
    assert_eq!(pair.server.connection.rto(), Duration::from_secs(1));
}

/// Calls of `handle_timeout` and `poll_transmit` more often than necessary change nothing.
#[test]
fn needless_polling_changes_nothing() {
    let run = |config: &Config, eager: bool| {
        let mut pair = Pair::new(config);
        pair.lose_copies(End::Server, &[(1, 0), (14_601, 0), (29_201, 0), (29_201, 1)]);
        pair.server.to_write = 100_000;
        if eager {
            for step in 0..20_000_u64 {
                pair.drive(Time::ZERO + Duration::from_millis(step));
                let now = Time::ZERO + Duration::from_millis(step);
                pair.client.connection.handle_timeout(now);
                pair.server.connection.handle_timeout(now);
                assert_eq!(pair.server.connection.poll_transmit(now), None);
            }
        }
        pair.drive(seconds(60.0));
        pair.sent.iter().map(|sent| (sent.at, sent.transmit)).collect::<Vec<_>>()
    };
    let paced = Config { pacing: true, ..preset("rack") };
    for config in [preset("newreno"), preset("bbr"), paced] {
        assert_eq!(run(&config, false), run(&config, true));
    }
}
