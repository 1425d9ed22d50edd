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
    pub(super) fn sample_changed_queues(&mut self) {
        let Some(samples) = &mut self.recorder.tables.link_samples else { return };
        if samples.rows().is_empty() || !self.stages.is_empty() {
            // Stages that are no pipes tell less of what has changed.
            return self.sample_queues(LinkSamples::push_changed);
        }
        let (time, pipes) = (self.now, &self.pipes);
        self.recorder.waited_in.retain(|place| {
            let queue_packets = pipes[*place as usize].queued(time);
            samples.push_changed(LinkSample { time, place: *place, queue_packets });
            // Without a packet more it stays empty.
            queue_packets > 0
        });
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
