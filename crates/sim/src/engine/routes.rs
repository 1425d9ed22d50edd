//! Words of routes, and the position of a packet on its route.
//!
//! A route is a sequence of words, one for each hop and one for its end. Most pipes are *private*:
//! all their packets are at the same place of the same route, so the position of a packet that
//! leaves such a pipe is known without reading the packet; its destination is known, too, after the
//! last hop of a route of a single flow. Such a packet is not accessed between its sending and its
//! receiving host: with thousands of flows it is in no cache by then. Its position is stored in the
//! packet ([`PacketRef::hop`]) as soon as it enters a hop that is not private.
//!
//! [`PacketRef::hop`]: crate::packet::PacketRef::hop

use super::Engine;
use crate::flow::Flow;
use crate::plan::Side;
use retx_link::Pipe;
use retx_link::pipe::Parcel;

/// Word after the last hop of a route: the packet itself holds its destination.
pub(super) const HOST: u32 = u32::MAX;
/// Word after the first hop of a saturating source, which is informed of each packet that leaves
/// that hop.
pub(super) const SOURCE: u32 = u32::MAX - 1;
/// Flag of the word after the last hop of a route that one flow takes; the other bits hold the end
/// that all its packets are for ([`Packet::to`]).
///
/// [`Packet::to`]: crate::packet::Packet::to
const END: u32 = 1 << 31;
/// Flag of a pipe that is private, and plain or only losing packets; the other bits hold its index.
const PRIVATE: u32 = 1 << 30;
/// Place of a pipe that is not private.
const ANY: u32 = u32::MAX;

/// Next step of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Packet.
    pub parcel: Parcel,
    /// Next position: an index into the engine's routes.
    pub hop: u32,
}

/// Pipe of this word; for other hops, a number beyond those of the pipes.
#[inline(always)]
pub(super) const fn pipe_of(word: u32) -> u32 {
    word & !PRIVATE
}

/// True for the word of a private pipe.
#[inline(always)]
pub(super) const fn is_private(word: u32) -> bool {
    word & (END | PRIVATE) == PRIVATE
}

/// True for the word after the last hop of a route.
pub(super) const fn is_end(word: u32) -> bool {
    word >= END && word != SOURCE
}

/// End to which all packets at this word are addressed; `None` if their destinations differ.
#[inline(always)]
pub(super) const fn end_of(word: u32) -> Option<u32> {
    if word & END == 0 || word >= SOURCE { None } else { Some(word ^ END) }
}

/// Finds the routes that one flow takes, and the private pipes; returns their places.
pub(super) fn find_private(routes: &mut [u32], flows: &[Flow], pipes: &[Pipe]) -> Vec<u32> {
    // For each word, the end that uses the route that starts at the word.
    let mut users: Vec<Option<u32>> = vec![None; routes.len()];
    for (index, flow) in (0..).zip(flows) {
        for (start, side) in flow.first_hops().into_iter().zip([Side::Receiver, Side::Sender]) {
            let user = &mut users[start as usize];
            // With two users, only the packet knows its destination.
            *user = Some(if user.is_none() { END | (2 * index + side as u32) } else { HOST });
        }
    }
    // For each pipe, the number of words that refer to it, and the last such word.
    let mut found: Vec<(u32, u32)> = vec![(0, ANY); pipes.len()];
    let mut user = None;
    for at in 0..routes.len() {
        if at == 0 || is_end(routes[at - 1]) {
            user = users[at];
        }
        if let Some((count, place)) = found.get_mut(routes[at] as usize) {
            // Packets that belong to no TCP flow hold their position themselves: count such a use
            // twice, so the pipe is not private.
            *count += if user.is_none() { 2 } else { 1 };
            *place = at as u32;
        } else if routes[at] == HOST {
            routes[at] = user.unwrap_or(HOST);
        }
    }
    let simple = |pipe: &Pipe| pipe.is_plain() || pipe.loses() && !pipe.leads();
    let private = found
        .into_iter()
        .zip(pipes)
        .map(|((count, place), pipe)| if count == 1 && simple(pipe) { place } else { ANY });
    let places: Vec<u32> = private.collect();
    for place in places.iter().filter(|place| **place != ANY) {
        routes[*place as usize] |= PRIVATE;
    }
    places
}

/// Makes all pipes and ends read position and destination from each packet.
pub(super) fn forget_private(routes: &mut [u32], places: &mut [u32]) {
    places.fill(ANY);
    for word in routes {
        if is_end(*word) {
            *word = HOST;
        } else if is_private(*word) {
            *word = pipe_of(*word);
        }
    }
}

impl Engine<'_> {
    /// Next step of a packet that leaves a pipe or another hop.
    #[inline(always)]
    pub(super) fn step_from(&self, from: u32, parcel: Parcel) -> Step {
        match self.places.get(from as usize) {
            // The position follows from the pipe, without a read of the packet.
            Some(&place) if place != ANY => Step { parcel, hop: place + 1 },
            _ => {
                let step = self.step_of(parcel.id);
                Step { hop: step.hop + 1, ..step }
            }
        }
    }

    /// Step of a packet to the position that it holds.
    #[inline(always)]
    pub(super) fn step_of(&self, id: u32) -> Step {
        let packet = self.packets.get(id);
        Step { parcel: Parcel { id, bytes: packet.bytes() }, hop: packet.hop() }
    }

    /// Moves a packet one hop on; returns the packet and its end if it has arrived.
    #[inline(always)]
    pub(super) fn take(&mut self, step: Step) -> Option<(u32, u32)> {
        let (word, id) = (self.routes[step.hop as usize], step.parcel.id);
        if let Some(to) = end_of(word) {
            debug_assert_eq!(to, self.packets.get(id).to);
            return Some((id, to));
        }
        if word == HOST {
            return Some((id, self.packets.get(id).to));
        }
        self.enter(word, step);
        None
    }

    /// Stores a packet's position in the packet.
    #[inline(always)]
    pub(super) fn write_hop(&mut self, step: Step) {
        self.packets.set_hop(step.parcel.id, step.hop);
    }

    /// Last hop of the route to this end, if only one flow takes it.
    pub(super) fn last_hop_to(&self, to: u32) -> Option<u32> {
        let flow = self.flows.get((to >> 1) as usize)?;
        // The packets for one end travel on the route of the other end.
        let start = flow.first_hops()[1 - (to & 1) as usize];
        let route = &self.routes[start as usize..];
        let end = route.iter().position(|word| *word >= END)?;
        end_of(route[end])?;
        Some(pipe_of(route[end - 1]))
    }
}
