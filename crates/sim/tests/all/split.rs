//! Connections that a proxy splits: their response times, their buffers, and their ends.

use crate::plans::{LinkOf, bernoulli, one_flow, script, split, tcp};
use retx_record::summary::FlowSummary;
use retx_sim::plan::{AppPlan, FileSizes, Plan, Side};
use retx_sim::{Control, Options, Outcome, run_plan};
use retx_tcp::Size;
use retx_units::{Duration, Time};

const MB: u64 = 1_000_000;

fn run(plan: &Plan) -> Outcome {
    run_plan(plan, &Options::default(), &Control::default()).expect("a sound plan")
}

/// A link of 10 Mbit/s and 10 ms, followed by one of `mbit_s` Mbit/s and 50 ms.
fn two_links(mbit_s: u64) -> [LinkOf; 2] {
    let mut near = LinkOf::new("near", ["server", "base"]);
    near.delay = Duration::from_millis(10);
    let mut far = LinkOf::new("far", ["base", "client"]);
    far.delay = Duration::from_millis(50);
    far.mbit_s = Some(mbit_s);
    [near, far]
}

fn download(mbit_s: u64, work: AppPlan) -> Plan {
    let mut plan = one_flow(&two_links(mbit_s), tcp("newreno"), work);
    let config = &mut plan.tcps[0].config;
    config.receive_buffer = Size::Bytes(60_000);
    config.send_buffer = Size::Bytes(1_000_000);
    plan
}

/// Response time in seconds of one leg alone, as a connection of its own.
fn leg(mbit_s: u64, which: usize, bytes: u64) -> f64 {
    let link = two_links(mbit_s).into_iter().nth(which).expect("there are two");
    let mut plan = download(mbit_s, AppPlan::transfer(bytes));
    plan.pipes = link.pipes().to_vec();
    plan.routes = [0, 1].map(|pipe| vec![retx_sim::plan::Hop::Pipe(pipe)]).to_vec();
    run(&plan).flows[0].response_time_s.expect("it ends")
}

/// Without loss the response time is that of the slower leg and a little more. A slower far leg has
/// to wait for the near leg's handshake and first segment; a faster far leg still has to deliver
/// the last bytes after the near leg has finished.
#[test]
fn without_loss_the_time_is_that_of_the_slower_leg() {
    for mbit_s in [1, 4, 100] {
        let mut plan = download(mbit_s, AppPlan::transfer(2 * MB));
        split(&mut plan, 1, 100_000);
        let outcome = run(&plan);
        let time = outcome.flows[0].response_time_s.expect("it ends");
        let [near, far] = [0, 1].map(|which| leg(mbit_s, which, 2 * MB));
        // The addition is at most a round trip of each link, and a segment on each.
        assert!(time > near.max(far), "{mbit_s}: {time} {near} {far}");
        assert!(time < near.max(far) + 0.02 + 0.1 + 0.03, "{mbit_s}: {time} {near} {far}");
        assert_eq!(outcome.flows[0].bytes_delivered, 2 * MB);
        assert_eq!(outcome.flows[1].bytes_delivered, 2 * MB);
        assert_eq!(outcome.relays[0].bytes_relayed, 2 * MB);
        assert_eq!(outcome.relays[0].buffer_end_bytes, 0);
    }
}

/// No buffer exceeds its limit, and the bytes acknowledged to the sender but not delivered to the
/// client are those held by the proxy and in the receive buffer of its near connection.
#[test]
fn a_slow_far_leg_holds_the_sender_back() {
    let mut plan = download(1, AppPlan::Bulk);
    plan.end = Time::ZERO + Duration::from_secs(20);
    split(&mut plan, 1, 50_000);
    let outcome = run(&plan);
    let [flow, relay] = [&outcome.flows[0], &outcome.flows[1]];
    let held = &outcome.relays[0];
    assert_eq!(held.buffer_max_bytes, 50_000);
    assert!(held.buffer_mean_bytes > Some(40_000.0), "{held:?}");
    assert!(flow.undelivered_max_bytes <= 50_000 + 60_000, "{flow:?}");
    assert!(flow.undelivered_end_bytes > 90_000, "{flow:?}");
    assert!(flow.undelivered_mean_bytes > 80_000.0, "{flow:?}");
    assert_eq!(relay.undelivered_max_bytes, 0);
    assert_eq!(flow.bytes_delivered, relay.bytes_delivered);
    // 1 Mbit/s less headers.
    assert!(flow.goodput_bit_s > Some(0.9e6) && flow.goodput_bit_s < Some(1e6), "{flow:?}");
}

