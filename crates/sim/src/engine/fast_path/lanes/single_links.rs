//! Lanes of single links: if a network has only a few pipes at the ends of routes, each of them
//! passes its packets to lanes, although no other pipes follow it. An arrival of a packet is then
//! a wake-up of a lane, which takes fewer instructions than an event ([`super::wakeups`]). Several
//! flows may share such a pipe.

use super::wakeups::LaneWakeups;
use super::{LANES, Lane, LanePacket, Lanes};
use crate::agenda::Agenda;
use crate::endpoint::Endpoint;
use crate::route_entry::RouteEntry;
use retx_link::Pipe;
use retx_link::pipe::PlainPacket;
use retx_link::pipe::ahead::LeaderEntry;
use retx_link::stage::Entry;

/// Maximum number of such pipes.
const MAX_PIPES: usize = 4;

impl Lanes {
    /// Creates lanes behind the pipes that lead only to the ends of routes, if these pipes are few
    /// and no others have lanes. If such a pipe follows others, the lanes belong to the first
    /// leader of that chain.
    pub(super) fn attach_to_single_links(&mut self, routes: &[RouteEntry], pipes: &mut [Pipe]) {
        let last = pipes_before_ends(routes, pipes.len());
        let first_leader = |index: u32| {
            let leader = |index: &u32| pipes[*index as usize].leader().map(|leader| leader as u32);
            std::iter::successors(Some(index), leader).last().unwrap_or(index)
        };
        let chains: Vec<(u32, u32)> = last
            .into_iter()
            .map(|index| (first_leader(index), index))
            .filter(|(first, last)| first != last || pipes[*last as usize].may_get_lanes())
            .collect();
        if !self.all.is_empty() || chains.len() > MAX_PIPES {
            return;
        }
        for (first, last) in chains {
            self.of[first as usize] = self.count();
            // Packets of a chain are passed to the lanes when they have passed its followers.
            if first == last {
                pipes[first as usize].attach_lanes(self.count());
            }
            self.all.extend(std::iter::repeat_n(Lane::default(), LANES));
        }
        self.wakeups.pending = LaneWakeups::new(self.all.len());
    }

    /// Passes on a packet that a host has sent into this pipe, given with its index, with the
    /// outcome `entry`. Behind the pipe it reaches the endpoint `to`.
    #[inline(always)]
    pub(in crate::engine) fn enter_from(
        &mut self,
        (index, pipe): (u32, &mut Pipe),
        entry: LeaderEntry,
        (packet, to): (PlainPacket, Endpoint),
        agenda: &mut Agenda,
    ) -> Entry {
        let LeaderEntry::Arrives(arrival) = entry else {
            // The loss of a packet is an event of the pipe.
            agenda.wake(index, pipe.poll_timeout());
            return if entry == LeaderEntry::Lost { Entry::Accepted } else { Entry::QueueFull };
        };
        let waiting = LanePacket { arrival, id: packet.id, destination: to };
        if self.lanes_behind(index).is_some_and(|mut lanes| lanes.append(waiting, agenda)) {
            pipe.hand_over();
        } else {
            // More packets arrive in this nanosecond than there are lanes.
            pipe.append(arrival, packet);
            agenda.wake(index, arrival);
        }
        Entry::Accepted
    }
}

/// Indices of the pipes behind which each packet has reached the end of its route.
fn pipes_before_ends(routes: &[RouteEntry], pipes: usize) -> Vec<u32> {
    // For each pipe: whether some routes end behind it, and whether some go on.
    let mut found = vec![[false; 2]; pipes];
    for hop in routes.windows(2) {
        if let Some(pipe) = hop[0].pipe() {
            found[pipe as usize][usize::from(!hop[1].is_end())] = true;
        }
    }
    (0..).zip(found).filter(|(_, found)| *found == [true, false]).map(|(pipe, _)| pipe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Side;
    use crate::route_entry::NextHop;

    #[test]
    fn a_pipe_may_be_shared_if_no_route_goes_on_behind_it() {
        let [pipe, private] = [NextHop::Pipe, NextHop::PrivatePipe];
        let end = NextHop::Endpoint(Endpoint::new(0, Side::Receiver));
        let any = NextHop::PacketDestination;
        // Pipe 0 is shared, some packets go on behind pipe 1, and pipe 3 leads to several ends.
        let routes = [pipe(1), pipe(0), end, pipe(0), end, pipe(1), end, private(3), any];
        let routes = routes.map(RouteEntry::new);
        assert_eq!(pipes_before_ends(&routes, 4), [0, 3]);
    }
}
