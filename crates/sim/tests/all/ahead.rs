//! The engine may compute a packet's passage through a hop before the simulated time of its arrival
//! there. All results are those of a reference run, which never does so.

use crate::plans::{LinkOf, bernoulli, dumbbell, high_ber, one_flow, tcp};
use crate::random;
use retx_record::tables::{LinkSamples, Tables};
use retx_sim::plan::{AppPlan, FlowPlan, Hop, PipePlan, Plan, Sampling};
use retx_sim::{Control, Options, Outcome, run_plan};
use retx_units::{Duration, RandomStream, StreamKey, Time};

fn outcome(plan: &Plan, reference: bool, tables: bool) -> Outcome {
    let [segments, drops, episodes] = [tables; 3];
    let options = Options {
        record_segments: segments,
        record_drops: drops,
        record_episodes: episodes,
        is_reference_run: reference,
        ..Options::default()
    };
    run_plan(plan, &options, &Control::default()).expect("a sound run")
}

/// Asserts that results are those of the reference run; returns the share of its events that were
/// saved.
fn saved(plan: &Plan, name: &str) -> f64 {
    saved_with(plan, name, true).min(saved_with(plan, name, false))
}

fn saved_with(plan: &Plan, name: &str, tables: bool) -> f64 {
    let [ahead, reference] = [false, true].map(|reference| outcome(plan, reference, tables));
    // Output in lines serves to show where two runs differ; it takes several times as long.
    let observable = |of: &Outcome, in_lines: bool| {
        let queues = of.tables.link_samples.as_ref().map(LinkSamples::rows);
        let tables = Tables { link_samples: None, ..of.tables.clone() };
        let results = (&of.links, &of.flows, &of.datagrams, &of.relays, queues, tables);
        if in_lines { format!("{results:#?}") } else { format!("{results:?}") }
    };
    if observable(&ahead, false) != observable(&reference, false) {
        let [found, expected] = [&ahead, &reference].map(|of| observable(of, true));
        let differs =
            found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
        let from = differs.unwrap_or_default().saturating_sub(25);
        let part = |text: &str| text.lines().skip(from).take(30).collect::<Vec<_>>().join("\n");
        panic!("{name}: found\n{}\nexpected\n{}", part(&found), part(&expected));
    }
    assert!(ahead.engine.events <= reference.engine.events, "{name}");
    1.0 - ahead.engine.events as f64 / reference.engine.events as f64
}

/// Ends the run at a random time, starts its statistics at a random earlier one, and chooses a
/// random sampling.
fn cut(plan: &mut Plan, stream: &mut RandomStream) {
    plan.end = Time::from_nanos(1 + stream.below(3_000_000_000));
    plan.warmup = Time::from_nanos(stream.below(plan.end.as_nanos()));
    plan.sampling = match stream.below(3) {
        0 => Sampling::Off,
        1 => Sampling::EveryAck,
        _ => Sampling::Every(Duration::from_nanos(10_000_000 + stream.below(100_000_000))),
    };
}

#[test]
fn results_are_the_same_hop_by_hop() {
    let (mut most, mut some): (f64, u32) = (0.0, 0);
    for seed in 0..200 {
        let mut plan = random::plan(seed);
        let mut stream = StreamKey { seed, replication: 0 }.stream("ahead");
        // Nearly all links of random plans have a channel, changes or repair, and packets cannot
        // pass such links ahead of time: remove these from half of the links.
        for pipe in &mut plan.pipes {
            if stream.below(2) == 0 {
                pipe.config.channel.clear();
                pipe.config.changes.clear();
                pipe.config.repair = None;
            }
        }
        if stream.below(2) == 0 {
            cut(&mut plan, &mut stream);
        }
        if !plan.pipes.is_empty() {
            let share = saved(&plan, &format!("seed {seed}"));
            most = most.max(share);
            some += u32::from(share > 0.0);
        }
    }
    assert!(most > 0.2 && some > 20, "{some} of them pass hops ahead of time: {most}");
}

/// Five hops in a row with random rates, delays and queue limits; some lose packets.
fn chain(seed: u64) -> Plan {
    let mut stream = StreamKey { seed, replication: 0 }.stream("chain");
    let names = ["a", "b", "c", "d", "e"];
    let links: Vec<LinkOf> = names
        .iter()
        .map(|name| {
            let mut link = LinkOf::new(name, ["left", "right"]);
            link.mbit_s = [Some(3), Some(5), Some(10), Some(10), None][stream.below(5) as usize];
            link.delay = Duration::from_nanos(stream.below(3) * 1_234_567);
            link.packets = [None, Some(2), Some(20)][stream.below(3) as usize];
            if stream.below(3) == 0 {
                link.forward = vec![bernoulli(0.01)];
                link.reverse = vec![bernoulli(0.02)];
            }
            link
        })
        .collect();
    let mut plan =
        one_flow(&links, tcp(["sack", "linux"][stream.below(2) as usize]), AppPlan::Bulk);
    cut(&mut plan, &mut stream);
    plan
}

#[test]
fn a_chain_of_hops_is_the_same_hop_by_hop() {
    let most = (0..100).map(|seed| saved(&chain(seed), &format!("chain {seed}")));
    let most = most.fold(0.0, f64::max);
    assert!(most > 0.6, "most of the hops of some are passed ahead of time: {most}");
}

