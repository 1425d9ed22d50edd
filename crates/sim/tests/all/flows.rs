//! Applications, starts and ends of flows, and statistics over a part of a run.

use crate::plans::{LinkOf, bernoulli, dumbbell, high_ber, one_flow, script, tcp};
use retx_sim::plan::{AppPlan, FileSizes, FlowPlan, Plan, READ_BLOCK, Sampling, Side};
use retx_sim::{Control, Options, Outcome, RunError, run_plan};
use retx_units::{Duration, Rate, Time};

fn run(plan: &Plan) -> Outcome {
    run_plan(plan, &Options::default(), &Control::default()).expect("a sound run")
}

fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

fn short_link() -> LinkOf {
    let mut link = LinkOf::new("link", ["server", "client"]);
    link.delay = Duration::from_millis(10);
    link
}

fn files(sizes: &[u64], pause: Duration) -> AppPlan {
    AppPlan::Files { sizes: FileSizes::Each(sizes.into()), pause }
}

#[test]
fn files_follow_one_another_over_connections_of_their_own() {
    let one = run(&one_flow(&[short_link()], tcp("reno"), AppPlan::transfer(50_000)));
    let pause = Duration::from_secs(3);
    let mut plan = one_flow(&[short_link()], tcp("reno"), files(&[50_000; 3], pause));
    plan.sampling = Sampling::Every(Duration::from_millis(10));
    let three = run(&plan);
    let (one, three_flow) = (&one.flows[0], &three.flows[0]);
    assert_eq!(three_flow.bytes_delivered, 150_000);
    assert_eq!(three_flow.frames_sent, 3 * one.frames_sent);
    assert_eq!(three_flow.segments_sent, 3 * one.segments_sent);
    // Idle time between files counts as time in which the application had nothing to send. There
    // are two such pauses; each includes the close of a connection, whose ACK may be delayed, and
    // the handshake of the next.
    let pauses = three_flow.idle.application_s;
    assert!(pauses > 6.0 && pauses < 2.0 * 3.4, "{pauses}");
    assert!(three_flow.idle_max_s < 1.0, "{three_flow:?}");
    let response = three_flow.response_time_s.expect("it is complete");
    assert!(response > 6.0 + 3.0 * one.response_time_s.expect("it is complete"));
    // Sampled counts of bytes go on from file to file, and no samples are taken between files.
    let samples = three.tables.samples.expect("asked for");
    let acked: Vec<u64> = samples.rows().iter().map(|row| row.ack_bytes).collect();
    assert!(acked.is_sorted());
    assert_eq!(acked.last(), Some(&150_000));
    let longest = samples.rows().windows(2).map(|pair| pair[1].time.since(pair[0].time)).max();
    assert!(longest > Some(Duration::from_millis(2900)), "{longest:?}");
}

/// A slow receiving application closes the receive window again and again: the sender reaches that
/// application's rate, is limited by the receive window nearly all the time, and loses nothing. The
/// connection ends once everything has been read.
#[test]
fn a_slow_reader_limits_its_sender() {
    let sizes = [300_000, 0, 100_000];
    for preset in ["reno", "sack", "linux"] {
        let mut plan = one_flow(&[short_link()], tcp(preset), files(&sizes, Duration::ZERO));
        plan.tcps[0].config.receive_buffer = retx_tcp::Size::Bytes(30_000);
        plan.flows[0].read_rate = Some(Rate::from_bit_s(400_000));
        let outcome = run(&plan);
        let flow = &outcome.flows[0];
        assert_eq!(flow.bytes_delivered, 400_000);
        // The file is complete when its last block is read, so the time spent on that block does
        // not count.
        let least = 8.0 * (400_000.0 - 2.0 * READ_BLOCK as f64) / 400_000.0;
        let response = flow.response_time_s.expect("it is complete");
        assert!((least..least + 1.5).contains(&response), "{preset}: {response}");
        assert!(flow.limited_by.receive_window > 0.75 * response, "{preset}: {flow:?}");
        assert_eq!((flow.rto_count, flow.fast_retransmit_count), (0, 0), "{preset}");
    }
}

