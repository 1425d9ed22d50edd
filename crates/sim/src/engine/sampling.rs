//! Samples of senders and queues.

use super::Engine;
use crate::recorder::WaitedIn;
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
    #[inline]
    pub(super) fn sample_changed_queues(&mut self) {
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
