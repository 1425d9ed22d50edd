//! Loss causes that a sender infers, compared with the true ones, for every rule of inference and
//! every congestion control.

use crate::plans::{LinkOf, bernoulli, one_flow, tcp};
use retx_record::reason::{Cause, EpisodeKind, InferredCause};
use retx_record::summary::{CauseSummary, FlowSummary};
use retx_sim::plan::{AppPlan, Plan};
use retx_sim::{Control, Options, Outcome, run_plan};
use retx_tcp::{congestion_control, loss_cause, loss_detection};
use retx_units::{Duration, Time};

const DEFAULTS: &str = "everything registered has defaults";

/// A path of 10 Mbit/s and 20 ms each way, which holds 34 segments, and a queue of `packets`
/// packets; random losses with probability `p`, and the rule `rule` to infer their cause.
fn path(rule: &str, p: f64, packets: u64) -> Plan {
    let mut link = LinkOf::new("link", ["server", "client"]);
    link.delay = Duration::from_millis(20);
    link.packets = Some(packets);
    link.forward = vec![bernoulli(p)];
    let mut plan = one_flow(&[link], tcp("sack"), AppPlan::transfer(4_000_000));
    plan.tcps[0].config.loss_cause = serde_json::from_value(rule.into()).expect(DEFAULTS);
    plan.end = Time::ZERO + Duration::from_secs(600);
    plan
}

fn run(plan: &Plan) -> Outcome {
    let options = Options { record_episodes: true, ..Options::default() };
    run_plan(plan, &options, &Control::default()).expect("a sound run")
}

fn flow(plan: &Plan) -> FlowSummary {
    run(plan).flows.remove(0)
}

const NOTHING: CauseSummary = CauseSummary { congestion: 0, wireless: 0, spurious: 0 };

#[test]
fn without_a_rule_everything_is_congestion() {
    let flow = flow(&path("none", 0.02, 10));
    assert!(flow.episodes.fast_retransmit.wireless > 20, "{:?}", flow.episodes);
    assert_eq!(
        [flow.inferred.fast_retransmit.corruption, flow.inferred.rto.corruption],
        [NOTHING; 2]
    );
    assert_eq!(
        [flow.inferred.fast_retransmit.congestion, flow.inferred.rto.congestion],
        [flow.episodes.fast_retransmit, flow.episodes.rto]
    );
}

/// The rule `threshold` is meant to distinguish random losses, at which the queue is short, from
/// drops by a full queue. It makes the transfer faster where losses are random, and changes nothing
/// where all are drops by the queue.
#[test]
fn the_threshold_tells_a_bad_channel_from_a_full_queue() {
    let time = |flow: &FlowSummary| flow.response_time_s.expect("all bytes arrive");
    let (deaf, hearing) = (flow(&path("none", 0.005, 100)), flow(&path("threshold", 0.005, 100)));
    // As losses taken for corruption leave the window alone, it grows until the queue raises the
    // RTT above the threshold; later random losses are then taken for congestion.
    let said = hearing.inferred.fast_retransmit;
    let right = said.corruption.wireless;
    assert!(right > 5 && right > 2 * said.congestion.wireless, "{:?}", hearing.inferred);
    assert!(time(&hearing) < time(&deaf), "{} {}", time(&hearing), time(&deaf));

    let (deaf, hearing) = (flow(&path("none", 0.0, 100)), flow(&path("threshold", 0.0, 100)));
    assert!(hearing.inferred.fast_retransmit.congestion.congestion > 0, "{:?}", hearing.inferred);
    assert_eq!(
        [hearing.inferred.fast_retransmit.corruption, hearing.inferred.rto.corruption],
        [NOTHING; 2]
    );
    assert_eq!(hearing.response_time_s, deaf.response_time_s);
}

/// Every rule works with every congestion control, each with one of the loss detections: all bytes
/// arrive, each rule infers both causes somewhere, and a loss taken for corruption does not reduce
/// the window.
#[test]
fn any_rule_under_any_congestion_control() {
    for rule in loss_cause::Config::BUILT_IN {
        let mut said = [0; 2];
        for (index, control) in congestion_control::Config::BUILT_IN.iter().enumerate() {
            let detections = &loss_detection::Config::NAMES[1..];
            let detection = detections[index % detections.len()];
            let mut plan = path(rule, 0.01, 60);
            plan.flows[0].app = AppPlan::transfer(1_000_000).into();
            let config = &mut plan.tcps[0].config;
            config.congestion_control = serde_json::from_value((*control).into()).expect(DEFAULTS);
            config.loss_detection = serde_json::from_value(detection.into()).expect(DEFAULTS);
            config.timestamps = index % 2 == 0;
            let outcome = run(&plan);
            let name = format!("{rule} under {control} with {detection}");
            assert!(outcome.flows[0].finish_s.is_some(), "{name}");
            for episode in outcome.tables.episodes.expect("asked for").rows() {
                said[episode.inferred_cause as usize] += 1;
                if episode.inferred_cause == InferredCause::Corruption {
                    let [before, after] = [episode.cwnd_before_bytes, episode.cwnd_after_bytes];
                    // A timeout undoes the inflation of the window by an earlier recovery.
                    let deflated = episode.kind == EpisodeKind::Rto && after < before;
                    assert!(after == before || deflated, "{name}: {episode:?}");
                }
                assert!(episode.cause != Cause::Spurious || episode.sub_cause.is_some());
            }
        }
        // `none` never infers corruption, nor does `eln`, since no agent on the path sends notices.
        let is_silent = matches!(*rule, "none" | "eln");
        let corruption = if is_silent { 0..1 } else { 1..u64::MAX };
        assert!(said[0] > 0 && corruption.contains(&said[1]), "{rule}: {said:?}");
    }
}
