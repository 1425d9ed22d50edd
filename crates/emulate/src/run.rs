//! Emulation of a scenario, from start to results.

use crate::boundary;
use crate::clock::Clock;
use crate::error::EmulateError;
use crate::lateness::format_duration;
use crate::launch::{LaunchOptions, RunningWorker, Worker};
use crate::layout::{HostProgram, Layout, compute_layout};
use crate::path::{Datagrams, Devices, EndCondition, Flows, Inspector, Limiter, Path, Senders};
use crate::protocol::Backend;
use crate::results;
use crate::summary::{EmulatedRow, Emulation, EmulationSummary, ProgramSummary};
use retx_scenario::Scenario;
use retx_sim::engine::Engine;
use retx_sim::path::{self, BandwidthDelayProduct};
use retx_sim::plan::{FlowPlan, Hop, Pace, Plan, Sampling};
use retx_sim::{Control, Options, Outcome};
use retx_units::{Duration, Time};
use std::collections::BTreeMap;
use std::thread;

/// Bound of the 99th percentile of lateness; a run above it is not valid.
pub const LATENESS_BOUND: Duration = Duration::from_millis(1);
/// Time from the command that starts the flows to time 0 of the run.
const RUN_UP: std::time::Duration = std::time::Duration::from_millis(20);

/// Settings of an emulation.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Tables to record, and the number of the replication, which determines the models' draws.
    pub run_options: Options,
    /// Method of exchanging packets with the hosts.
    pub backend: Backend,
    /// Programs to run in hosts. The run then ends when they have ended and all finite flows are
    /// complete.
    pub programs: Vec<HostProgram>,
    /// Bound of lateness; see [`LATENESS_BOUND`].
    pub lateness_bound: Duration,
    /// Rate in bit/s that this machine can sustain; `None` if unknown.
    pub max_rate_bit_s: Option<f64>,
    /// Parameters for starting a worker.
    pub launch: LaunchOptions,
}

/// Results of an emulation.
#[derive(Debug)]
pub struct EmulationResult {
    /// Printed summary.
    pub summary: EmulationSummary,
    /// Tables and capture. Results of the flows are only in the summary.
    pub outcome: Outcome,
}

/// Emulates a scenario in real time.
///
/// # Errors
/// The kernel does not support something, the machine lacks something, or the run was cancelled.
pub fn emulate(
    scenario: &Scenario,
    settings: &Settings,
    control: &Control,
) -> Result<EmulationResult, EmulateError> {
    let replication = settings.run_options.replication;
    let mut layout = compute_layout(scenario, &settings.programs, (settings.backend, replication))?;
    check_demand(&layout.plan, settings)?;
    if settings.programs.iter().any(|program| program.command.is_none()) {
        // An interactive shell lasts until its user ends it, so the duration does not apply.
        layout.plan.end = Time::from_nanos(u64::MAX / 2);
    }
    let mut worker = Worker::launch(&settings.launch, &layout.setup)?;
    let set = (std::mem::take(&mut worker.sysctls), std::mem::take(&mut worker.offloads_off));
    let devices = Devices::new(settings.backend, std::mem::take(&mut worker.devices));
    let mut engine = Engine::for_external_packets(&layout.plan, &settings.run_options)?;
    let flows = observed_flows(&layout.plan, &engine);
    let sources = std::mem::take(&mut worker.sources);
    let datagrams = Datagrams::new(layout.plan.flows.len(), sources);
    let senders = Senders::from_channel(worker.senders.take());
    // Time 0 lies in the future, so that all hosts receive the clock before it.
    let clock = Clock::starting_after(RUN_UP);
    let started = worker.start(clock, layout.plan.warmup)?;
    let parts = (flows, senders, datagrams);
    let mut path = Path::new(&mut engine, clock, devices, Inspector::new(&layout), parts);
    if layout.plan.warmup > Time::ZERO {
        path.set_warmup_end(layout.plan.warmup);
    }
    if let Sampling::Every(interval) = layout.plan.sampling {
        path.set_sample_interval(interval);
    }
    let first = in_a_thread_that_runs_first(|| path.run(goal(&layout), &started.progress, control));
    let (first, result) = first;
    result.map_err(|error| started.progress.end_reason().unwrap_or(EmulateError::Run(error)))?;
    let seen = path.into_observations();
    let codes = started.progress.exit_codes();
    let mut report = RunningWorker::stop(started)?;
    engine.finish()?;
    let mut outcome = Outcome::from_engine(&layout.plan, &settings.run_options, engine);
    // In the tables, conversations outside the scenario are numbered after the flows.
    outcome.names.flows.extend(seen.conversation_names.iter().cloned());
    let to = Time::from_nanos((outcome.engine.simulated_s * 1e9) as u64);
    let relays = &mut outcome.relays;
    results::add_proxies(relays, layout.plan.proxies.iter().zip(&report.proxies));
    if let Some(limits) = &mut outcome.tables.limits {
        let histories = (0..).zip(seen.counters.iter().map(|counts| counts.limited_by.history()));
        histories.for_each(|(flow, history)| {
            history.iter().for_each(|it| limits.push(flow, it.spans()))
        });
    }
    if settings.run_options.record_drops {
        outcome.tables.exchanges = results::exchange_table(&layout.plan, &report.flows);
    }
    let device_drops = std::mem::take(&mut report.device_drops);
    let flows = results::flow_rows(&layout.plan, report, &seen, to);
    let emulation = emulation(settings, (first, set), (seen, &device_drops), &codes);
    Ok(EmulationResult { summary: summary(scenario, &outcome, flows, emulation), outcome })
}

