//! Running scenario files: every key reaches the engine, and the same seed gives identical results.

use retx_record::tables::Tables;
use retx_scenario::{SampleInterval, Scenario, Source, Stop, parse};
use retx_sim::build::plan_from_scenario;
use retx_sim::plan::Plan;
use retx_sim::{Batch, CapturePoint, Control, Options, Outcome, RunError, run, run_many, run_plan};
use retx_units::Duration;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::Arc;

const TWO_HOPS: &str = r#"
title = "Two hops, several flows"
duration = "20 s"
warmup = "100 ms"
seed = 7
sample_interval = "100 ms"

[tcp.small]
like = "riverbed_reno"
receive_buffer = 20_000

[[link]]
name = "wan"
ends = ["server", "router"]
rate = "5 Mbit/s"
delay = "15 ms"
queue = { discipline = "droptail", packets = 2 }
forward.channel = { model = "bernoulli", p = 0.02 }
reverse.channel = [{ model = "bernoulli", p = 0.01 }, { model = "ber", ber = 1e-5 }]

[[link]]
name = "lan"
ends = ["router", "client"]
rate = "100 Mbit/s"
delay = "1 ms"

[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "small"
app = { kind = "transfer", bytes = 400_000 }
count = 3
stagger = "50 ms"

[[flow]]
name = "upload"
from = "client"
to = "server"
tcp = "newreno"
initiator = "from"
start = "500 ms"
app = { kind = "ftp", files = [20_000, 30_000], pause = "200 ms" }
"#;

fn scenario(text: &str) -> Scenario {
    let source = Source { name: "test.toml", text, overrides: &[] };
    parse(&source).unwrap_or_else(|error| panic!("{error}"))
}

fn everything() -> Options {
    let capture = vec![
        CapturePoint::Link { link: 0, right: false },
        CapturePoint::Link { link: 1, right: true },
    ];
    Options {
        replication: 0,
        record_segments: true,
        record_drops: true,
        record_episodes: true,
        capture_points: capture,
        ..Options::default()
    }
}

fn run_of(scenario: &Scenario, replication: u64) -> Outcome {
    let options = Options { replication, ..everything() };
    run(scenario, &options, &Control::default()).expect("a sound run")
}

/// A hash of everything that an outcome holds.
fn hash(outcome: &Outcome) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{outcome:?}").hash(&mut hasher);
    hasher.finish()
}

#[test]
fn every_flow_goes_its_way() {
    let scenario = scenario(TWO_HOPS);
    let outcome = run_of(&scenario, 0);
    let names: Vec<&str> = outcome.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["download.0", "download.1", "download.2", "upload"]);
    let tcps: Vec<&str> = outcome.flows.iter().map(|flow| flow.tcp.as_str()).collect();
    assert_eq!(tcps, ["small", "small", "small", "newreno"]);
    let starts: Vec<_> = outcome.flows.iter().map(|flow| flow.start_s).collect();
    assert_eq!(starts, [Some(0.0), Some(0.05), Some(0.1), Some(0.5)]);
    assert!(outcome.flows.iter().all(|flow| flow.finish_s.is_some()), "{:?}", outcome.flows);
    let links: Vec<_> =
        outcome.links.iter().map(|link| (link.name.as_str(), link.direction)).collect();
    let expected = [("wan", "forward"), ("wan", "reverse"), ("lan", "forward"), ("lan", "reverse")];
    assert_eq!(links, expected);
    assert!(outcome.links[0].drops.channel > 0 && outcome.links[0].drops.queue > 0);
    assert!(outcome.links[2].drops.channel == 0);
    assert!(outcome.links[0].utilisation > outcome.links[2].utilisation.map(|share| 5.0 * share));
    assert_eq!(outcome.names.places, ["wan.forward", "wan.reverse", "lan.forward", "lan.reverse"]);
}

