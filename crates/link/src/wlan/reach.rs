//! Reach of stations: which other stations receive a station's frames, sense them, or are disturbed
//! by them.

use std::ops::BitOr;

/// Effect of one station's transmissions on another station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StationEffect(u8);

impl StationEffect {
    /// No effect.
    pub const NONE: Self = Self(0);
    /// Frames can be received.
    pub const RECEIVES: Self = Self(1);
    /// The medium is sensed busy.
    pub const SENSES: Self = Self(2);
    /// Reception from other stations is disturbed.
    pub const INTERFERES: Self = Self(4);
    /// All effects.
    pub const ALL: Self = Self(7);

    /// True if the two sets of effects have an effect in common.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for StationEffect {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Positions of stations, and ranges, in millimetres.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Position of each station, millimetres.
    pub positions: Vec<[i64; 2]>,
    /// Reception range, millimetres.
    pub range: u64,
    /// Carrier sense range, millimetres.
    pub carrier_sense_range: u64,
    /// Interference range, millimetres.
    pub interference_range: u64,
}

/// For each station, the stations that its transmissions affect, by ascending index.
#[derive(Debug, Clone)]
pub struct Reach {
    effects: Vec<Vec<(u16, StationEffect)>>,
}

impl Reach {
    /// Computes the reach of `stations` stations. If `geometry` is `None`, every station hears
    /// every other.
    pub fn new(stations: u16, geometry: Option<&Geometry>) -> Self {
        let effect = |from: u16, to: u16| match geometry {
            _ if from == to => StationEffect::NONE,
            None => StationEffect::ALL,
            Some(geometry) => geometry.effect(usize::from(from), usize::from(to)),
        };
        let row = |from| {
            let all = (0..stations).map(|to| (to, effect(from, to)));
            all.filter(|(_, effect)| *effect != StationEffect::NONE).collect()
        };
        Self { effects: (0..stations).map(row).collect() }
    }

    /// True if every station hears every other.
    pub fn is_complete(&self) -> bool {
        let others = self.effects.len().saturating_sub(1);
        let hears = |(_, effect): &(u16, StationEffect)| *effect == StationEffect::ALL;
        self.effects.iter().all(|row| row.len() == others && row.iter().all(hears))
    }

    /// Takes out the list of the stations that a station affects, so that the caller can change the
    /// cell while iterating over the list. The caller must return it by [`Self::give_back`].
    #[inline]
    pub(super) fn lend(&mut self, from: u16) -> Vec<(u16, StationEffect)> {
        std::mem::take(&mut self.effects[usize::from(from)])
    }

    /// Returns a list taken by [`Self::lend`].
    #[inline]
    pub(super) fn give_back(&mut self, from: u16, effects: Vec<(u16, StationEffect)>) {
        self.effects[usize::from(from)] = effects;
    }
}

impl Geometry {
    /// Effect of transmissions of station `from` on station `to`.
    pub fn effect(&self, from: usize, to: usize) -> StationEffect {
        let [a, b] = [self.positions[from], self.positions[to]];
        let square = |i: usize| u128::from(a[i].abs_diff(b[i])).pow(2);
        let distance_squared = square(0) + square(1);
        let within = |range: u64, effect| {
            if distance_squared <= u128::from(range).pow(2) { effect } else { StationEffect::NONE }
        };
        within(self.range, StationEffect::RECEIVES)
            | within(self.carrier_sense_range, StationEffect::SENSES)
            | within(self.interference_range, StationEffect::INTERFERES)
    }
}
