//! Random networks, flows and losses drawn from a seed. In every case packets are conserved, every
//! finite flow ends with all its bytes, and the counters agree with each other and with the tables.
//! The test names the seed that failed; `seed(N)` repeats it.

use crate::plans::{insert_agent, split};
use crate::random::{self, pick};
use retx_link::relay::{self, snoop};
use retx_record::flow::{FlowLimit, FlowSummary, LimitCauses, LimitedSpan};
use retx_record::reason::EpisodeKind;
use retx_record::summary::{WlanCounts, WlanSummary};
use retx_record::tables::LimitSpans;
use retx_sim::plan::{AppPlan, Plan, Sampling};
use retx_sim::{CapturePoint, Control, Options, Outcome, run_plan};
use retx_units::{Duration, StreamKey};
use serde_json::Value;
use std::collections::HashMap;

/// Puts a snoop or ELN agent on some paths, and splits the flows of others once or twice.
fn put_relays(plan: &mut Plan) {
    let mut stream = StreamKey { seed: plan.seed, replication: 0 }.stream("swarm.relays");
    for _ in 0..stream.below(3) {
        let at = 1 + stream.below(2) as usize;
        let buffer = pick(&mut stream, &[20_000, 100_000]);
        // Scenarios may not split a connection that carries requests.
        if !plan.flows.iter().any(|flow| flow.app.sends_requests()) {
            split(plan, at, buffer);
        }
    }
    if stream.below(2) == 0 {
        let routes = pick(&mut stream, &plan.flows).routes;
        let hops = routes.map(|route| plan.routes[route as usize].len() as u64);
        let hops = hops[0].min(hops[1]);
        if hops < 2 {
            return;
        }
        let at = 1 + stream.below(hops - 1) as usize;
        let snoop = snoop::Config {
            packets: pick(&mut stream, &[1, 5, 100]),
            dupacks: pick(&mut stream, &[1, 2, 4]),
            retransmissions: pick(&mut stream, &[0, 2, 10]),
            min_timeout: Duration::from_millis(pick(&mut stream, &[1, 100])),
        };
        let configs = [relay::Config::Snoop(snoop), relay::Config::Eln];
        insert_agent(plan, routes, at, pick(&mut stream, &configs));
    }
}

fn bytes_of(work: &AppPlan) -> u64 {
    (0..).map_while(|file| work.file_bytes(file)).sum()
}

/// Every request has been answered, one exchange after another, and the bytes delivered are those
/// of the responses.
fn check_exchanges(plan: &Plan, outcome: &Outcome) {
    let rows = outcome.tables.exchanges.as_ref().map_or(&[][..], |table| table.rows());
    for (index, (flow, planned)) in outcome.flows.iter().zip(&plan.flows).enumerate() {
        let own: Vec<_> = rows.iter().filter(|row| row.flow as usize == index).collect();
        let AppPlan::Exchanges(exchanges) = &*planned.app else {
            assert!(own.is_empty());
            continue;
        };
        let count = u64::from(exchanges.count.expect("all have an end"));
        assert_eq!((own.len() as u64, flow.exchanges.count), (count, Some(count)), "{flow:?}");
        assert_eq!(flow.bytes_delivered, own.iter().map(|row| row.response_bytes).sum::<u64>());
        assert!(own.iter().zip(1..).all(|(row, number)| row.number == number));
        assert!(own.iter().all(|row| row.request_bytes > 0 && row.start <= row.finish));
        assert!(own.windows(2).all(|pair| pair[0].finish <= pair[1].start));
    }
}

fn check_datagrams(plan: &Plan, outcome: &Outcome) {
    let drops = outcome.tables.drops.as_ref().expect("asked for").rows();
    for (index, (flow, planned)) in outcome.datagrams.iter().zip(&plan.datagrams).enumerate() {
        let number = plan.flows.len() + index;
        let counts = flow.datagrams;
        let own = drops.iter().filter(|row| row.flow as usize == number).count() as u64;
        // All UDP flows are finite, and at the end no packets are in flight except copies made by
        // the network.
        assert!(flow.finish_s.is_some(), "{flow:?}");
        assert_eq!(counts.sent, counts.delivered + counts.lost);
        assert!(counts.lost <= own && counts.reordered <= counts.delivered, "{flow:?} {own}");
        assert!(planned.limits.packets.is_none_or(|packets| counts.sent <= packets));
        assert!(planned.limits.bytes.is_none_or(|bytes| flow.bytes_delivered <= bytes));
        let delay = flow.delay;
        let quantiles = [delay.min_s, delay.p50_s, delay.p95_s, delay.p99_s, delay.max_s];
        assert!(quantiles.is_sorted() && quantiles[0].is_some() == (counts.delivered > 0));
    }
}