#[test]
fn the_summary_is_the_contract() {
    let scenario = scenario(TWO_HOPS);
    let outcome = run_of(&scenario, 0);
    let json = serde_json::to_value(outcome.summary(&scenario)).expect("it can be written");
    for key in ["scenario", "version", "seed", "replication", "flows", "links", "engine"] {
        assert!(!json[key].is_null(), "{key}");
    }
    for key in "name tcp start_s finish_s response_time_s bytes_delivered goodput_bit_s \
        segments_sent segments_retransmitted retransmissions_unnecessary fast_retransmit_count \
        rto_count episodes max_backoff idle_total_s idle_max_s rtt_mean_s rtt_sd_s cwnd_mean_bytes \
        frames_sent acks_sent"
        .split_whitespace()
    {
        assert!(!json["flows"][0][key].is_null(), "{key}");
    }
    for cause in ["congestion", "wireless", "spurious"] {
        assert!(json["flows"][0]["episodes"]["fast_retransmit"][cause].is_u64());
        assert!(json["flows"][0]["episodes"]["rto"][cause].is_u64());
        for said in ["congestion", "corruption"] {
            assert!(json["flows"][0]["inferred"]["fast_retransmit"][said][cause].is_u64());
            assert!(json["flows"][0]["inferred"]["rto"][said][cause].is_u64());
        }
    }
    for key in "packets_in packets_delivered drops queue_mean_packets queue_max_packets utilisation"
        .split_whitespace()
    {
        assert!(!json["links"][0][key].is_null(), "{key}");
    }
    for reason in ["queue", "channel", "retry_limit", "script"] {
        assert!(json["links"][0]["drops"][reason].is_u64());
    }
    assert!(json["engine"]["events"].is_u64() && json["engine"]["simulated_s"].is_f64());
    // The scenario contained in the printed result reproduces the run.
    let text = retx_scenario::from_json(&json["scenario"].to_string()).expect("a scenario");
    assert_eq!(hash(&run_of(&self::scenario(&text), 0)), hash(&outcome));
}

#[test]
fn tables_have_the_columns_of_the_contract() {
    let outcome = run_of(&scenario(TWO_HOPS), 0);
    let tables = &outcome.tables;
    let columns = |table: retx_record::Table| {
        assert!(table.row_count() > 0, "{}", table.name);
        table.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
    };
    let names = &outcome.names;
    assert_eq!(
        tables.samples.as_ref().map(|it| columns(it.to_table(names))).as_deref(),
        Some(
            "flow time_s cwnd_bytes ssthresh_bytes flight_size_bytes rwnd_bytes srtt_s rttvar_s \
             rto_s backoff state ack_bytes"
        )
    );
    assert_eq!(
        tables.segments.as_ref().map(|it| columns(it.to_table(names))).as_deref(),
        Some(
            "flow sent_s seq length_bytes packet_number retransmission cause fate arrived_s acked_s"
        )
    );
    assert_eq!(
        tables.drops.as_ref().map(|it| columns(it.to_table(names))).as_deref(),
        Some("time_s place reason flow packet_number retransmission")
    );
    assert_eq!(
        tables.episodes.as_ref().map(|it| columns(it.to_table(names))).as_deref(),
        Some(
            "flow kind start_s end_s trigger_packet cause sub_cause inferred_cause \
             cwnd_before_bytes cwnd_after_bytes rto_s backoff retransmitted unnecessary"
        )
    );
}

/// The table of drops is in order of time, whichever links they happen on.
#[test]
fn drops_are_in_order_of_time() {
    let outcome = run_of(&scenario(TWO_HOPS), 0);
    let drops = outcome.tables.drops.expect("asked for");
    assert!(drops.rows().iter().map(|drop| drop.time).is_sorted());
    let places: std::collections::BTreeSet<u32> =
        drops.rows().iter().map(|drop| drop.place).collect();
    assert!(places.len() > 1);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let scenario = scenario(TWO_HOPS);
    assert_eq!(hash(&run_of(&scenario, 0)), hash(&run_of(&scenario, 0)));
    assert_ne!(hash(&run_of(&scenario, 0)), hash(&run_of(&scenario, 1)));
    let other = Scenario { seed: 8, ..scenario.clone() };
    assert_ne!(hash(&run_of(&scenario, 0)), hash(&run_of(&other, 0)));
}

