//! Execution of a plan, and its outcome.

use crate::datagram::DatagramFlow;
use crate::engine::Engine;
use crate::options::{Options, RunError};
use crate::plan::{DatagramPlan, FlowPlan, Plan};
use crate::relaying::{self, EndToEndResults};
use retx_link::pipe::Statistics;
use retx_record::capture::CaptureBuffer;
use retx_record::datagrams::{DatagramInputs, DatagramSummary};
use retx_record::summary::{
    DropSummary, EngineSummary, FlowInputs, FlowSummary, LinkSummary, RelaySummary, RunCost,
    Summary, WlanSummary,
};
use retx_record::tables::{LimitSpans, Tables};
use retx_record::{FlowRow, Names};
use retx_tcp::user::Faults;
use retx_units::{Duration, Time};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Control of a run from another thread.
#[derive(Debug, Default)]
pub struct Control {
    simulated: AtomicU64,
    cancelled: AtomicBool,
}

impl Control {
    /// Cancels the run, which stops within a few thousand events.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// True once the run has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Adds the progress of a run, in simulated time.
    pub fn add_simulated_time(&self, progress: Duration) {
        self.simulated.fetch_add(progress.as_nanos(), Ordering::Relaxed);
    }

    /// Nanoseconds simulated so far, by all runs under this control.
    pub fn simulated_nanos(&self) -> u64 {
        self.simulated.load(Ordering::Relaxed)
    }
}

/// Outcome of a run: summaries, recorded tables, and a capture.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Seed of the scenario.
    pub seed: u64,
    /// Number of the replication.
    pub replication: u64,
    /// Summary of each TCP flow.
    pub flows: Vec<FlowSummary>,
    /// Summary of each UDP flow.
    pub datagrams: Vec<DatagramSummary>,
    /// For each UDP flow, the number of TCP flows before it.
    datagrams_after: Vec<u32>,
    /// Summaries of links: for each link the forward and then the reverse direction.
    pub links: Vec<LinkSummary>,
    /// Summary of each wlan.
    pub wlans: Vec<WlanSummary>,
    /// Summary of each relay.
    pub relays: Vec<RelaySummary>,
    /// Events handled and time simulated.
    pub engine: EngineSummary,
    /// Warning about the results of the run, if any.
    pub warning: Option<String>,
    /// Recorded tables.
    pub tables: Tables,
    /// Names for the indices in the tables.
    pub names: Names,
    /// Capture, if requested.
    pub capture: Option<CaptureBuffer>,
}

impl Outcome {
    /// Outcome of a finished engine; [`Engine::finish`] must have been called.
    pub fn from_engine(plan: &Plan, options: &Options, engine: Engine<'_>) -> Self {
        let now = engine.now();
        let events = engine.events_handled();
        let datagrams = plan.datagrams.iter().map(|flow| &flow.name);
        let names = plan.flows.iter().map(|flow| &flow.name).chain(datagrams);
        Self {
            seed: plan.seed,
            replication: options.replication,
            flows: flow_summaries(plan, &engine),
            datagrams: datagram_summaries(plan, &engine),
            datagrams_after: plan.datagrams.iter().map(|flow| flow.flows_before).collect(),
            links: link_summaries(plan, &engine),
            wlans: crate::wireless::wlan_summaries(plan, &engine),
            relays: relaying::relay_summaries(plan, &engine),
            warning: warning(plan, now),
            engine: EngineSummary { events, simulated_s: now.as_secs_f64(), wall_s: None },
            names: Names { flows: names.cloned().collect(), places: places(plan) },
            tables: Tables { limits: limit_spans(&engine), ..engine.recorder.tables },
            capture: engine.recorder.capture.map(|capture| capture.into_buffer()),
        }
    }

    /// Summary as printed by `retx run --json`, with `scenario` as its description of the scenario.
    pub fn summary<S: Serialize>(&self, scenario: S) -> Summary<'_, S> {
        Summary {
            scenario,
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            replication: self.replication,
            flows: self.flows_in_order(),
            links: &self.links,
            wlans: &self.wlans,
            relays: &self.relays,
            engine: RunCost::Whole(self.engine),
        }
    }

    /// Like [`Self::summary`], but without the rows of flows and links.
    pub fn summary_head<S: Serialize>(&self, scenario: S) -> Summary<'_, S> {
        Summary { flows: Vec::new(), links: &[], ..self.summary(scenario) }
    }

    /// TCP and UDP flows in the order of the scenario.
    pub fn flows_in_order(&self) -> Vec<FlowRow<'_>> {
        let mut rows = Vec::with_capacity(self.flows.len() + self.datagrams.len());
        let mut udp = self.datagrams.iter().zip(&self.datagrams_after).peekable();
        for index in 0..=self.flows.len() {
            while let Some((flow, _)) = udp.next_if(|(_, after)| **after as usize <= index) {
                rows.push(FlowRow::Udp(flow));
            }
            rows.extend(self.flows.get(index).map(FlowRow::Tcp));
        }
        rows
    }
}

/// Warning about a run that ended before its statistics began.
fn warning(plan: &Plan, end: Time) -> Option<String> {
    let [end, warmup] = [end, plan.warmup].map(|time| time.since(Time::ZERO));
    (end < warmup).then(|| {
        format!("the run was over at {end}, within its warmup of {warmup}: nothing was measured")
    })
}

/// Number of events between two checks whether the run has been cancelled.
const EVENTS_BETWEEN_LOOKS: u32 = 4096;
/// Number of events between two checks whether a run with user code, which may be slow, has been
/// cancelled.
const EVENTS_BETWEEN_LOOKS_AT_USER_CODE: u32 = 16;