/// The spans in which a flow was limited by one factor or another cover its life without gaps, and
/// their total per limit equals the summary's to the nanosecond.
fn check_course(index: usize, flow: &FlowSummary, spans: &LimitSpans) {
    let own: Vec<LimitedSpan> = spans
        .rows()
        .iter()
        .filter(|(of, _)| *of as usize == index)
        .map(|(_, span)| *span)
        .collect();
    if own.is_empty() {
        assert_eq!(flow.start_s, flow.finish_s, "a life without rows");
        return;
    }
    let ends = [own.first().map(|span| span.start), own.last().map(|span| span.end)];
    let life = [flow.start_s, flow.finish_s].map(|time| time.map(nanos));
    assert_eq!(ends.map(|time| time.map(|time| time.as_nanos() as i64)), life);
    assert!(own.windows(2).all(|pair| pair[0].end == pair[1].start), "{own:?}");
    assert!(own.windows(2).all(|pair| pair[0].limit != pair[1].limit), "{own:?}");
    let mut times = HashMap::new();
    for span in &own {
        *times.entry(span.limit.key()).or_default() += span.end.since(span.start).as_nanos() as i64;
    }
    let limits = serde_json::to_value(flow.limited_by).expect("plain data");
    for key in FlowLimit::KEYS {
        let known = limits.pointer(&format!("/{}", key.replace('.', "/"))).and_then(Value::as_f64);
        let known = nanos(known.expect("a number"));
        assert_eq!(times.get(key).copied().unwrap_or(0), known, "{key}: {flow:?} {own:?}");
    }
}

fn nanos(seconds: f64) -> i64 {
    (1e9 * seconds).round() as i64
}

/// The summary's times per limit add up to the flow's life, to the nanosecond.
fn check_limits(flow: &FlowSummary) {
    let limits = &flow.limited_by;
    let by_cause = |of: LimitCauses| [of.congestion, of.wireless, of.spurious];
    let single = [
        limits.handshake,
        limits.application,
        limits.send_buffer,
        limits.receive_window,
        limits.bottleneck,
        limits.slow_start,
        limits.pacing,
        limits.nagle,
        limits.delayed_ack,
    ];
    let caused = [limits.window, limits.recovery, limits.timeout].map(by_cause);
    let times = single.into_iter().chain(caused.into_iter().flatten());
    assert!(times.clone().all(|time| time >= 0.0), "{limits:?}");
    let [start, finish] = [flow.start_s, flow.finish_s].map(|time| nanos(time.expect("it ended")));
    assert_eq!(times.map(nanos).sum::<i64>(), finish - start, "{flow:?}");
}

fn check(plan: &Plan, outcome: &Outcome) {
    let tables = &outcome.tables;
    let episodes = tables.episodes.as_ref().expect("asked for").rows();
    let drops = tables.drops.as_ref().expect("asked for").rows();
    for (index, (flow, planned)) in outcome.flows.iter().zip(&plan.flows).enumerate() {
        assert!(flow.finish_s.is_some(), "{flow:?}");
        if !matches!(*planned.app, AppPlan::Exchanges(_)) {
            assert_eq!(flow.bytes_delivered, bytes_of(&planned.app));
        }
        let own = || episodes.iter().filter(|row| row.flow as usize == index);
        let count = |kind| own().filter(|row| row.kind == kind).count() as u64;
        assert_eq!(flow.fast_retransmit_count, count(EpisodeKind::FastRetransmit));
        assert_eq!(flow.rto_count, count(EpisodeKind::Rto));
        for (count, of) in [
            (flow.fast_retransmit_count, flow.episodes.fast_retransmit),
            (flow.rto_count, flow.episodes.rto),
        ] {
            assert_eq!(count, of.congestion + of.wireless + of.spurious);
        }
        assert!(flow.retransmissions_unnecessary <= flow.segments_retransmitted);
        assert!(own().all(|row| row.unnecessary <= row.retransmitted && row.start <= row.end));
        assert!(own().map(|row| row.start).is_sorted());
        check_limits(flow);
        if let Some(spans) = &tables.limits {
            check_course(index, flow, spans);
        }
        let idle = flow.idle.rto_s + flow.idle.window_s;
        assert!((flow.idle_total_s - idle).abs() < 1e-6 && flow.idle_max_s <= idle + 1e-9);
    }
    check_datagrams(plan, outcome);
    check_exchanges(plan, outcome);
    let dropped: u64 = outcome
        .links
        .iter()
        .map(|link| {
            link.drops.queue + link.drops.channel + link.drops.retry_limit + link.drops.script
        })
        .sum();
    let in_cells = outcome.wlans.iter().map(|wlan| wlan.counts.drops);
    let in_cells: u64 = in_cells.map(|drops| drops.queue + drops.retry_limit).sum();
    let by_relays: u64 = outcome.relays.iter().map(|relay| relay.acks_suppressed).sum();
    assert_eq!(drops.len() as u64, dropped + in_cells + by_relays);
    check_relays(plan, outcome);
    outcome.wlans.iter().for_each(check_cell);
    for link in &outcome.links {
        let drops = &link.drops;
        let gone = drops.queue + drops.channel + drops.retry_limit + drops.script;
        let inside = link.packets_queued + link.packets_in_transit;
        assert_eq!(
            link.packets_in + link.packets_duplicated,
            link.packets_delivered + gone + inside
        );
        let [utilisation, queue_mean] =
            [link.utilisation, link.queue_mean_packets].map(|it| it.expect("time"));
        assert!(utilisation <= 1.0 + 1e-9 && queue_mean >= 0.0);
        assert!(queue_mean <= link.queue_max_packets as f64 + 1e-9);
    }
}