fn observed_flows(plan: &Plan, engine: &Engine<'_>) -> Flows {
    let loaded = path::find_data_pipes(plan);
    let of = |(index, flow): (u32, &FlowPlan)| {
        let tcp = &plan.tcps[flow.tcp as usize].config;
        let limiter = Limiter::new(
            flow.app.clone(),
            BandwidthDelayProduct::for_flow(plan, flow, &loaded),
            tcp,
        );
        (flow.initiator, tcp, engine.full_segment(index), limiter)
    };
    let every_ack = plan.sampling == Sampling::EveryAck;
    let mut flows = Flows::new((0..).zip(&plan.flows).map(of), plan.pipes.len(), every_ack);
    for (index, _) in (0..).zip(&plan.flows).filter(|(_, flow)| flow.app.sends_requests()) {
        flows.mark_as_server(index);
    }
    if plan.sampling != Sampling::Off {
        flows.record_limit_histories();
    }
    flows
}

fn check_demand(plan: &Plan, settings: &Settings) -> Result<(), EmulateError> {
    let demand = offered_load_bit_s(plan);
    match settings.max_rate_bit_s {
        Some(most) if demand > most => Err(EmulateError::Scenario(format!(
            "the flows can send at {} Mbit/s together, and by its calibration this machine \
             holds {} Mbit/s on the backend {}: lower the links' rates, or calibrate again",
            demand / 1e6,
            most / 1e6,
            settings.backend.name()
        ))),
        _ => Ok(()),
    }
}

fn goal(layout: &Layout) -> EndCondition {
    let finite = layout.setup.flows.iter().filter(|flow| flow.workload.is_finite()).count()
        + layout.plan.datagrams.iter().filter(|flow| flow.limits.has_limit()).count();
    let programs = layout.setup.programs.iter().filter(|program| !program.background).count();
    // Without a finite flow or a program to wait for, only the duration ends the run.
    let to_the_end = layout.plan.runs_to_end || finite + programs == 0;
    EndCondition { flows: (!to_the_end).then_some(finite), programs }
}

