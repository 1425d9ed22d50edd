//! Constructed cases, one for each cause of a retransmission episode: the record names that cause
//! and no other. Each case runs over one link, two links, a WLAN cell, and a link followed by a
//! cell, with the fault at each of them in turn.

use crate::plans::{LinkOf, bernoulli, cell, insert_cell, one_flow, script, tcp};
use retx_link::pipe::repair::{Config as Repair, arq};
use retx_link::{channel, pipe, queue, wlan};
use retx_record::capture::DropReason;
use retx_record::reason::{Cause, EpisodeKind, SubCause};
use retx_record::tables::Episode;
use retx_sim::plan::{AppPlan, PipePlan, Plan, StagePlan};
use retx_sim::{Control, Options, run_plan};
use retx_tcp::Size;
use retx_units::{Duration, Rate, Time};

const TABLES: Options = Options {
    replication: 0,
    record_segments: true,
    record_drops: true,
    record_episodes: true,
    capture_points: vec![],
    is_reference_run: false,
};

/// The first byte of the 20th data segment.
const TWENTIETH: u64 = 1 + 19 * 1460;

/// Path of the data: a number of links of 10 Mbit/s and 20 ms, and possibly a WLAN cell behind
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Path {
    links: usize,
    cell: bool,
}

/// Place of the losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Link(usize),
    Cell,
}

const ONE_LINK: Path = Path { links: 1, cell: false };
const TWO_LINKS: Path = Path { links: 2, cell: false };
const CELL: Path = Path { links: 0, cell: true };
const LINK_AND_CELL: Path = Path { links: 1, cell: true };

/// Every place of every path.
const SITES: [(Path, Place); 6] = [
    (ONE_LINK, Place::Link(0)),
    (TWO_LINKS, Place::Link(0)),
    (TWO_LINKS, Place::Link(1)),
    (CELL, Place::Cell),
    (LINK_AND_CELL, Place::Link(0)),
    (LINK_AND_CELL, Place::Cell),
];

/// A transfer of 100 segments whose window never fills the path's queues.
fn plan(path: Path) -> Plan {
    let mut links = vec![LinkOf::new("one", ["a", "b"]), LinkOf::new("two", ["b", "c"])];
    links.truncate(path.links);
    links.iter_mut().for_each(|link| link.delay = Duration::from_millis(20));
    let mut plan = one_flow(&links, tcp("newreno"), AppPlan::transfer(100 * 1460));
    plan.tcps[0].config.receive_buffer = Size::Mss(16);
    if path.cell {
        insert_cell(&mut plan, path.links, cell(2));
    }
    plan
}

/// The direction of a link in which data pass.
fn data_of(plan: &mut Plan, link: usize) -> &mut PipePlan {
    &mut plan.pipes[2 * link]
}

/// The direction of a link in which acknowledgments pass.
fn acks_of(plan: &mut Plan, link: usize) -> &mut PipePlan {
    &mut plan.pipes[2 * link + 1]
}

