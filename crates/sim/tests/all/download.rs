//! The example of a download over a noisy channel (Electronics 2022, 11(14), 2254), but without
//! noise or with a few scripted losses, so that its figures can be computed by hand.

use crate::plans::{LinkOf, high_ber, one_flow, script, tcp};
use retx_record::reason::{Cause, EpisodeKind, SegmentFate, SubCause};
use retx_sim::plan::{AppPlan, Plan};
use retx_sim::{Control, Options, Outcome, run_plan};
use retx_tcp::Size;
use retx_units::{Duration, Time};

const TABLES: Options = Options {
    replication: 0,
    record_segments: true,
    record_drops: true,
    record_episodes: true,
    capture_points: vec![],
    is_reference_run: false,
};

fn run(plan: &Plan) -> Outcome {
    run_plan(plan, &TABLES, &Control::default()).expect("a sound run")
}

/// The server's frames are a SYN/ACK, 6850 data segments, a FIN, and an ACK of the client's FIN.
#[test]
fn without_loss_the_server_sends_6853_frames() {
    let outcome = run(&high_ber(0.0));
    let flow = &outcome.flows[0];
    assert_eq!((flow.frames_sent, flow.segments_sent), (6853, 6850));
    assert_eq!(
        (flow.segments_retransmitted, flow.fast_retransmit_count, flow.rto_count),
        (0, 0, 0)
    );
    assert_eq!(flow.bytes_delivered, 10_000_000);
    let response = flow.response_time_s.expect("it is complete");
    assert!((response - 50.2).abs() < 0.3, "{response}");
    // The client's SYN and FIN are not pure ACKs, so `acks_sent` does not count these two packets.
    let forward = &outcome.links[0];
    assert_eq!((forward.packets_in, forward.packets_delivered), (6853, 6853));
    assert_eq!(outcome.links[1].packets_in, 3 + flow.acks_sent - 1);
    assert!(outcome.tables.drops.expect("asked for").rows().is_empty());
}

/// In the steady state each ACK covers a pair of segments, and a round of six segments takes from
/// the sending of a pair to its ACK. This time is 2 × 20 ms of delay; two serialisations of 1538
/// bytes at 10 Mbit/s, one per link, for the first segment; one more for the second segment behind
/// it; and two of an ACK's 78 bytes.
#[test]
fn the_round_trip_is_what_the_links_make_it() {
    let outcome = run(&high_ber(0.0));
    let segment = 1538.0 * 8.0 / 10e6;
    let ack = 78.0 * 8.0 / 10e6;
    let round = 0.040 + 3.0 * segment + 2.0 * ack;
    let rounds = 6850.0 / 6.0;
    let response = outcome.flows[0].response_time_s.expect("it is complete");
    // The handshake and slow start add about three rounds; the last segment, an odd one, may cost a
    // further one.
    assert!((response - rounds * round).abs() < 5.0 * round, "{response}, {}", rounds * round);
}

/// A single loss in the steady state, of a round's first segment, causes three duplicate ACKs, a
/// fast retransmit one round later, and a retransmission episode whose cause is wireless.
#[test]
fn one_loss_costs_one_fast_retransmit() {
    let mut plan = high_ber(0.0);
    plan.pipes[0].config.channel = vec![script(&[], &[296 * 1460 + 1])];
    let outcome = run(&plan);
    let flow = &outcome.flows[0];
    assert_eq!((flow.segments_sent, flow.segments_retransmitted), (6851, 1));
    assert_eq!(flow.retransmissions_unnecessary, 0);
    assert_eq!(
        (flow.fast_retransmit_count, flow.rto_count, flow.episodes.fast_retransmit.wireless),
        (1, 0, 1)
    );
    let episodes = outcome.tables.episodes.expect("asked for");
    let episode = episodes.rows()[0];
    assert_eq!((episode.kind, episode.cause), (EpisodeKind::FastRetransmit, Cause::Wireless));
    assert_eq!((episode.trigger_packet, episode.retransmitted, episode.unnecessary), (297, 1, 0));
    assert_eq!(episode.cwnd_after_bytes, 3 * 1460);
    let drops = outcome.tables.drops.expect("asked for");
    let drop = drops.rows()[0];
    assert_eq!((drops.rows().len(), drop.place, drop.packet_number), (1, 0, Some(297)));
    let segments = outcome.tables.segments.expect("asked for");
    let copies: Vec<_> = segments.rows().filter(|(row, _)| row.packet_number == 297).collect();
    assert_eq!(copies.len(), 2);
    assert_eq!((copies[0].1, copies[1].1), (SegmentFate::Script, SegmentFate::Delivered));
    assert_eq!(copies[1].0.cause, Some(EpisodeKind::FastRetransmit));
    // The retransmission follows about one RTT after the loss, upon the third duplicate ACK.
    let wait = copies[1].0.sent.since(copies[0].0.sent).as_secs_f64();
    assert!((0.042..0.048).contains(&wait), "{wait}");
    assert!(episode.end.since(episode.start).as_secs_f64() < 0.046);
}

