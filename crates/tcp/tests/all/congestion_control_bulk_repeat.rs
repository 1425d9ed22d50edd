//! Requests of `westwood_bulk_repeat_like` to the connection: after an error loss the whole window
//! is retransmitted, and the RTO is not backed off.

use crate::rig::{self, End, Pair, preset, seconds};
use retx_tcp::{Event, Size};
use retx_units::Duration;

const SEGMENT: u64 = 1460;

/// A transfer of 4 MB with a window of 20 segments over an RTT of 40 ms. Once the estimated
/// bandwidth is that of this window, every loss looks like an error.
fn pair(name: &str, sack: bool) -> Pair {
    let mut config = preset(name);
    config.max_cwnd = Some(Size::Mss(20));
    config.sack = sack;
    if sack {
        config.loss_detection = preset("sack").loss_detection;
    }
    let mut pair = Pair::new(&config);
    pair.server.to_write = 4_000_000;
    pair.server.close_when_written = true;
    pair
}

/// Positions that the server retransmitted at the time of its first retransmission.
fn first_repeat(pair: &Pair) -> Vec<u64> {
    let again = |sent: &&rig::Sent| sent.from == End::Server && sent.transmit.retransmission;
    let first = pair.sent.iter().find(again).expect("a retransmission").at;
    let now = pair.sent.iter().filter(again).filter(|sent| sent.at == first);
    now.map(|sent| sent.transmit.position).collect()
}

#[test]
fn an_error_loss_repeats_the_window() {
    let lost = 1 + 1400 * SEGMENT;
    for (name, sack, repeated) in [
        // 20 segments in flight, and two by limited transmit; with SACK the sender knows that three
        // of them arrived.
        ("westwood_bulk_repeat_like", false, 22),
        ("westwood_bulk_repeat_like", true, 22 - 3),
        ("westwood", false, 1),
    ] {
        let mut pair = pair(name, sack);
        pair.lose_copies(End::Server, &[(lost, 0)]);
        pair.drive(seconds(60.0));
        assert_eq!(pair.client.bytes_read, 4_000_000, "{name}");
        let positions = first_repeat(&pair);
        assert_eq!(positions[0], lost, "{name}");
        assert_eq!(positions.len(), repeated, "{name} sack {sack}: {positions:?}");
        if !sack {
            assert!(positions.windows(2).all(|pair| pair[1] - pair[0] == SEGMENT), "{positions:?}");
        }
    }
}

#[test]
fn an_error_does_not_back_the_rto_off() {
    for (name, factor) in [("westwood_bulk_repeat_like", 1), ("westwood", 2)] {
        let mut pair = pair(name, false);
        pair.channel = Box::new(|sent| {
            let dark = (seconds(3.0)..seconds(9.0)).contains(&sent.at);
            if dark { vec![] } else { vec![Duration::ZERO] }
        });
        pair.drive(seconds(60.0));
        assert_eq!(pair.client.bytes_read, 4_000_000, "{name}");
        let timeouts: Vec<_> = pair
            .server
            .events
            .iter()
            .filter(|(_, event)| matches!(event, Event::TimedOut(_)))
            .map(|(at, _)| *at)
            .collect();
        let waits: Vec<u64> =
            timeouts.windows(2).map(|pair| pair[1].since(pair[0]).as_nanos() / 1_000_000).collect();
        assert!(waits.len() >= 2, "{name}: {waits:?}");
        for pair in waits.windows(2) {
            assert_eq!(pair[1], factor * pair[0], "{name}: {waits:?}");
        }
    }
}
