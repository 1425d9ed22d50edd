//! BBR compared with what can be computed for a path of 10 Mbit/s and 40 ms, whose bandwidth-delay
//! product is 32.5 packets.

use crate::plans::{LinkOf, bernoulli, one_flow, tcp};
use retx_sim::plan::{AppPlan, Plan, Sampling};
use retx_sim::{Control, Options, Outcome, run_plan};
use retx_units::{Duration, Time};

/// Bytes of a full segment's payload and of its frame.
const MSS: u64 = 1460;
const FRAME: f64 = 1538.0;
/// Bandwidth-delay product in packets: 10 Mbit/s × 40 ms.
const BDP: f64 = 10e6 * 0.04 / 8.0 / FRAME;
/// Goodput in bit/s of a link that is never idle.
const MOST: f64 = 10e6 * MSS as f64 / FRAME;
/// Packets that Linux's BBR adds to its window for segmentation offload at this rate: three bursts
/// of two packets, and one more, because it rounds the window up to an even number.
const BUDGET: f64 = 3.0 * 2.0 + 1.0;

fn path(preset: &str, mbit_s: u64, loss: f64) -> Plan {
    let mut link = LinkOf::new("path", ["left", "right"]);
    link.mbit_s = Some(mbit_s);
    link.delay = Duration::from_millis(20);
    link.packets = Some(1000);
    if loss > 0.0 {
        link.forward = vec![bernoulli(loss)];
    }
    one_flow(&[link], tcp(preset), AppPlan::Bulk)
}

fn run(plan: &Plan) -> Outcome {
    run_plan(plan, &Options { record_segments: true, ..Options::default() }, &Control::default())
        .expect("a sound plan")
}

fn at(secs: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(secs)
}

/// The state at each millisecond: time, cwnd and flight in packets.
fn samples(outcome: &Outcome) -> Vec<(f64, u64, u64)> {
    let samples = outcome.tables.samples.as_ref().expect("asked for");
    let row = |row: &retx_record::tables::Sample| {
        (row.time.as_secs_f64(), row.cwnd_bytes / MSS, row.flight_size_bytes / MSS)
    };
    samples.rows().iter().map(row).collect()
}

fn sampled(secs: f64) -> Plan {
    let sampling = Sampling::Every(Duration::from_millis(1));
    Plan { end: at(secs), sampling, ..path("bbr", 10, 0.0) }
}

/// Once startup is over, the path is full, the queue is shorter than one bandwidth-delay product,
/// and nothing is lost.
#[test]
fn the_pipe_is_full_and_the_queue_short() {
    let plan = Plan { end: at(62.0), warmup: at(2.0), ..path("bbr", 10, 0.0) };
    let outcome = run(&plan);
    let (flow, link) = (&outcome.flows[0], &outcome.links[0]);
    assert!(flow.goodput_bit_s > Some(0.95 * MOST), "{flow:?}, {MOST}");
    assert!(link.queue_mean_packets < Some(BDP / 2.0), "{link:?}");
    assert!((link.queue_max_packets as f64) <= BDP, "{}", link.queue_max_packets);
    assert_eq!(flow.segments_retransmitted, 0);
}

/// During startup the window grows by the packets delivered, and so doubles with each window; it
/// stops at 2.89 bandwidth-delay products.
#[test]
fn startup_grows_by_what_is_delivered() {
    let outcome = run(&Plan { sampling: Sampling::EveryAck, ..sampled(2.0) });
    let acks = outcome.tables.samples.as_ref().expect("asked for").rows();
    let top = 2885.0 / 1000.0 * BDP;
    let mut doublings = 0;
    for ack in acks.iter().take_while(|ack| ((ack.cwnd_bytes / MSS) as f64) < top) {
        assert_eq!(ack.cwnd_bytes / MSS, 10 + ack.ack_bytes / MSS, "{ack:?}");
        doublings = (ack.cwnd_bytes / MSS / 10).ilog2();
    }
    assert_eq!(doublings, 3);
    let drain = acks.iter().find(|ack| ack.ssthresh_bytes < u64::MAX).expect("the pipe is full");
    let until_then = acks.iter().take_while(|ack| ack.time < drain.time);
    let largest = until_then.map(|ack| ack.cwnd_bytes / MSS).max().expect("there are some") as f64;
    // An ACK of two segments may take the window beyond its limit.
    assert!(largest >= top && largest <= top + BUDGET + 2.0, "{largest}");
}

