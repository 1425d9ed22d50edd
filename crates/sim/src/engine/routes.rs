//! Entries of routes, and the position of a packet on its route.
//!
//! A route is a sequence of 32-bit words, called entries: one for each hop and one for its end.
//! Most pipes are *private*: a single entry of a single route refers to them. When a packet leaves
//! such a pipe, its position is known without reading the packet. If a single flow takes the route,
//! the destination is known as well, and the packet is not read between its sending and its
//! receiving host. This saves cache misses, because with thousands of flows the packet has left the
//! caches before it arrives. When a packet enters a hop that is not private, its position is stored
//! in the packet ([`PacketRef::hop`]).
//!
//! [`PacketRef::hop`]: crate::packet::PacketRef::hop

use super::Engine;
use crate::flow::Flow;
use crate::plan::Side;
use retx_link::Pipe;
use retx_link::pipe::PlainPacket;

/// Entry after the last hop of a route on which each packet holds its own destination.
pub(super) const HOST_ENTRY: u32 = u32::MAX;
/// Entry after the first hop on the route of a saturating source: the engine informs the source of
/// each packet that reaches this entry.
pub(super) const SOURCE_ENTRY: u32 = u32::MAX - 1;
/// Flag of the entry after the last hop of a route that only one flow takes; the other bits hold
/// the endpoint to which all its packets are addressed ([`Packet::destination`]).
///
/// [`Packet::destination`]: crate::packet::Packet::destination
const END: u32 = 1 << 31;
/// Flag of an entry for a private pipe. The other bits hold the index of the pipe. A private pipe
/// is plain ([`Pipe::is_plain`]), except that its channel may lose packets.
const PRIVATE: u32 = 1 << 30;
/// Position stored for a pipe that is not private.
const ANY: u32 = u32::MAX;

/// Packet that enters a hop.
#[derive(Debug, Clone, Copy)]
pub(super) struct EnteringPacket {
    /// The packet.
    pub packet: PlainPacket,
    /// Position of the hop: an index into the engine's routes.
    pub hop: u32,
}

/// Index of the pipe to which this entry refers; for other entries, a number that is no pipe's
/// index.
#[inline(always)]
pub(super) const fn pipe_of_entry(word: u32) -> u32 {
    word & !PRIVATE
}

/// True for the entry of a private pipe.
#[inline(always)]
pub(super) const fn is_private(word: u32) -> bool {
    word & (END | PRIVATE) == PRIVATE
}

/// True for the entry after the last hop of a route.
pub(super) const fn is_end(word: u32) -> bool {
    word >= END && word != SOURCE_ENTRY
}

/// Endpoint to which all packets at this entry are addressed; `None` if the packets hold their
/// destinations themselves, or if the entry is not the end of a route.
#[inline(always)]
pub(super) const fn destination_of_entry(word: u32) -> Option<u32> {
    if word & END == 0 || word >= SOURCE_ENTRY { None } else { Some(word ^ END) }
}

/// Finds and marks the routes that only one flow takes, and the private pipes. Returns the position
/// of each private pipe in the routes, and `ANY` for all other pipes.
pub(super) fn mark_private(routes: &mut [u32], flows: &[Flow], pipes: &[Pipe]) -> Vec<u32> {
    // `users[i]` is set if the route of a flow begins at position i. The value is the entry for the
    // end of this route: `END` with the receiving endpoint, or `HOST_ENTRY` if several flows take
    // it.
    let mut users: Vec<Option<u32>> = vec![None; routes.len()];
    for (index, flow) in (0..).zip(flows) {
        for (start, side) in flow.first_hops().into_iter().zip([Side::Receiver, Side::Sender]) {
            let user = &mut users[start as usize];
            // If several flows use the route, only the packet knows its destination.
            *user = Some(if user.is_none() { END | (2 * index + side as u32) } else { HOST_ENTRY });
        }
    }
    // For each pipe, the number of entries that refer to it, and the position of the last one.
    let mut found: Vec<(u32, u32)> = vec![(0, ANY); pipes.len()];
    let mut user = None;
    for at in 0..routes.len() {
        if at == 0 || is_end(routes[at - 1]) {
            user = users[at];
        }
        if let Some((count, place)) = found.get_mut(routes[at] as usize) {
            // Packets that belong to no TCP flow hold their positions themselves. Each entry of
            // their routes counts twice, so that its pipe does not become private.
            *count += if user.is_none() { 2 } else { 1 };
            *place = at as u32;
        } else if routes[at] == HOST_ENTRY {
            routes[at] = user.unwrap_or(HOST_ENTRY);
        }
    }
    let simple = |pipe: &Pipe| pipe.is_plain() || pipe.is_plain_but_lossy() && !pipe.leads();
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

/// Removes all marks, so that position and destination are always read from the packet.
pub(super) fn unmark_private(routes: &mut [u32], places: &mut [u32]) {
    places.fill(ANY);
    for word in routes {
        if is_end(*word) {
            *word = HOST_ENTRY;
        } else if is_private(*word) {
            *word = pipe_of_entry(*word);
        }
    }
}

impl Engine<'_> {
    /// Packet that leaves a pipe or another hop, and enters the next one.
    #[inline(always)]
    pub(super) fn entering_from(&self, from: u32, packet: PlainPacket) -> EnteringPacket {
        match self.places.get(from as usize) {
            // The position follows from the pipe, without a read of the packet.
            Some(&place) if place != ANY => EnteringPacket { packet, hop: place + 1 },
            // A plain pipe knows the length of the packet, so its header is not read.
            _ if packet.bytes != 0 => {
                EnteringPacket { packet, hop: self.packets.hop(packet.id) + 1 }
            }
            _ => {
                let entering = self.entering_stored(packet.id);
                EnteringPacket { hop: entering.hop + 1, ..entering }
            }
        }
    }

    /// Packet that enters the hop whose position is stored in it.
    #[inline(always)]
    pub(super) fn entering_stored(&self, id: u32) -> EnteringPacket {
        let packet = self.packets.get(id);
        EnteringPacket { packet: PlainPacket { id, bytes: packet.bytes() }, hop: packet.hop() }
    }

    /// Lets a packet enter its next hop. If it has reached its destination instead, returns the
    /// packet and the endpoint.
    #[inline(always)]
    pub(super) fn move_to_hop(&mut self, entering: EnteringPacket) -> Option<(u32, u32)> {
        let (word, id) = (self.routes[entering.hop as usize], entering.packet.id);
        if let Some(to) = destination_of_entry(word) {
            debug_assert_eq!(to, self.packets.get(id).destination);
            return Some((id, to));
        }
        if word == HOST_ENTRY {
            return Some((id, self.packets.get(id).destination));
        }
        self.flush_and_enter(word, entering);
        None
    }

    /// Stores a packet's position in the packet.
    #[inline(always)]
    pub(super) fn store_hop(&mut self, entering: EnteringPacket) {
        self.packets.set_hop(entering.packet.id, entering.hop);
    }
}

/// Last pipe on the route to this endpoint, if only one flow takes that route.
pub(super) fn last_pipe_to(to: u32, routes: &[u32], flows: &[Flow]) -> Option<u32> {
    let flow = flows.get((to >> 1) as usize)?;
    // Packets to one endpoint take the route that begins at the other endpoint.
    let start = flow.first_hops()[1 - (to & 1) as usize];
    let route = &routes[start as usize..];
    let end = route.iter().position(|word| *word >= END)?;
    destination_of_entry(route[end])?;
    Some(pipe_of_entry(route[end - 1]))
}