#[test]
fn files_may_differ_and_either_end_may_open() {
    let mut link = short_link();
    link.forward = vec![bernoulli(0.1)];
    link.reverse = vec![bernoulli(0.1)];
    let sizes = [1, 0, 100_000, 1460, 7];
    for seed in 0..50 {
        let work = files(&sizes, Duration::ZERO);
        let mut plan = Plan { seed, ..one_flow(&[clone(&link)], tcp("newreno"), work) };
        plan.flows[0].initiator = if seed % 2 == 0 { Side::Sender } else { Side::Receiver };
        let outcome = run(&plan);
        let flow = &outcome.flows[0];
        assert_eq!(flow.bytes_delivered, sizes.iter().sum::<u64>(), "seed {seed}");
        // No file waits for the end of the previous connection's TIME-WAIT, which lasts a minute.
        assert!(flow.finish_s.is_some_and(|finish| finish < 60.0), "seed {seed}: {flow:?}");
    }
}

/// An RTO shorter than the path's RTT causes retransmissions of every FIN, which arrive when the
/// connection is closed and the next may be open: the next connection must not take them for its
/// own.
#[test]
fn late_packets_belong_to_their_own_connection() {
    let frames = |pause| {
        let mut plan = one_flow(&[short_link()], tcp("reno"), files(&[5_000; 4], pause));
        let config = &mut plan.tcps[0].config;
        config.initial_rto = Duration::from_millis(15);
        config.min_rto = Duration::from_millis(15);
        config.max_rto = Duration::from_millis(15);
        let flow = run(&plan).flows.remove(0);
        assert!(flow.finish_s.is_some());
        (flow.frames_sent, flow.acks_sent, flow.segments_retransmitted)
    };
    assert_eq!(frames(Duration::ZERO), frames(Duration::from_secs(1)));
}

fn clone(link: &LinkOf) -> LinkOf {
    LinkOf { forward: link.forward.clone(), reverse: link.reverse.clone(), ..*link }
}

#[test]
fn nothing_to_send_is_a_handshake_and_a_close() {
    for initiator in [Side::Sender, Side::Receiver] {
        let mut plan = one_flow(&[short_link()], tcp("reno"), AppPlan::transfer(0));
        plan.flows[0].initiator = initiator;
        let outcome = run(&plan);
        let flow = &outcome.flows[0];
        assert_eq!((flow.bytes_delivered, flow.segments_sent), (0, 0));
        assert!(flow.response_time_s.is_some_and(|response| response < 0.1), "{flow:?}");
        assert!(outcome.engine.simulated_s < 0.2);
    }
}

#[test]
fn no_time_is_an_empty_result() {
    let outcome = run(&Plan { end: Time::ZERO, ..high_ber(0.0) });
    let flow = &outcome.flows[0];
    assert_eq!((flow.start_s, flow.finish_s, flow.bytes_delivered), (None, None, 0));
    assert_eq!(flow.goodput_bit_s, None);
    assert_eq!((outcome.links[0].packets_in, outcome.links[0].utilisation), (0, None));
}

#[test]
fn a_run_ends_when_its_finite_flows_have_closed() {
    let link = LinkOf { packets: Some(20), ..short_link() };
    let mut plan = one_flow(&[link], tcp("reno"), AppPlan::transfer(100_000));
    let bulk = FlowPlan { name: "bulk".into(), app: AppPlan::Bulk.into(), ..plan.flows[0].clone() };
    plan.flows.push(bulk);
    let outcome = run(&plan);
    let finish = outcome.flows[0].finish_s.expect("it is complete");
    let end = outcome.engine.simulated_s;
    // Closing takes the FINs of both sides and their ACKs, two round trips at most.
    assert!(end > finish && end < finish + 0.3, "{finish} {end}");
    assert_eq!(outcome.flows[1].finish_s, None);
    assert!(outcome.flows[1].bytes_delivered > 0);
    plan.runs_to_end = true;
    plan.end = at(20.0);
    assert!((run(&plan).engine.simulated_s - 20.0).abs() < 1e-9);
}

/// All of the sender's packets are lost from some time on: the sender gives up, and the run ends.
#[test]
fn a_reset_ends_a_flow_unfinished() {
    let mut link = short_link();
    let all: Vec<u64> = (40..4000).collect();
    link.forward = vec![script(&all, &[])];
    let mut plan = one_flow(&[link], tcp("reno"), AppPlan::transfer(1_000_000));
    plan.tcps[0].config.max_retransmissions = Some(3);
    let outcome = run(&plan);
    let flow = &outcome.flows[0];
    assert_eq!(flow.finish_s, None);
    assert!(flow.bytes_delivered > 0 && flow.bytes_delivered < 1_000_000);
    assert!(outcome.engine.simulated_s < 60.0, "{:?}", outcome.engine);
    assert_eq!(flow.max_backoff, 3);
}

