//! Events of a stage that follow each other without the event queue.

use crate::engine::Engine;
use retx_units::Time;

/// Maximum number of events of a stage that follow its wake-up at once, so that the caller can
/// interrupt the run (an arbitrary choice).
const EVENTS_MAX: u32 = 16;

impl Engine<'_> {
    /// Handles the events of a stage that precede all other events.
    pub(in crate::engine) fn handle_next_stage_events(&mut self, index: u32) {
        for _ in 0..EVENTS_MAX {
            let next = self.stages[index as usize].stage.poll_timeout();
            if !self.is_next_event(next) {
                break;
            }
            self.events += 1;
            self.now = next;
            self.handle_stage_event(index);
        }
    }

    /// True if an event at `time`, which no queue holds, precedes all others, so that it can be
    /// handled at once.
    #[inline]
    pub(in crate::engine) fn is_next_event(&mut self, time: Time) -> bool {
        // An engine of external packets must not run ahead of its clock.
        self.uses_fast_paths
            && self.external.is_none()
            && !self.over
            && self.lanes.are_woken_by_events()
            && self.agenda.begins_after(time)
    }
}