/// Recording tables and captures does not change the summary.
#[test]
fn watching_changes_nothing() {
    let scenario = scenario(TWO_HOPS);
    let watched = run_of(&scenario, 0);
    let alone = run(&scenario, &Options::default(), &Control::default()).expect("a sound run");
    assert_eq!(watched.flows, alone.flows);
    assert_eq!(watched.links, alone.links);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let scenario = Arc::new(scenario(TWO_HOPS));
    let many = |threads| {
        let threads = NonZeroUsize::new(threads).expect("not 0");
        let batch = Batch { first: 3, count: 7, threads };
        run_many(&scenario, &everything(), batch, &Arc::default()).expect("sound runs")
    };
    let hashes = |threads| many(threads).iter().map(hash).collect::<Vec<_>>();
    let one = hashes(1);
    assert_eq!(one, hashes(2));
    assert_eq!(one, hashes(5));
    assert_eq!(one, hashes(20));
    let alone: Vec<u64> = (3..10).map(|number| hash(&run_of(&scenario, number))).collect();
    assert_eq!(one, alone);
}

#[test]
fn a_cancelled_batch_has_no_outcome() {
    let control = Arc::new(Control::default());
    control.cancel();
    let batch = Batch { first: 0, count: 4, threads: NonZeroUsize::MIN };
    let result = run_many(&Arc::new(scenario(TWO_HOPS)), &everything(), batch, &control);
    assert_eq!(result.err(), Some(RunError::Cancelled));
}

/// A run that would record more than the permitted number of rows is an error. 100 rows are 20 to
/// 25 instants, with a row for each of four queues, and one for each sender while it is open.
#[test]
fn samples_too_many_to_keep_are_an_error_and_no_end_of_memory() {
    let scenario = scenario(&TWO_HOPS.replace("\"100 ms\"\n\n[tcp", "\"1 us\"\n\n[tcp"));
    let tried = |scenario: &Scenario, samples_max| {
        let plan = Plan { samples_max, ..plan_from_scenario(scenario) };
        run_plan(&plan, &Options::default(), &Control::default()).map(|outcome| outcome.tables)
    };
    // This run may end early, so it starts, and stops once it has too many rows.
    let error = tried(&scenario, 100).expect_err("too many");
    assert!(
        matches!(error, RunError::TooManySamples { most: 100, at, .. }
        if at >= Duration::from_micros(20) && at < Duration::from_micros(30)),
        "{error}"
    );
    // This run always lasts until its end, so the rows can be counted beforehand, and it never
    // starts.
    let lasting = Scenario { stop: Stop::Duration, ..scenario.clone() };
    let error = tried(&lasting, 100).expect_err("too many");
    let at = Duration::from_micros(25);
    assert_eq!(
        error,
        RunError::TooManySamples { interval: Duration::from_micros(1), most: 100, at }
    );
    assert_eq!(
        error.to_string(),
        "samples every 1 us come to more than 100 rows by 25 us of the run: take a longer \
         `sample_interval`, or \"every_ack\""
    );
    // A limit that equals the number of rows is sufficient.
    let rows = |tables: &Tables| {
        let (samples, queues) = (tables.samples.as_ref(), tables.link_samples.as_ref());
        (samples.map_or(0, |it| it.len()) + queues.map_or(0, |it| it.len())) as u64
    };
    let coarse = Scenario {
        sample_interval: Some(SampleInterval::Every(Duration::from_millis(10))),
        ..scenario
    };
    let count = rows(&tried(&coarse, u64::MAX).expect("few"));
    assert!(count > 100);
    assert!(tried(&coarse, count).is_ok());
    assert!(tried(&coarse, count - 1).is_err());
}