/// Link of a tree. No two links have equal delays, because two packets that arrive over different
/// links at the same nanosecond may change places when they pass ahead of time.
fn branch(stream: &mut RandomStream, alike: bool) -> [PipePlan; 2] {
    let mut link = LinkOf::new("branch", ["left", "right"]);
    link.delay = Duration::from_nanos(1_000_000 + stream.below(1_000_000));
    if !alike {
        link.mbit_s = Some(7 + stream.below(30));
        link.delay = Duration::from_nanos(1 + stream.below(3) * stream.below(1_000_000));
        link.packets = [None, Some(2), Some(20)][stream.below(3) as usize];
        if stream.below(6) == 0 {
            link.forward = vec![bernoulli(0.01)];
            link.reverse = vec![bernoulli(0.02)];
        }
    }
    link.pipes()
}

/// Hosts on both sides of a bottleneck, each with a link of its own. Unless the tree is a star,
/// some hosts of a side reach the bottleneck over a further link that they share. Some flows go
/// from right to left, some are finite.
fn tree(seed: u64, star: bool) -> Plan {
    let mut stream = StreamKey { seed, replication: 0 }.stream("tree");
    let mut middle = LinkOf::new("middle", ["left", "right"]);
    middle.delay = Duration::from_millis(1 + stream.below(3));
    middle.packets = [None, Some(5), Some(20)][stream.below(3) as usize];
    let mut preset = tcp(["sack", "linux", "newreno"][stream.below(3) as usize]);
    if star {
        // Timers that expire at the very nanosecond at which a packet arrives may change places
        // with it, too. The timers of `linux` and of delayed acknowledgments do, because they are
        // set when packets arrive at regular intervals.
        preset = tcp(["sack", "newreno"][stream.below(2) as usize]);
        if stream.below(2) == 0 {
            preset.config.delayed_ack.segments = 1;
            middle.delay = Duration::from_nanos(100_000_000 + stream.below(200_000_000));
        }
    }
    let mut plan = one_flow(&[middle], preset, AppPlan::Bulk);
    let flow = plan.flows.remove(0);
    plan.routes.clear();
    plan.runs_to_end = stream.below(2) == 0;
    let alike = stream.below(2) == 0;
    // For each host, the pipes from the bottleneck to it and those back; the bottleneck's own are 0
    // and 1.
    let mut ways: [Vec<[Vec<u32>; 2]>; 2] = Default::default();
    for side in &mut ways {
        let shared = plan.pipes.len() as u32;
        plan.pipes.extend(branch(&mut stream, alike));
        for _ in 0..2 + stream.below(3) {
            let own = plan.pipes.len() as u32;
            plan.pipes.extend(branch(&mut stream, alike));
            let behind = stream.below(2) == 0 && !star;
            side.push([0, 1].map(|back| {
                let mut way = vec![own + back];
                way.extend(behind.then_some(shared + back));
                if back == 0 {
                    way.reverse();
                }
                way
            }));
        }
    }
    let [left, right] = &ways;
    for (index, (left, right)) in left.iter().cycle().zip(right.iter().cycle()).take(4).enumerate()
    {
        let data = [&left[1][..], &[0], &right[0]].concat();
        let acks = [&right[1][..], &[1], &left[0]].concat();
        plan.routes.extend([data, acks].map(|way| way.into_iter().map(Hop::Pipe).collect()));
        let routes = [2 * index as u32, 2 * index as u32 + 1];
        let turned = stream.below(4) == 0;
        plan.flows.push(FlowPlan {
            name: format!("flow.{index}"),
            routes: if turned { [routes[1], routes[0]] } else { routes },
            // Flows of opposite directions that begin at the same time would stay in step, so each
            // begins at a time of its own.
            start: Time::from_nanos(stream.below(4) * 10_000_000 + 1009 * index as u64),
            app: match stream.below(3) {
                0 => AppPlan::transfer(1 + stream.below(1_000_000)).into(),
                _ => AppPlan::Bulk.into(),
            },
            ..flow.clone()
        });
    }
    cut(&mut plan, &mut stream);
    plan
}

#[test]
fn a_tree_of_links_is_the_same_hop_by_hop() {
    let shares = (0..300).map(|seed| saved(&tree(seed, false), &format!("tree {seed}")));
    let most = shares.fold(0.0, f64::max);
    assert!(most > 0.3, "links before hosts are passed: {most}");
}

#[test]
fn a_star_of_links_is_the_same_hop_by_hop() {
    let share = |seed| saved(&tree(seed, true), &format!("star {seed}"));
    let shares: Vec<f64> = (0..600).map(share).collect();
    let some = shares.iter().filter(|share| **share > 0.4).count();
    assert!(some > 50, "links behind hosts are passed, too, in {some} of them");
}

#[test]
fn a_hop_less_is_waited_for() {
    let plan = dumbbell(5, Duration::from_millis(1200));
    let share = saved(&plan, "dumbbell");
    assert!((0.4..0.7).contains(&share), "two hops of three, beside timers: {share}");
    let share = saved(&high_ber(0.01), "download");
    assert!((0.3..0.6).contains(&share), "one hop of two: {share}");
}
