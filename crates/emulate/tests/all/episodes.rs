//! Scripts for the kernel and the preset `linux`: both detect the same losses in the same way, and
//! the true causes agree. Skipped with a message if emulation is not allowed.

use crate::{CHANCES, allowed, emulate_alone, settings};
use retx_emulate::{Backend, EmulationResult};
use retx_record::summary::FlowSummary;
use retx_record::tables::{Episode, Tables};
use retx_scenario::{Scenario, Source, parse};
use retx_sim::{Control, Options, run};
use retx_units::Duration;

/// 40 segments of 1448 bytes over 20 ms each way; `link` and `tcp` are additional lines of the
/// scenario.
fn script(link: &str, tcp: &str) -> String {
    format!(
        r#"
        duration = "10 s"
        sample_interval = "every_ack"
        [[link]]
        name = "wire"
        ends = ["server", "client"]
        rate = "10 Mbit/s"
        delay = "20 ms"
        {link}
        [[flow]]
        name = "f"
        from = "server"
        to = "client"
        initiator = "to"
        tcp = "own"
        app = {{ kind = "transfer", bytes = 57920 }}
        [tcp.own]
        like = "linux_reno"
        {tcp}
        "#
    )
}

fn parsed(text: &str) -> Scenario {
    parse(&Source { name: "test", text, overrides: &[] }).expect("a sound scenario")
}

fn record() -> Options {
    Options {
        record_segments: true,
        record_drops: true,
        record_episodes: true,
        ..Options::default()
    }
}

/// Emulates; `None`, with the reason on standard error, if the machine does not allow it.
fn emulated(scenario: &Scenario) -> Option<EmulationResult> {
    allowed(emulate_alone(scenario, &settings(record(), Backend::Tun)))
}

/// Emulates, and repeats if episodes or windows differ from those simulated: on a machine that is
/// too busy to wake the hosts in time, other events may come first. A programming error fails every
/// time.
fn emulated_as(scenario: &Scenario, simulated: &Tables) -> Option<EmulationResult> {
    let results = |tables: &Tables| (all_said(tables), windows(tables));
    for _ in 1..CHANCES {
        let found = emulated(scenario)?;
        if results(&found.outcome.tables) == results(simulated) {
            return Some(found);
        }
        eprintln!("once more, after {:?}", results(&found.outcome.tables));
    }
    emulated(scenario)
}

/// Properties of an episode that do not depend on the speed of the machine.
fn said(episode: &Episode) -> String {
    let sub = episode.sub_cause.map_or(String::new(), |sub| format!(" {}", sub.name()));
    format!(
        "{} of {}: {}{sub}, backoff {}, {} of {} unnecessary",
        episode.kind.name(),
        episode.trigger_packet,
        episode.cause.name(),
        episode.backoff,
        episode.unnecessary,
        episode.retransmitted,
    )
}

fn all_said(tables: &Tables) -> Vec<String> {
    tables.episodes.as_ref().expect("they were asked for").rows().iter().map(said).collect()
}

/// Runs a script both ways, and requires these episodes of both.
fn both(link: &str, tcp: &str, expected: &[&str]) {
    both_of(&parsed(&script(link, tcp)), expected);
}

fn both_of(scenario: &Scenario, expected: &[&str]) {
    let simulated = run(scenario, &record(), &Control::default()).expect("a sound run");
    let model = &simulated.flows[0];
    assert_eq!(all_said(&simulated.tables), expected, "simulated");
    let Some(EmulationResult { summary, outcome }) = emulated_as(scenario, &simulated.tables)
    else {
        return;
    };
    let flow = summary.flows[0].tcp().expect("it is over TCP");
    assert_eq!(flow.fault, None);
    assert_eq!(all_said(&outcome.tables), expected, "emulated");
    let (flow, kernel) = (&flow.summary, &flow.kernel);
    assert_eq!(
        (flow.fast_retransmit_count, flow.rto_count),
        (model.fast_retransmit_count, model.rto_count)
    );
    assert_eq!((flow.episodes, flow.max_backoff), (model.episodes, model.max_backoff));
    if let Some(timeouts) = kernel.total_rto {
        assert_eq!(flow.rto_count, timeouts);
    }
    check_windows(&simulated.tables, &outcome.tables);
    check_samples(&outcome.tables);
    // Pauses have the same ends as in a simulation.
    let ended = |flow: &FlowSummary| [flow.idle.rto_s, flow.idle.window_s].map(|time| time > 0.0);
    assert_eq!(ended(flow), ended(model));
    assert!((flow.idle.rto_s + flow.idle.window_s - flow.idle_total_s).abs() < 1e-9);
}

