//! Coupling of a pipe to the place from which its packets come or to which they go, packed into 32
//! bits.

use super::Pipe;

/// Coupling of a pipe ([`super::ahead`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coupling {
    /// None of the others.
    None,
    /// The pipe follows the pipe with this index, its leader.
    Leader(u32),
    /// The pipe gets its packets from the engine's merge queue with this number.
    Source(u32),
    /// The pipe passes its packets to the engine's merge queue with this number.
    Sink(u32),
    /// The pipe passes its packets to the engine's queues from this number on.
    Lanes(u32),
}

/// Packed [`Coupling`]. The upper two bits state the kind, and the others hold the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PackedCoupling(u32);

/// Upper bits of a source.
const SOURCE: u32 = 1 << 30;
/// Upper bits of a sink.
const SINK: u32 = 2 << 30;
/// Upper bits of lanes.
const LANES: u32 = 3 << 30;
/// Value for no coupling, in place of the last lanes.
const NONE: u32 = u32::MAX;

impl PackedCoupling {
    /// Packs a coupling.
    ///
    /// # Panics
    /// If its number does not fit.
    pub fn new(coupling: Coupling) -> Self {
        let (kind, number) = match coupling {
            Coupling::None => return Self(NONE),
            Coupling::Leader(index) => (0, index),
            Coupling::Source(number) => (SOURCE, number),
            Coupling::Sink(number) => (SINK, number),
            Coupling::Lanes(number) => (LANES, number),
        };
        assert!(number < SOURCE - 1, "fewer than 2^30 pipes and merge queues");
        Self(kind | number)
    }

    /// Unpacks the coupling.
    #[inline(always)]
    pub const fn unpack(self) -> Coupling {
        let number = self.0 & (SOURCE - 1);
        match self.0 - number {
            0 => Coupling::Leader(number),
            SOURCE => Coupling::Source(number),
            SINK => Coupling::Sink(number),
            _ if self.0 == NONE => Coupling::None,
            _ => Coupling::Lanes(number),
        }
    }
}

impl Pipe {
    /// Makes this plain pipe follow the pipe with index `leader`, which must be its only source and
    /// satisfy [`Config::can_lead`].
    ///
    /// # Panics
    /// If this pipe is not plain.
    pub fn set_leader(&mut self, leader: u32) {
        assert!(self.is_plain(), "only plain pipes are passed ahead of time");
        self.coupling = PackedCoupling::new(Coupling::Leader(leader));
    }

    /// True if this pipe follows another.
    #[inline]
    pub const fn follows(&self) -> bool {
        matches!(self.coupling.unpack(), Coupling::Leader(_))
    }

    /// Index of the pipe that this one follows.
    pub fn leader(&self) -> Option<usize> {
        match self.coupling.unpack() {
            Coupling::Leader(index) => Some(index as usize),
            _ => None,
        }
    }

    /// Marks this plain pipe, which must not follow another, as passing its packets to the engine's
    /// sink `number`: from now on packets enter by [`Self::enter_plain`].
    ///
    /// # Panics
    /// If this pipe is not plain.
    pub fn attach_sink(&mut self, number: u32) {
        assert!(self.is_plain(), "only plain pipes are passed ahead of time");
        self.coupling = PackedCoupling::new(Coupling::Sink(number));
    }

    /// Marks this pipe as getting its packets from merge queue `number` of the engine. The pipe
    /// must not follow another.
    ///
    /// # Panics
    /// If this pipe follows another.
    pub fn attach_source(&mut self, number: u32) {
        assert!(self.coupling.unpack() == Coupling::None, "the source is the only one");
        self.coupling = PackedCoupling::new(Coupling::Source(number));
    }

    /// Number of the source from which this pipe gets its packets, if any.
    #[inline(always)]
    pub const fn source(&self) -> Option<u32> {
        match self.coupling.unpack() {
            Coupling::Source(number) => Some(number),
            _ => None,
        }
    }

    /// Number of the sink to which this pipe passes its packets, if any.
    #[inline(always)]
    pub const fn sink(&self) -> Option<u32> {
        match self.coupling.unpack() {
            Coupling::Sink(number) => Some(number),
            _ => None,
        }
    }

    /// Marks this pipe as passing all its packets to the engine's lanes from `number` on: from now
    /// on packets enter by [`Self::enter_plain`] or [`Self::enter_losing`].
    ///
    /// # Panics
    /// If the pipe has another coupling, or if its channel does more than lose packets.
    pub fn attach_lanes(&mut self, number: u32) {
        assert!(self.may_get_lanes(), "its packets arrive in order, and it has no other coupling");
        self.coupling = PackedCoupling::new(Coupling::Lanes(number));
        self.leads = true;
    }

    /// True if [`Self::attach_lanes`] may be called.
    pub fn may_get_lanes(&self) -> bool {
        let is_known = self.is_plain() || self.is_plain_but_lossy();
        is_known && !self.leads && self.coupling.unpack() == Coupling::None
    }

    /// Number of the first lane to which this pipe passes its packets, if any.
    #[inline(always)]
    pub const fn lanes(&self) -> Option<u32> {
        match self.coupling.unpack() {
            Coupling::Lanes(number) => Some(number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coupling_is_unpacked_as_it_was_packed() {
        for number in [0, 1, SOURCE - 2] {
            let couplings = [Coupling::Leader, Coupling::Source, Coupling::Sink, Coupling::Lanes];
            for coupling in couplings.map(|of| of(number)).into_iter().chain([Coupling::None]) {
                assert_eq!(PackedCoupling::new(coupling).unpack(), coupling);
            }
        }
        assert_eq!(size_of::<PackedCoupling>(), 4);
    }
}
