//! A loss cause in a connection: the information that it receives, and the effects of its verdict.

use crate::rig::{End, Pair, preset, seconds};
use retx_tcp::loss_cause::Cause;
use retx_tcp::{Config, Episode, Event, Size, presets};
use retx_units::{Duration, SeqNr};

const SMSS: u64 = 1_460;

const fn position(segment: u64) -> u64 {
    1 + (segment - 1) * SMSS
}

/// Configuration of a preset with this rule (as in scenarios), a window of ten segments and an ACK
/// for each segment.
fn hearing(name: &str, rule: &str) -> Config {
    let mut config = preset(name);
    config.loss_cause = serde_json::from_str(rule).expect("a rule");
    config.initial_window = Size::Mss(10).into();
    config.initial_ssthresh = Some(Size::Mss(5));
    config.delayed_ack.segments = 1;
    // The option would make segments shorter.
    config.timestamps = false;
    config
}

/// Plays a download in which the first copies of these segments are lost. The delay grows by a
/// microsecond from segment to segment.
fn download(config: &Config, lost: &[u64]) -> Pair {
    let mut pair = Pair::with(config, config, [SeqNr(1), SeqNr(2)]);
    let mut lost: Vec<u64> = lost.iter().map(|segment| position(*segment)).collect();
    pair.channel = Box::new(move |sent| {
        if sent.from == End::Client {
            return vec![Duration::ZERO];
        }
        let at = sent.transmit.position;
        if let Some(index) = lost.iter().position(|position| *position == at) {
            lost.remove(index);
            return vec![];
        }
        vec![Duration::from_micros(at / SMSS)]
    });
    pair.server.to_write = 200 * SMSS;
    pair.drive(seconds(100.0));
    assert_eq!(pair.client.bytes_read, 200 * SMSS);
    pair
}

fn first_episode(pair: &Pair) -> (Episode, bool) {
    let found = pair.server.events.iter().find_map(|(_, event)| match event {
        Event::LossFound(episode) => Some((*episode, false)),
        Event::TimedOut(episode) => Some((*episode, true)),
        _ => None,
    });
    found.expect("something is lost")
}

/// Without timestamps a connection times one segment per round trip. A rule that is informed of
/// every segment sent gets a sample from each of five ACKs: `veno_n` needs three.
#[test]
fn rules_are_told_of_what_is_sent() {
    let pair = download(&hearing("reno", r#""veno_n""#), &[6]);
    assert_eq!(first_episode(&pair).0.inferred_cause, Cause::Corruption);
    let pair = download(&hearing("reno", r#""veno_n""#), &[3]);
    assert_eq!(first_episode(&pair).0.inferred_cause, Cause::Congestion, "two samples");
}

/// With SACK the sender knows how many segments are lost; without SACK it knows of one.
#[test]
fn rules_are_told_how_much_is_lost() {
    let rule = r#"{ "name": "zigzag", "thresholds": [-1e6, 1e6, -1e6, -1e6] }"#;
    for (name, lost, said) in [
        ("sack", vec![6], Cause::Congestion),
        ("sack", vec![6, 7], Cause::Corruption),
        ("sack", vec![5, 6, 7], Cause::Congestion),
        ("newreno", vec![6, 7], Cause::Congestion),
    ] {
        let pair = download(&hearing(name, rule), &lost);
        assert_eq!(first_episode(&pair).0.inferred_cause, said, "{name} {lost:?}");
    }
}

/// Every preset, with a rule that always assumes corruption: losses found by duplicate ACKs do not
/// reduce the window, neither during recovery nor after it.
#[test]
fn corruption_leaves_the_window_alone() {
    let sure = r#"{ "name": "threshold", "origin": "zero", "threshold": "1 h" }"#;
    for preset in presets::PRESETS {
        let mut config = hearing(preset.name, sure);
        // A window that cannot grow shows that it was not reduced.
        config.max_cwnd = Some(Size::Mss(10));
        let pair = download(&config, &[30]);
        let (episode, by_timeout) = first_episode(&pair);
        assert!(!by_timeout, "{}", preset.name);
        assert_eq!(episode.inferred_cause, Cause::Corruption, "{}", preset.name);
        assert_eq!(episode.cwnd_after, episode.cwnd_before, "{}", preset.name);
        let recovered = pair.server.events.iter().find_map(|(_, event)| match event {
            Event::Recovered { cwnd } => Some(*cwnd),
            _ => None,
        });
        assert_eq!(recovered, Some(episode.cwnd_before), "{}", preset.name);
    }
}

/// After a timeout attributed to corruption the window stays as it was; after one attributed to
/// congestion it is one segment.
#[test]
fn timeouts_are_judged_where_the_rule_says_so() {
    for (timeouts, said, segments) in [(true, Cause::Corruption, 10), (false, Cause::Congestion, 1)]
    {
        let rule = format!(
            r#"{{ "name": "threshold", "origin": "zero", "threshold": "1 h",
                 "timeouts": {timeouts} }}"#
        );
        let mut config = hearing("newreno", &rule);
        config.max_cwnd = Some(Size::Mss(10));
        let pair = download(&config, &[198, 199, 200]);
        let (episode, by_timeout) = first_episode(&pair);
        assert!(by_timeout);
        assert_eq!((episode.inferred_cause, episode.cwnd_after), (said, segments * SMSS));
    }
}

/// A timeout during fast recovery, also attributed to corruption: the window is that from before
/// recovery inflated it.
#[test]
fn corruption_ends_what_recovery_does_to_the_window() {
    let sure = r#"{ "name": "threshold", "origin": "zero", "threshold": "1 h" }"#;
    for name in ["reno", "newreno", "sack"] {
        let mut config = hearing(name, sure);
        config.max_cwnd = Some(Size::Mss(10));
        let pair = download(&config, &[30, 30]);
        let episodes = pair.server.events.iter().filter_map(|(_, event)| match event {
            Event::LossFound(episode) => Some((*episode, false)),
            Event::TimedOut(episode) => Some((*episode, true)),
            _ => None,
        });
        let found: Vec<_> = episodes.collect();
        assert!(!found[0].1 && found[1].1, "{name}: a timeout in recovery");
        assert_eq!(found[1].0.inferred_cause, Cause::Corruption, "{name}");
        assert_eq!(found[1].0.cwnd_after, found[0].0.cwnd_before, "{name}");
    }
}