/// The cell, in which `s0` sends the data and `s1` the acknowledgments.
fn cell_of(plan: &mut Plan) -> &mut wlan::Config {
    match plan.stages.first_mut() {
        Some(StagePlan::Wlan(wlan)) => &mut wlan.config,
        _ => panic!("no cell"),
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// From 100 ms to `until`, a cell loses all frames of a station, which gives up after `limit`
/// attempts.
fn silence(cell: &mut wlan::Config, station: &str, limit: Option<u32>, until: Time) {
    let change = |at, channel| wlan::Change { at, rate: None, channel: Some(channel) };
    cell.short_retry_limit = limit;
    cell.channel_senders = Some(vec![station.to_owned()]);
    cell.changes = vec![change(ms(100), vec![bernoulli(1.0)]), change(until, vec![])];
}

/// Runs a plan and returns the episodes and the reasons of all drops; asserts that the summary
/// counts every episode once, under its cause.
fn run(plan: &Plan) -> (Vec<Episode>, Vec<DropReason>) {
    let outcome = run_plan(plan, &TABLES, &Control::default()).expect("a sound run");
    let flow = &outcome.flows[0];
    assert!(flow.finish_s.is_some());
    for (count, of) in [
        (flow.fast_retransmit_count, flow.episodes.fast_retransmit),
        (flow.rto_count, flow.episodes.rto),
    ] {
        assert_eq!(count, of.congestion + of.wireless + of.spurious);
    }
    let episodes = outcome.tables.episodes.expect("asked for").rows().to_vec();
    assert_eq!(episodes.len() as u64, flow.fast_retransmit_count + flow.rto_count);
    assert!(!episodes.is_empty());
    let drops = outcome.tables.drops.expect("asked for");
    (episodes, drops.rows().iter().map(|drop| drop.reason).collect())
}

fn causes(episodes: &[Episode]) -> Vec<(EpisodeKind, Cause)> {
    episodes.iter().map(|episode| (episode.kind, episode.cause)).collect()
}

#[test]
fn a_queue_drops_it() {
    for (path, place) in SITES {
        let mut plan = plan(path);
        plan.tcps[0].config.receive_buffer = Size::Mss(1000);
        let four = queue::droptail::Config { packets: Some(4), bytes: None };
        let four = queue::Config::droptail(four);
        for link in 0..path.links {
            // A faster link in front fills the short queue behind it.
            data_of(&mut plan, link).config.rate = Some(Rate::from_bit_s(100_000_000));
        }
        match place {
            Place::Link(link) => {
                let pipe = &mut data_of(&mut plan, link).config;
                pipe.rate = Some(Rate::from_bit_s(5_000_000));
                pipe.queue = four;
            }
            Place::Cell => cell_of(&mut plan).queue = four,
        }
        let (episodes, drops) = run(&plan);
        assert!(drops.iter().all(|reason| *reason == DropReason::Queue), "{path:?}, {place:?}");
        let alien = episodes.iter().find(|episode| episode.cause != Cause::Congestion);
        assert_eq!(alien, None, "{path:?}, {place:?}");
    }
}

fn every_fortieth() -> channel::Config {
    serde_json::from_str(r#"{"model": "periodic", "every": 40}"#).expect("a model")
}

#[test]
fn the_channel_drops_it() {
    for (path, place) in SITES {
        let Place::Link(link) = place else { continue };
        let mut plan = plan(path);
        data_of(&mut plan, link).config.channel = vec![every_fortieth()];
        let (episodes, drops) = run(&plan);
        assert!(drops.iter().all(|reason| *reason == DropReason::Channel), "{path:?}, {place:?}");
        let expected = [(EpisodeKind::FastRetransmit, Cause::Wireless); 2];
        assert_eq!(causes(&episodes), expected, "{path:?}, {place:?}");
    }
}

#[test]
fn a_link_gives_it_up() {
    for (path, place) in SITES {
        let Place::Link(link) = place else { continue };
        let mut plan = plan(path);
        let pipe = &mut data_of(&mut plan, link).config;
        pipe.channel = vec![every_fortieth()];
        let mode = arq::Mode::SelectiveRepeat;
        let never = arq::Config { mode, retries: 0, feedback: None, in_order: true };
        pipe.repair = Some(Repair::Arq(never));
        let (episodes, drops) = run(&plan);
        let expected = [(EpisodeKind::FastRetransmit, Cause::Wireless); 2];
        assert_eq!(causes(&episodes), expected, "{path:?}, {place:?}");
        assert!(drops.iter().all(|reason| *reason == DropReason::RetryLimit));
    }
}

#[test]
fn the_mac_gives_it_up() {
    for path in [CELL, LINK_AND_CELL] {
        let mut plan = plan(path);
        let cell = cell_of(&mut plan);
        cell.short_retry_limit = Some(1);
        cell.channel = vec![every_fortieth()];
        let (episodes, drops) = run(&plan);
        assert!(drops.iter().all(|reason| *reason == DropReason::RetryLimit));
        let alien = episodes.iter().find(|episode| episode.cause != Cause::Wireless);
        assert_eq!(alien, None, "{path:?}");
    }
}

/// Segments are only delayed. A link has a delay of 3 s for packets that enter from 200 ms to 250
/// ms; the cell, which loses every frame until 3 s, repeats it until it arrives.
#[test]
fn it_is_only_late() {
    for (path, place) in SITES {
        let mut plan = plan(path);
        let change = |at, delay_ms| pipe::Change {
            at,
            rate: None,
            delay: Some(Duration::from_millis(delay_ms)),
            channel: None,
        };
        match place {
            Place::Link(link) => {
                let changes = vec![change(ms(200), 3000), change(ms(250), 20)];
                data_of(&mut plan, link).config.changes = changes;
            }
            Place::Cell => silence(cell_of(&mut plan), "s0", None, ms(3000)),
        }
        let (episodes, drops) = run(&plan);
        assert_eq!(drops, [], "{path:?}, {place:?}");
        assert_eq!(causes(&episodes)[0], (EpisodeKind::Rto, Cause::Spurious), "{path:?}");
        assert_eq!(episodes[0].sub_cause, Some(SubCause::Delay), "{path:?}, {place:?}");
        let alien = episodes.iter().find(|episode| episode.cause != Cause::Spurious);
        assert_eq!(alien, None, "{path:?}, {place:?}");
    }
}

/// All acknowledgments of a window are lost; in the cell these are all that are sent before the
/// timer expires at about 1.1 s.
#[test]
fn only_its_acknowledgments_are_lost() {
    for (path, place) in SITES {
        let mut plan = plan(path);
        let lost = match place {
            Place::Link(link) => {
                let acks: Vec<u64> = (10..35).collect();
                acks_of(&mut plan, link).config.channel = vec![script(&acks, &[])];
                DropReason::Script
            }
            Place::Cell => {
                silence(cell_of(&mut plan), "s1", Some(2), ms(900));
                DropReason::RetryLimit
            }
        };
        let (episodes, drops) = run(&plan);
        assert!(drops.iter().all(|reason| *reason == lost), "{path:?}, {place:?}");
        assert_eq!(causes(&episodes)[0], (EpisodeKind::Rto, Cause::Spurious), "{path:?}");
        assert_eq!(episodes[0].sub_cause, Some(SubCause::AckLost), "{path:?}, {place:?}");
        let alien = episodes.iter().find(|episode| episode.cause != Cause::Spurious);
        assert_eq!(alien, None, "{path:?}, {place:?}");
    }
}

/// Loses one further copy of the 20th segment at a place. A link may lose it as if its queue were
/// full, according to `cause`; a cell loses every attempt to transmit it.
fn lose_a_copy(plan: &mut Plan, place: Place, cause: Cause) {
    let r#as = match cause {
        Cause::Congestion => channel::script::ScriptedCause::Congestion,
        _ => channel::script::ScriptedCause::Wireless,
    };
    let script = |copies| {
        let drop_seq = vec![TWENTIETH; copies];
        channel::Config::script(channel::script::Config { drop_seq, r#as, ..Default::default() })
    };
    match place {
        Place::Link(link) => data_of(plan, link).config.channel.push(script(1)),
        Place::Cell => {
            let cell = cell_of(plan);
            let attempts = cell.short_retry_limit.expect("a limit") as usize;
            cell.channel.push(script(attempts));
        }
    }
}

/// Each episode takes its cause from the newest copy of the segment sent before it. Where the two
/// copies are lost at different places, the first is lost at the place nearer to the sender and so
/// never reaches the other.
#[test]
fn its_retransmission_is_lost() {
    let (congestion, wireless) = (Cause::Congestion, Cause::Wireless);
    let link = Place::Link;
    let cases = [
        (ONE_LINK, (link(0), congestion), (link(0), wireless)),
        (TWO_LINKS, (link(0), congestion), (link(1), wireless)),
        (TWO_LINKS, (link(0), wireless), (link(1), congestion)),
        (TWO_LINKS, (link(1), congestion), (link(1), wireless)),
        (CELL, (Place::Cell, wireless), (Place::Cell, wireless)),
        (LINK_AND_CELL, (link(0), congestion), (Place::Cell, wireless)),
        (LINK_AND_CELL, (Place::Cell, wireless), (Place::Cell, wireless)),
    ];
    for (path, first, second) in cases {
        let mut plan = plan(path);
        lose_a_copy(&mut plan, first.0, first.1);
        lose_a_copy(&mut plan, second.0, second.1);
        let (episodes, drops) = run(&plan);
        let reason = |(place, _): (Place, Cause)| match place {
            Place::Link(_) => DropReason::Script,
            Place::Cell => DropReason::RetryLimit,
        };
        assert_eq!(drops, [reason(first), reason(second)], "{path:?}, {first:?}, {second:?}");
        let expected = [(EpisodeKind::FastRetransmit, first.1), (EpisodeKind::Rto, second.1)];
        assert_eq!(causes(&episodes), expected, "{path:?}, {first:?}, {second:?}");
        assert!(episodes.iter().all(|episode| episode.trigger_packet == 20), "{path:?}");
    }
}

/// Over a long path with random losses and no reordering, no fast recovery is spurious: neither one
/// that begins as soon as another ends, while retransmissions are still in flight, nor one in which
/// every segment had been retransmitted before. Recovery almost never waits for a timeout that
/// follows another.
#[test]
fn losses_alone_are_never_taken_for_spurious() {
    for preset in ["linux", "linux_bbr"] {
        let mut link = LinkOf::new("satellite", ["hq", "vessel"]);
        link.delay = Duration::from_millis(300);
        link.packets = Some(500);
        link.forward = vec![bernoulli(0.01)];
        let mut plan = one_flow(&[link], tcp(preset), AppPlan::transfer(4_000_000));
        let mut repeated = 0;
        for seed in 0..60 {
            plan.seed = seed;
            let (episodes, _) = run(&plan);
            let spurious = |it: &&Episode| {
                it.kind == EpisodeKind::FastRetransmit && it.cause == Cause::Spurious
            };
            assert_eq!(episodes.iter().find(spurious), None, "{preset}, seed {seed}");
            repeated += episodes.iter().filter(|it| it.backoff > 0).count();
        }
        assert!(repeated < 6, "{preset}: {repeated} timeouts after timeouts");
    }
}
