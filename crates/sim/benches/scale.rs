//! Cost of a delivered segment as one quantity grows. `scale AXIS VALUE [SECONDS [RUNS]]` simulates
//! SECONDS (by default 2) RUNS times (by default once) and prints a line of JSON about the last
//! run, for programs that measure instructions, memory or time of the process (`bench/scale.py`).
//! `--reference` simulates without any optimisation that exists only for speed; `--tcp=PRESET`
//! selects another TCP preset.
//!
//! Axes: `flows`, the number of flows over a bottleneck; `shares`, the same over one whose rate is
//! 10 Mbit/s times their number; `hops`, the number of links of one flow's path; `window`, the
//! window of one flow in segments, without loss; `lossy_window`, the same with SACK and a loss in
//! every fifth window, where no loss reduces the window; `sampling`, the interval at which ten
//! flows are sampled in milliseconds, 0 for every acknowledgment, `off` for none; `segments`, the
//! number of segments that one flow transfers, however long it takes.

#[path = "../tests/all/plans/mod.rs"]
mod plans;

use plans::{LinkOf, bernoulli, dumbbell, one_after_another, one_flow, shared_dumbbell, tcp};
use retx_sim::Options;
use retx_sim::engine::Engine;
use retx_sim::plan::{AppPlan, Plan, Sampling};
use retx_tcp::Size;
use retx_tcp::loss_cause::{self, threshold};
use retx_units::{Duration, Time};

const SMSS: u64 = 1460;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words = arguments.iter().filter(|word| !word.starts_with("--"));
    let (Some(axis), Some(value)) = (words.next(), words.next()) else {
        // `cargo test --benches` only checks that it runs.
        return run("hops", "3", &hops(3, 1));
    };
    let seconds = words.next().map_or(2, |word| word.parse().expect("whole seconds"));
    let number = || value.parse::<u64>().expect("a whole number");
    let mut plan = match axis.as_str() {
        "flows" => one_after_another(dumbbell(number() as u32, Duration::from_secs(seconds))),
        "shares" => shared_dumbbell(number() as u32, Duration::from_secs(seconds)),
        "hops" => hops(number() as usize, seconds),
        "window" => window(number(), 0.0, seconds),
        "lossy_window" => window(number(), 0.2 / number() as f64, seconds),
        "sampling" => sampling(value, seconds),
        "segments" => transfer(number()),
        other => {
            let axes = "flows, shares, hops, window, lossy_window, sampling, segments";
            panic!("{other} is no axis: {axes}")
        }
    };
    if let Some(preset) = arguments.iter().find_map(|word| word.strip_prefix("--tcp=")) {
        plan.tcps = vec![tcp(preset)];
    }
    let runs: u32 = words.next().map_or(1, |word| word.parse().expect("a whole number of runs"));
    for _ in 1..runs {
        finished(&plan);
    }
    run(axis, value, &plan);
}

fn run(axis: &str, value: &str, plan: &Plan) {
    let engine = finished(plan);
    println!(
        "{{\"axis\": \"{axis}\", \"value\": \"{value}\", \"segments\": {}, \"events\": {}, \
         \"peak_kib\": {}}}",
        engine.bytes_delivered() / SMSS,
        engine.events_handled(),
        peak_kib()
    );
}

fn finished(plan: &Plan) -> Engine<'_> {
    let reference = std::env::args().any(|argument| argument == "--reference");
    let options = Options { is_reference_run: reference, ..Options::default() };
    let mut engine = Engine::new(plan, &options).expect("it fits");
    while !engine.is_over() {
        engine.step();
    }
    engine.finish().expect("packets are conserved");
    engine
}

/// One flow over `count` links with a total delay of 10 ms.
fn hops(count: usize, seconds: u64) -> Plan {
    const NODES: [&str; 2] = ["left", "right"];
    let link = |_| {
        let mut link = LinkOf::new("link", NODES);
        link.mbit_s = Some(1000);
        link.delay = Duration::from_nanos(10_000_000 / count as u64);
        link.packets = Some(1000);
        link
    };
    let links: Vec<LinkOf> = (0..count).map(link).collect();
    let end = Time::ZERO + Duration::from_secs(seconds);
    Plan { end, ..one_flow(&links, tcp("newreno"), AppPlan::Bulk) }
}

/// One flow that always has `segments` segments in flight, just enough to saturate its link.
fn window(segments: u64, loss: f64, seconds: u64) -> Plan {
    let mut link = fast("link", 0);
    // 1538 bytes on the wire at 1 Gbit/s take 12,304 ns; each direction's delay is half of the time
    // that the link takes to send a window.
    link.delay = Duration::from_nanos(segments * 12_304 / 2);
    link.packets = None;
    let mut tcp = tcp(if loss > 0.0 { "sack" } else { "newreno" });
    tcp.config.window_scaling = true;
    tcp.config.send_buffer = Size::Mss(16 * segments);
    tcp.config.receive_buffer = Size::Mss(segments);
    tcp.config.initial_window = Size::Mss(segments).into();
    if loss > 0.0 {
        link.forward = vec![bernoulli(loss)];
        keep_window(&mut tcp.config, segments, link.delay * 2);
    }
    let end = Time::ZERO + Duration::from_secs(seconds);
    Plan { end, ..one_flow(&[link], tcp, AppPlan::Bulk) }
}

/// Configures a TCP that attributes every loss to corruption, so that its window never shrinks,
/// that can buffer everything behind a gap, and whose least timeout is three round trips, so that a
/// lost retransmission is soon sent again.
fn keep_window(config: &mut retx_tcp::Config, segments: u64, rtt: Duration) {
    config.max_cwnd = Some(Size::Mss(segments));
    config.receive_buffer = Size::Mss(8 * segments);
    config.min_rto = rtt * 3;
    config.loss_cause = loss_cause::Config::threshold(threshold::Config {
        threshold: Duration::from_secs(3600),
        origin: threshold::Origin::Zero,
        applies_to_timeouts: true,
        ..threshold::Config::default()
    });
}

fn sampling(value: &str, seconds: u64) -> Plan {
    let sampling = match value {
        "off" => Sampling::Off,
        "0" => Sampling::EveryAck,
        millis => Sampling::Every(Duration::from_millis(millis.parse().expect("milliseconds"))),
    };
    let plan = dumbbell(10, Duration::from_secs(seconds));
    Plan { sampling, tcps: vec![tcp("sack")], ..plan }
}

/// One flow over 1 Gbit/s, which carries 81,000 segments a second: the run may last twice as long
/// as needed.
fn transfer(segments: u64) -> Plan {
    let end = Time::ZERO + Duration::from_secs(60 + segments / 40_000);
    let work = AppPlan::transfer(segments * SMSS);
    Plan { end, ..one_flow(&[fast("link", 5)], tcp("newreno"), work) }
}

fn fast(name: &'static str, millis: u64) -> LinkOf {
    let mut link = LinkOf::new(name, ["server", "client"]);
    link.mbit_s = Some(1000);
    link.delay = Duration::from_millis(millis);
    link.packets = Some(1000);
    link
}

/// Peak memory of this process, KiB; 0 if the system does not report it.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
