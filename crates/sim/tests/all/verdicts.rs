//! The causes of retransmission episodes, and which retransmissions were unnecessary, as a run
//! judges them while it goes on, compared with their definition. The definition is applied
//! afterwards to the table of all segments sent, which says of each whether it arrived or what
//! dropped it.

use crate::plans::{LinkOf, bernoulli, cell, insert_agent, insert_cell, one_flow, tcp};
use crate::random;
use retx_link::pipe::repair::{Config as Repair, arq, fec};
use retx_link::relay::{self, snoop};
use retx_record::reason::{Cause, EpisodeKind, InferredCause, SegmentFate};
use retx_record::summary::FlowSummary;
use retx_record::tables::{Episode, Segment};
use retx_sim::plan::{AppPlan, FlowPlan, Hop, Plan};
use retx_sim::{Control, Options, Outcome, run_plan};
use retx_tcp::presets::PRESETS;
use retx_tcp::{Size, loss_cause};
use retx_units::{Duration, Time};

const TABLES: Options = Options {
    replication: 0,
    record_segments: true,
    record_drops: true,
    record_episodes: true,
    capture_points: vec![],
    is_reference_run: false,
};

/// A row of the `segments` table with its number, the segment's fate and the time at which it was
/// acknowledged.
#[derive(Debug, Clone, Copy)]
struct Row {
    number: u32,
    segment: Segment,
    fate: SegmentFate,
    acked: Time,
}

impl Row {
    /// The sequence numbers that the segment takes.
    fn span(&self) -> std::ops::Range<u64> {
        // SYN and FIN are sent without data, and take one sequence number.
        self.segment.seq..self.segment.seq + u64::from(self.segment.length_bytes).max(1)
    }

    fn reaches(&self) -> bool {
        matches!(self.fate, SegmentFate::Delivered | SegmentFate::OnItsWay)
    }
}

/// Results computed from the definition: unnecessary retransmissions of data, and the cause of each
/// episode.
struct Reckoning {
    unnecessary: u64,
    causes: Vec<Cause>,
    /// For each episode, the segments retransmitted until the next episode, without probes after
    /// its end, and how many of these were unnecessary.
    work: Vec<(u64, u64)>,
}

fn reckon(rows: &[Row], episodes: &[Episode], warmup: Time) -> Reckoning {
    let is_unnecessary = |index: usize| {
        let mut span = rows[index].span();
        let overlaps = |row: &&Row| row.span().start < span.end && span.start < row.span().end;
        let earlier: Vec<&Row> =
            rows[..index].iter().filter(|row| row.reaches()).filter(overlaps).collect();
        span.all(|position| earlier.iter().any(|row| row.span().contains(&position)))
    };
    let mut sum = Reckoning { unnecessary: 0, causes: vec![], work: vec![(0, 0); episodes.len()] };
    for (index, row) in rows.iter().enumerate() {
        if !row.segment.retransmission {
            continue;
        }
        let unnecessary = u64::from(is_unnecessary(index));
        if row.segment.length_bytes > 0 && row.segment.sent >= warmup {
            sum.unnecessary += unnecessary;
        }
        let of = episodes.iter().rposition(|episode| episode.next_segment <= row.number);
        // After the end of a recovery, a copy of the last data sent is a probe.
        let sent_to = rows[..index].iter().map(|it| it.span().end).max();
        let is_tail = Some(row.span().end) == sent_to;
        let of = of.filter(|of| row.segment.sent <= episodes[*of].end || !is_tail);
        assert_eq!(row.segment.cause, of.map(|of| episodes[of].kind), "{row:?}");
        if let Some(of) = of {
            sum.work[of].0 += 1;
            sum.work[of].1 += unnecessary;
        }
    }
    for (index, episode) in episodes.iter().enumerate() {
        let next = episodes.get(index + 1).map_or(u32::MAX, |next| next.next_segment);
        sum.causes.push(cause(rows, episode, next));
    }
    sum
}

