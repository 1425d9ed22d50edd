//! Samples of senders and queues.

use super::Engine;
use crate::plan::Sampling;
use crate::recorder::WaitedIn;
use crate::run::RunError;
use retx_record::tables::{LinkSample, LinkSamples};
use retx_units::{Duration, Time};

impl Engine<'_> {
    /// Writes down how every sender and every queue is doing.
    pub(super) fn sample(&mut self) {
        self.settle_funnels();
        for flow in &self.flows {
            flow.sample(self.now, &mut self.recorder);
        }
        self.sample_queues(LinkSamples::push);
    }

    /// Refuses a run that is certain to have more samples than its plan allows.
    pub(super) fn check_samples_to_come(&self) -> Result<(), RunError> {
        let Sampling::Every(interval) = self.plan.sampling else { return Ok(()) };
        let ports: u64 = self.stages.iter().map(|placed| u64::from(placed.stage.ports())).sum();
        // Senders have rows only while their connection is open.
        let places = (self.pipes.len() as u64 + ports).max(1);
        let most = self.plan.samples_max;
        let instants = most / places;
        let at = Duration::from_nanos(interval.as_nanos().saturating_mul(instants));
        let lasts = self.plan.to_the_end || self.unfinished == 0;
        if lasts && at < self.plan.end.since(Time::ZERO) {
            return Err(RunError::TooManySamples { interval, most, at });
        }
        Ok(())
    }

    /// Tells why a run was broken off that had more samples than its plan allows.
    pub(super) fn check_samples(&self) -> Result<(), RunError> {
        match self.plan.sampling {
            Sampling::Every(interval) if self.recorder.sample_rows() > self.plan.samples_max => {
                let (most, at) = (self.plan.samples_max, self.now.since(Time::ZERO));
                Err(RunError::TooManySamples { interval, most, at })
            }
            _ => Ok(()),
        }
    }

    /// Writes down the queues that have changed since they were last looked at.
    #[inline]
    pub(super) fn sample_changed_queues(&mut self) {
        self.settle_funnels_before();
        if self.recorder.waited_in.is_empty() && self.sampled_all {
            return;
        }
        self.look_at_queues();
    }

    #[inline(never)]
    fn look_at_queues(&mut self) {
        if !self.sampled_all {
            // Stages that are no pipes tell less of what has changed.
            self.sampled_all = self.stages.is_empty();
            return self.sample_queues(LinkSamples::push_changed);
        }
        let Some(samples) = &mut self.recorder.tables.link_samples else { return };
        let (time, pipes) = (self.now, &mut self.pipes);
        let waited_in = &mut self.recorder.waited_in;
        let mut kept = 0;
        for at in 0..waited_in.len() {
            let WaitedIn { place, queue_packets: last } = waited_in[at];
            let queue_packets = pipes[place as usize].settle_queue(time);
            if queue_packets != last {
                samples.push_changed(LinkSample { time, place, queue_packets });
            }
            // Without a packet more an empty one stays so.
            waited_in[kept] = WaitedIn { place, queue_packets };
            kept += usize::from(queue_packets > 0);
        }
        waited_in.truncate(kept);
    }

    fn sample_queues(&mut self, push: fn(&mut LinkSamples, LinkSample)) {
        let Some(samples) = &mut self.recorder.tables.link_samples else { return };
        let time = self.now;
        for (place, pipe) in (0..).zip(&self.pipes) {
            let queue_packets = pipe.queued(time);
            push(samples, LinkSample { time, place, queue_packets });
        }
        for placed in &self.stages {
            for port in 0..placed.stage.ports() {
                let queue_packets = placed.stage.queued(time, port);
                let place = placed.first + u32::from(port);
                push(samples, LinkSample { time, place, queue_packets });
            }
        }
    }
}
