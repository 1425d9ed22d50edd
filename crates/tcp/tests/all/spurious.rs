//! Spurious timeouts: the effect of a delay spike without a loss under each detector.

use crate::rig::{End, Pair, preset, seconds};
use retx_tcp::{Config, Event, Size};
use retx_units::Duration;

/// RTT 40 ms, an ACK for each segment, a window of 20 segments. From 1 s on nothing reaches the
/// client for 3 s; then everything arrives in order. The minimum RTO of 2 s lets the timer expire
/// once in that time.
fn spike(change: impl Fn(&mut Config)) -> Pair {
    let mut config = preset("newreno");
    config.initial_window = Size::Mss(10).into();
    config.advertised_window = Some(Size::Mss(20));
    config.delayed_ack.segments = 1;
    config.limited_transmit = false;
    config.min_rto = Duration::from_secs(2);
    change(&mut config);
    let mut pair = Pair::new(&config);
    pair.server.to_write = 4_000_000;
    let (begins, ends) = (seconds(1.0), seconds(4.0));
    pair.channel = Box::new(move |sent| {
        let stands = sent.from == End::Server && sent.at >= begins && sent.at < ends;
        vec![if stands { ends.since(sent.at) } else { Duration::ZERO }]
    });
    pair.drive(seconds(60.0));
    assert_eq!(pair.client.bytes_read, 4_000_000);
    pair
}

fn detector(name: &str, response: &str) -> impl Fn(&mut Config) {
    let value = serde_json::json!({ "name": name, "response": response });
    let chosen: retx_tcp::spurious::Config =
        serde_json::from_value(value).expect("a registered name");
    move |config| config.spurious = chosen.clone()
}

fn retransmissions(pair: &Pair) -> usize {
    pair.sent.iter().filter(|sent| sent.transmit.retransmission).count()
}

/// The timer retransmits one segment. Without detection the rest of the window of 20 follows.
#[test]
fn a_delay_spike_makes_a_window_of_needless_retransmissions() {
    let pair = spike(|_| {});
    assert!(retransmissions(&pair) >= 15, "{}", retransmissions(&pair));
}

/// RFC 5682: only the timer retransmits.
#[test]
fn frto_sends_only_the_timers_retransmission() {
    for response in ["full_undo", "rfc4015", "conservative"] {
        let pair = spike(detector("frto", response));
        assert_eq!(retransmissions(&pair), 1, "{response}");
    }
    let pair = spike(|config| {
        detector("frto", "rfc4015")(config);
        config.sack = true;
        config.loss_detection = serde_json::from_value("sack".into()).expect("a name");
    });
    assert_eq!(retransmissions(&pair), 1, "with SACK");
}

/// RFC 3522: the first acceptable ACK decides.
#[test]
fn eifel_needs_timestamps_and_one_ack() {
    let with = |timestamps: bool| {
        spike(move |config| {
            detector("eifel", "full_undo")(config);
            config.timestamps = timestamps;
        })
    };
    assert_eq!(retransmissions(&with(true)), 1);
    assert!(retransmissions(&with(false)) > 10, "it cannot see without them");
}

/// draft-kun-stoder-00: the first ACK lies beyond the short segment.
#[test]
fn stoder_sends_one_byte_less() {
    let pair = spike(detector("stoder", "full_undo"));
    let again: Vec<_> = pair.sent.iter().filter(|sent| sent.transmit.retransmission).collect();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].transmit.segment.payload_bytes, 1_459);
}

/// RFC 2883: the receiver reports segments that arrived twice. Once all retransmissions are
/// reported, the window is restored; by then the whole window has been retransmitted, since RFC
/// 3708 does not avoid retransmissions.
#[test]
fn dsack_takes_the_reduction_back() {
    let choose = |config: &mut Config| {
        config.sack = true;
        config.loss_detection = serde_json::from_value("sack".into()).expect("a name");
    };
    let cwnd_after = |pair: &Pair| {
        let mut recovered = pair.server.events.iter().filter_map(|(_, event)| match event {
            Event::Recovered { cwnd } => Some(*cwnd),
            _ => None,
        });
        recovered.next_back()
    };
    let without = spike(choose);
    let with = spike(|config| {
        choose(config);
        detector("dsack", "full_undo")(config);
    });
    assert!(cwnd_after(&with) > cwnd_after(&without), "{:?}", cwnd_after(&with));
    assert!(retransmissions(&with) <= retransmissions(&without));
}

/// A full undo restores the window from before the timeout; RFC 4015 restores at most the data in
/// flight plus the initial window; the conservative response keeps the reduced window.
#[test]
fn responses_differ_in_the_window() {
    let window = |response| {
        let pair = spike(detector("frto", response));
        let episode = pair.server.events.iter().find_map(|(_, event)| match event {
            Event::TimedOut(episode) => Some(*episode),
            _ => None,
        });
        let recovered = pair.server.events.iter().find_map(|(_, event)| match event {
            Event::Recovered { cwnd } => Some(*cwnd),
            _ => None,
        });
        (episode.expect("one timeout").cwnd_before, recovered.expect("it ends"))
    };
    let (before, after) = window("full_undo");
    assert_eq!(before, after);
    let (before, after) = window("rfc4015");
    assert!(after < before && after >= 10 * 1_460, "{after} of {before}");
    let (_, after) = window("conservative");
    // Half of the 20 segments that were in flight.
    assert_eq!(after, 10 * 1_460);
}

/// One segment is lost, and the ACK of its retransmission covers everything. F-RTO must not call
/// that spurious.
#[test]
fn an_ack_of_everything_is_not_spurious() {
    let mut config = preset("newreno");
    config.limited_transmit = false;
    detector("frto", "full_undo")(&mut config);
    let mut pair = Pair::new(&config);
    pair.server.to_write = 1_460 * 3;
    pair.lose_copies(End::Server, &[(1, 0)]);
    pair.drive(seconds(10.0));
    assert_eq!(pair.client.bytes_read, 1_460 * 3);
    // The window was reduced, and has grown by one segment since: no undo.
    assert!(pair.server.connection.cwnd() <= 2 * 1_460, "{}", pair.server.connection.cwnd());
}

/// After a real loss the duplicate ACKs of step 3 make F-RTO continue with the conventional
/// recovery.
#[test]
fn a_real_loss_is_repaired_all_the_same() {
    for (sack, detection) in [(false, "newreno"), (true, "sack"), (true, "rack")] {
        let mut config = preset("newreno");
        config.sack = sack;
        config.loss_detection = serde_json::from_value(detection.into()).expect("a name");
        config.initial_window = Size::Mss(10).into();
        detector("frto", "full_undo")(&mut config);
        let mut pair = Pair::new(&config);
        pair.server.to_write = 200_000;
        let lost: Vec<(u64, u32)> = (0..9).map(|index| (1 + 1_460 * index, 0)).collect();
        pair.lose_copies(End::Server, &lost);
        pair.drive(seconds(60.0));
        assert_eq!(pair.client.bytes_read, 200_000, "{detection}");
        let last = pair.data_sent(End::Server).last().expect("it sent").0;
        assert!(last < 5_000.0, "{detection}: {last}");
    }
}