/// An episode's cause, which the fate of the triggering segment's newest copy sent before the
/// episode decides; if that copy has repaired the loss (as a probe or in the previous recovery),
/// the fate of the copy before it.
fn cause(rows: &[Row], episode: &Episode, next: u32) -> Cause {
    let (before, after): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.number < episode.next_segment);
    let own = after.iter().filter(|row| row.number < next && row.segment.retransmission);
    let of_trigger = |row: &&&Row| row.span().contains(&episode.trigger);
    let sent_again = own.clone().filter(of_trigger).count() > 0;
    let mut copies = before.iter().filter(of_trigger);
    let newest = copies.next_back().expect("what is retransmitted was sent before");
    // A copy sent alone is a probe. Copies sent together with others may still be in flight when
    // the loss of those others begins an episode.
    let alone = rows.iter().filter(|row| row.segment.sent == newest.segment.sent).count() == 1;
    let by_probe =
        !sent_again && newest.segment.retransmission && newest.acked <= episode.start && alone;
    assert!(episode.repaired || !by_probe);
    let decisive = if episode.repaired {
        assert_eq!(
            episode.kind,
            EpisodeKind::FastRetransmit,
            "found by a probe or a recovery, no timeout"
        );
        assert!(newest.segment.retransmission);
        copies.next_back().expect("it repeats")
    } else {
        // If an episode retransmits anything, it retransmits its trigger, except when a fast
        // retransmit has nothing left to repair there.
        let first = own.clone().next();
        assert!(sent_again || first.is_none_or(|_| episode.kind == EpisodeKind::FastRetransmit));
        newest
    };
    match decisive.fate {
        SegmentFate::Delivered | SegmentFate::Refused | SegmentFate::OnItsWay => Cause::Spurious,
        SegmentFate::Queue => Cause::Congestion,
        SegmentFate::Channel | SegmentFate::RetryLimit | SegmentFate::Script => Cause::Wireless,
        SegmentFate::Suppressed => unreachable!("only acknowledgments are"),
    }
}

/// Compares every flow of a run with the definition; returns the number of episodes per cause, and
/// the number of unnecessary retransmissions.
fn check(outcome: &Outcome, warmup: Time) -> ([u64; 3], u64) {
    let segments = outcome.tables.segments.as_ref().expect("asked for");
    let all_rows: Vec<Row> = segments
        .rows()
        .zip(0..)
        .map(|((segment, fate), number)| Row {
            number,
            segment: *segment,
            fate,
            acked: segments.acked_at(number),
        })
        .collect();
    let all_episodes = outcome.tables.episodes.as_ref().expect("asked for").rows();
    let (mut causes, mut unnecessary) = ([0; 3], 0);
    for (index, flow) in outcome.flows.iter().enumerate() {
        let of = |flow: u32| flow as usize == index;
        let rows: Vec<_> = all_rows.iter().filter(|row| of(row.segment.flow)).copied().collect();
        let episodes: Vec<_> = all_episodes.iter().filter(|row| of(row.flow)).copied().collect();
        let reckoning = reckon(&rows, &episodes, warmup);
        assert_eq!(flow.retransmissions_unnecessary, reckoning.unnecessary, "{}", flow.name);
        for (at, episode) in episodes.iter().enumerate() {
            assert_eq!(episode.cause, reckoning.causes[at], "{episode:?}");
            let work = (episode.retransmitted, episode.unnecessary);
            assert_eq!(work, reckoning.work[at], "{episode:?}");
            assert_eq!(episode.sub_cause.is_some(), episode.cause == Cause::Spurious);
            causes[episode.cause as usize] += 1;
        }
        check_sums(flow, &episodes, warmup);
        let data = |row: &&Row| row.segment.length_bytes > 0 && row.segment.sent >= warmup;
        let again = |row: &&Row| row.segment.retransmission;
        assert_eq!(flow.segments_sent, rows.iter().filter(data).count() as u64);
        let data_again = rows.iter().filter(data).filter(again).count() as u64;
        assert_eq!(flow.segments_retransmitted, data_again);
        unnecessary += reckoning.unnecessary;
    }
    (causes, unnecessary)
}

/// Each episode is counted once, under its true cause and the cause that the sender inferred.
fn check_sums(flow: &FlowSummary, episodes: &[Episode], warmup: Time) {
    for (kind, all, of, said) in [
        (
            EpisodeKind::FastRetransmit,
            flow.fast_retransmit_count,
            flow.episodes.fast_retransmit,
            flow.inferred.fast_retransmit,
        ),
        (EpisodeKind::Rto, flow.rto_count, flow.episodes.rto, flow.inferred.rto),
    ] {
        assert_eq!(all, of.congestion + of.wireless + of.spurious);
        let count = |said: Option<InferredCause>, cause: Cause| {
            let same = |row: &&Episode| {
                row.kind == kind
                    && row.cause == cause
                    && said.is_none_or(|said| row.inferred_cause == said)
                    && row.start >= warmup
            };
            episodes.iter().filter(same).count() as u64
        };
        for (said, of) in [
            (None, of),
            (Some(InferredCause::Congestion), said.congestion),
            (Some(InferredCause::Corruption), said.corruption),
        ] {
            assert_eq!(of.congestion, count(said, Cause::Congestion));
            assert_eq!(of.wireless, count(said, Cause::Wireless));
            assert_eq!(of.spurious, count(said, Cause::Spurious));
        }
    }
}

