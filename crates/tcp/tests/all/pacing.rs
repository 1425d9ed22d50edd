//! Pacing, against spacings computed by hand from Linux's `tcp_update_skb_after_send` and
//! `tcp_update_pacing_rate`.

use crate::rig::{End, Pair, preset, seconds};
use retx_tcp::{Config, Size};

/// Times in ms at which data were sent.
fn times(config: &Config, bytes: u64) -> Vec<f64> {
    let mut pair = Pair::new(config);
    pair.server.to_write = bytes;
    pair.drive(seconds(10.0));
    assert_eq!(pair.client.bytes_read, bytes);
    pair.data_sent(End::Server).iter().map(|sent| sent.0).collect()
}

fn gaps(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn paced(window: u64) -> Config {
    let mut config = preset("sack");
    config.mss = 1000;
    config.initial_window = Size::Mss(window).into();
    config.pacing = true;
    config
}

/// The handshake measures 40 ms. In slow start 30 segments are sent at 2·30/40 ms; the first ten
/// leave at once, and the first gap follows the tenth. Their ACKs arrive after 40 ms, when the 30
/// segments have been sent: nothing has changed the rate by then.
#[test]
fn twice_the_window_per_round_trip_in_slow_start() {
    let sent = times(&paced(30), 30_000);
    assert_eq!(sent[..10], [60.0; 10]);
    for gap in gaps(&sent[9..]) {
        assert!((gap - 40.0 / 60.0).abs() < 1e-6, "{gap}");
    }
}

/// The factor is 1.2 from half of ssthresh on.
#[test]
fn a_fifth_more_than_the_window_in_congestion_avoidance() {
    for (ssthresh, percent) in [(60, 120.0), (61, 200.0)] {
        let config = Config { initial_ssthresh: Some(Size::Mss(ssthresh)), ..paced(30) };
        for gap in gaps(&times(&config, 30_000)[9..]) {
            assert!((gap - 100.0 * 40.0 / 30.0 / percent).abs() < 1e-6, "{ssthresh}: {gap}");
        }
    }
}

/// Without pacing each ACK releases two or more segments at once; with pacing no two segments leave
/// together after the first ten.
#[test]
fn no_two_segments_leave_together() {
    let together = |pacing| {
        let sent = times(&Config { pacing, ..paced(10) }, 400_000);
        gaps(&sent[9..]).iter().filter(|gap| **gap == 0.0).count()
    };
    assert_eq!(together(true), 0);
    assert!(together(false) > 100);
}

/// Every preset delivers all data when it is paced.
#[test]
fn all_presets_can_be_paced() {
    for preset in retx_tcp::presets::PRESETS {
        let config = Config { pacing: true, ..(preset.config)() };
        assert!(!times(&config, 300_000).is_empty(), "{}", preset.name);
    }
}
