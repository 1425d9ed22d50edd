//! Random networks, flows and losses from a seed. Whatever comes: packets are conserved, every
//! finite flow ends with all its bytes, and the counters agree with each other and with the tables.
//! A failing seed is named; `seed(N)` runs it again.

mod plans;

use plans::{LinkOf, bernoulli, cell, insert_cell, one_flow, tcp};
use retx_link::pipe::repair::{Config as Repair, arq, fec};
use retx_link::wlan::{self, Geometry};
use retx_link::{channel, queue};
use retx_record::reason::EpisodeKind;
use retx_record::summary::{WlanCounts, WlanSummary};
use retx_sim::plan::{FlowPlan, Plan, Side, Sizes, Work};
use retx_sim::{CapturePoint, Control, Options, Outcome, run_plan};
use retx_tcp::Size;
use retx_units::{Duration, Stream, StreamKey, Time};

fn pick<T: Clone>(stream: &mut Stream, of: &[T]) -> T {
    of[stream.below(of.len() as u64) as usize].clone()
}

fn link(stream: &mut Stream, worst: f64) -> LinkOf {
    let mut link = LinkOf::new("link", ["left", "right"]);
    link.mbit_s = pick(stream, &[None, Some(1), Some(10), Some(1000)]);
    link.delay = Duration::from_micros(pick(stream, &[0, 100, 10_000, 300_000]));
    link.packets = pick(stream, &[None, Some(0), Some(3), Some(50)]);
    link.forward = channels(stream, worst);
    link.reverse = channels(stream, worst);
    link
}