#[test]
fn flows_start_when_they_are_to() {
    let mut plan = one_flow(&[short_link()], tcp("reno"), AppPlan::transfer(10_000));
    plan.flows[0].start = at(5.0);
    let late = FlowPlan { name: "late".into(), start: at(7.5), ..plan.flows[0].clone() };
    plan.flows.push(late);
    let outcome = run(&plan);
    let starts: Vec<_> = outcome.flows.iter().map(|flow| flow.start_s).collect();
    assert_eq!(starts, [Some(5.0), Some(7.5)]);
    // As each flow has the link to itself, all of them take equally long.
    let responses: Vec<_> = outcome.flows.iter().map(|flow| flow.response_time_s).collect();
    assert_eq!(responses[0], responses[1]);
}

/// Statistics of a run that ends at the warm-up time and of one that starts counting then add up to
/// those of the whole run.
#[test]
fn statistics_begin_with_the_warmup() {
    let mut link = short_link();
    link.packets = Some(10);
    link.forward = vec![bernoulli(0.02)];
    let plan = |end: f64, warmup: f64| Plan {
        end: at(end),
        warmup: at(warmup),
        ..one_flow(&[clone(&link)], tcp("newreno"), AppPlan::Bulk)
    };
    let (whole, before, after) =
        (run(&plan(60.0, 0.0)), run(&plan(20.0, 0.0)), run(&plan(60.0, 20.0)));
    let sum = |of: fn(&Outcome) -> u64| {
        assert_eq!(of(&whole), of(&before) + of(&after));
        assert!(of(&after) > 0);
    };
    sum(|run| run.flows[0].bytes_delivered);
    sum(|run| run.flows[0].segments_sent);
    sum(|run| run.flows[0].segments_retransmitted);
    sum(|run| run.flows[0].frames_sent);
    sum(|run| run.flows[0].acks_sent);
    sum(|run| run.flows[0].fast_retransmit_count);
    sum(|run| run.links[0].packets_in);
    sum(|run| run.links[0].drops.channel);
    let weighted = |of: fn(&Outcome) -> f64| {
        let parts = of(&before) * 20.0 + of(&after) * 40.0;
        assert!((of(&whole) * 60.0 - parts).abs() < 1e-6 * parts, "{} {parts}", of(&whole));
    };
    weighted(|run| run.links[0].utilisation.expect("time"));
    weighted(|run| run.links[0].queue_mean_packets.expect("time"));
    weighted(|run| run.flows[0].goodput_bit_s.expect("time"));
    let longest = before.links[0].queue_max_packets.max(after.links[0].queue_max_packets);
    assert_eq!(whole.links[0].queue_max_packets, longest);
    // A run that ends before its warm-up does has empty statistics.
    let nothing = run(&plan(10.0, 20.0));
    assert_eq!((nothing.flows[0].bytes_delivered, nothing.links[0].packets_in), (0, 0));
}

/// Maxima are taken from the end of the warm-up on, and omit everything that was over by then.
#[test]
fn maxima_begin_with_the_warmup() {
    let mut link = short_link();
    link.forward = vec![bernoulli(0.1)];
    let work = AppPlan::transfer(500_000);
    let plan = Plan { end: at(200.0), ..one_flow(&[link], tcp("reno"), work) };
    let plan = Plan { runs_to_end: true, ..plan };
    let whole = run(&plan);
    assert!(whole.links[0].queue_max_packets > 0 && whole.flows[0].max_backoff > 0);
    assert!(whole.flows[0].idle_max_s > 0.0);
    let after = run(&Plan { warmup: at(190.0), ..plan });
    assert!(after.flows[0].finish_s < Some(190.0));
    assert_eq!((after.links[0].queue_max_packets, after.flows[0].max_backoff), (0, 0));
    assert!(after.flows[0].idle_max_s.abs() < f64::MIN_POSITIVE);
    assert_eq!((after.flows[0].rtt_mean_s, after.flows[0].cwnd_mean_bytes), (None, None));
}

