//! Samples of senders and queues.

use super::Engine;
use retx_record::tables::{LinkSample, LinkSamples};

impl Engine<'_> {
    /// Writes down how every sender and every queue is doing.
    pub(super) fn sample(&mut self) {
        for flow in &self.flows {
            flow.sample(self.now, &mut self.recorder);
        }
        self.sample_queues(LinkSamples::push);
    }

    /// Writes down the queues that have changed since they were last looked at.
    #[cold]
    pub(super) fn sample_changed_queues(&mut self) {
        self.sample_queues(LinkSamples::push_changed);
    }

    fn sample_queues(&mut self, push: fn(&mut LinkSamples, LinkSample)) {
        let Some(samples) = &mut self.recorder.tables.link_samples else { return };
        let time = self.now;
        for (place, pipe) in (0..).zip(&self.pipes) {
            let queue_packets = pipe.statistics(time).queued;
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
