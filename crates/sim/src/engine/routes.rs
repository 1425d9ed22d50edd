//! Words of routes, and where a packet is on its route.
//!
//! A route is a row of words, one for each hop and one for its end. Most pipes are *private*: all
//! their packets are at the same place of the same route, so a packet that leaves such a pipe need
//! not be asked where it is; nor, behind the last hop of a route that one flow takes, for whom it
//! is. So it is left alone from the host that sends it to the host that takes it: with thousands
//! of flows it is in no cache meanwhile. Where it is, is written beside it ([`PacketRef::hop`]) as
//! soon as it enters a hop that is not private.
//!
//! [`PacketRef::hop`]: crate::packet::PacketRef::hop

use super::Engine;
use crate::flow::Flow;
use crate::plan::Side;
use retx_link::Pipe;
use retx_link::pipe::Parcel;

/// Behind the last hop of a route: the packet is asked for whom it is.
pub(super) const HOST: u32 = u32::MAX;
/// Behind the first hop of a saturating source: it is told of each packet that has left that hop.
pub(super) const SOURCE: u32 = u32::MAX - 1;
/// Behind the last hop of a route that one flow takes: with it, the end that all packets there are
/// for ([`Packet::to`]).
///
/// [`Packet::to`]: crate::packet::Packet::to
const END: u32 = 1 << 31;
/// With the index of a pipe: it is private, and plain, or it loses packets and does nothing else.
const PRIVATE: u32 = 1 << 30;
/// The place of a pipe that is not private.
const ANY: u32 = u32::MAX;

/// A packet that is moved on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The packet.
    pub parcel: Parcel,
    /// Where on its route it is about to be: an index into the engine's routes.
    pub hop: u32,
}

/// The pipe of this word; for other hops, a number behind those of the pipes.
#[inline(always)]
pub(super) const fn pipe_of(word: u32) -> u32 {
    word & !PRIVATE
}

/// True for the word of a private pipe.
#[inline(always)]
pub(super) const fn is_private(word: u32) -> bool {
    word & (END | PRIVATE) == PRIVATE
}

/// True for the word behind the last hop of a route.
pub(super) const fn is_end(word: u32) -> bool {
    word >= END && word != SOURCE
}

/// The end that all packets are for that come to this word.
#[inline(always)]
pub(super) const fn end_of(word: u32) -> Option<u32> {
    if word & END == 0 || word >= SOURCE { None } else { Some(word ^ END) }
}

/// Finds the routes that one flow takes, and the pipes that are private; returns their places.
pub(super) fn find_private(routes: &mut [u32], flows: &[Flow], pipes: &[Pipe]) -> Vec<u32> {
    // For whom the packets are that take the route which begins there.
    let mut users: Vec<Option<u32>> = vec![None; routes.len()];
    for (index, flow) in (0..).zip(flows) {
        for (start, side) in flow.first_hops().into_iter().zip([Side::Receiver, Side::Sender]) {
            let user = &mut users[start as usize];
            *user = Some(if user.is_none() { END | (2 * index + side as u32) } else { HOST });
        }
    }
    // How many words have the pipe, and the last of them.
    let mut found: Vec<(u32, u32)> = vec![(0, ANY); pipes.len()];
    let mut user = None;
    for at in 0..routes.len() {
        if at == 0 || is_end(routes[at - 1]) {
            user = users[at];
        }
        if let Some((count, place)) = found.get_mut(routes[at] as usize) {
            // Others than flows over TCP look where their packets are.
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

/// Makes all pipes and ends common again: each packet is asked where it is, and for whom.
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
    /// A packet leaves a pipe, or another hop: its next step.
    #[inline(always)]
    pub(super) fn step_from(&self, from: u32, parcel: Parcel) -> Step {
        match self.places.get(from as usize) {
            Some(&place) if place != ANY => Step { parcel, hop: place + 1 },
            _ => {
                let step = self.step_of(parcel.id);
                Step { hop: step.hop + 1, ..step }
            }
        }
    }

    /// The step of a packet that is about to be where it says itself.
    #[inline(always)]
    pub(super) fn step_of(&self, id: u32) -> Step {
        let packet = self.packets.get(id);
        Step { parcel: Parcel { id, bytes: packet.bytes() }, hop: packet.hop() }
    }

    /// Takes a step; returns the packet and the end that it has reached, if it has.
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

    /// Writes down where a packet is.
    #[inline(always)]
    pub(super) fn write_hop(&mut self, step: Step) {
        self.packets.set_hop(step.parcel.id, step.hop);
    }

    /// The last hop of the route to this end, if one flow takes it.
    pub(super) fn last_hop_to(&self, to: u32) -> Option<u32> {
        let flow = self.flows.get((to >> 1) as usize)?;
        let start = flow.first_hops()[1 - (to & 1) as usize];
        let route = &self.routes[start as usize..];
        let end = route.iter().position(|word| *word >= END)?;
        end_of(route[end])?;
        Some(pipe_of(route[end - 1]))
    }
}
