//! Fuzzing: the decoder never panics, and every packet that it accepts can be encoded again and
//! decodes to an equal packet.
//!
//! `RETX_FUZZ_ITERATIONS` sets the number of iterations; every run uses the same bytes.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use retx_units::{RandomStream, StreamKey};
use retx_wire::{Packet, decode_packet, encode_packet, verify_checksums};

const ITERATIONS: u64 = 1_000_000;

fn iterations() -> u64 {
    match std::env::var("RETX_FUZZ_ITERATIONS") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("RETX_FUZZ_ITERATIONS is {text:?}, not a whole number")),
        Err(_) => ITERATIONS,
    }
}

/// Prints the current input if the test panics.
struct Culprit<'a>(&'a [u8]);

impl Drop for Culprit<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the bytes were: {:02x?}", self.0);
        }
    }
}

/// Returns true if the decoder accepts the bytes.
fn check(bytes: &[u8]) -> bool {
    let _culprit = Culprit(bytes);
    // Called even if the result is unused: it must not panic on any input.
    let checksums = verify_checksums(bytes);
    let decoded = match decode_packet(bytes) {
        Ok(decoded) => decoded,
        Err(error) => {
            assert_eq!(checksums, Err(error));
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let payload = &bytes[decoded.payload.clone()];
    assert_eq!(payload.len(), decoded.packet.payload_bytes() as usize);
    let mut again = Vec::new();
    encode_packet(&decoded.packet, &mut |place| place.copy_from_slice(payload), &mut again);
    assert_eq!(again.len(), decoded.packet.packet_bytes() as usize);
    assert_eq!(verify_checksums(&again), Ok(()));
    let redecoded = decode_packet(&again).expect("what was encoded decodes");
    assert_eq!(redecoded.packet, decoded.packet);
    assert_eq!(&again[redecoded.payload], payload);
    true
}

fn random_bytes(stream: &mut RandomStream, len: u64) -> Vec<u8> {
    (0..len).map(|_| stream.next_u64().to_le_bytes()[0]).collect()
}

/// Valid packets to start from, kept short so that many mutations fit into a second.
fn seeds() -> Vec<Vec<u8>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = crate::generate::packet()
        .prop_filter("a long payload", |packet: &Packet| packet.payload_bytes() <= 64);
    let mut seeds = Vec::new();
    while seeds.len() < 200 {
        let packet = strategy.new_tree(&mut runner).expect("short packets are common").current();
        let mut bytes = Vec::new();
        encode_packet(&packet, &mut |payload| payload.fill(b'x'), &mut bytes);
        seeds.push(bytes);
    }
    seeds
}

/// Random bytes after an IPv4 header with a correct length.
fn plausible(stream: &mut RandomStream) -> Vec<u8> {
    let len = 20 + stream.below(120);
    let mut bytes = random_bytes(stream, len);
    bytes[0] = 0x40 | (5 + stream.below(2)) as u8;
    bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    bytes[6] &= 0x40;
    bytes[7] = 0;
    bytes[9] = if stream.below(4) == 0 { 17 } else { 6 };
    if bytes[9] == 6 && len >= 40 {
        let words = 5 + stream.below(11.min((len - 40) / 4 + 1));
        bytes[32] = (words as u8) << 4;
        scatter_options(stream, &mut bytes[40..(20 + words * 4) as usize]);
    } else if len >= 28 {
        let says = stream.below(len - 20 + 4) as u16;
        bytes[24..26].copy_from_slice(&says.to_be_bytes());
    }
    bytes
}

/// Options of known and unknown kinds, most with a correct length.
fn scatter_options(stream: &mut RandomStream, room: &mut [u8]) {
    const LENGTHS: [(u8, u8); 12] = [
        (0, 1),
        (1, 1),
        (2, 4),
        (3, 3),
        (4, 2),
        (5, 10),
        (5, 18),
        (5, 26),
        (5, 34),
        (8, 10),
        (30, 12),
        (254, 4),
    ];
    let mut at = 0;
    while at < room.len() {
        let (kind, length) = LENGTHS[stream.below(LENGTHS.len() as u64) as usize];
        let fits = at + usize::from(length) <= room.len();
        if !fits && stream.below(8) != 0 {
            room[at..].fill(1);
            return;
        }
        room[at] = kind;
        if length > 1 && at + 1 < room.len() {
            let wrong = if stream.below(32) == 0 { stream.below(40) as u8 } else { 0 };
            room[at + 1] = length.wrapping_add(wrong);
        }
        at += usize::from(length);
    }
}

/// A valid packet with one to eight bytes changed.
fn mutated(stream: &mut RandomStream, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[stream.below(seeds.len() as u64) as usize].clone();
    for _ in 0..=stream.below(8) {
        let place = stream.below(bytes.len() as u64) as usize;
        bytes[place] = stream.next_u64().to_le_bytes()[0];
    }
    bytes
}

/// A valid packet that is cut off; in most cases its total length is adjusted.
fn truncated(stream: &mut RandomStream, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[stream.below(seeds.len() as u64) as usize].clone();
    bytes.truncate(stream.below(bytes.len() as u64) as usize);
    if bytes.len() >= 20 && stream.below(8) != 0 {
        let len = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&len.to_be_bytes());
    }
    bytes
}

#[test]
fn the_decoder_stands_hostile_bytes() {
    let mut stream = StreamKey { seed: 1, replication: 0 }.stream("wire fuzz");
    let seeds = seeds();
    assert!(seeds.iter().all(|bytes| check(bytes)));
    let mut accepted = [0u64; 4];
    let iterations = iterations();
    for iteration in 0..iterations {
        let kind = (iteration % 4) as usize;
        let bytes = match kind {
            0 => {
                let len = stream.below(200);
                random_bytes(&mut stream, len)
            }
            1 => plausible(&mut stream),
            2 => mutated(&mut stream, &seeds),
            _ => truncated(&mut stream, &seeds),
        };
        accepted[kind] += u64::from(check(&bytes));
    }
    println!("{iterations} inputs; accepted (random, plausible, mutated, truncated): {accepted:?}");
    // Both outcomes have to be common; otherwise the encoder was hardly exercised.
    if iterations >= ITERATIONS {
        assert!(accepted[1..].iter().all(|&count| count > iterations / 200), "{accepted:?}");
    }
}
