//! *What it does.* Computes the probability of a frame error from the signal-to-noise ratio, for
//! the four rates of 802.11b.
//!
//! *Reference.* DBPSK: Proakis, Digital Communications. DQPSK: the asymptotic form that ns-3 uses
//! (`DsssErrorRateModel`). CCK: Pursley & Royster 2009, eqs. 17 and 18, as in ns-3.
//!
//! *Equations.* The ratio γ refers to the channel's bandwidth of 22 MHz, so Eb/N0 = γ·22 MHz/rate.
//! 1 Mbit/s: BER = ½·exp(−Eb/N0). 2 Mbit/s: BER = (√2 + 1)/√(8π√2)·x^(−½)·exp(−(2 − √2)·x),
//! x = Eb/N0, at most ½. CCK sends symbols of 4 and 8 bits at 1.375 MHz. With β = √(2e),
//! S(e) = 1 − ∫_{−β}^{∞} (2Φ(x + β) − 1)⁷ φ(x) dx: a symbol of 5.5 Mbit/s is wrong with probability
//! S(8γ), one of 11 Mbit/s with 1 − (1 − S(4γ))². A frame of L bits survives with
//! (1 − BER)^L, or (1 − SER)^(L/4) and (1 − SER)^(L/8).

use std::sync::OnceLock;

/// Modulations of 802.11b.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modulation {
    /// 1 Mbit/s.
    Dbpsk,
    /// 2 Mbit/s.
    Dqpsk,
    /// 5.5 Mbit/s.
    Cck5,
    /// 11 Mbit/s.
    Cck11,
}

/// Lowest signal-to-noise ratio in the tables, in dB; its value is also used for lower ratios.
const FIRST_DB: f64 = -20.0;
/// Step from one entry of the tables to the next, dB.
const STEP_DB: f64 = 0.05;
/// Number of entries in a table. The table reaches up to 20 dB, where a CCK symbol error has
/// probability e^−200.
const ENTRIES: usize = 801;

impl Modulation {
    /// Modulation of an 802.11b rate given in bit/s.
    pub const fn from_rate(bit_s: u64) -> Option<Self> {
        match bit_s {
            1_000_000 => Some(Self::Dbpsk),
            2_000_000 => Some(Self::Dqpsk),
            5_500_000 => Some(Self::Cck5),
            11_000_000 => Some(Self::Cck11),
            _ => None,
        }
    }

    /// Number of bits in a symbol.
    pub const fn symbol_bits(self) -> f64 {
        match self {
            Self::Dbpsk | Self::Dqpsk => 1.0,
            Self::Cck5 => 4.0,
            Self::Cck11 => 8.0,
        }
    }

    /// Symbol error probability at the ratio `snr`; for DBPSK and DQPSK, bit error probability.
    pub fn symbol_error_rate(self, snr: f64) -> f64 {
        match self {
            Self::Dbpsk => 0.5 * libm::exp(-22.0 * snr),
            Self::Dqpsk if snr <= 0.0 => 0.5,
            Self::Dqpsk => {
                let x = 11.0 * snr;
                let root = std::f64::consts::SQRT_2;
                let factor = (root + 1.0) / libm::sqrt(8.0 * std::f64::consts::PI * root * x);
                (factor * libm::exp(-(2.0 - root) * x)).min(0.5)
            }
            Self::Cck5 => cck_error_rate(8.0 * snr),
            Self::Cck11 => {
                let half = cck_error_rate(4.0 * snr);
                half * (2.0 - half)
            }
        }
    }

    /// Probability that a frame of `bytes` has an error at the ratio `snr`.
    pub fn frame_error_rate(self, snr: f64, bytes: u32) -> f64 {
        let symbols = 8.0 * f64::from(bytes) / self.symbol_bits();
        let hazard = match self {
            Self::Dbpsk | Self::Dqpsk => -libm::log1p(-self.symbol_error_rate(snr)),
            Self::Cck5 | Self::Cck11 => self.tabled(snr),
        };
        -libm::expm1(-symbols * hazard)
    }

    /// −ln(1 − SER) at the ratio `snr`, interpolated in a table of its logarithm.
    fn tabled(self, snr: f64) -> f64 {
        static TABLES: [OnceLock<Vec<f64>>; 2] = [const { OnceLock::new() }; 2];
        let table = TABLES[usize::from(self == Self::Cck11)].get_or_init(|| {
            let entry = |index: usize| {
                let snr = libm::pow(10.0, (FIRST_DB + STEP_DB * index as f64) / 10.0);
                libm::log(-libm::log1p(-self.symbol_error_rate(snr)))
            };
            (0..ENTRIES).map(entry).collect()
        });
        let last = (ENTRIES - 1) as f64;
        let place = ((10.0 * libm::log10(snr) - FIRST_DB) / STEP_DB).clamp(0.0, last);
        let index = (place as usize).min(ENTRIES - 2);
        let part = place - index as f64;
        libm::exp(table[index] + part * (table[index + 1] - table[index]))
    }
}

