//! Relays at a base station in front of a lossy hop: the gain by each kind of relay, and the
//! consistency of their records.

use retx_record::capture::DropReason;
use retx_scenario::{Source, parse};
use retx_sim::{Control, Options, Outcome, build, run_plan};

const TABLES: Options = Options {
    replication: 0,
    record_segments: true,
    record_drops: true,
    record_episodes: true,
    capture_points: vec![],
    is_reference_run: false,
};

/// Runs one of the example scenarios `last-hop*.toml` with some keys changed.
fn last_hop(kind: &str, changes: &[(&str, &str)], replication: u64) -> Outcome {
    let name = format!("last-hop{kind}.toml");
    let path = format!("{}/../../scenarios/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("an example");
    let overrides: Vec<(String, String)> =
        changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = parse(&Source { name: &name, text: &text, overrides: &overrides })
        .unwrap_or_else(|error| panic!("{error}"));
    let options = Options { replication, ..TABLES };
    run_plan(&build::plan_from_scenario(&scenario), &options, &Control::default())
        .unwrap_or_else(|error| panic!("{name} {changes:?} {replication}: {error}"))
}

const DRAWS: u64 = 16;

/// Goodput of each replication in Mbit/s, with a window that overflows no queue.
fn goodputs(kind: &str, tcp: &str, changes: &[(&str, &str)]) -> Vec<f64> {
    let window = format!("tcp.{tcp}.receive_buffer");
    let changes = [&[(window.as_str(), "32000")], changes].concat();
    let run = |draw| last_hop(kind, &changes, draw).flows[0].goodput_bit_s.expect("time") / 1e6;
    (0..DRAWS).map(run).collect()
}

/// Asserts that the mean of the paired differences is positive by four standard errors.
fn assert_faster(faster: (&str, &[f64]), slower: (&str, &[f64])) {
    let differences: Vec<f64> = faster.1.iter().zip(slower.1).map(|(a, b)| a - b).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    assert!(mean > 4.0 * error, "{} - {}: {mean} ± {error}", faster.0, slower.0);
}

/// Throughput has the order that Balakrishnan et al. 1997, §4, found: a link layer that knows TCP
/// (snoop) is faster than explicit loss notification and selective acknowledgments from end to end,
/// and these are faster than plain Reno; a split connection is limited by Reno on its wireless leg.
/// With a link layer that does not know TCP and delivers out of order, the sender reacts when a
/// repetition comes later than three further packets of 6 ms each, as with the feedback of 30 ms
/// here. With the default, ideal feedback repetitions come sooner, and this link layer is the
/// fastest of all.
#[test]
fn the_order_of_balakrishnan_et_al() {
    let snoop = goodputs("-snoop", "reno", &[]);
    let arq = [("link.air.arq.retries", "10"), ("link.air.arq.in_order", "false")];
    let link_layer = goodputs("-arq", "reno", &arq);
    let late = [&arq[..], &[("link.air.arq.feedback", "30 ms")]].concat();
    let late_link_layer = goodputs("-arq", "reno", &late);
    let eln = goodputs("-eln", "listener", &[]);
    let sack = goodputs("", "sack", &[("flow.download.tcp", "sack")]);
    let reno = goodputs("", "reno", &[]);
    let split_reno = goodputs("-split", "reno", &[("relay.proxy.tcp", "reno")]);
    assert_faster(("link layer", &link_layer), ("snoop", &snoop));
    assert_faster(("snoop", &snoop), ("late link layer", &late_link_layer));
    assert_faster(("snoop", &snoop), ("eln", &eln));
    assert_faster(("eln", &eln), ("sack", &sack));
    assert_faster(("eln", &eln), ("reno", &reno));
    assert_faster(("sack", &sack), ("reno", &reno));
    assert_faster(("snoop", &snoop), ("split, reno", &split_reno));
    assert_faster(("split, reno", &split_reno), ("reno", &reno));
}

/// No drop by a queue is reported to the sender as corruption, whichever way the data go, and by
/// neither kind of relay.
#[test]
fn notices_are_true() {
    let upload = [("flow.download.from", "mobile"), ("flow.download.to", "server")];
    // A short queue on the wired link behind the base station, whose drops are no corruption.
    let narrow =
        [("link.wired.reverse.rate", "1 Mbit/s"), ("link.wired.reverse.queue.packets", "4")];
    let radio = [("link.air.forward.queue.packets", "4")];
    let up: Vec<_> = [&upload[..], &narrow].concat();
    let agent = [("relay.teller.kind", "snoop")];
    let up_snoop: Vec<_> = [&up[..], &agent].concat();
    for (name, changes) in [("down", &radio[..]), ("up", &up), ("up, snoop", &up_snoop)] {
        let (mut right, mut congestion) = (0, 0);
        for draw in 0..DRAWS {
            let outcome = last_hop("-eln", changes, draw);
            let said = &outcome.flows[0].inferred.fast_retransmit;
            assert_eq!(said.corruption.congestion, 0, "{name} {draw}");
            right += said.corruption.wireless;
            congestion += said.congestion.congestion;
            assert!(outcome.relays[0].acks_marked > 0, "{name} {draw}");
        }
        assert!(right > 100 && congestion > 30, "{name} {right} {congestion}");
    }
}

/// Duplicate acknowledgments of the mobile that a snoop agent absorbs are recorded as drops with a
/// reason of their own.
#[test]
fn absorbed_acknowledgments_are_recorded() {
    let outcome = last_hop("-snoop", &[], 0);
    let suppressed = outcome.relays[0].acks_suppressed;
    assert!(suppressed > 100);
    let drops = outcome.tables.drops.expect("asked for");
    let rows = drops.rows().iter().filter(|row| row.reason == DropReason::Suppressed);
    assert!(rows.clone().all(|row| outcome.names.places[row.place as usize] == "agent.base"));
    assert_eq!(rows.count() as u64, suppressed);
}
