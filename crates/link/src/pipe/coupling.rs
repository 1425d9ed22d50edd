//! Coupling of a pipe to the place from which its packets come or to which they go, packed into 32
//! bits.

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
