//! Named random streams: each component draws from a stream of its own, derived from one seed.
//!
//! A component's draws depend only on the seed, the replication and the component's name. Adding a
//! component therefore does not change the draws of the others, and runs can be compared in pairs.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Seed and replication, from which all streams of a run are derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamKey {
    /// The scenario's seed.
    pub seed: u64,
    /// Number of the replication, from 0.
    pub replication: u64,
}

impl StreamKey {
    /// Stream of the component called `name`.
    pub fn stream(self, name: &str) -> RandomStream {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&self.replication.to_le_bytes());
        seed[16..].copy_from_slice(&fnv1a_128(name.as_bytes()).to_le_bytes());
        RandomStream(ChaCha8Rng::from_seed(seed))
    }
}

/// FNV-1a hash with 128 bits, which suffice to give all names of a run different hashes.
fn fnv1a_128(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// Random numbers of one component (ChaCha8).
#[derive(Debug, Clone)]
pub struct RandomStream(ChaCha8Rng);

impl RandomStream {
    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform integer in 0 … `bound` − 1, by Lemire's multiplication; for bounds below 2^32 the
    /// bias is below 2^-32.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_replication_and_name() {
        let first =
            |seed, replication, name: &str| StreamKey { seed, replication }.stream(name).next_u64();
        let base = first(1, 0, "link a");
        assert_eq!(base, first(1, 0, "link a"));
        assert_ne!(base, first(2, 0, "link a"));
        assert_ne!(base, first(1, 1, "link a"));
        assert_ne!(base, first(1, 0, "link b"));
    }

    #[test]
    fn moments_at_four_sigma() {
        let mut stream = StreamKey { seed: 7, replication: 0 }.stream("test");
        let n = 200_000;
        let uniform: f64 = (0..n).map(|_| stream.uniform()).sum::<f64>() / f64::from(n);
        assert!((uniform - 0.5).abs() < 4.0 * (1.0 / 12.0_f64 / f64::from(n)).sqrt());
        let exponential: f64 = (0..n).map(|_| stream.exponential()).sum::<f64>() / f64::from(n);
        assert!((exponential - 1.0).abs() < 4.0 / f64::from(n).sqrt());
        let below: u64 = (0..n).map(|_| stream.below(10)).sum();
        assert!((below as f64 / f64::from(n) - 4.5).abs() < 4.0 * (8.25 / f64::from(n)).sqrt());
    }
}