/// Once the bandwidth has not grown for three rounds, BBR sends at 1000/2885·0.99 of the link's
/// rate, so that the queue drains at 1 − 1000/2885·0.99 of it until one bandwidth-delay product is
/// in flight.
#[test]
fn drain_takes_as_long_as_the_queue_needs() {
    let outcome = run(&sampled(2.0));
    let samples = samples(&outcome);
    let full = samples.iter().map(|it| it.2).max().expect("there are some");
    let drain = samples.iter().rposition(|it| it.2 == full).expect("it is one of them");
    // Packets that will be delivered before pacing allows the next one count as delivered.
    let end = BDP + BUDGET + 2885.0 / 1000.0;
    let low = |it: &&(f64, u64, u64)| (it.2 as f64) <= end;
    let drained = samples[drain..].iter().find(low).expect("it drains").0 - samples[drain].0;
    let queue = (full as f64 - end) * FRAME * 8.0 / 10e6;
    let expected = queue / (1.0 - 1000.0 / 2885.0 * 0.99);
    // Delayed ACKs acknowledge two packets at a time, and draining ends only when an ACK arrives.
    let slack = 4.0 * FRAME * 8.0 / 10e6;
    assert!((drained - expected).abs() < slack, "{drained} s, computed {expected} s");
}

/// At intervals of little more than ten seconds BBR reduces its flight to four packets, for 200 ms
/// and at most one round trip more.
#[test]
fn the_rtt_is_probed_every_ten_seconds() {
    let outcome = run(&sampled(45.0));
    let mut dips: Vec<(f64, f64)> = Vec::new();
    let mut low = false;
    for (time, cwnd, flight) in samples(&outcome) {
        assert!(cwnd >= 4, "{time}: {cwnd}");
        let probing = cwnd == 4 && flight <= 4;
        if probing && !low {
            dips.push((time, time));
        } else if probing {
            dips.last_mut().expect("it has begun").1 = time;
        }
        low = probing;
    }
    assert_eq!(dips.len(), 4, "{dips:?}");
    for (from, to) in &dips {
        assert!((0.2..0.26).contains(&(to - from)), "{dips:?}");
    }
    for pair in dips.windows(2) {
        assert!((10.0..10.6).contains(&(pair[1].0 - pair[0].0)), "{dips:?}");
    }
}

/// BBR keeps its rate at 1 % random loss, which it is known for, while CUBIC falls to less than a
/// tenth of the 100 Mbit/s.
#[test]
fn random_loss_does_not_slow_it_down() {
    let rate = |preset| {
        let plan = Plan { end: at(20.0), ..path(preset, 100, 0.01) };
        run(&plan).flows[0].goodput_bit_s.expect("time") / (10.0 * MOST)
    };
    let [bbr, cubic] = ["bbr", "cubic"].map(rate);
    assert!(bbr > 0.9, "{bbr}");
    assert!(cubic < 0.1, "{cubic}");
}

/// BBR reaches its rate with every loss detection. Those without SACK repair one loss per round
/// trip and are tested at a tenth of the loss rate.
#[test]
fn it_runs_on_any_recovery() {
    for (detection, loss) in [("rack", 0.01), ("sack", 0.01), ("newreno", 0.001)] {
        let mut plan = Plan { end: at(30.0), ..path("bbr", 10, loss) };
        plan.tcps[0].config.loss_detection =
            serde_json::from_value(detection.into()).expect("a registered name");
        let goodput = run(&plan).flows[0].goodput_bit_s.expect("time") / MOST;
        assert!(goodput > 0.95, "{detection}: {goodput}");
    }
}

/// Ten flows share a bottleneck without ever filling its queue of three bandwidth-delay products.
#[test]
fn flows_share() {
    let mut plan = Plan { end: at(60.0), warmup: at(20.0), ..path("bbr", 100, 0.0) };
    let flow = plan.flows[0].clone();
    plan.flows = (0..10_u64)
        .map(|n| retx_sim::plan::FlowPlan {
            name: format!("bulk.{n}"),
            start: Time::ZERO + Duration::from_millis(100 * n),
            ..flow.clone()
        })
        .collect();
    let outcome = run(&plan);
    let rates: Vec<f64> = outcome.flows.iter().filter_map(|flow| flow.goodput_bit_s).collect();
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    assert!(sum > 0.95 * 10.0 * MOST, "{rates:?}");
    // Jain's fairness index; 0.8 is the worst value that BBR's authors show for flows of equal RTT.
    assert!(sum * sum / (10.0 * squares) > 0.8, "{rates:?}");
}
