//! Speed of the engine: data segments delivered per CPU second in several scenarios. Each is
//! compared with two bare event loops, which only insert and remove events: as many events, and as
//! many pending at a time, as in the scenario. One loop uses the standard library's binary heap,
//! the other the engine's own event queue.
//!
//! `cargo bench -p retx-sim --bench engine` measures all scenarios, and `… -- NAME` those whose
//! name contains NAME. The additional argument `run` omits the bare loops, so that `perf stat`
//! measures the engine alone. Figures are medians of several repetitions; CPU time is that of this
//! thread.
//!
//! The additional argument `count` runs each scenario once, for a short time, and prints the number
//! of segments delivered. A program that counts the instructions of the process
//! (`bench/instructions.py`) divides by it.

#[path = "../tests/all/plans/mod.rs"]
mod plans;

use plans::{
    LinkOf, bernoulli, cell, dumbbell, high_ber, one_flow, shared_dumbbell, tcp, wifi, wifi_uploads,
};
use retx_link::channel::Frame;
use retx_link::wlan::{Cell, Config, Geometry, Packet, Port};
use retx_sim::Options;
use retx_sim::agenda::Agenda;
use retx_sim::engine::Engine;
use retx_sim::plan::{AppPlan, Plan, StagePlan};
use retx_units::{Duration, StreamKey, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Repetitions of each measurement.
const REPETITIONS: usize = 5;

/// Cost of one scenario.
struct Measured {
    segments: f64,
    events: f64,
    /// Events inserted into the queue.
    inserted: u64,
    /// Mean number of events pending.
    pending: usize,
    cpu_s: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` runs each scenario once as a check; `cargo bench` passes `--bench`.
    let quick = arguments.iter().any(|argument| argument == "--test");
    let bare = !arguments.iter().any(|argument| argument == "run");
    let filter =
        arguments.iter().find(|word| !word.starts_with("--") && *word != "run" && *word != "count");
    let wanted = |name: &str| filter.is_none_or(|filter| name.contains(filter.as_str()));
    let seconds = |full: u64| Duration::from_secs(if quick { 1 } else { full });
    if arguments.iter().any(|argument| argument == "count") {
        return count(filter.expect("count goes with a name"));
    }
    let repetitions = if quick { 1 } else { REPETITIONS };
    println!(
        "{:<44}{:>12}{:>12}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "", "segments", "events", "events/", "ns/", "heap", "times", "queue", "times"
    );
    println!(
        "{:<44}{:>12}{:>12}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "", "/CPU s", "/CPU s", "segment", "segment", "ns/seg.", "heap", "ns/seg.", "queue"
    );
    let scenarios = scenarios(&Spans {
        wired: seconds(20),
        shared: seconds(200),
        slow: seconds(1000),
        orbit: seconds(100_000),
        downloads: if quick { 2 } else { 100 },
    });
    for (name, plans) in scenarios.iter().filter(|(name, _)| wanted(name)) {
        report(name, plans, repetitions, bare);
    }
    println!();
    if wanted("802.11b, 50 saturated stations") {
        let (frames, cpu_s) = saturated(50, seconds(100));
        println!(
            "802.11b, 50 saturated stations: {:.0} frames, {:.0} channel events (a frame's \
             beginning or end) per CPU second",
            frames / cpu_s,
            2.0 * frames / cpu_s
        );
    }
    for pending in [10, 1000, 100_000].into_iter().filter(|_| wanted("event queue")) {
        let count = if quick { 10_000 } else { 5_000_000 };
        let seconds = median(repetitions, || bare_loop(pending, count));
        let nanos = seconds / count as f64 * 1e9;
        println!("event queue, {pending} pending: {nanos:.1} ns to take one out and put one in");
    }
    println!("peak memory: {}", peak_memory().unwrap_or_else(|| "unknown here".to_owned()));
}

/// Lengths of the scenarios.
struct Spans {
    wired: Duration,
    /// Bottleneck whose rate is 10 Mbit/s times the number of flows, and a window of thousands of
    /// segments.
    shared: Duration,
    /// Segments that take milliseconds.
    slow: Duration,
    /// A long path, where repairing a loss takes long.
    orbit: Duration,
    downloads: u64,
}

fn scenarios(spans: &Spans) -> Vec<(&'static str, Vec<Plan>)> {
    let ten_of = |preset| vec![Plan { tcps: vec![tcp(preset)], ..dumbbell(10, spans.wired) }];
    let download = |seed| Plan { seed, ..high_ber(0.01) };
    vec![
        ("one flow, 1 Gbit/s x 10 ms", vec![fast_flow(spans.wired)]),
        ("dumbbell of 100 flows, 1 Gbit/s, 10 ms", vec![dumbbell(100, spans.wired)]),
        ("dumbbell of 10 flows, SACK", ten_of("sack")),
        ("dumbbell of 10 flows, Linux's TCP", ten_of("linux")),
        ("dumbbell of 10 flows, Linux's BBR", ten_of("linux_bbr")),
        ("10 flows with SACK, as beside the peers", vec![shared_dumbbell(10, spans.shared)]),
        ("satellite, 100 Mbit/s x 600 ms, SACK, 0.1 % loss", vec![satellite("sack", spans.orbit)]),
        ("BBR, 100 Mbit/s x 600 ms, 0.1 % loss", vec![satellite("bbr", spans.shared)]),
        (
            "download, 2 x 10 Mbit/s, 20 ms, 1 % loss, x100",
            (0..spans.downloads).map(download).collect(),
        ),
        ("802.11b, one station, one flow", vec![wifi(1, 40, spans.slow)]),
        ("802.11b, a chain of four hops, one flow", vec![wifi(4, 8, spans.slow)]),
        ("802.11b, uploads of ten stations", vec![wifi_uploads(10, spans.slow)]),
        ("802.11b, four hops with RTS, one flow", vec![wifi_with_rts(spans.slow)]),
        ("802.11b, four hops with limited hearing, one flow", vec![wifi_in_range(spans.slow)]),
    ]
}

/// Runs each scenario once, and prints a line of JSON for each.
fn count(filter: &str) {
    let [wired, shared, slow] = [2, 30, 200].map(Duration::from_secs);
    let scenarios = scenarios(&Spans { wired, shared, slow, orbit: slow, downloads: 5 });
    for (name, plans) in scenarios.iter().filter(|(name, _)| name.contains(filter)) {
        let run = measure(plans);
        println!(
            "{{\"name\": \"{name}\", \"segments\": {:.0}, \"events\": {:.0}, \"inserted\": {}}}",
            run.segments, run.events, run.inserted
        );
    }
}

/// One flow whose buffers never limit its window, which may have thousands of segments. The queue
/// holds one bandwidth-delay product.
fn satellite(preset: &str, end: Duration) -> Plan {
    let mut link = LinkOf::new("satellite", ["server", "client"]);
    link.mbit_s = Some(100);
    link.delay = Duration::from_millis(300);
    link.packets = Some(5000);
    link.forward = vec![bernoulli(0.001)];
    let mut tcp = tcp(preset);
    tcp.config.window_scaling = true;
    tcp.config.send_buffer = retx_tcp::Size::Bytes(64_000_000);
    tcp.config.receive_buffer = retx_tcp::Size::Bytes(64_000_000);
    Plan { end: Time::ZERO + end, ..one_flow(&[link], tcp, AppPlan::Bulk) }
}

fn fast_flow(end: Duration) -> Plan {
    let mut link = LinkOf::new("link", ["server", "client"]);
    link.mbit_s = Some(1000);
    link.delay = Duration::from_millis(5);
    link.packets = Some(1000);
    Plan { end: Time::ZERO + end, ..one_flow(&[link], tcp("newreno"), AppPlan::Bulk) }
}

/// A chain of four hops in which an RTS precedes each segment, but no acknowledgment.
fn wifi_with_rts(end: Duration) -> Plan {
    change_cell(wifi(4, 8, end), |config| config.rts_threshold = 500)
}

/// A chain of four hops 200 m long, in which stations receive the frames of their neighbours only,
/// and sense frames from up to 550 m.
fn wifi_in_range(end: Duration) -> Plan {
    change_cell(wifi(4, 8, end), |config| {
        config.geometry = Some(Geometry {
            positions: (0..5).map(|number| [number * 200_000, 0]).collect(),
            range: 250_000,
            carrier_sense_range: 550_000,
            interference_range: 550_000,
        });
    })
}

fn change_cell(mut plan: Plan, change: impl Fn(&mut Config)) -> Plan {
    let StagePlan::Wlan(wlan) = &mut plan.stages[0] else { unreachable!("its only stage") };
    change(&mut wlan.config);
    plan
}

/// WLAN cell in which `stations` saturated stations send packets to one further station; returns
/// frames sent and CPU seconds.
fn saturated(stations: u16, span: Duration) -> (f64, f64) {
    let key = StreamKey { seed: 1, replication: 0 };
    let mut cell = Cell::new(&cell(usize::from(stations) + 1), key, "wlan.saturated");
    let frame = Frame { bytes: 1500, ..Frame::control(1500) };
    let feed = |cell: &mut Cell, now, id: u32| {
        let port = Port { from: id as u16, to: stations };
        let _ = cell.handle_packet(now, port, &Packet { id, frame, ecn_capable: false });
    };
    for round in 0..2 * u32::from(stations) {
        feed(&mut cell, Time::ZERO, round / 2);
    }
    let end = Time::ZERO + span;
    let start = cpu_seconds();
    while cell.poll_timeout() < end {
        let now = cell.poll_timeout();
        cell.handle_timeout(now);
        while let Some(departure) = cell.poll_transmit(now) {
            feed(&mut cell, now, departure.id());
        }
    }
    let cpu_s = cpu_seconds() - start;
    let counters = cell.counters();
    // Every frame received was acknowledged, and no station uses RTS.
    let acks = counters.frames_sent - counters.frames_erroneous;
    ((counters.frames_sent + acks) as f64, cpu_s)
}

fn report(name: &str, plans: &[Plan], repetitions: usize, bare: bool) {
    let mut runs: Vec<Measured> = (0..repetitions).map(|_| measure(plans)).collect();
    runs.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
    let run = &runs[runs.len() / 2];
    let limit = |bare_loop: fn(usize, u64) -> f64| {
        if bare { median(repetitions, || bare_loop(run.pending, run.inserted)) } else { f64::NAN }
    };
    let (heap_s, queue_s) = (limit(heap_loop), limit(bare_loop));
    println!(
        "{name:<44}{:>12.0}{:>12.0}{:>9.2}{:>9.0}{:>9.0}{:>9.2}{:>9.0}{:>9.2}",
        run.segments / run.cpu_s,
        run.events / run.cpu_s,
        run.events / run.segments,
        run.cpu_s / run.segments * 1e9,
        heap_s / run.segments * 1e9,
        run.cpu_s / heap_s,
        queue_s / run.segments * 1e9,
        run.cpu_s / queue_s,
    );
}

/// Runs the plans one after another.
fn measure(plans: &[Plan]) -> Measured {
    let options = Options::default();
    let mut sum = Measured { segments: 0.0, events: 0.0, inserted: 0, pending: 0, cpu_s: 0.0 };
    let (mut looks, mut pending) = (0, 0);
    let start = cpu_seconds();
    for plan in plans {
        let mut engine = Engine::new(plan, &options).expect("it fits, and nothing is captured");
        while !engine.is_over() {
            for _ in 0..4096 {
                engine.step();
                if engine.is_over() {
                    break;
                }
            }
            looks += 1;
            pending += engine.agenda().pending_events();
        }
        engine.finish().expect("packets are conserved");
        sum.segments += engine.bytes_delivered() as f64 / 1460.0;
        sum.events += engine.events_handled() as f64;
        sum.inserted += engine.agenda().events_inserted();
    }
    sum.cpu_s = cpu_seconds() - start;
    sum.pending = (pending / looks).max(1);
    sum
}

/// Delays from one event of a target to its next: drawn beforehand, so that drawing is not
/// measured.
fn delays() -> Vec<u64> {
    let mut stream = StreamKey { seed: 1, replication: 0 }.stream("bare loop");
    (0..4096).map(|_| stream.below(20_000_000)).collect()
}

/// Removes `count` events from a binary heap that always holds `pending` events, and inserts a new
/// one for each; events at equal times leave in order of insertion. Returns the CPU seconds.
fn heap_loop(pending: usize, count: u64) -> f64 {
    let delays = delays();
    let first = |(number, delay): (u64, &u64)| Reverse((*delay, number, number as u32));
    let mut heap: BinaryHeap<_> =
        (0..).zip(delays.iter().cycle()).take(pending).map(first).collect();
    let start = cpu_seconds();
    for index in 0..count {
        let Reverse((time, _, target)) = heap.pop().expect("it holds some");
        let delay = delays[index as usize % delays.len()];
        heap.push(Reverse((time + delay, pending as u64 + index, target)));
    }
    let seconds = cpu_seconds() - start;
    assert_eq!(heap.len(), pending);
    seconds
}

/// Like [`heap_loop`], with the engine's own queue.
fn bare_loop(pending: usize, count: u64) -> f64 {
    let mut agenda = Agenda::new(pending as u32, 0);
    let delays = delays();
    for (target, delay) in delays.iter().cycle().take(pending).enumerate() {
        agenda.wake(target as u32, Time::from_nanos(*delay));
    }
    let start = cpu_seconds();
    for index in 0..count {
        let (time, target) =
            agenda.take_only().or_else(|| agenda.take_first(|_| None)).expect("it holds some");
        agenda.wake(target, time + Duration::from_nanos(delays[index as usize % delays.len()]));
    }
    let seconds = cpu_seconds() - start;
    assert_eq!(agenda.pending_events(), pending);
    seconds
}

fn median(repetitions: usize, mut measure: impl FnMut() -> f64) -> f64 {
    let mut values: Vec<f64> = (0..repetitions).map(|_| measure()).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU time of this thread; wall-clock time if the system does not report it.
fn cpu_seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(Instant::now);
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = schedule.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    nanos.map_or_else(|| start.elapsed().as_secs_f64(), |nanos| nanos as f64 / 1e9)
}

/// Peak memory of this process.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().skip(1).collect::<Vec<_>>().join(" "))
}
