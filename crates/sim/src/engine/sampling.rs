//! Sampling of senders and queues.

use super::Engine;
use super::owners::Owner;
use crate::options::RunError;
use crate::plan::Sampling;
use retx_link::Pipe;
use retx_record::tables::LinkSample;
use retx_units::{Duration, QueueLengthHistory, Time};

impl Engine<'_> {
    /// Takes a sample that is due, and schedules the next.
    pub(super) fn handle_sample_wakeup(&mut self) {
        if let Sampling::Every(interval) = self.plan.sampling {
            self.sample();
            // Above the limit the run stops, and `check_samples` reports why.
            self.over |= self.recorder.sample_rows() > self.plan.samples_max;
            self.agenda.wake(self.owners.target(Owner::Sample), self.now + interval);
        }
    }

    /// Records the state of every sender and every queue.
    fn sample(&mut self) {
        self.flush_funnels();
        self.update_stages();
        for flow in &self.flows {
            flow.record_sample(self.now, &mut self.recorder);
        }
        self.sample_queues();
    }

    /// Refuses a run that is certain to exceed the plan's limit of samples.
    pub(super) fn check_future_samples(&self) -> Result<(), RunError> {
        let Sampling::Every(interval) = self.plan.sampling else { return Ok(()) };
        let ports: u64 =
            self.stages.iter().map(|placed| u64::from(placed.stage.entry_count())).sum();
        // Senders are not counted, because they add rows only while their connection is open.
        let places = (self.pipes.len() as u64 + ports).max(1);
        let most = self.plan.samples_max;
        let instants = most / places;
        let at = Duration::from_nanos(interval.as_nanos().saturating_mul(instants));
        // If the run ends when its flows are done, its number of samples is not known in advance.
        let lasts = self.plan.runs_to_end || self.unfinished == 0;
        if lasts && at < self.plan.end.since(Time::ZERO) {
            return Err(RunError::TooManySamples { interval, most, at });
        }
        Ok(())
    }

    /// Returns an error if the run was stopped because it reached the plan's limit of samples.
    pub(super) fn check_samples(&self) -> Result<(), RunError> {
        match self.plan.sampling {
            Sampling::Every(interval) if self.recorder.sample_rows() > self.plan.samples_max => {
                let (most, at) = (self.plan.samples_max, self.now.since(Time::ZERO));
                Err(RunError::TooManySamples { interval, most, at })
            }
            _ => Ok(()),
        }
    }

    /// Starts recording queue lengths over time, if every acknowledgment is sampled.
    pub(super) fn start_queue_histories(&mut self) {
        if self.recorder.samples_every_ack {
            self.pipes.iter_mut().for_each(Pipe::record_history);
            self.stages.iter_mut().for_each(|placed| placed.stage.record_history());
        }
    }

    /// Writes the queue lengths over time up to now into the table.
    pub(super) fn write_queue_histories(&mut self) {
        let Some(samples) = &mut self.recorder.tables.link_samples else { return };
        let pipes = self.pipes.iter_mut().filter_map(Pipe::take_history);
        let stages = self.stages.iter_mut().flat_map(|placed| {
            let ports = 0..placed.stage.entry_count();
            ports.filter_map(|port| placed.stage.take_history(port)).collect::<Vec<_>>()
        });
        let histories: Vec<QueueLengthHistory> = pipes.chain(stages).collect();
        if !histories.is_empty() {
            samples.add_histories(histories, self.now);
        }
    }

    fn sample_queues(&mut self) {
        let Some(samples) = &mut self.recorder.tables.link_samples else { return };
        let time = self.now;
        for (place, pipe) in (0..).zip(&self.pipes) {
            let queue_packets = pipe.queue_length(time);
            samples.push(LinkSample { time, place, queue_packets });
        }
        for placed in &self.stages {
            for port in 0..placed.stage.entry_count() {
                let queue_packets = placed.stage.queue_length(time, port);
                let place = placed.first_place + u32::from(port);
                samples.push(LinkSample { time, place, queue_packets });
            }
        }
    }
}
