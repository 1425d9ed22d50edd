//! Entries of routes, and the position of a packet on its route.
//!
//! A route is a sequence of entries ([`NextHop`]): one for each hop and one for its end. Most pipes
//! are *private*: a single entry of a single route refers to them, and they are plain
//! ([`Pipe::is_plain`]), except that their channels may lose packets. When a packet leaves such a
//! pipe, its position is known without reading the packet. If a single flow takes the route, the
//! destination is known as well, and the packet is not read between its sending and its receiving
//! host. This saves cache misses, because with thousands of flows the packet has left the caches
//! before it arrives. When a packet enters a hop that is not private, its position is stored in the
//! packet ([`PacketRef::hop`]).
//!
//! [`PacketRef::hop`]: crate::packet::PacketRef::hop

use super::Engine;
use crate::endpoint::Endpoint;
use crate::flow::Flow;
use crate::plan::Side;
use crate::route_entry::{NextHop, RouteEntry};
use retx_link::Pipe;
use retx_link::pipe::PlainPacket;

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

/// Finds and marks the routes that only one flow takes, and the private pipes. Returns the position
/// of each private pipe in the routes, and `ANY` for all other pipes.
pub(super) fn mark_private(routes: &mut [RouteEntry], flows: &[Flow], pipes: &[Pipe]) -> Vec<u32> {
    // `users[i]` is set if the route of a flow begins at position i. The value is the end of this
    // route.
    let mut users: Vec<Option<NextHop>> = vec![None; routes.len()];
    for (index, flow) in (0..).zip(flows) {
        for (start, side) in flow.first_hops().into_iter().zip([Side::Receiver, Side::Sender]) {
            let user = &mut users[start as usize];
            *user = Some(match user {
                None => NextHop::Endpoint(Endpoint::new(index, side)),
                // If several flows use the route, only the packet knows its destination.
                Some(_) => NextHop::PacketDestination,
            });
        }
    }
    // For each pipe, the number of entries that refer to it, and the position of the last one.
    let mut found: Vec<(u32, u32)> = vec![(0, ANY); pipes.len()];
    let mut user = None;
    for at in 0..routes.len() {
        if at == 0 || routes[at - 1].is_end() {
            user = users[at];
        }
        match (routes[at].next_hop(), user) {
            (NextHop::Pipe(index), user) => {
                let (count, place) = &mut found[index as usize];
                // Packets that belong to no TCP flow hold their positions themselves. Each entry
                // of their routes counts twice, so that its pipe does not become private.
                *count += if user.is_none() { 2 } else { 1 };
                *place = at as u32;
            }
            (NextHop::PacketDestination, Some(end)) => routes[at] = RouteEntry::new(end),
            _ => {}
        }
    }
    let simple = |pipe: &Pipe| pipe.is_plain() || pipe.is_plain_but_lossy() && !pipe.leads();
    let private = found
        .into_iter()
        .zip(pipes)
        .map(|((count, place), pipe)| if count == 1 && simple(pipe) { place } else { ANY });
    let places: Vec<u32> = private.collect();
    for (index, place) in (0..).zip(&places).filter(|(_, place)| **place != ANY) {
        routes[*place as usize] = RouteEntry::new(NextHop::PrivatePipe(index));
    }
    places
}

/// Entry of a first hop, as a host sees it. A pipe with lanes appears private, although other hosts
/// may send into it: the packet holds its position and its destination from the beginning, so that
/// it can be passed to a lane at once.
pub(super) fn entry_for_host(hop: u32, routes: &[RouteEntry], pipes: &[Pipe]) -> RouteEntry {
    let entry = routes[hop as usize];
    match entry.find_pipe(pipes).and_then(Pipe::lanes) {
        Some(_) => RouteEntry::new(NextHop::PrivatePipe(entry.known_pipe())),
        None => entry,
    }
}

/// Removes all marks, so that position and destination are always read from the packet.
pub(super) fn unmark_private(routes: &mut [RouteEntry], places: &mut [u32]) {
    places.fill(ANY);
    for entry in routes {
        match entry.next_hop() {
            NextHop::Endpoint(_) => *entry = RouteEntry::new(NextHop::PacketDestination),
            NextHop::PrivatePipe(index) => *entry = RouteEntry::new(NextHop::Pipe(index)),
            _ => {}
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
    pub(super) fn move_to_hop(&mut self, entering: EnteringPacket) -> Option<(u32, Endpoint)> {
        let (entry, id) = (self.routes[entering.hop as usize], entering.packet.id);
        match entry.next_hop() {
            NextHop::Endpoint(to) => {
                debug_assert_eq!(to, self.packets.get(id).destination);
                Some((id, to))
            }
            NextHop::PacketDestination => Some((id, self.packets.get(id).destination)),
            NextHop::Pipe(_) | NextHop::PrivatePipe(_) | NextHop::Port(_) | NextHop::Source => {
                self.flush_and_enter(entry, entering);
                None
            }
        }
    }

    /// Stores a packet's position in the packet.
    #[inline(always)]
    pub(super) fn store_hop(&mut self, entering: EnteringPacket) {
        self.packets.set_hop(entering.packet.id, entering.hop);
    }
}

/// Last pipe on the route to this endpoint, if only one flow takes that route.
pub(super) fn last_pipe_to(to: Endpoint, routes: &[RouteEntry], flows: &[Flow]) -> Option<u32> {
    let flow = flows.get(to.flow() as usize)?;
    // Packets to one endpoint take the route that begins at the other endpoint.
    let start = flow.first_hops()[to.side().other() as usize];
    let route = &routes[start as usize..];
    let end = route.iter().position(|entry| entry.is_end())?;
    route[end].destination()?;
    route[end - 1].pipe()
}
