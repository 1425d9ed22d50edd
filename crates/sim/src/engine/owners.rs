//! Owners of events: the parts of the engine that events wake.

use crate::endpoint::Endpoint;
use crate::event_queue::Target;
use crate::plan::Side;

/// Owner of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Pipe with this index.
    Pipe(u32),
    /// Endpoint, on this side, of the flow with this index.
    Host(u32, Side),
    /// Stage with this index.
    Stage(u32),
    /// UDP flow with this index.
    Datagrams(u32),
    /// Funnel with this index ([`super::fast_path`]).
    Funnel(u32),
    /// End of the run.
    End,
    /// End of the warm-up.
    Warmup,
    /// Sample of all senders and queues.
    Sample,
    /// Next event of the calendar of epochs ([`super::fast_path`]).
    Epoch,
    /// Lane with this index ([`super::fast_path`]).
    Lane(u32),
}

/// First target of each kind of owner. The kinds occupy consecutive ranges of targets, in the order
/// of the enum.
///
/// Events at the same time are handled in the order of their targets, beginning with the end of the
/// run ([`Self::first`]), because nothing happens at that time. The end of the warm-up and samples
/// follow: they show the state before all other events at the same time, but after the arrivals in
/// funnels up to that time. Lanes, pipes and the others are next. A lane ([`super::fast_path`])
/// counts as the pipe that its first packet leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetRanges {
    first_host: Target,
    first_stage: Target,
    first_datagrams: Target,
    first_funnel: Target,
    first_special: Target,
    first_lane: Target,
}

/// Number of targets for the end of the run, the end of the warm-up, samples, and epochs.
const SPECIAL: u32 = 4;

impl TargetRanges {
    /// Creates the numbers of all targets except funnels and lanes, which are added later.
    pub fn new(pipes: usize, flows: usize, stages: usize, datagrams: usize) -> Self {
        let [pipes, flows, stages, datagrams] =
            [pipes, flows, stages, datagrams].map(|count| count as u32);
        let first_host = pipes;
        let first_stage = first_host + 2 * flows;
        let first_datagrams = first_stage + stages;
        let first_funnel = first_datagrams + datagrams;
        let first_special = first_funnel;
        let first_lane = first_special + SPECIAL;
        Self { first_host, first_stage, first_datagrams, first_funnel, first_special, first_lane }
    }

    /// First target that is a funnel.
    pub const fn first_funnel(&self) -> Target {
        self.first_funnel
    }

    /// Adds funnels; returns the first target that is a lane.
    pub const fn add_funnels(&mut self, count: u32) -> Target {
        self.first_special = self.first_funnel + count;
        self.first_lane = self.first_special + SPECIAL;
        self.first_lane
    }

    /// Target whose event precedes all others at the same time: the end of the run.
    pub const fn first(&self) -> Target {
        self.target(Owner::End)
    }

    /// Index of the lane that this target is, if it is one.
    #[inline(always)]
    pub fn lane(&self, target: Target) -> Option<u32> {
        target.checked_sub(self.first_lane)
    }

    /// Owner of a target.
    #[inline(always)]
    pub fn owner(&self, target: Target) -> Owner {
        // Lanes and pipes are tested first, because most events are theirs.
        if target >= self.first_lane {
            Owner::Lane(target - self.first_lane)
        } else if target < self.first_host {
            Owner::Pipe(target)
        } else if target < self.first_stage {
            let end = Endpoint::from_number(target - self.first_host);
            Owner::Host(end.flow(), end.side())
        } else if let Some(special) = target.checked_sub(self.first_special) {
            match special {
                0 => Owner::End,
                1 => Owner::Warmup,
                2 => Owner::Sample,
                _ => Owner::Epoch,
            }
        } else if target >= self.first_funnel {
            Owner::Funnel(target - self.first_funnel)
        } else if target >= self.first_datagrams {
            Owner::Datagrams(target - self.first_datagrams)
        } else {
            Owner::Stage(target - self.first_stage)
        }
    }

    /// Target of an owner.
    #[inline(always)]
    pub const fn target(&self, owner: Owner) -> Target {
        match owner {
            Owner::Pipe(index) => index,
            Owner::Host(flow, side) => self.first_host + Endpoint::new(flow, side).number(),
            Owner::End => self.first_special,
            Owner::Warmup => self.first_special + 1,
            Owner::Sample => self.first_special + 2,
            Owner::Epoch => self.first_special + 3,
            Owner::Stage(index) => self.first_stage + index,
            Owner::Datagrams(index) => self.first_datagrams + index,
            Owner::Funnel(index) => self.first_funnel + index,
            Owner::Lane(index) => self.first_lane + index,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_one_owner() {
        let mut owners = TargetRanges::new(3, 2, 2, 1);
        let lanes = owners.add_funnels(2);
        for target in 0..lanes + 4 {
            assert_eq!(owners.target(owners.owner(target)), target);
        }
        assert_eq!(owners.owner(6), Owner::Host(1, Side::Receiver));
        assert_eq!(owners.owner(lanes - SPECIAL - 1), Owner::Funnel(1));
        assert_eq!(owners.lane(lanes - 1), None);
        assert_eq!(owners.lane(lanes + 1), Some(1));
        assert_eq!(lanes, 3 + 4 + SPECIAL + 2 + 1 + 2);
    }
}