fn check_relays(plan: &Plan, outcome: &Outcome) {
    for (index, relay) in outcome.relays.iter().enumerate() {
        let proxies = plan.proxies.iter().filter(|proxy| proxy.relay as usize == index);
        if relay.kind == "split" {
            assert!(relay.buffer_max_bytes <= proxies.map(|proxy| proxy.buffer_bytes).sum());
            assert_eq!(relay.buffer_end_bytes, 0);
        }
        let repeated = relay.retransmissions_by_acks + relay.retransmissions_by_timer;
        assert!(repeated == 0 || relay.segments_cached > 0);
        assert!(relay.buffer_mean_bytes.expect("time") <= relay.buffer_max_bytes as f64 + 1e-9);
    }
    assert!(outcome.flows.iter().all(|flow| flow.undelivered_end_bytes == 0));
}

fn check_cell(cell: &WlanSummary) {
    for station in &cell.stations {
        let counts = &station.counts;
        let gone = counts.drops.queue + counts.drops.retry_limit;
        let inside = station.packets_queued + station.packets_in_service + station.packets_late;
        assert_eq!(counts.packets_in, counts.packets_delivered + gone + inside);
        assert!(counts.frames_collided <= counts.frames_erroneous);
        assert!(counts.frames_erroneous + counts.packets_delivered <= counts.frames_sent);
        assert!(counts.retries <= counts.frames_sent && counts.airtime_share < Some(1.0 + 1e-9));
    }
    let sum =
        |of: fn(&WlanCounts) -> u64| cell.stations.iter().map(|it| of(&it.counts)).sum::<u64>();
    assert_eq!(cell.counts.frames_sent, sum(|counts| counts.frames_sent));
    assert_eq!(cell.counts.packets_delivered, sum(|counts| counts.packets_delivered));
    assert!(cell.utilisation < Some(1.0 + 1e-9));
}

fn seed(seed: u64) {
    let mut plan = random::plan(seed);
    put_relays(&mut plan);
    if seed.is_multiple_of(2) {
        plan.sampling = Sampling::Every(Duration::from_secs(1));
    }
    let point = CapturePoint::Link { link: 0, right: true };
    let capture = if plan.pipes.is_empty() { vec![] } else { vec![point] };
    let options = Options {
        replication: 0,
        record_segments: true,
        record_drops: true,
        record_episodes: true,
        capture_points: capture,
        ..Options::default()
    };
    let outcome = run_plan(&plan, &options, &Control::default())
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    check(&plan, &outcome);
}

/// Number of seeds: the environment variable `RETX_SWARM_SEEDS`, or 400.
fn seeds() -> u64 {
    std::env::var("RETX_SWARM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(400)
}

#[test]
fn whatever_comes_all_bytes_arrive_and_all_counts_agree() {
    let fails = |number: &u64| std::panic::catch_unwind(|| seed(*number)).is_err();
    let failed: Vec<u64> = (0..seeds()).filter(fails).collect();
    assert!(failed.is_empty(), "seeds {failed:?} failed");
}