/// Runs `work` in a separate thread, with real-time priority if this is permitted. The returned
/// flag is true if the thread had this priority.
fn in_a_thread_that_runs_first<R: Send>(work: impl FnOnce() -> R + Send) -> (bool, R) {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let first = boundary::set_realtime_priority().is_ok();
            // With the minimum timer slack, sleeps end on time.
            let _ = nix::sys::prctl::set_timerslack(1);
            (first, work())
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

type Set = (BTreeMap<String, BTreeMap<String, String>>, Vec<String>);

fn emulation(
    settings: &Settings,
    (first, (sysctls, offloads_off)): (bool, Set),
    (seen, device_drops): (crate::path::Observations, &[u64]),
    codes: &BTreeMap<usize, i32>,
) -> Emulation {
    let bound = settings.lateness_bound;
    let device_drops = device_drops.iter().sum::<u64>() + seen.failed_writes;
    let mut faults = Vec::new();
    let late = seen.lateness.percentile(99.0);
    if late > bound {
        faults.push(format!(
            "one packet in a hundred left more than {} late, and {} is allowed: the machine was \
             too busy, or the scenario is too fast for it",
            format_duration(late),
            format_duration(bound)
        ));
    }
    if device_drops > 0 {
        faults.push(format!("{device_drops} packets were dropped that no model has dropped"));
    }
    if seen.unqueried_senders > 0 {
        faults.push(format!(
            "the recoveries of {} connections are not known: their sockets could not be taken over",
            seen.unqueried_senders
        ));
    }
    let programs = settings.programs.iter().enumerate().map(|(number, program)| ProgramSummary {
        host: program.host.clone(),
        command: program.command.clone(),
        exit_code: codes.get(&number).copied(),
    });
    Emulation {
        valid: faults.is_empty(),
        faults,
        backend: settings.backend.name(),
        kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")
            .map_or_else(|_| "unknown".to_owned(), |release| release.trim().to_owned()),
        priority: if first { "fifo" } else { "normal" },
        sysctls,
        offloads_off,
        states_from: "tcp_info",
        states_at: "after each acknowledgment and at each retransmission",
        lateness: seen.lateness.summary(),
        lateness_bound_s: bound.as_secs_f64(),
        device_drops,
        packets_unroutable: seen.unroutable,
        programs: programs.collect(),
    }
}

fn summary(
    scenario: &Scenario,
    outcome: &Outcome,
    flows: Vec<EmulatedRow>,
    emulation: Emulation,
) -> EmulationSummary {
    let mut engine = outcome.engine;
    // The run takes as long as the time that it simulates.
    engine.wall_s = Some(engine.simulated_s);
    EmulationSummary {
        scenario: scenario.to_json(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: outcome.seed,
        replication: outcome.replication,
        flows,
        links: outcome.links.clone(),
        wlans: outcome.wlans.clone(),
        relays: outcome.relays.clone(),
        engine,
        emulation,
    }
}

/// Total rate at which a scenario's flows can send, in bit/s: the sum of the rates of their
/// bottlenecks. A bottleneck counts once, even if several flows share it. Flows over links without
/// a rate do not count. A UDP flow with a rate of its own counts with that rate instead, because
/// the emulator also receives the packets that a queue then drops.
fn offered_load_bit_s(plan: &Plan) -> f64 {
    let mut bottlenecks = BTreeMap::new();
    let saturating = plan.datagrams.iter().filter(|flow| offered(flow.pace).is_none());
    let routes = plan.flows.iter().map(|flow| flow.routes[0]);
    for route in routes.chain(saturating.map(|flow| flow.route)) {
        let pipes = plan.routes[route as usize].iter().filter_map(|hop| match hop {
            Hop::Pipe(index) => Some((*index, plan.pipes[*index as usize].config.rate?.as_bit_s())),
            Hop::Stage(_) => None,
        });
        // Inserting a shared bottleneck again does not add its rate again.
        if let Some((pipe, rate)) = pipes.min_by_key(|(_, rate)| *rate) {
            bottlenecks.insert(pipe, rate);
        }
    }
    let paced = plan.datagrams.iter().filter_map(|flow| offered(flow.pace));
    (bottlenecks.values().sum::<u64>() + paced.sum::<u64>()) as f64
}

/// Rate of a source that sends at given times, in bit/s; `None` for a source that keeps its first
/// hop full.
const fn offered(pace: Pace) -> Option<u64> {
    match pace {
        Pace::Saturating { .. } => None,
        Pace::Constant(rate) | Pace::Poisson(rate) | Pace::OnOff { rate, .. } => {
            Some(rate.as_bit_s())
        }
    }
}