/// A short path with a small queue, losses in both directions, and two flows that compete for it.
fn lossy(seed: u64, preset: &str) -> Plan {
    let mut link = LinkOf::new("link", ["server", "client"]);
    link.delay = Duration::from_millis(20);
    link.packets = Some(5 + seed % 20);
    let loss = [0.0, 0.01, 0.05, 0.2][seed as usize % 4];
    link.forward = vec![bernoulli(loss)];
    link.reverse = vec![bernoulli([0.0, 0.1, 0.4][seed as usize % 3])];
    let mut plan = one_flow(&[link], tcp(preset), AppPlan::transfer(300_000 + seed % 1460));
    plan.seed = seed;
    plan.end = Time::ZERO + Duration::from_secs(300);
    let second = FlowPlan {
        name: "second".into(),
        start: Time::ZERO + Duration::from_millis(seed % 500),
        ..plan.flows[0].clone()
    };
    plan.flows.push(second);
    // Some RTOs are too short for the path, whose queue alone can delay a packet by 30 ms.
    let config = &mut plan.tcps[0].config;
    config.initial_rto = Duration::from_millis([1000, 45, 60][seed as usize % 3]);
    config.min_rto = Duration::from_millis([1000, 1, 200][seed as usize % 3]);
    config.receive_buffer = Size::Bytes(60_000);
    let rules = loss_cause::Config::BUILT_IN;
    let rule = rules[seed as usize / 3 % rules.len()];
    config.loss_cause = serde_json::from_value(rule.into()).expect("a rule has defaults");
    plan
}

