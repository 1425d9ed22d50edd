//! Diagnoses mutants of captures: bytes changed, removed or repeated anywhere.
//!
//! `cargo run --profile develop -p retx-diagnose --example mutants COUNT SEED CAPTURE...`
//!
//! A panic ends the program and names the mutant, which the same seed makes again.

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

/// Maximum number of mutations in a mutant, and of bytes in each.
const MUTATIONS_MAX: u64 = 8;
const BYTES_MAX: u64 = 64;

/// Generator of pseudo-random numbers (SplitMix64, Steele et al. 2014).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }
}

/// Changes, removes or repeats some bytes.
fn mutate(bytes: &mut Vec<u8>, draw: &mut Draw) {
    let from = draw.below(bytes.len() as u64) as usize;
    let to = (from + draw.below(BYTES_MAX) as usize + 1).min(bytes.len());
    match draw.below(4) {
        0 => _ = bytes.drain(from..to),
        1 => {
            let piece = bytes[from..to].to_vec();
            bytes.splice(from..from, piece);
        }
        2 => bytes[from..to].fill(if draw.below(2) == 0 { 0 } else { 0xff }),
        _ => {
            if let Some(byte) = bytes.get_mut(from) {
                *byte ^= 1 << draw.below(8);
            }
        }
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
    let (count, seed) = number().zip(number()).expect("a count and a seed");
    let files: Vec<Vec<u8>> =
        words.map(|path| std::fs::read(path).expect("a file that can be read")).collect();
    let (mut packets, mut refused, mut longest) = (0, 0, Duration::ZERO);
    for mutant in 0..count {
        let mut draw = Draw(seed.wrapping_mul(0x1_0000_0001).wrapping_add(mutant));
        let mut bytes = files[mutant as usize % files.len()].clone();
        for _ in 0..=draw.below(MUTATIONS_MAX) {
            mutate(&mut bytes, &mut draw);
        }
        let start = Instant::now();
        match catch_unwind(|| retx_diagnose::diagnose(bytes.as_slice(), "mutant")) {
            Ok(Ok(answer)) => packets += answer.capture.packets,
            Ok(Err(_)) => refused += 1,
            Err(_) => panic!("mutant {mutant} of seed {seed}"),
        }
        longest = longest.max(start.elapsed());
    }
    println!("{count} mutants, {packets} packets, {refused} refused, longest {longest:?}");
}