/// Windows before and after each recovery.
fn windows(tables: &Tables) -> Vec<(u64, u64)> {
    let rows = tables.episodes.as_ref().expect("they were asked for").rows();
    rows.iter().map(|row| (row.cwnd_before_bytes, row.cwnd_after_bytes)).collect()
}

/// Requires equal windows before and after each recovery.
fn check_windows(simulated: &Tables, emulated: &Tables) {
    assert_eq!(windows(emulated), windows(simulated));
    let rows = emulated.episodes.as_ref().expect("they were asked for").rows();
    assert!(rows.iter().all(|row| row.start <= row.end && row.rto >= Duration::from_millis(200)));
}

/// Requires one sample for each acknowledgment that the sender has received.
fn check_samples(tables: &Tables) {
    let samples = tables.samples.as_ref().expect("they were asked for").rows();
    let acks = tables.acks.as_ref().expect("they were asked for");
    let bytes = samples.last().map_or(0, |last| last.ack_bytes);
    let came: Vec<u64> = acks
        .rows()
        .filter(|(_, fate)| fate.name() == "delivered")
        .map(|(ack, _)| ack.ack.saturating_sub(1).min(bytes))
        .collect();
    let sampled: Vec<u64> = samples.iter().map(|sample| sample.ack_bytes).collect();
    let mut highest = 0;
    let heard = came.iter().map(|ack| {
        highest = highest.max(*ack);
        highest
    });
    // The ACK of the SYN arrives before the program has the socket, the last one finds it closed.
    let heard: Vec<u64> = heard.collect();
    assert!(
        heard[1..].starts_with(&sampled) && heard.len() - sampled.len() <= 2,
        "{heard:?} {sampled:?}"
    );
    assert!(samples.iter().all(|sample| sample.cwnd_bytes >= 500 && sample.rwnd_bytes > 0));
    assert!(samples.iter().skip(1).all(|sample| sample.srtt.is_some()));
}

/// Start of segment `number`.
fn seq(number: u64) -> u64 {
    1 + 1448 * (number - 1)
}

/// Channel that loses these segments, each as often as it is named.
fn losing(numbers: &[u64]) -> String {
    let seqs: Vec<u64> = numbers.iter().map(|number| seq(*number)).collect();
    format!("forward.channel = {{ model = \"script\", drop_seq = {seqs:?} }}")
}

#[test]
fn a_loss_in_the_middle() {
    let found = ["fast_retransmit of 5: wireless, backoff 0, 0 of 1 unnecessary"];
    both(&losing(&[5]), "", &found);
}

#[test]
fn three_losses_and_a_retransmission_lost() {
    let found = ["fast_retransmit of 5: wireless, backoff 0, 0 of 4 unnecessary"];
    both(&losing(&[5, 8, 8, 9]), "", &found);
}

/// The probe retransmits the last segment, and its selective acknowledgment reveals the loss of the
/// others.
#[test]
fn a_lost_tail_is_found_by_a_probe() {
    let found = ["fast_retransmit of 37: wireless, backoff 0, 0 of 3 unnecessary"];
    both(&losing(&[37, 38, 39, 40]), "", &found);
}

#[test]
fn a_lost_tail_whose_probe_is_lost_times_out() {
    let found = ["rto of 40: wireless, backoff 0, 0 of 1 unnecessary"];
    both(&losing(&[40, 40]), "", &found);
}

#[test]
fn timeouts_in_a_row() {
    let found = [
        "rto of 40: wireless, backoff 0, 0 of 1 unnecessary",
        "rto of 40: wireless, backoff 1, 0 of 1 unnecessary",
    ];
    both(&losing(&[40, 40, 40]), "", &found);
}

