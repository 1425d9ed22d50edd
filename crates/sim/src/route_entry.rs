//! Entries of routes, each packed into 32 bits.

use crate::endpoint::Endpoint;
use retx_link::Pipe;

/// Meaning of a route's entry: where a packet at this entry goes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHop {
    /// Pipe with this index.
    Pipe(u32),
    /// Private pipe with this index (`engine/routes.rs`).
    PrivatePipe(u32),
    /// Port with this index, of a stage that is not a pipe.
    Port(u32),
    /// No hop: the engine informs a saturating source that the packet has left the first hop, and
    /// the packet moves on to the entry after this one.
    Source,
    /// End of a route on which all packets are addressed to this endpoint.
    Endpoint(Endpoint),
    /// End of a route on which each packet holds its own destination.
    PacketDestination,
}

/// Entry of a route. The bit [`END`], [`PRIVATE`] or [`PORT`] states the kind, and the bits below
/// it hold the number; an entry without these bits is a pipe that is not private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteEntry(u32);

/// Bit of an endpoint at the end of a route.
const END: u32 = 1 << 31;
/// Bit of a private pipe.
const PRIVATE: u32 = 1 << 30;
/// Bit of a port. A pipe has a smaller index, because it is also a target of events.
const PORT: u32 = 1 << 29;
/// Entry for [`NextHop::PacketDestination`], in place of the last port.
const PACKET_DESTINATION: u32 = PRIVATE - 1;
/// Entry for [`NextHop::Source`], in place of the last port but one.
const SOURCE: u32 = PRIVATE - 2;

impl Default for RouteEntry {
    fn default() -> Self {
        Self(PACKET_DESTINATION)
    }
}

impl RouteEntry {
    /// Packs an entry.
    ///
    /// # Panics
    /// If the index of a pipe, port or endpoint is too large.
    #[inline(always)]
    pub const fn new(next: NextHop) -> Self {
        match next {
            NextHop::Pipe(index) => Self::packed(0, index, PORT),
            NextHop::PrivatePipe(index) => Self::packed(PRIVATE, index, PORT),
            NextHop::Port(index) => Self::packed(PORT, index, SOURCE - PORT),
            NextHop::Source => Self(SOURCE),
            NextHop::Endpoint(to) => Self::packed(END, to.number(), END),
            NextHop::PacketDestination => Self(PACKET_DESTINATION),
        }
    }

    #[inline(always)]
    const fn packed(kind: u32, number: u32, limit: u32) -> Self {
        assert!(number < limit, "a route has fewer than 2^29 ports");
        Self(kind | number)
    }

    /// Unpacks the entry.
    #[inline(always)]
    pub const fn next_hop(self) -> NextHop {
        let Self(word) = self;
        if word & END != 0 {
            NextHop::Endpoint(Endpoint::from_number(word ^ END))
        } else if word & PRIVATE != 0 {
            NextHop::PrivatePipe(word ^ PRIVATE)
        } else if word & PORT == 0 {
            NextHop::Pipe(word)
        } else if word == PACKET_DESTINATION {
            NextHop::PacketDestination
        } else if word == SOURCE {
            NextHop::Source
        } else {
            NextHop::Port(word ^ PORT)
        }
    }

    /// Index of the pipe, private or not, if the entry is one.
    #[inline(always)]
    pub const fn pipe(self) -> Option<u32> {
        match self.next_hop() {
            NextHop::Pipe(index) | NextHop::PrivatePipe(index) => Some(index),
            _ => None,
        }
    }

    /// Index of the pipe, for an entry that is known to be a pipe.
    #[inline(always)]
    pub fn known_pipe(self) -> u32 {
        debug_assert!(self.pipe().is_some(), "{self:?} is no pipe");
        self.0 & !PRIVATE
    }

    /// Pipe among `pipes`, if the entry is one.
    #[inline(always)]
    pub fn find_pipe(self, pipes: &[Pipe]) -> Option<&Pipe> {
        // Other entries become larger numbers than any index, so one comparison finds out.
        pipes.get((self.0 & !PRIVATE) as usize)
    }

    /// Pipe among `pipes`, with its index, if the entry is one.
    #[inline(always)]
    pub fn find_pipe_mut(self, pipes: &mut [Pipe]) -> Option<(u32, &mut Pipe)> {
        let index = self.0 & !PRIVATE;
        pipes.get_mut(index as usize).map(|pipe| (index, pipe))
    }

    /// True for a private pipe.
    #[inline(always)]
    pub const fn is_private(self) -> bool {
        matches!(self.next_hop(), NextHop::PrivatePipe(_))
    }

    /// True for the end of a route.
    pub const fn is_end(self) -> bool {
        matches!(self.next_hop(), NextHop::Endpoint(_) | NextHop::PacketDestination)
    }

    /// Endpoint to which all packets at this entry are addressed; `None` if the packets hold their
    /// destinations themselves, or if the entry is not the end of a route.
    #[inline(always)]
    pub const fn destination(self) -> Option<Endpoint> {
        match self.next_hop() {
            NextHop::Endpoint(to) => Some(to),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Side;

    #[test]
    fn an_entry_is_unpacked_as_it_was_packed() {
        let endpoint = Endpoint::new(7, Side::Receiver);
        for next in [
            NextHop::Pipe(0),
            NextHop::Pipe(PORT - 1),
            NextHop::PrivatePipe(0),
            NextHop::PrivatePipe(PORT - 1),
            NextHop::Port(0),
            NextHop::Port(SOURCE - PORT - 1),
            NextHop::Source,
            NextHop::Endpoint(Endpoint::new(0, Side::Sender)),
            NextHop::Endpoint(endpoint),
            NextHop::Endpoint(Endpoint::from_number(END - 1)),
            NextHop::PacketDestination,
        ] {
            let entry = RouteEntry::new(next);
            assert_eq!(entry.next_hop(), next);
            let (pipe, private) = match next {
                NextHop::Pipe(index) => (Some(index), false),
                NextHop::PrivatePipe(index) => (Some(index), true),
                _ => (None, false),
            };
            assert_eq!((entry.pipe(), entry.is_private()), (pipe, private));
            assert!(pipe.is_none_or(|index| entry.known_pipe() == index));
            assert!(pipe.is_some() || entry.find_pipe(&[]).is_none());
        }
        assert_eq!((endpoint.flow(), endpoint.side()), (7, Side::Receiver));
        assert_eq!(size_of::<RouteEntry>(), 4);
    }
}
