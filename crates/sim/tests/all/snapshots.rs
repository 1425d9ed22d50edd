//! Snapshots: stored results of about two thousand short runs. Each run sets a few keys of a base
//! scenario to other values, such as another congestion control.
//!
//! Any change of results changes lines in `tests/snapshots`. If the change is intended,
//! `RETX_WRITE_SNAPSHOTS=1 cargo test -p retx-sim --test all snapshots::` stores the new results,
//! and `docs/changed-results.md` names the change. A snapshot cannot show that a result is right:
//! drills, closed forms and comparisons with other tools do that.
//!
//! A line contains the name of a base (a file in `tests/snapshots/bases`), the keys that are set,
//! and the results. To add a run, write the first two and `|`, and let the test add the results.

use retx_record::flow::FlowSummary;
use retx_scenario::{Source, parse};
use retx_sim::{Control, Options, Outcome, run};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Results in a line: sums over flows and links, means over flows (`cwnd` in bytes), and a digest
/// of the recorded segments, samples, drops and episodes, and of further results.
const COLUMNS: &str = "bytes sent resent needless fast rto drops marks cwnd rtt_us digest";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots")
}

/// Hash of 64-bit numbers, similar to FNV-1a. The standard library's hashers are not used, because
/// they may change between its versions.
struct Digest(u64);

impl Digest {
    fn add(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.0 = (self.0 ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }

    /// Digest of the tables and of further results of a run.
    fn of(outcome: &Outcome) -> Self {
        let mut digest = Self(0xcbf2_9ce4_8422_2325);
        let tables = &outcome.tables;
        for (row, _) in tables.segments.iter().flat_map(|it| it.rows()) {
            let length = u64::from(row.length_bytes);
            digest.add([row.flow.into(), row.sent.as_nanos(), row.seq, length]);
        }
        for row in tables.samples.iter().flat_map(|it| it.rows()) {
            let srtt = row.srtt.map_or(0, |it| it.as_nanos());
            let rttvar = row.rttvar.map_or(0, |it| it.as_nanos());
            digest.add([row.cwnd_bytes, row.ssthresh_bytes, row.flight_size_bytes, row.rwnd_bytes]);
            digest.add([srtt, rttvar, row.rto.as_nanos(), row.backoff.into()]);
        }
        for row in tables.drops.iter().flat_map(|it| it.rows()) {
            digest.add([row.time.as_nanos(), row.place.into(), row.packet_number.unwrap_or(0)]);
        }
        for row in tables.episodes.iter().flat_map(|it| it.rows()) {
            digest.add([row.start.as_nanos(), row.end.as_nanos(), row.trigger_packet, row.trigger]);
            digest.add([row.cwnd_before_bytes, row.cwnd_after_bytes, row.rto.as_nanos()]);
            let sub_cause = row.sub_cause.map_or(0, |it| it as u64 + 1);
            digest.add([row.kind as u64, row.cause as u64, sub_cause, row.inferred_cause as u64]);
        }
        for flow in &outcome.flows {
            digest.add([flow.max_backoff.into(), flow.acks_sent, flow.ecn_reductions]);
            digest.add([flow.idle_total_s, flow.idle_max_s].map(f64::to_bits));
        }
        for link in &outcome.links {
            digest.add([link.packets_duplicated, link.loss_burst_max_packets]);
            digest.add([link.frames_repeated, link.frames_parity, link.queue_max_packets]);
            let means = [link.channel_delay_mean_s, link.order_wait_mean_s, link.utilisation];
            digest.add(means.map(|it| it.unwrap_or(-1.0).to_bits()));
        }
        digest
    }
}

/// The columns of a run's line.
fn figures(outcome: &Outcome) -> String {
    let flows = &outcome.flows;
    let sum = |of: fn(&FlowSummary) -> u64| flows.iter().map(of).sum::<u64>();
    let mean = |of: fn(&FlowSummary) -> Option<f64>| {
        let values: Vec<f64> = flows.iter().filter_map(of).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let drops = outcome.links.iter().map(|it| it.drops.queue + it.drops.channel).sum::<u64>();
    let marks = outcome.links.iter().map(|it| it.packets_marked).sum::<u64>();
    format!(
        "{} {} {} {} {} {} {drops} {marks} {:.0} {:.0} {:08x}",
        sum(|it| it.bytes_delivered),
        sum(|it| it.segments_sent),
        sum(|it| it.segments_retransmitted),
        sum(|it| it.retransmissions_unnecessary),
        sum(|it| it.fast_retransmit_count),
        sum(|it| it.rto_count),
        mean(|it| it.cwnd_mean_bytes),
        mean(|it| it.rtt_mean_s.map(|it| it * 1e6)),
        Digest::of(outcome).0 >> 32,
    )
}

/// Overrides of a line: `key=value`, separated by semicolons.
fn overrides(text: &str) -> Vec<(String, String)> {
    let parts = text.split("; ").filter(|it| !it.is_empty());
    parts
        .map(|part| part.split_once('=').unwrap_or_else(|| panic!("{part}: lacks `=`")))
        .map(|(key, value)| (key.trim().into(), value.trim().into()))
        .collect()
}

/// Results of a run, or its error.
fn result(base: &str, text: &str, set: &str) -> String {
    let overrides = overrides(set);
    let source = Source { name: base, text, overrides: &overrides };
    let options = Options {
        record_segments: true,
        record_drops: true,
        record_episodes: true,
        ..Options::default()
    };
    let scenario = match parse(&source) {
        Ok(scenario) => scenario,
        Err(error) => return format!("error: {error}"),
    };
    match run(&scenario, &options, &Control::default()) {
        Ok(outcome) => figures(&outcome),
        Err(error) => format!("error: {error}"),
    }
}

/// Runs each line of a file, and compares or writes the results.
fn check(name: &str) {
    let path = folder().join(name).with_extension("txt");
    let before = std::fs::read_to_string(&path).expect("a snapshot");
    let mut bases = HashMap::new();
    let mut now = String::new();
    for line in before.lines() {
        let mut parts = line.splitn(3, '|').map(str::trim);
        let (Some(base), Some(set), false) = (parts.next(), parts.next(), line.starts_with('#'))
        else {
            writeln!(now, "{line}").expect("memory");
            continue;
        };
        let text = bases.entry(base.to_owned()).or_insert_with(|| {
            let file = folder().join("bases").join(base).with_extension("toml");
            std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{base}: {error}"))
        });
        writeln!(now, "{base} | {set} | {}", result(base, text, set)).expect("memory");
    }
    let failed: Vec<_> = now.lines().filter(|line| line.contains("| error: ")).collect();
    assert!(failed.is_empty(), "{}: {failed:#?}", path.display());
    if std::env::var_os("RETX_WRITE_SNAPSHOTS").is_some() {
        std::fs::write(&path, now).expect("a folder that can be written to");
        return;
    }
    let changed: Vec<_> = before.lines().zip(now.lines()).filter(|(was, is)| was != is).collect();
    let shown = changed.iter().take(5).map(|(was, is)| format!("-{was}\n+{is}\n"));
    assert!(
        changed.is_empty(),
        "{} results of {} have changed ({COLUMNS}):\n{}see the head of snapshots.rs",
        changed.len(),
        path.display(),
        shown.collect::<String>()
    );
}

#[test]
fn congestion_control() {
    check("congestion_control");
}

#[test]
fn loss_recovery() {
    check("loss_recovery");
}

#[test]
fn presets() {
    check("presets");
}

#[test]
fn connection() {
    check("connection");
}

#[test]
fn links() {
    check("links");
}
