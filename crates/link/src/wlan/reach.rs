//! Who hears whom.

use std::ops::BitOr;

/// What a station's transmission is to another station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bond(u8);

impl Bond {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// It can be received.
    pub const RECEIVES: Self = Self(1);
    /// It makes the medium busy.
    pub const SENSES: Self = Self(2);
    /// It spoils what is being received from others.
    pub const SUFFERS: Self = Self(4);
    /// All of these.
    pub const ALL: Self = Self(7);

    /// True when it is this.
    #[inline]
    pub const fn is(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Bond {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Places and ranges, in millimetres.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Where each station is.
    pub positions: Vec<[i64; 2]>,
    /// Frames are received up to here.
    pub range: u64,
    /// The medium is busy up to here.
    pub carrier_sense_range: u64,
    /// Other frames are spoilt up to here.
    pub interference_range: u64,
}

/// For each station, those that its transmissions mean something to, in order.
#[derive(Debug, Clone)]
pub struct Reach {
    bonds: Vec<Vec<(u16, Bond)>>,
}

impl Reach {
    /// So many stations; without places everyone hears everyone.
    pub fn new(stations: u16, geometry: Option<&Geometry>) -> Self {
        let bond = |from: u16, to: u16| match geometry {
            _ if from == to => Bond::NONE,
            None => Bond::ALL,
            Some(geometry) => geometry.bond(usize::from(from), usize::from(to)),
        };
        let row = |from| {
            let all = (0..stations).map(|to| (to, bond(from, to)));
            all.filter(|(_, bond)| *bond != Bond::NONE).collect()
        };
        Self { bonds: (0..stations).map(row).collect() }
    }

    /// Takes out those to whom a station's transmissions mean something, to go through them while
    /// the cell changes; they are to be given back.
    #[inline]
    pub(super) fn lend(&mut self, from: u16) -> Vec<(u16, Bond)> {
        std::mem::take(&mut self.bonds[usize::from(from)])
    }

    /// Puts back what has been lent.
    #[inline]
    pub(super) fn give_back(&mut self, from: u16, bonds: Vec<(u16, Bond)>) {
        self.bonds[usize::from(from)] = bonds;
    }
}

impl Geometry {
    /// What a transmission of `from` is to `to`.
    pub fn bond(&self, from: usize, to: usize) -> Bond {
        let [a, b] = [self.positions[from], self.positions[to]];
        let square = |i: usize| u128::from(a[i].abs_diff(b[i])).pow(2);
        let distance_squared = square(0) + square(1);
        let within = |range: u64, bond| {
            if distance_squared <= u128::from(range).pow(2) { bond } else { Bond::NONE }
        };
        within(self.range, Bond::RECEIVES)
            | within(self.carrier_sense_range, Bond::SENSES)
            | within(self.interference_range, Bond::SUFFERS)
    }
}