/// Runs a plan.
///
/// # Errors
/// See [`RunError`].
pub fn run_plan(plan: &Plan, options: &Options, control: &Control) -> Result<Outcome, RunError> {
    let faults = Arc::default();
    let plan = reporting_to(&faults, plan);
    let between_looks = match plan {
        Cow::Borrowed(_) => EVENTS_BETWEEN_LOOKS,
        Cow::Owned(_) => EVENTS_BETWEEN_LOOKS_AT_USER_CODE,
    };
    let plan = &*plan;
    let mut engine = Engine::new(plan, options)?;
    let mut reported_until = Time::ZERO;
    while !engine.is_over() {
        for _ in 0..between_looks {
            engine.step();
            if engine.is_over() {
                break;
            }
        }
        let progress = engine.now().since(reported_until);
        reported_until = engine.now();
        control.add_simulated_time(progress);
        if let Some(fault) = faults.first() {
            return Err(RunError::UserCode(fault.clone()));
        }
        if control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
    }
    engine.finish()?;
    Ok(Outcome::from_engine(plan, options, engine))
}

/// Plan whose user code, if any, reports its faults to `faults`.
fn reporting_to<'a>(faults: &Arc<Faults>, plan: &'a Plan) -> Cow<'a, Plan> {
    let mut plan = Cow::Borrowed(plan);
    if plan.tcps.iter().any(|tcp| tcp.config.has_user_code()) {
        for tcp in &mut plan.to_mut().tcps {
            tcp.config.report_faults_to(faults);
        }
    }
    plan
}

/// Names of all places: the directions of links, followed by the places of other stages.
fn places(plan: &Plan) -> Vec<String> {
    let pipes = plan.pipes.iter().map(|pipe| format!("{}.{}", pipe.link, pipe.direction));
    let stages = plan
        .stages
        .iter()
        .flat_map(|stage| stage.places().map(move |place| format!("{}.{place}", stage.name())));
    pipes.chain(stages).collect()
}

fn flow_summaries(plan: &Plan, engine: &Engine<'_>) -> Vec<FlowSummary> {
    let summary = |(index, of): (usize, &FlowPlan)| {
        let EndToEndResults { counters, start, finish } =
            relaying::end_to_end_results(engine, index);
        let inputs = FlowInputs {
            name: of.name.clone(),
            tcp: plan.tcps[of.tcp as usize].name.clone(),
            start,
            finish,
            from: engine.baseline.at,
            to: engine.now(),
        };
        let exchanges = engine.flows[index].exchanges.as_ref();
        FlowSummary {
            exchanges: exchanges.map(|all| (&all.response_times).into()).unwrap_or_default(),
            ..FlowSummary::new(inputs, &counters)
        }
    };
    // A run for external packets has no flows.
    plan.flows.iter().take(engine.flows.len()).enumerate().map(summary).collect()
}

/// Limits of all flows over time, if they are recorded.
fn limit_spans(engine: &Engine<'_>) -> Option<LimitSpans> {
    let mut spans = engine.recorder.tables.limits.clone()?;
    for index in 0..engine.flows.len() {
        if let Some(history) =
            relaying::end_to_end_results(engine, index).counters.limited_by.history()
        {
            spans.push(index as u32, history.spans());
        }
    }
    Some(spans)
}

fn datagram_summaries(plan: &Plan, engine: &Engine<'_>) -> Vec<DatagramSummary> {
    let flows = plan.datagrams.iter().zip(&engine.datagrams);
    let summary = |(plan, flow): (&DatagramPlan, &DatagramFlow)| {
        let inputs = DatagramInputs {
            name: plan.name.clone(),
            start: flow.sender.start,
            finish: flow.finish,
            from: engine.baseline.at,
            to: engine.now(),
        };
        DatagramSummary::new(inputs, &flow.accounting.counters)
    };
    flows.map(summary).collect()
}

fn link_summaries(plan: &Plan, engine: &Engine<'_>) -> Vec<LinkSummary> {
    let baseline = &engine.baseline;
    let span = engine.now().since(baseline.at).as_nanos() as f64;
    let pipes = plan.pipes.iter().zip(engine.pipe_statistics()).enumerate();
    pipes
        .map(|(index, (plan, end))| {
            let start = baseline.pipe(index);
            let mean = |total: f64| (span > 0.0).then(|| total / span);
            let Statistics { queued, in_transit, queue_max, .. } = end;
            let delays = end.delays.means_since(&start.delays).unzip();
            LinkSummary {
                name: plan.link.to_string(),
                direction: plan.direction,
                packets_in: end.packets_in - start.packets_in,
                packets_delivered: end.packets_delivered - start.packets_delivered,
                packets_duplicated: end.copies - start.copies,
                drops: DropSummary {
                    queue: end.drops.queue - start.drops.queue,
                    channel: end.drops.channel - start.drops.channel,
                    retry_limit: end.drops.retry_limit - start.drops.retry_limit,
                    script: end.drops.script - start.drops.script,
                },
                packets_marked: end.packets_marked - start.packets_marked,
                loss_burst_mean_packets: end.bursts.mean_since(&start.bursts),
                loss_burst_max_packets: end.bursts.longest,
                channel_delay_mean_s: delays.0,
                order_wait_mean_s: delays.1,
                queue_mean_packets: mean((end.waited - start.waited) as f64),
                queue_max_packets: queue_max,
                utilisation: mean((end.busy - start.busy).as_nanos() as f64),
                frames_repeated: end.frames_repeated - start.frames_repeated,
                frames_parity: end.frames_parity - start.frames_parity,
                packets_queued: queued,
                packets_in_transit: in_transit,
            }
        })
        .collect()
}
