//! Summaries of wlans.

use crate::engine::Engine;
use crate::plan::{Plan, StagePlan, WlanPlan};
use crate::stage::{CellSnapshot, Snapshot};
use retx_link::wlan::{Counters, Statistics};
use retx_record::summary::{AirtimeSummary, DropSummary, StationSummary, WlanCounts, WlanSummary};
use retx_units::Duration;

/// Summary of each wlan.
pub fn wlan_summaries(plan: &Plan, engine: &Engine<'_>) -> Vec<WlanSummary> {
    let span = engine.now().since(engine.baseline.at).as_nanos() as f64;
    let stages = plan.stages.iter().zip(&engine.stages).zip(&engine.baseline.stages);
    let cells = stages.filter_map(|((plan, placed), start)| {
        let StagePlan::Wlan(plan) = plan else { return None };
        let (Snapshot::Wlan(start), Snapshot::Wlan(end)) =
            (start, placed.stage.snapshot(engine.now()))
        else {
            unreachable!("stages are laid out as planned");
        };
        Some(summary(plan, (start, &end), span))
    });
    cells.collect()
}

fn summary(
    plan: &WlanPlan,
    (start, end): (&CellSnapshot, &CellSnapshot),
    span: f64,
) -> WlanSummary {
    let utilisation = share((end.busy_time - start.busy_time).as_nanos() as f64, span);
    let stations = plan.config.stations.iter().zip(start.stations.iter().zip(&end.stations));
    WlanSummary {
        name: plan.name.clone(),
        counts: counts(&end.counters.since(&start.counters), span),
        utilisation,
        idle_share: utilisation.map(|busy| 1.0 - busy),
        stations: stations.map(|(name, ends)| station(name, ends, span)).collect(),
    }
}

fn station(name: &str, (start, end): (&Statistics, &Statistics), span: f64) -> StationSummary {
    StationSummary {
        name: name.to_owned(),
        counts: counts(&end.counters.since(&start.counters), span),
        queue_mean_packets: share((end.waited - start.waited) as f64, span),
        queue_max_packets: end.queue_max,
        packets_queued: end.queued,
        packets_in_service: end.in_service,
        packets_late: end.delayed,
    }
}

/// `part` as a share of the time `span`; `None` if the run ended in its warm-up.
fn share(part: f64, span: f64) -> Option<f64> {
    (span > 0.0).then(|| part / span)
}

fn counts(of: &Counters, span: f64) -> WlanCounts {
    // Errors are counted when a frame ends. The total is counted at that time, too, because right
    // after a warm-up more frames may end than begin.
    let ended = of.frames_ended;
    let on_air = |time: Duration| share(time.as_nanos() as f64, span);
    let (heard, spoilt) = (ended - of.frames_collided, of.frames_erroneous - of.frames_collided);
    WlanCounts {
        packets_in: of.packets_in,
        packets_delivered: of.packets_delivered,
        drops: DropSummary {
            queue: of.dropped_by_queue,
            channel: 0,
            retry_limit: of.dropped_at_retry_limit,
            script: 0,
        },
        packets_marked: of.packets_marked,
        frames_sent: of.frames_sent,
        frames_erroneous: of.frames_erroneous,
        frames_collided: of.frames_collided,
        frame_error_rate: (ended > 0).then(|| of.frames_erroneous as f64 / ended as f64),
        error_burst_mean: of.error_bursts.mean(),
        error_burst_max: of.error_bursts.longest,
        channel_error_rate: (heard > 0).then(|| spoilt as f64 / heard as f64),
        channel_burst_mean: of.channel_bursts.mean(),
        channel_burst_max: of.channel_bursts.longest,
        loss_burst_mean: of.loss_bursts.mean(),
        loss_burst_max: of.loss_bursts.longest,
        retries: of.retries,
        acks_lost: of.acks_lost,
        rts_sent: of.rts_sent,
        rts_failed: of.rts_failed,
        attempts_mean: of.attempts.mean(),
        attempts_max: of.attempts.max_frames,
        airtime_share: on_air(of.airtime.total()),
        airtime: AirtimeSummary {
            data: on_air(of.airtime.data),
            erroneous: on_air(of.airtime.erroneous),
            collided: on_air(of.airtime.collided),
            ack: on_air(of.airtime.ack),
            rts_cts: on_air(of.airtime.rts_cts),
        },
    }
}