/// Losses on the far link are repaired by the proxy alone, and recorded there with their causes.
#[test]
fn each_leg_repairs_its_own_losses() {
    let mut plan = download(4, AppPlan::transfer(2 * MB));
    plan.pipes[2].config.channel = vec![bernoulli(0.01)];
    split(&mut plan, 1, 100_000);
    let outcome = run(&plan);
    let [server, proxy] = [&outcome.flows[0], &outcome.flows[1]];
    assert_eq!(server.segments_retransmitted, 0);
    assert!(proxy.segments_retransmitted > 5);
    assert!(proxy.episodes.fast_retransmit.wireless > 5);
    assert_eq!(server.fast_retransmit_count + server.rto_count, 0);
    assert_eq!(server.bytes_delivered, 2 * MB);
}

/// Several files are transferred one after another, with connections opened by either side, over
/// one or two proxies.
#[test]
fn files_follow_each_other_whoever_opens() {
    for initiator in [Side::Sender, Side::Receiver] {
        for proxies in 1..3 {
            let sizes = FileSizes::Each([30_000, 0, 1, 50_000].as_slice().into());
            let work = AppPlan::Files { sizes, pause: Duration::from_millis(300) };
            let mut links: Vec<LinkOf> = two_links(4).into();
            links.push(LinkOf::new("third", ["client", "further"]));
            let mut plan = one_flow(&links, tcp("newreno"), work);
            plan.flows[0].initiator = initiator;
            for at in 0..proxies {
                split(&mut plan, 1, 10_000 + at);
            }
            assert_eq!(plan.flows.len() as u64, proxies + 1);
            let outcome = run(&plan);
            for flow in &outcome.flows {
                assert_eq!(flow.bytes_delivered, 80_001, "{initiator:?} {proxies}");
                assert!(flow.finish_s.is_some());
            }
            assert!(outcome.engine.simulated_s < 60.0);
            let first: &FlowSummary = &outcome.flows[0];
            let last = outcome.flows.last().expect("there are some");
            assert_eq!(first.finish_s, last.finish_s);
            let start = outcome.flows.iter().filter_map(|flow| flow.start_s);
            assert_eq!(first.start_s, start.min_by(f64::total_cmp));
        }
    }
}

/// The far link fails permanently: the proxy gives up and resets the sender's connection, and bytes
/// that it had acknowledged are lost.
#[test]
fn a_far_leg_that_dies_takes_the_near_one_along() {
    let mut plan = download(4, AppPlan::transfer(20 * MB));
    plan.tcps[0].config.max_retransmissions = Some(3);
    plan.pipes[2].config.channel = vec![script(&(500..5000).collect::<Vec<u64>>(), &[])];
    split(&mut plan, 1, 50_000);
    let outcome = run(&plan);
    let [server, proxy] = [&outcome.flows[0], &outcome.flows[1]];
    assert_eq!((server.finish_s, proxy.finish_s), (None, None));
    // The run ends with both legs, long before its planned end.
    assert!(outcome.engine.simulated_s < 60.0, "{:?}", outcome.engine);
    assert!(server.undelivered_end_bytes >= 50_000, "{server:?}");
    assert!(server.undelivered_end_bytes <= 110_000, "{server:?}");
    assert_eq!(proxy.rto_count, 3);
}

/// The near link never delivers anything to the proxy: both legs end, too.
#[test]
fn a_near_leg_that_dies_takes_the_far_one_along() {
    for initiator in [Side::Sender, Side::Receiver] {
        let mut plan = download(4, AppPlan::transfer(20 * MB));
        plan.tcps[0].config.max_retransmissions = Some(3);
        plan.flows[0].initiator = initiator;
        let pipe = 0;
        plan.pipes[pipe].config.channel = vec![script(&(0..5000).collect::<Vec<u64>>(), &[])];
        split(&mut plan, 1, 50_000);
        let outcome = run(&plan);
        assert!(outcome.flows.iter().all(|flow| flow.finish_s.is_none()));
        assert!(outcome.engine.simulated_s < 60.0, "{initiator:?} {:?}", outcome.engine);
    }
}

