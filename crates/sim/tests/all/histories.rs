//! The table `link_samples` of runs sampled at each acknowledgment has a row for every change of
//! every queue, so that a queue's mean and greatest length in the summary can be computed from it.

use crate::plans::{LinkOf, bernoulli, one_flow, tcp};
use crate::random;
use retx_link::queue;
use retx_record::tables::LinkSample;
use retx_sim::plan::{AppPlan, Plan, Sampling, StagePlan};
use retx_sim::{Control, Options, Outcome, run_plan};
use retx_units::{Duration, StreamKey, Time};

fn run(plan: &Plan) -> Outcome {
    run_plan(plan, &Options::default(), &Control::default()).expect("a sound run")
}

/// A queue's mean and greatest length from `start` to `end`.
fn mean_and_most(rows: &[LinkSample], start: Time, end: Time) -> (f64, u64) {
    let ends = rows.iter().skip(1).map(|row| row.time).chain([end]);
    let (mut waited, mut most) = (0u128, 0);
    for (row, until) in rows.iter().zip(ends) {
        let lasts = until.since(row.time.max(start)).as_nanos();
        waited += u128::from(row.queue_packets) * u128::from(lasts);
        if lasts > 0 || row.time >= start {
            most = most.max(row.queue_packets);
        }
    }
    (waited as f64 / end.since(start).as_nanos() as f64, most)
}

/// Compares the rows of all queues with the summary; returns the number of rows that show a change.
fn check(plan: &Plan, name: &str) -> usize {
    let outcome = run(plan);
    let end = Time::ZERO + Duration::from_secs_f64(outcome.engine.simulated_s);
    let rows = outcome.tables.link_samples.as_ref().expect("asked for").rows();
    assert!(rows.is_sorted_by_key(|row| (row.time, row.place)), "{name}");
    let of_place = |place: u32| -> Vec<LinkSample> {
        rows.iter().filter(|row| row.place == place).copied().collect()
    };
    let mut places = 0;
    let mut check = |queue: &queue::Config, mean: Option<f64>, most: u64| {
        let rows = of_place(places);
        let name = format!("{name}, place {places}");
        places += 1;
        assert_eq!(rows[0].time, Time::ZERO, "{name}");
        let changes = |pair: &[LinkSample]| pair[0].queue_packets != pair[1].queue_packets;
        assert!(rows.windows(2).all(changes), "{name}: {rows:?}");
        let Some(mean) = mean else { return };
        let (found, longest) = mean_and_most(&rows, plan.warmup, end);
        // Both means are sums of whole nanoseconds; only their division is rounded.
        assert!((found - mean).abs() <= 1e-9 * mean.max(1.0), "{name}: {found} for {mean}");
        // Under other disciplines than droptail a packet may be dropped at the moment at which it
        // or another one arrives: the rows do not show it, but the maximum counts it.
        let is_sure = matches!(queue, queue::Config::droptail(_));
        assert!(
            if is_sure { longest == most } else { longest <= most },
            "{name}: {longest} {most}"
        );
    };
    for (link, plan) in outcome.links.iter().zip(&plan.pipes) {
        check(&plan.config.queue, link.queue_mean_packets, link.queue_max_packets);
    }
    for (wlan, plan) in outcome.wlans.iter().zip(&plan.stages) {
        let StagePlan::Wlan(plan) = plan else { unreachable!("cells come first") };
        for station in &wlan.stations {
            check(&plan.config.queue, station.queue_mean_packets, station.queue_max_packets);
        }
    }
    rows.len() - places as usize
}

/// The rows agree with the summary in random networks: for links with losses, repair, scheduled
/// changes and fair queues, for WLAN stations, for hops that packets pass ahead of time, and with
/// or without a warm-up.
#[test]
fn rows_make_up_the_mean_and_the_longest_queue() {
    let mut changes = 0;
    for seed in 0..400 {
        let mut plan = random::plan(seed);
        let mut stream = StreamKey { seed, replication: 0 }.stream("histories");
        plan.sampling = Sampling::EveryAck;
        if stream.below(2) == 0 {
            plan.end = Time::from_nanos(1 + stream.below(3_000_000_000));
            plan.warmup = Time::from_nanos(stream.below(plan.end.as_nanos()));
        }
        changes += check(&plan, &format!("seed {seed}"));
    }
    assert!(changes > 100_000, "{changes}");
}

#[test]
fn a_queue_behind_a_host_is_told_whatever_its_tcp_sends_by() {
    for preset in ["newreno", "vegas", "riverbed_reno", "linux", "linux_bbr"] {
        let mut link = LinkOf::new("link", ["server", "client"]);
        link.delay = Duration::from_millis(10);
        (link.packets, link.forward) = (Some(25), vec![bernoulli(0.003)]);
        let mut plan = one_flow(&[link], tcp(preset), AppPlan::Bulk);
        plan.end = Time::ZERO + Duration::from_secs(20);
        plan.sampling = Sampling::EveryAck;
        assert!(check(&plan, preset) > 1000, "{preset}");
    }
}
