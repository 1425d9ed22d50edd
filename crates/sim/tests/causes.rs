//! Cases made by hand, one for each cause of an episode: the record names it, and no other.

mod plans;

use plans::{LinkOf, cell, insert_cell, one_flow, script, tcp};
use retx_link::channel;
use retx_link::pipe::Change;
use retx_link::pipe::repair::{Config as Repair, arq};
use retx_record::capture::DropReason;
use retx_record::reason::{Cause, EpisodeKind, SubCause};
use retx_record::tables::Episode;
use retx_sim::plan::{Plan, Work};
use retx_sim::{Control, Options, run_plan};
use retx_tcp::Size;
use retx_units::{Duration, Time};

const TABLES: Options =
    Options { replication: 0, segments: true, drops: true, episodes: true, capture: vec![] };

/// The first byte of the 20th data segment.
const TWENTIETH: u64 = 1 + 19 * 1460;

/// 100 segments over 10 Mbit/s and 20 ms; the window never fills the path's queue.
fn plan() -> Plan {
    let mut link = LinkOf::new("link", ["server", "client"]);
    link.delay = Duration::from_millis(20);
    let mut plan = one_flow(&[link], tcp("newreno"), Work::transfer(100 * 1460));
    plan.tcps[0].config.receive_buffer = Size::Mss(16);
    plan
}

/// The episodes, and the reasons of all drops. Every episode is counted once, under its cause.
fn run(plan: &Plan) -> (Vec<Episode>, Vec<DropReason>) {
    let outcome = run_plan(plan, &TABLES, &Control::default()).expect("a sound run");
    let flow = &outcome.flows[0];
    assert!(flow.finish_s.is_some());
    for (count, of) in [(flow.frr_count, flow.episodes.frr), (flow.rto_count, flow.episodes.rto)] {
        assert_eq!(count, of.congestion + of.wireless + of.spurious);
    }
    let episodes = outcome.tables.episodes.expect("asked for").rows().to_vec();
    assert_eq!(episodes.len() as u64, flow.frr_count + flow.rto_count);
    assert!(!episodes.is_empty());
    let drops = outcome.tables.drops.expect("asked for");
    (episodes, drops.rows().iter().map(|drop| drop.reason).collect())
}

fn causes(episodes: &[Episode]) -> Vec<(EpisodeKind, Cause)> {
    episodes.iter().map(|episode| (episode.kind, episode.cause)).collect()
}

#[test]
fn a_queue_drops_it() {
    let mut plan = plan();
    plan.tcps[0].config.receive_buffer = Size::Mss(1000);
    let droptail = retx_link::queue::droptail::Config { packets: Some(4), bytes: None };
    plan.pipes[0].config.queue = retx_link::queue::Config::droptail(droptail);
    let (episodes, drops) = run(&plan);
    assert!(drops.iter().all(|reason| *reason == DropReason::Queue));
    assert!(episodes.iter().all(|episode| episode.cause == Cause::Congestion), "{episodes:?}");
}

fn every_fortieth() -> channel::Config {
    serde_json::from_str(r#"{"model": "periodic", "every": 40}"#).expect("a model")
}

#[test]
fn the_channel_drops_it() {
    let mut plan = plan();
    plan.pipes[0].config.channel = vec![every_fortieth()];
    let (episodes, drops) = run(&plan);
    assert!(drops.iter().all(|reason| *reason == DropReason::Channel));
    assert_eq!(causes(&episodes), [(EpisodeKind::Frr, Cause::Wireless); 2]);
}

#[test]
fn a_link_gives_it_up() {
    let mut plan = plan();
    plan.pipes[0].config.channel = vec![every_fortieth()];
    let mode = arq::Mode::SelectiveRepeat;
    let never = arq::Config { mode, retries: 0, feedback: None, in_order: true };
    plan.pipes[0].config.repair = Some(Repair::Arq(never));
    let (episodes, drops) = run(&plan);
    assert!(drops.iter().all(|reason| *reason == DropReason::RetryLimit));
    assert_eq!(causes(&episodes), [(EpisodeKind::Frr, Cause::Wireless); 2]);
}

#[test]
fn the_mac_gives_it_up() {
    let mut plan = plan();
    let mut cell = cell(2);
    cell.short_retry_limit = Some(1);
    cell.long_retry_limit = Some(1);
    cell.channel = vec![every_fortieth()];
    insert_cell(&mut plan, 0, cell);
    let (episodes, drops) = run(&plan);
    assert!(drops.iter().all(|reason| *reason == DropReason::RetryLimit));
    assert!(episodes.iter().all(|episode| episode.cause == Cause::Wireless), "{episodes:?}");
}

#[test]
fn it_is_only_late() {
    let mut plan = plan();
    let change = |ms: u64, delay_ms: u64| Change {
        at: Time::ZERO + Duration::from_millis(ms),
        rate: None,
        delay: Some(Duration::from_millis(delay_ms)),
        channel: None,
    };
    plan.pipes[0].config.changes = vec![change(200, 3000), change(250, 20)];
    let (episodes, drops) = run(&plan);
    assert_eq!(drops, []);
    assert_eq!(causes(&episodes)[0], (EpisodeKind::Rto, Cause::Spurious));
    assert_eq!(episodes[0].sub_cause, Some(SubCause::Delay));
    assert!(episodes.iter().all(|episode| episode.cause == Cause::Spurious), "{episodes:?}");
}

#[test]
fn only_its_acknowledgments_are_lost() {
    let mut plan = plan();
    // A whole window's.
    let acks: Vec<u64> = (10..35).collect();
    plan.pipes[1].config.channel = vec![script(&acks, &[])];
    let (episodes, drops) = run(&plan);
    assert!(drops.iter().all(|reason| *reason == DropReason::Script));
    assert_eq!(causes(&episodes)[0], (EpisodeKind::Rto, Cause::Spurious));
    assert!(episodes.iter().all(|episode| episode.cause == Cause::Spurious), "{episodes:?}");
    assert_eq!(episodes[0].sub_cause, Some(SubCause::AckLost));
}

/// The first copy is lost to congestion, its retransmission to the channel: each episode has the
/// cause of the copy that was sent last before it.
#[test]
fn its_retransmission_is_lost() {
    let mut plan = plan();
    let full = channel::Config::script(channel::script::Config {
        drop_seq: vec![TWENTIETH],
        r#as: channel::script::As::Congestion,
        ..Default::default()
    });
    plan.pipes[0].config.channel = vec![full, script(&[], &[TWENTIETH])];
    let (episodes, drops) = run(&plan);
    assert_eq!(drops, [DropReason::Script; 2]);
    let expected = [(EpisodeKind::Frr, Cause::Congestion), (EpisodeKind::Rto, Cause::Wireless)];
    assert_eq!(causes(&episodes), expected);
    assert!(episodes.iter().all(|episode| episode.trigger_packet == 20));
}