/// Life of a flow in seconds.
fn life_s(flow: &FlowSummary) -> f64 {
    let limits = serde_json::to_value(flow.limited_by).expect("plain data");
    let of = |value: &serde_json::Value| -> f64 {
        let causes = value.as_object().map(|causes| causes.values().filter_map(|it| it.as_f64()));
        value.as_f64().unwrap_or_else(|| causes.map_or(0.0, Iterator::sum))
    };
    limits.as_object().expect("a table").values().map(of).sum()
}

/// The near leg fails in its handshake, so the far leg is never opened. The flow's life is the
/// handshake, as without a proxy.
#[test]
fn a_path_that_was_never_complete_ends_like_a_plain_connection() {
    let mut plan = download(4, AppPlan::transfer(20 * MB));
    plan.flows[0].initiator = Side::Sender;
    plan.tcps[0].config.max_syn_retransmissions = Some(3);
    plan.pipes[0].config.channel = vec![script(&(0..5000).collect::<Vec<u64>>(), &[])];
    let plain = run(&plan).flows[0].clone();
    split(&mut plan, 1, 50_000);
    let outcome = run(&plan);
    assert_eq!(outcome.flows[1].start_s, None);
    assert!(plain.limited_by.handshake > 10.0, "{plain:?}");
    assert_eq!(outcome.flows[0].limited_by, plain.limited_by);
}

/// The near leg fails while the far leg waits for the next file: the far leg's life ends then, even
/// if the run goes on.
#[test]
fn a_leg_that_waits_ends_with_the_other_leg() {
    let sizes = FileSizes::Each([1000, 50_000].as_slice().into());
    let work = AppPlan::Files { sizes, pause: Duration::from_secs(1) };
    let mut plan = download(4, work);
    plan.flows[0].initiator = Side::Sender;
    plan.tcps[0].config.max_syn_retransmissions = Some(3);
    plan.tcps[0].config.max_retransmissions = Some(3);
    plan.pipes[0].config.channel = vec![script(&(4..5000).collect::<Vec<u64>>(), &[])];
    split(&mut plan, 1, 50_000);
    let over = run(&plan).engine.simulated_s;
    plan.runs_to_end = true;
    let outcome = run(&plan);
    assert!(over + 60.0 < outcome.engine.simulated_s, "{over} {:?}", outcome.engine);
    assert_eq!(outcome.flows[1].bytes_delivered, 1000);
    for flow in &outcome.flows {
        assert!((life_s(flow) - over).abs() < 0.2, "{} {over} {flow:?}", life_s(flow));
    }
}

/// All bytes arrive at any loss rate and buffer size, and no buffer exceeds its limit.
#[test]
fn buffers_are_bounded_whatever_is_lost() {
    for seed in 0..60 {
        let mut plan = download(1 + seed % 9, AppPlan::transfer(200_000));
        plan.seed = seed;
        for (pipe, p) in [(0, 0.02), (1, 0.05), (2, 0.1), (3, 0.05)] {
            plan.pipes[pipe].config.channel = vec![bernoulli(p * (seed % 4) as f64 / 3.0)];
        }
        let buffer = [1500, 4000, 20_000, 100_000][seed as usize % 4];
        plan.tcps[0].config.receive_buffer = Size::Bytes([3000, 20_000][seed as usize / 4 % 2]);
        plan.tcps[0].config.min_rto = Duration::from_millis(200);
        split(&mut plan, 1, buffer);
        let outcome = run(&plan);
        let receive = [3000, 20_000][seed as usize / 4 % 2];
        assert_eq!(outcome.flows[0].bytes_delivered, 200_000, "seed {seed}");
        assert!(outcome.relays[0].buffer_max_bytes <= buffer, "seed {seed}");
        let undelivered = outcome.flows[0].undelivered_max_bytes;
        assert!(undelivered <= buffer + receive, "seed {seed}: {undelivered}");
        assert_eq!(outcome.flows[0].undelivered_end_bytes, 0, "seed {seed}");
    }
}

#[test]
fn a_relay_of_a_run_that_ends_in_its_warmup_has_no_mean() {
    let mut plan = download(1, AppPlan::transfer(20_000));
    (plan.warmup, plan.end) = (Time::from_nanos(60_000_000_000), Time::from_nanos(99_000_000_000));
    split(&mut plan, 1, 50_000);
    let outcome = run(&plan);
    assert!(outcome.warning.is_some());
    assert_eq!(outcome.relays[0].buffer_mean_bytes, None);
}
