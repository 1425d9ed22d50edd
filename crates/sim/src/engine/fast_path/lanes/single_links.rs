//! Lanes of single links: if a network has only a few pipes at the ends of routes, each of them
//! passes its packets to lanes, although no other pipes follow it. An arrival of a packet is then
//! a wake-up of a lane, which takes fewer instructions than an event ([`super::wakeups`]).

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
    /// Creates lanes behind the last pipes of those routes that only one flow takes, if these pipes
    /// are few and no others have lanes. If such a pipe follows others, the lanes belong to the
    /// first leader of that chain.
    pub(super) fn attach_to_single_links(&mut self, routes: &[RouteEntry], pipes: &mut [Pipe]) {
        let is_last = |hop: &[RouteEntry]| hop[0].is_private() && hop[1].destination().is_some();
        let last = routes.windows(2).filter(|hop| is_last(hop)).map(|hop| hop[0].known_pipe());
        let first_leader = |index: u32| {
            let leader = |index: &u32| pipes[*index as usize].leader().map(|leader| leader as u32);
            std::iter::successors(Some(index), leader).last().unwrap_or(index)
        };
        let chains: Vec<(u32, u32)> = last
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

    /// Passes on a packet that has entered this pipe, given with its index, with the outcome
    /// `entry`. All packets of the pipe go to the endpoint `to`.
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