#[test]
fn samples_come_at_their_interval_and_at_every_ack() {
    let mut plan = high_ber(0.0);
    plan.sampling = Sampling::Every(Duration::from_secs(1));
    let by_second = run(&plan).tables.samples.expect("asked for");
    // There is no sample at 0 s, before the flow's start, and none after 50.4 s, when the flow has
    // closed.
    let times: Vec<f64> = by_second.rows().iter().map(|row| row.time.as_secs_f64()).collect();
    assert_eq!(times, (1..=50).map(f64::from).collect::<Vec<_>>());
    assert!(by_second.rows().iter().all(|row| row.rwnd_bytes == 8760));
    plan.sampling = Sampling::EveryAck;
    let outcome = run(&plan);
    let by_ack = outcome.tables.samples.expect("asked for");
    let arrived = outcome.links[1].packets_delivered;
    // The client's SYN arrives before the sender exists, and its last ACK after the sender has
    // closed; neither causes a sample.
    assert!((arrived - 2..=arrived).contains(&(by_ack.rows().len() as u64)));
}

/// The mean of a queue's samples is its mean length, up to changes of the queue between two
/// samples.
#[test]
fn queues_are_sampled_with_the_senders() {
    let (step, whole) = (Duration::from_micros(20), Duration::from_millis(500));
    let mut plan = dumbbell(3, whole);
    plan.sampling = Sampling::Every(step);
    let outcome = run(&plan);
    let samples = outcome.tables.link_samples.expect("asked for");
    for (place, link) in (0..).zip(&outcome.links) {
        let queue: Vec<u64> = samples
            .rows()
            .iter()
            .filter(|row| row.place == place)
            .map(|row| row.queue_packets)
            .collect();
        let mean = queue.iter().sum::<u64>() as f64 / queue.len() as f64;
        // Every packet lengthens the queue once and shortens it once.
        let changes = 2.0 * link.packets_in as f64;
        let bound = changes * step.as_secs_f64() / whole.as_secs_f64();
        let whole_mean = link.queue_mean_packets.expect("time");
        let off = (mean - whole_mean).abs();
        assert!(off <= bound, "{place}: {mean} for {whole_mean}");
        assert!(queue.iter().max() <= Some(&link.queue_max_packets));
    }
    // The mean queue is much longer than the bounds above, so the comparison means something.
    assert!(outcome.links[0].queue_mean_packets.expect("time") > 100.0);
}

#[test]
fn a_cancelled_run_stops() {
    let control = Control::default();
    control.cancel();
    let result = run_plan(&high_ber(0.0), &Options::default(), &control);
    assert_eq!(result.err(), Some(RunError::Cancelled));
}

#[test]
fn progress_is_reported() {
    let control = Control::default();
    let outcome = run_plan(&high_ber(0.0), &Options::default(), &control).expect("a sound run");
    let reported = Duration::from_nanos(control.simulated_nanos()).as_secs_f64();
    assert!((reported - outcome.engine.simulated_s).abs() < 1e-9);
}

/// A bottleneck shared by many flows is busy, its queue overflows, and no flow starves.
#[test]
fn a_dumbbell_shares_its_bottleneck() {
    // During the warm-up slow start overflows the queue, and NewReno then repairs one loss per
    // round trip for some time.
    let outcome = run(&Plan { warmup: at(10.0), ..dumbbell(20, Duration::from_secs(20)) });
    let total: f64 = outcome.flows.iter().filter_map(|flow| flow.goodput_bit_s).sum();
    let most = 1e9 * 1460.0 / 1538.0;
    assert!(total > 0.8 * most && total <= most * 1.01, "{total}");
    assert!(outcome.links[0].drops.queue > 0);
    assert_eq!(outcome.links[0].queue_max_packets, 1000);
    assert!(outcome.flows.iter().all(|flow| flow.bytes_delivered > 1_000_000));
    assert!(outcome.flows.iter().all(|flow| flow.episodes.fast_retransmit.wireless == 0));
}

/// A plan may have very many flows; those that have not begun only cost memory.
#[test]
fn a_hundred_thousand_flows() {
    let mut plan = one_flow(&[short_link()], tcp("reno"), AppPlan::transfer(100));
    let first = plan.flows.remove(0);
    plan.flows = (0..100_000)
        .map(|index| FlowPlan {
            name: format!("flow.{index}"),
            start: Time::ZERO + Duration::from_millis(index),
            ..first.clone()
        })
        .collect();
    let outcome = run(&plan);
    assert!(outcome.flows.iter().all(|flow| flow.bytes_delivered == 100));
}
