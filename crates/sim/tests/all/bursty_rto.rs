//! Table II of García, Agüero & Muñoz, *On the unsuitability of TCP RTO estimation over bursty
//! error channels*, from the scenario `bursty-rto.toml` and the preset `linux24`.

use retx_record::reason::EpisodeKind;
use retx_scenario::{Source, parse};
use retx_sim::{Control, Options, Outcome, run};
use retx_units::Duration;

const TEXT: &str = include_str!("../../../../scenarios/bursty-rto.toml");
const SMSS: u64 = 1_448;
/// Number of bytes sent before the first segment of the table.
const BEFORE: u64 = 48 * SMSS;

fn play(overrides: &[(String, String)]) -> Outcome {
    let source = Source { name: "bursty-rto.toml", text: TEXT, overrides };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { record_segments: true, record_episodes: true, ..Options::default() };
    run(&scenario, &options, &Control::default()).expect("a sound run")
}

/// The table's rows: one for each ACK of new data, beginning with the ACK upon which segment 1 is
/// sent. Columns: number of the table's segments acknowledged so far; srtt and mdev in ms; cwnd and
/// ssthresh in segments; and the number of times that the RTO is doubled.
fn rows(outcome: &Outcome) -> Vec<[u64; 6]> {
    let ms = |it: Option<Duration>| it.map_or(0, |it| it.as_nanos() / 1_000_000);
    let samples = outcome.tables.samples.as_ref().expect("asked for");
    let mut rows: Vec<[u64; 6]> = Vec::new();
    for sample in samples.rows().iter().filter(|sample| sample.ack_bytes >= BEFORE) {
        let acknowledged = (sample.ack_bytes - BEFORE) / SMSS;
        if rows.last().is_none_or(|row| row[0] < acknowledged) {
            rows.push([
                acknowledged,
                ms(sample.srtt),
                ms(sample.rttvar),
                sample.cwnd_bytes / SMSS,
                sample.ssthresh_bytes / SMSS,
                sample.backoff.into(),
            ]);
        }
    }
    rows
}

/// The timeouts: the RTO that had been waited for, and how often it had been doubled.
fn timeouts(outcome: &Outcome) -> Vec<(u64, u32)> {
    let episodes = outcome.tables.episodes.as_ref().expect("asked for");
    let timeouts = episodes.rows().iter().filter(|episode| episode.kind == EpisodeKind::Rto);
    timeouts.map(|episode| (episode.rto.as_nanos() / 10_000, episode.backoff)).collect()
}

/// The longest pause between two segments that the server sends, in units of 10 µs.
fn silence(outcome: &Outcome) -> u64 {
    let segments = outcome.tables.segments.as_ref().expect("asked for");
    let times: Vec<_> = segments.rows().map(|(segment, _)| segment.sent).collect();
    let pauses = times.windows(2).map(|pair| pair[1].since(pair[0]).as_nanos() / 10_000);
    pauses.max().expect("segments were sent")
}

/// Rows 1 and 6 to 8 are as published; rows 2 to 5 are the timeouts, which are compared separately.
#[test]
fn a_silence_of_57_86_s() {
    let outcome = play(&[]);
    let published = [
        [0, 30, 10, 8, 2, 0],
        [3, 400, 750, 2, 4, 4],
        [5, 350, 660, 3, 4, 4],
        [7, 310, 580, 4, 4, 4],
    ];
    assert_eq!(rows(&outcome)[..4], published);
    let waits = [(20_000, 0), (40_000, 1), (80_000, 2), (160_000, 3), (5_786_000, 4)];
    assert_eq!(timeouts(&outcome), waits);
    // Segment 8 is retransmitted shortly before the segments in front of it are acknowledged.
    assert!((5_786_000..5_788_000).contains(&silence(&outcome)), "{}", silence(&outcome));
    assert_eq!(outcome.flows[0].bytes_delivered, 200_000);
}

/// With the paper's proposal, which does not keep the backoff of earlier timeouts, the pause is
/// "about 3.6 s": (310 + 4·580)·(1 + 1/4 + 1/8) ms.
#[test]
fn the_proposal_waits_3_6_s() {
    let outcome = play(&[("tcp.linux.backoff".into(), "reset_on_ack".into())]);
    let rows = rows(&outcome);
    assert_eq!(rows[1..4].iter().map(|row| row[5]).collect::<Vec<_>>(), [0, 0, 0]);
    assert_eq!(timeouts(&outcome)[4], (361_625, 0));
    assert!((361_625..363_000).contains(&silence(&outcome)), "{}", silence(&outcome));
    assert_eq!(outcome.flows[0].bytes_delivered, 200_000);
}