/// If the peer's window has room for only one segment, a probe repairs the loss before anything
/// else reveals it.
#[test]
fn a_probe_that_repairs_a_loss_is_an_episode() {
    let found = ["fast_retransmit of 6: wireless, backoff 0, 0 of 0 unnecessary"];
    let tcp = "mss = 512\nwindow_scaling = false\nadvertised_window = 500";
    let text = script(&losing(&[3]), tcp).replace("57920", "8000");
    both_of(&parsed(&text), &found);
}

/// If the responses to the first flight are lost, the kernel retransmits segments that have
/// arrived.
#[test]
fn lost_acknowledgments_time_out_in_vain() {
    let found = [
        "rto of 1: spurious ack_lost, backoff 0, 1 of 1 unnecessary",
        "rto of 1: spurious ack_lost, backoff 1, 1 of 1 unnecessary",
    ];
    let lost: Vec<u32> = (2..14).collect();
    let script = format!("reverse.channel = {{ model = \"script\", drop = {lost:?} }}");
    both(&script, "", &found);
}

/// The responses to the first flight, sent at 0.8 s, take three seconds: the timeout is spurious,
/// and is undone.
#[test]
fn a_delay_spike_times_out_in_vain() {
    let found = ["rto of 1: spurious delay, backoff 0, 1 of 1 unnecessary"];
    let spike = r#"schedule = [
        { at = "700 ms", delay = "3 s" }, { at = "1200 ms", delay = "200 ms" },
    ]"#;
    both_of(&parsed(&script(spike, "").replace("\"20 ms\"", "\"200 ms\"")), &found);
}

/// The data in flight fill a slow link, and are lost, like the probe. When the timer expires, only
/// one segment is in flight, and the congestion window is the limit.
#[test]
fn a_timeout_ends_the_limit_by_the_bottleneck() {
    let lost: Vec<u64> = (31..=100).collect();
    let link = losing(&lost);
    let text = script(&link, "").replace("10 Mbit/s", "500 kbit/s").replace("\"20 ms", "\"200 ms");
    let text = text.replace("57920", "144800").replace("duration = \"10 s", "duration = \"5 s");
    let scenario = parsed(&text);
    let simulated = run(&scenario, &record(), &Control::default()).expect("a sound run");
    let Some(EmulationResult { summary, .. }) = emulated(&scenario) else { return };
    let flow = &summary.flows[0].tcp().expect("it is over TCP").summary;
    let [emulated, model] =
        [&flow.limited_by, &simulated.flows[0].limited_by].map(|of| of.bottleneck);
    assert!((emulated - model).abs() < 0.2, "{emulated} {model}");
}

/// The number of drops depends on the timing of the acknowledgments; the cause does not.
#[test]
fn a_full_queue_is_congestion() {
    let queue = r#"queue = { discipline = "droptail", packets = 7 }"#;
    let scenario = parsed(&script(queue, ""));
    let Some(EmulationResult { summary, outcome }) = emulated(&scenario) else { return };
    let flow = &summary.flows[0].tcp().expect("it is over TCP").summary;
    assert!(
        flow.fast_retransmit_count > 0
            && flow.episodes.fast_retransmit.congestion == flow.fast_retransmit_count,
        "{flow:?}"
    );
    assert_eq!(flow.rto_count, 0);
    let episodes = outcome.tables.episodes.expect("they were asked for");
    let retransmitted: u64 = episodes.rows().iter().map(|row| row.retransmitted).sum();
    assert_eq!(retransmitted, flow.segments_retransmitted);
    let segments = outcome.tables.segments.expect("they were asked for");
    let causes = segments.rows().filter(|(row, _)| row.cause.is_some());
    assert_eq!(causes.count() as u64, retransmitted);
}

/// Events before the end of the warm-up do not count, but are in the tables.
#[test]
fn a_warm_up_takes_recoveries_off() {
    let late = "duration = \"1.5 s\"\nwarmup = \"1 s\"\nstop = \"duration\"";
    let text = script(&losing(&[5]), "").replace("duration = \"10 s\"", late);
    let Some(found) = emulated(&parsed(&text)) else { return };
    let flow = &found.summary.flows[0].tcp().expect("it is over TCP").summary;
    assert_eq!(
        (flow.fast_retransmit_count, flow.segments_sent, flow.cwnd_mean_bytes),
        (0, 0, None)
    );
    assert_eq!(all_said(&found.outcome.tables).len(), 1);
}
