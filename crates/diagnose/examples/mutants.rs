//! Diagnoses mutants of captures.
//!
//! `cargo run --profile develop -p retx-diagnose --example mutants files COUNT SEED CAPTURE...`
//! changes, removes or repeats bytes anywhere in a file. Often the reader then stops at the damage.
//!
//! `... --example mutants packets COUNT SEED CAPTURE...` changes each packet of a capture, in pcap
//! with the byte order of this machine, and leaves the file readable, so that every packet is read.
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

/// Lengths of the headers of a pcap file and of each of its packets.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// Capture with a mutation in each packet, and the number of packets. A tenth of the packets get a
/// wrong time instead.
fn mutate_packets(capture: &[u8], draw: &mut Draw) -> (Vec<u8>, u64) {
    let (header, mut rest) = capture.split_at(FILE_HEADER.min(capture.len()));
    let mut mutant = header.to_vec();
    let mut packets = 0;
    while let Some((head, body)) = rest.split_at_checked(PACKET_HEADER) {
        let field = |at: usize| head[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
        let Some((packet, after)) = body.split_at_checked(field(8) as usize) else { break };
        rest = after;
        let (mut head, mut packet) = (head.to_vec(), packet.to_vec());
        if draw.below(10) == 0 {
            let at = draw.below(8) as usize;
            head[at] ^= 1 << draw.below(8);
        } else {
            mutate(&mut packet, draw);
        }
        head[8..12].copy_from_slice(&(packet.len() as u32).to_ne_bytes());
        mutant.extend(head.into_iter().chain(packet));
        packets += 1;
    }
    (mutant, packets)
}

/// Largest memory of this process so far, as Linux reports it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.unwrap_or("unknown").trim().to_owned()
}

fn main() {
    let mut words = std::env::args().skip(1);
    let of_packets = match words.next().as_deref() {
        Some("files") => false,
        Some("packets") => true,
        _ => panic!("`files` or `packets`, a count, a seed, and captures"),
    };
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
    let (count, seed) = number().zip(number()).expect("a count and a seed");
    let files: Vec<Vec<u8>> =
        words.map(|path| std::fs::read(path).expect("a file that can be read")).collect();
    let (mut made, mut mutant, mut read, mut refused) = (0, 0, 0, 0);
    let mut longest = Duration::ZERO;
    let mut early_peak = None;
    while made < count {
        let mut draw = Draw(seed.wrapping_mul(0x1_0000_0001).wrapping_add(mutant));
        let mut bytes = files[mutant as usize % files.len()].clone();
        if of_packets {
            let (mutated, packets) = mutate_packets(&bytes, &mut draw);
            assert!(packets > 0, "a pcap file with the byte order of this machine");
            bytes = mutated;
            made += packets;
        } else {
            for _ in 0..=draw.below(MUTATIONS_MAX) {
                mutate(&mut bytes, &mut draw);
            }
            made += 1;
        }
        let start = Instant::now();
        match catch_unwind(|| retx_diagnose::diagnose(bytes.as_slice(), "mutant")) {
            Ok(Ok(answer)) => read += answer.capture.packets,
            Ok(Err(_)) => refused += 1,
            Err(_) => panic!("mutant {mutant} of seed {seed}"),
        }
        longest = longest.max(start.elapsed());
        mutant += 1;
        if made >= count / 10 {
            early_peak.get_or_insert_with(peak_memory);
        }
    }
    println!("{made} mutated, in {mutant} captures; {read} packets read, {refused} files refused");
    let early = early_peak.unwrap_or_default();
    println!(
        "longest diagnosis {longest:?}; memory {early} after a tenth, {} at most",
        peak_memory()
    );
}