#[test]
fn verdicts_of_random_runs_are_those_of_the_definition() {
    let mut sum = ([0; 3], 0);
    for seed in 0..240 {
        let preset = PRESETS[seed as usize / 3 % PRESETS.len()].name;
        let outcome = run_plan(&lossy(seed, preset), &TABLES, &Control::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let (causes, unnecessary) = check(&outcome, Time::ZERO);
        for (sum, count) in sum.0.iter_mut().zip(causes) {
            *sum += count;
        }
        sum.1 += unnecessary;
    }
    // The runs must produce every cause, and unnecessary retransmissions.
    assert!(sum.0.iter().all(|count| *count > 100), "{sum:?}");
    assert!(sum.1 > 1000, "{sum:?}");
}

/// Causes are right over several hops: a WLAN cell with a low retry limit, and links with ARQ or
/// FEC, which deliver in order or not.
#[test]
fn verdicts_hold_over_cells_and_links_that_repair() {
    let mut sum = ([0; 3], 0);
    for seed in 0..120 {
        let mut plan = lossy(seed, PRESETS[seed as usize / 4 % PRESETS.len()].name);
        let in_order = seed % 2 == 0;
        let mode = arq::Mode::SelectiveRepeat;
        let feedback = None;
        plan.pipes[0].config.repair =
            Some(Repair::Arq(arq::Config { mode, retries: seed as u32 % 3, feedback, in_order }));
        let block_time = Duration::from_millis(seed % 7);
        plan.pipes[1].config.repair =
            Some(Repair::Fec(fec::Config { k: 2, n: 3, block_time, in_order }));
        let mut cell = cell(2 + seed as usize % 2);
        cell.channel = vec![bernoulli(0.2)];
        cell.short_retry_limit = Some(2);
        cell.long_retry_limit = Some(1 + seed as u32 % 4);
        insert_cell(&mut plan, 1, cell);
        let outcome = run_plan(&plan, &TABLES, &Control::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let (causes, unnecessary) = check(&outcome, Time::ZERO);
        sum.0.iter_mut().zip(causes).for_each(|(sum, count)| *sum += count);
        sum.1 += unnecessary;
    }
    assert!(sum.0.iter().all(|count| *count > 20), "{sum:?}");
    assert!(sum.1 > 100, "{sum:?}");
}

/// Causes are right in random networks with random losses and TCPs.
#[test]
fn verdicts_hold_in_the_swarm() {
    let mut sum = ([0; 3], 0);
    for seed in 0..seeds() {
        let plan = random::plan(seed);
        // Flows with several connections are left out, because rows do not say to which connection
        // they belong.
        let is_one = |flow: &FlowPlan| flow.app.file_bytes(1).is_none();
        if !plan.flows.iter().all(is_one) {
            continue;
        }
        let outcome = run_plan(&plan, &TABLES, &Control::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let (causes, unnecessary) = std::panic::catch_unwind(|| check(&outcome, Time::ZERO))
            .unwrap_or_else(|_| panic!("seed {seed} failed"));
        sum.0.iter_mut().zip(causes).for_each(|(sum, count)| *sum += count);
        sum.1 += unnecessary;
    }
    assert!(sum.0.iter().all(|count| *count > 100), "{sum:?}");
    assert!(sum.1 > 1000, "{sum:?}");
}

/// Number of random networks: the environment variable `RETX_SWARM_SEEDS`, or 1000.
fn seeds() -> u64 {
    std::env::var("RETX_SWARM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// Causes are right with a snoop agent between two lossy links, also for packets that it repeats,
/// gives up, or still holds when the run ends. Receivers that use timestamps refuse copies that
/// arrive after later segments (PAWS).
#[test]
fn verdicts_hold_with_a_snoop_agent() {
    const TCPS: [&str; 7] = ["tahoe", "reno", "newreno", "sack", "rack", "linux", "linux_reno"];
    let mut sum = ([0; 3], 0);
    let (mut repeated, mut refused) = (0, 0);
    for seed in 0..500 {
        let mut plan = lossy(seed, TCPS[seed as usize / 4 % TCPS.len()]);
        let mut first = LinkOf::new("first", ["origin", "server"]);
        first.delay = Duration::from_millis(5);
        first.forward = vec![bernoulli(0.01)];
        // The first link is fast, so that packets queue behind the agent.
        first.mbit_s = Some(100);
        plan.pipes.extend(first.pipes());
        plan.routes = [[2, 0], [1, 3]].map(|way| way.map(Hop::Pipe).to_vec()).to_vec();
        let snoop = snoop::Config {
            packets: [100, 5][seed as usize % 2],
            retransmissions: seed as u32 % 3,
            min_timeout: Duration::from_millis([20, 100][seed as usize / 2 % 2]),
            ..snoop::Config::default()
        };
        insert_agent(&mut plan, [0, 1], 1, relay::Config::Snoop(snoop));
        if seed % 5 == 0 {
            plan.end = Time::ZERO + Duration::from_millis(50 + 10 * seed);
        }
        let outcome = run_plan(&plan, &TABLES, &Control::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let (causes, unnecessary) = check(&outcome, Time::ZERO);
        sum.0.iter_mut().zip(causes).for_each(|(sum, count)| *sum += count);
        sum.1 += unnecessary;
        repeated += outcome.relays[0].retransmissions_by_acks;
        let rows = outcome.tables.segments.iter().flat_map(|segments| segments.rows());
        refused += rows.filter(|(_, fate)| *fate == SegmentFate::Refused).count();
    }
    assert!(sum.0.iter().all(|count| *count > 50), "{sum:?}");
    assert!(sum.1 > 100 && repeated > 500 && refused > 10, "{sum:?} {repeated} {refused}");
}

/// Causes are right whenever the run ends: segments still in flight count as arriving.
#[test]
fn verdicts_hold_whenever_the_run_ends() {
    for end_ms in (100..2000).step_by(7) {
        let mut plan = lossy(end_ms, "newreno");
        plan.end = Time::ZERO + Duration::from_millis(end_ms);
        check(&run_plan(&plan, &TABLES, &Control::default()).expect("a sound run"), Time::ZERO);
    }
}

/// Causes are right whenever the warm-up ends: a later correction of the cause of an episode that
/// began before does not count. Such corrections are frequent here, because losses happen behind a
/// long first hop and timeouts come before them.
#[test]
fn verdicts_hold_whenever_statistics_begin() {
    let mut corrected = 0;
    for warmup_ms in (100..3000).step_by(11) {
        let mut plan = lossy(warmup_ms, "newreno");
        let mut first = LinkOf::new("first", ["origin", "server"]);
        first.delay = Duration::from_millis(100);
        plan.pipes.extend(first.pipes());
        plan.routes = [[2, 0], [1, 3]].map(|way| way.map(Hop::Pipe).to_vec()).to_vec();
        plan.pipes[0].config.channel = vec![bernoulli(0.2)];
        let config = &mut plan.tcps[0].config;
        config.min_rto = Duration::from_millis(1);
        config.initial_rto = Duration::from_millis(80);
        config.max_rto = Duration::from_millis(80);
        plan.warmup = Time::ZERO + Duration::from_millis(warmup_ms);
        plan.end = Time::ZERO + Duration::from_secs(5);
        let outcome = run_plan(&plan, &TABLES, &Control::default()).expect("a sound run");
        check(&outcome, plan.warmup);
        corrected += outcome.flows.iter().map(|flow| flow.rto_count).sum::<u64>();
    }
    assert!(corrected > 1000, "{corrected}");
}