/// Losses up to `worst`, and now and then something stranger.
fn channels(stream: &mut Stream, worst: f64) -> Vec<channel::Config> {
    let loss = stream.uniform() * worst;
    let lossy = pick(
        stream,
        &[
            format!(r#"{{"model":"bernoulli","p":{loss}}}"#),
            format!(r#"{{"model":"gilbert_elliott","loss":{loss},"mean_burst":3}}"#),
            format!(r#"{{"model":"gilbert_elliott_time","loss":{loss},"mean_burst":"50 ms"}}"#),
            r#"{"model":"outage","count":3,"within":"10 s","duration":"0.3 s"}"#.to_owned(),
        ],
    );
    let strange = [
        r#"{"model":"duplicate","p":0.2,"after":"3 ms"}"#,
        r#"{"model":"duplicate","p":0.5}"#,
        r#"{"model":"reorder","p":0.1,"packets":4}"#,
        r#"{"model":"reorder","p":0.1,"delay":"30 ms"}"#,
        r#"{"model":"jitter","max":"20 ms","reorder":true}"#,
        r#"{"model":"random_delay","share":0.05,"delay":"0.5 s"}"#,
    ];
    let strange = (0..stream.below(3)).map(|_| pick(stream, &strange).to_owned());
    let texts: Vec<String> = std::iter::once(lossy).chain(strange).collect();
    texts.iter().map(|text| serde_json::from_str(text).expect("a model")).collect()
}

/// Two to four stations in a row, which may hear each other or not, and lose frames.
fn random_cell(stream: &mut Stream) -> wlan::Config {
    let stations = 2 + stream.below(3) as usize;
    let mut config = cell(stations);
    config.short_retry_limit = pick(stream, &[None, Some(7), Some(4)]);
    config.long_retry_limit = pick(stream, &[None, Some(4)]);
    config.rts_threshold = pick(stream, &[0, 500, 2347]);
    config.channel = vec![bernoulli(stream.uniform() * 0.3)];
    if stream.below(3) == 0 {
        let late = r#"{"model":"random_delay","share":0.2,"law":"exponential","delay":"30 ms"}"#;
        config.channel.push(serde_json::from_str(late).expect("a model"));
    }
    let packets = pick(stream, &[None, Some(0), Some(3), Some(50)]);
    config.queue = if stream.below(2) == 0 {
        queue(stream)
    } else {
        queue::Config::droptail(queue::droptail::Config { packets, bytes: None })
    };
    let positions = (0..stations as i64).map(|place| [place * 200_000, 0]).collect();
    let [sense, spoil] = [(); 2].map(|()| pick(stream, &[250_000, 450_000, 1_000_000]));
    let geometry = Geometry {
        positions,
        range: 250_000,
        carrier_sense_range: sense,
        interference_range: spoil,
    };
    config.geometry = pick(stream, &[true, false]).then_some(geometry);
    config
}

fn work(stream: &mut Stream) -> Work {
    match stream.below(4) {
        0 => Work::transfer(stream.below(200_000)),
        1 => Work::transfer(stream.below(3) * 1460),
        2 => Work::Files {
            sizes: Sizes::Each((0..3).map(|_| stream.below(30_000)).collect()),
            pause: Duration::from_millis(stream.below(3000)),
        },
        _ => Work::Files {
            sizes: Sizes::Equal { count: 4, bytes: stream.below(5000) },
            pause: Duration::ZERO,
        },
    }
}

/// Any discipline, with little room and quick to act.
fn queue(stream: &mut Stream) -> queue::Config {
    let ecn = stream.below(2) == 0;
    let common = pick(
        stream,
        &[
            r#""discipline": "red", "min_threshold": 1, "max_threshold": 4, "weight": 0.1"#,
            r#""discipline": "codel", "target": "1 ms", "interval": "10 ms", "packets": 20"#,
            r#""discipline": "fq_codel", "flows": 4, "packets": 10"#,
            r#""discipline": "fq_codel", "target": "1 ms", "interval": "10 ms""#,
            r#""discipline": "pie", "target": "1 ms", "burst_allowance": "0 s", "packets": 30"#,
        ],
    );
    serde_json::from_str(&format!(r#"{{{common}, "ecn": {ecn}}}"#)).expect("a queue")
}

/// Lets about half of the links have a queue that is no droptail, and half of the TCPs use ECN.
/// Draws of their own: the rest of a plan stays as it is without.
fn vary_queues(plan: &mut Plan) {
    let mut stream = StreamKey { seed: plan.seed, replication: 0 }.stream("swarm.queues");
    for pipe in &mut plan.pipes {
        let other = queue(&mut stream);
        if stream.below(2) == 0 {
            pipe.config.queue = other;
        }
    }
    plan.tcps[0].config.ecn = stream.below(2) == 0;
}

/// Some links repair what they lose; these only lose, and have a droptail queue.
fn repair_some(plan: &mut Plan) {
    let mut stream = StreamKey { seed: plan.seed, replication: 0 }.stream("swarm.repair");
    for pipe in &mut plan.pipes {
        let config = &mut pipe.config;
        let repair = random_repair(&mut stream);
        if stream.below(3) > 0 || config.queue.name() != "droptail" {
            continue;
        }
        config.channel = vec![bernoulli(stream.uniform() * 0.3)];
        config.repair = Some(repair);
    }
}

fn random_repair(stream: &mut Stream) -> Repair {
    let millis = Duration::from_millis(pick(stream, &[0, 2, 30]));
    let in_order = stream.below(2) == 0;
    let k = 1 + stream.below(8) as u32;
    if stream.below(2) == 0 {
        let n = k + 1 + stream.below(3) as u32;
        return Repair::Fec(fec::Config { k, n, block_time: millis, in_order });
    }
    let mode = pick(stream, &[arq::Mode::StopAndWait, arq::Mode::SelectiveRepeat]);
    Repair::Arq(arq::Config { mode, retries: k % 4, feedback: Some(millis), in_order })
}

fn random_plan(seed: u64) -> Plan {
    let mut stream = StreamKey { seed, replication: 0 }.stream("swarm");
    let hops = 1 + stream.below(3) as usize;
    // Up to 40 % lost each way in all.
    let links: Vec<LinkOf> = (0..hops).map(|_| link(&mut stream, 0.4 / hops as f64)).collect();
    let cells = stream.below(3);
    let preset = pick(&mut stream, &["tahoe", "reno", "newreno", "riverbed_reno"]);
    let mut plan = one_flow(&links, tcp(preset), Work::Bulk);
    plan.seed = seed;
    for _ in 0..cells {
        let at = stream.below(plan.routes[0].len() as u64 + 1) as usize;
        let config = random_cell(&mut stream);
        insert_cell(&mut plan, at, config);
    }
    plan.end = Time::ZERO + Duration::from_secs(200_000);
    let config = &mut plan.tcps[0].config;
    config.timestamps = stream.below(2) == 0;
    config.sack = stream.below(2) == 0;
    config.min_rto = Duration::from_millis(pick(&mut stream, &[1, 50, 1000]));
    config.initial_rto = Duration::from_millis(pick(&mut stream, &[20, 1000]));
    config.max_rto = Duration::from_secs(pick(&mut stream, &[2, 60]));
    config.mss = pick(&mut stream, &[100, 536, 1460]);
    let [send, receive] = [(); 2].map(|()| pick(&mut stream, &[2, 6, 1000]));
    config.send_buffer = Size::Mss(send);
    config.receive_buffer = Size::Mss(receive);
    let first = plan.flows.remove(0);
    plan.flows = (0..1 + stream.below(4))
        .map(|index| {
            // Some go the other way.
            let swapped = stream.below(2) == 0;
            FlowPlan {
                name: format!("flow.{index}"),
                work: work(&mut stream),
                start: Time::ZERO + Duration::from_millis(stream.below(2000)),
                initiator: pick(&mut stream, &[Side::Sender, Side::Receiver]),
                routes: if swapped { [1, 0] } else { [0, 1] },
                ..first.clone()
            }
        })
        .collect();
    vary_queues(&mut plan);
    repair_some(&mut plan);
    plan
}

fn bytes_of(work: &Work) -> u64 {
    (0..).map_while(|file| work.file_bytes(file)).sum()
}

fn check(plan: &Plan, outcome: &Outcome) {
    let tables = &outcome.tables;
    let episodes = tables.episodes.as_ref().expect("asked for").rows();
    let drops = tables.drops.as_ref().expect("asked for").rows();
    for (index, (flow, planned)) in outcome.flows.iter().zip(&plan.flows).enumerate() {
        assert!(flow.finish_s.is_some(), "{flow:?}");
        assert_eq!(flow.bytes_delivered, bytes_of(&planned.work));
        let own = || episodes.iter().filter(|row| row.flow as usize == index);
        let count = |kind| own().filter(|row| row.kind == kind).count() as u64;
        assert_eq!(flow.frr_count, count(EpisodeKind::Frr));
        assert_eq!(flow.rto_count, count(EpisodeKind::Rto));
        for (count, of) in
            [(flow.frr_count, flow.episodes.frr), (flow.rto_count, flow.episodes.rto)]
        {
            assert_eq!(count, of.congestion + of.wireless + of.spurious);
        }
        assert!(flow.retransmissions_unnecessary <= flow.segments_retransmitted);
        assert!(own().all(|row| row.unnecessary <= row.retransmitted && row.start <= row.end));
        assert!(own().map(|row| row.start).is_sorted());
        let idle = flow.idle.rto_s + flow.idle.window_s;
        assert!((flow.idle_total_s - idle).abs() < 1e-6 && flow.idle_max_s <= idle + 1e-9);
    }
    let dropped: u64 = outcome
        .links
        .iter()
        .map(|link| {
            link.drops.queue + link.drops.channel + link.drops.retry_limit + link.drops.script
        })
        .sum();
    let in_cells = outcome.wlans.iter().map(|wlan| wlan.counts.drops);
    let in_cells: u64 = in_cells.map(|drops| drops.queue + drops.retry_limit).sum();
    assert_eq!(drops.len() as u64, dropped + in_cells);
    outcome.wlans.iter().for_each(check_cell);
    for link in &outcome.links {
        let gone = link.drops.queue + link.drops.channel + link.drops.retry_limit;
        let inside = link.packets_queued + link.packets_in_air;
        assert_eq!(
            link.packets_in + link.packets_duplicated,
            link.packets_delivered + gone + inside
        );
        assert!(link.utilisation <= 1.0 + 1e-9 && link.queue_mean_packets >= 0.0);
        assert!(link.queue_mean_packets <= link.queue_max_packets as f64 + 1e-9);
    }
}

fn check_cell(cell: &WlanSummary) {
    for station in &cell.stations {
        let counts = &station.counts;
        let gone = counts.drops.queue + counts.drops.retry_limit;
        let inside = station.packets_queued + station.packets_in_service + station.packets_late;
        assert_eq!(counts.packets_in, counts.packets_delivered + gone + inside);
        assert!(counts.frames_collided <= counts.frames_erroneous);
        assert!(counts.frames_erroneous + counts.packets_delivered <= counts.frames_sent);
        assert!(counts.retries <= counts.frames_sent && counts.airtime_share <= 1.0 + 1e-9);
    }
    let sum =
        |of: fn(&WlanCounts) -> u64| cell.stations.iter().map(|it| of(&it.counts)).sum::<u64>();
    assert_eq!(cell.counts.frames_sent, sum(|counts| counts.frames_sent));
    assert_eq!(cell.counts.packets_delivered, sum(|counts| counts.packets_delivered));
    assert!(cell.utilisation <= 1.0 + 1e-9);
}

fn seed(seed: u64) {
    let plan = random_plan(seed);
    let capture = vec![CapturePoint::Link { link: 0, right: true }];
    let options = Options { replication: 0, segments: true, drops: true, episodes: true, capture };
    let outcome = run_plan(&plan, &options, &Control::default())
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    check(&plan, &outcome);
}

#[test]
fn whatever_comes_all_bytes_arrive_and_all_counts_agree() {
    for number in 0..400 {
        let result = std::panic::catch_unwind(|| seed(number));
        assert!(result.is_ok(), "seed {number} failed");
    }
}