/// Symbol error probability S(e) of CCK, defined at the top of this file. The substitution u = x +
/// β gives Φ(−β) + ∫_0^∞ (1 − (1 − erfc(u/√2))⁷) φ(u − β) du, which has no cancellation. The
/// integral is computed by Simpson's rule; the integrand is smooth, and below e^−32 at the upper
/// end.
fn cck_error_rate(e: f64) -> f64 {
    const STEPS_PER_UNIT: f64 = 40.0;
    let root = std::f64::consts::SQRT_2;
    let beta = libm::sqrt(2.0 * e.max(0.0));
    let density = |x: f64| libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * std::f64::consts::PI);
    let integrand = |u: f64| {
        let beside = libm::erfc(u / root);
        -libm::expm1(7.0 * libm::log1p(-beside)) * density(u - beta)
    };
    let end = beta + 8.0;
    let steps = 2 * (libm::ceil(end * STEPS_PER_UNIT / 2.0) as usize);
    let width = end / steps as f64;
    let weighted = |index: usize| {
        let weight = match index {
            0 => 1.0,
            _ if index == steps => 1.0,
            _ if index % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * integrand(width * index as f64)
    };
    let integral = (0..=steps).map(weighted).sum::<f64>() * width / 3.0;
    0.5 * libm::erfc(beta / root) + integral
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Modulation; 4] =
        [Modulation::Dbpsk, Modulation::Dqpsk, Modulation::Cck5, Modulation::Cck11];

    #[test]
    fn curves_fall() {
        for modulation in ALL {
            let rates = (-300..200).map(|db| {
                modulation.symbol_error_rate(libm::pow(10.0, f64::from(db) / 10.0 / 2.0))
            });
            assert!(rates.is_sorted_by(|one, next| one >= next), "{modulation:?}");
        }
    }

    /// A receiver without any signal can only guess one of the 16 biorthogonal symbols.
    #[test]
    fn no_signal_is_a_guess() {
        assert!((Modulation::Cck5.symbol_error_rate(0.0) - 15.0 / 16.0).abs() < 1e-9);
        let both = 1.0 - 1.0 / 256.0;
        assert!((Modulation::Cck11.symbol_error_rate(0.0) - both).abs() < 1e-9);
        assert!((Modulation::Dbpsk.symbol_error_rate(0.0) - 0.5).abs() < 1e-15);
    }

    /// Reference values: the published integral, evaluated by the trapezoidal rule with 200,000
    /// steps.
    #[test]
    fn symbol_errors_of_cck() {
        let anchors = [
            (-5.0, 3.184_436_658e-1, 7.912_252_368e-1),
            (-2.0, 1.007_843_381e-1, 5.366_163_169e-1),
            (0.0, 2.399_879_774e-2, 3.019_079_532e-1),
            (2.0, 2.260_890_541e-3, 1.055_159_919e-1),
        ];
        for (db, five, eleven) in anchors {
            let snr = libm::pow(10.0, db / 10.0);
            for (modulation, anchor) in [(Modulation::Cck5, five), (Modulation::Cck11, eleven)] {
                let rate = modulation.symbol_error_rate(snr);
                // The error of Simpson's rule with steps of 1/40 is about h⁴/180 = 2e-9.
                assert!((rate - anchor).abs() < 2e-9, "{modulation:?} at {db} dB: {rate}");
            }
        }
    }

    /// The table agrees with the integral half-way between its entries.
    #[test]
    fn the_table_is_the_curve() {
        for modulation in [Modulation::Cck5, Modulation::Cck11] {
            for index in 0..240 {
                let db = -10.0 + 0.1 * f64::from(index) + STEP_DB / 2.0;
                let snr = libm::pow(10.0, db / 10.0);
                let exact = modulation.symbol_error_rate(snr);
                let symbols = 8.0 * 1500.0 / modulation.symbol_bits();
                let exact = -libm::expm1(symbols * libm::log1p(-exact));
                let tabled = modulation.frame_error_rate(snr, 1500);
                // The tolerance is that of linear interpolation, whose error is due to the
                // curvature within a step of 0.05 dB.
                let off = (tabled - exact).abs();
                assert!(off < 2e-3 * exact + 1e-12, "{modulation:?} at {db} dB: {tabled} {exact}");
            }
        }
    }
}