/// A retransmission that is lost as well is repaired by a timeout, whose cause is that of the
/// newest copy's loss.
#[test]
fn a_lost_retransmission_costs_a_timeout() {
    let mut plan = high_ber(0.0);
    let lost = 300 * 1460 + 1;
    plan.pipes[0].config.channel = vec![script(&[], &[lost, lost])];
    let outcome = run(&plan);
    let flow = &outcome.flows[0];
    assert_eq!((flow.fast_retransmit_count, flow.rto_count, flow.max_backoff), (1, 1, 1));
    assert_eq!(flow.episodes.rto.wireless, 1);
    // The pause before the timeout is at least 1 s, measured by a timer with a granularity of 0.5
    // s.
    assert!(flow.idle.rto_s > 0.99 && flow.idle.rto_s < 1.6, "{:?}", flow.idle);
    assert!((flow.idle_total_s - flow.idle.rto_s - flow.idle.window_s).abs() < 1e-9);
    assert!((flow.idle_max_s - flow.idle.rto_s).abs() < 1e-9);
    let episodes = outcome.tables.episodes.expect("asked for");
    let [first, second] = episodes.rows() else { panic!("{:?}", episodes.rows()) };
    assert_eq!((first.kind, second.kind), (EpisodeKind::FastRetransmit, EpisodeKind::Rto));
    // A recovery that the timeout interrupts ends when the next episode begins.
    assert_eq!(first.end, second.start);
    assert_ne!(second.end, Time::NEVER);
}

/// Scripted losses that the scenario declares to be congestion are recorded as congestion.
#[test]
fn a_script_may_stand_for_congestion() {
    let mut plan = high_ber(0.0);
    let text = r#"{"model":"script","drop_seq":[438001],"as":"congestion"}"#;
    plan.pipes[0].config.channel = vec![serde_json::from_str(text).expect("a script")];
    let outcome = run(&plan);
    assert_eq!(outcome.flows[0].episodes.fast_retransmit.congestion, 1);
    assert_eq!(outcome.links[0].drops.script, 1);
    assert_eq!(outcome.links[0].drops.queue, 0);
}

/// The timeout after a loss of all ACKs of a window is spurious, and the record states why.
#[test]
fn lost_acks_make_a_spurious_timeout() {
    let mut plan = high_ber(0.0);
    // The script counts the client's packets: the SYN first, then ACKs.
    let acks: Vec<u64> = (300..303).collect();
    plan.pipes[1].config.channel = vec![script(&acks, &[])];
    let outcome = run(&plan);
    let flow = &outcome.flows[0];
    assert_eq!((flow.rto_count, flow.episodes.rto.spurious), (1, 1));
    assert_eq!(flow.retransmissions_unnecessary, flow.segments_retransmitted);
    assert!(flow.retransmissions_unnecessary > 0);
    let episodes = outcome.tables.episodes.expect("asked for");
    let sub_cause = episodes.rows()[0].sub_cause.expect("it is spurious");
    assert_eq!(sub_cause.name(), "ack_lost");
    let drops = outcome.tables.drops.expect("asked for");
    assert!(drops.rows().iter().all(|drop| drop.packet_number.is_none() && drop.place == 1));
}

/// The last segment has no second one to be acknowledged with, so its delayed ACK waits 200 ms,
/// which is longer than the RTO that results from the short RTT.
#[test]
fn a_delayed_ack_makes_a_spurious_timeout() {
    let mut link = LinkOf::new("link", ["server", "client"]);
    link.delay = Duration::from_millis(10);
    let mut plan = one_flow(&[link], tcp("reno"), AppPlan::transfer(401 * 1460));
    plan.tcps[0].config.min_rto = Duration::from_millis(1);
    plan.tcps[0].config.receive_buffer = Size::Mss(4);
    let outcome = run(&plan);
    let flow = &outcome.flows[0];
    assert!(flow.rto_count > 0, "{flow:?}");
    assert_eq!(flow.rto_count, flow.episodes.rto.spurious);
    let episodes = outcome.tables.episodes.expect("asked for");
    let last = episodes.rows().last().expect("there is one");
    assert_eq!(last.trigger_packet, 401);
    assert_eq!(last.sub_cause.map(SubCause::name), Some("delay"));
}
