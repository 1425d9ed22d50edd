//! Start and end of the statistics, and the invariants checked at the end.

use super::layout::PlacedStage;
use super::{Counts, Engine};
use crate::options::RunError;
use crate::proxy::Proxy;
use crate::stage::Snapshot;
use retx_link::pipe::Statistics;
use retx_record::counters::Measure;
use retx_record::datagrams::DatagramCounters;
use retx_record::distribution::Distribution;
use retx_record::flow::FlowCounters;
use retx_record::tables::Drops;
use retx_units::Time;

/// State at the end of the warm-up, when the statistics start.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    /// Time at which the snapshot was taken.
    pub at: Time,
    /// Counters of each flow; empty if nothing has been counted yet.
    flows: Vec<FlowCounters>,
    /// Statistics of each pipe; empty if nothing has been counted yet.
    pipes: Vec<Statistics>,
    /// Snapshot of each stage that is not a pipe.
    pub stages: Vec<Snapshot>,
    /// Snapshot of each proxy.
    pub proxies: Vec<Proxy>,
}

impl Baseline {
    /// Counters of the flow with this index when the statistics start.
    pub fn flow(&self, index: usize) -> FlowCounters {
        self.flows.get(index).cloned().unwrap_or_default()
    }

    /// Statistics of the pipe with this index when the statistics of the run start.
    pub fn pipe(&self, index: usize) -> Statistics {
        self.pipes.get(index).copied().unwrap_or_default()
    }
}

impl Engine<'_> {
    /// Starts the statistics at the start of the run, when nothing has been counted yet.
    pub(super) fn start_statistics_at_zero(&mut self) {
        self.baseline = self.baseline_of_few();
    }

    /// Starts the statistics now.
    pub(super) fn start_statistics(&mut self) {
        // Arrivals during the warm-up that still wait in funnels must not enter the statistics.
        self.flush_funnels();
        let now = self.now;
        // Distributions and maxima cannot be subtracted like counters, so they are reset.
        for exchanges in self.flows.iter_mut().filter_map(|flow| flow.exchanges.as_mut()) {
            exchanges.response_times = Distribution::default();
        }
        for flow in &mut self.datagrams {
            flow.accounting.counters = DatagramCounters::default();
        }
        self.pipes.iter_mut().for_each(|pipe| pipe.restart_maximum(now));
        self.baseline = Baseline {
            flows: self.flows.iter_mut().map(|flow| flow.record.begin_statistics(now)).collect(),
            pipes: self.pipe_statistics().collect(),
            ..self.baseline_of_few()
        };
    }

    /// Snapshot of everything except flows and pipes, which are numerous.
    fn baseline_of_few(&mut self) -> Baseline {
        let now = self.now;
        self.update_stages();
        let snapshot = |placed: &mut PlacedStage| {
            placed.stage.restart_maxima();
            placed.stage.snapshot(now)
        };
        Baseline {
            at: now,
            flows: Vec::new(),
            pipes: Vec::new(),
            stages: self.stages.iter_mut().map(snapshot).collect(),
            proxies: self.proxies.iter_mut().map(|proxy| proxy.begin_statistics(now)).collect(),
        }
    }

    /// Brings all stages up to date.
    pub(super) fn update_stages(&mut self) {
        (0..self.stages.len() as u32).for_each(|index| self.update_stage(index));
    }

    /// Ends the statistics.
    ///
    /// # Errors
    /// Packets that are not conserved, or more samples than the plan allows.
    pub fn finish(&mut self) -> Result<(), RunError> {
        // Arrivals before the end of the run may still wait in funnels. They belong to the run, as
        // do their drops and their effect on queue lengths.
        self.flush_funnels();
        self.update_stages();
        self.write_queue_histories();
        // Funnels process arrivals later than they happen, so drops are not recorded in order of
        // time.
        self.recorder.tables.drops.iter_mut().for_each(Drops::sort);
        self.check_samples()?;
        if self.baseline.at < self.plan.warmup {
            // The run ended during the warm-up: the statistics are empty.
            self.start_statistics();
        }
        for flow in &mut self.flows {
            // A flow's last state lasts until the end of the run.
            flow.record.counters.advance_to(self.now);
        }
        for proxy in &mut self.proxies {
            proxy.held_bytes.advance_to(self.now);
        }
        self.check_conservation()
    }

    /// Checks, for each pipe, each other stage and the whole network, that the number of packets
    /// that entered plus the copies made equals delivered + dropped + queued + in transit.
    fn check_conservation(&self) -> Result<(), RunError> {
        let mut inside = 0;
        for (statistics, plan) in self.pipe_statistics().zip(&self.plan.pipes) {
            inside += statistics.queued + statistics.in_transit;
            if !statistics.is_conserved() {
                let place = format!("{}.{}", plan.link, plan.direction);
                return Err(RunError::Conservation { place, counts: format!("{statistics:?}") });
            }
        }
        for (placed, plan) in self.stages.iter().zip(&self.plan.stages) {
            let snapshot = placed.stage.snapshot(self.now);
            inside += snapshot.packets_inside();
            if !snapshot.is_conserved() {
                let place = plan.name().to_owned();
                return Err(RunError::Conservation { place, counts: format!("{snapshot:?}") });
            }
        }
        // The packets inside are counted twice: by the stages, and by the slab that stores packets.
        // Both counts must agree with the numbers of packets that have entered and left.
        let Counts { sent, copied, received, dropped, forgotten } = self.counts;
        if sent + copied != received + dropped + forgotten + inside
            || inside != self.packets.count()
        {
            let counts =
                format!("{:?}, {inside} on their way, {} held", self.counts, self.packets.count());
            return Err(RunError::Conservation { place: "the network".into(), counts });
        }
        Ok(())
    }
}
