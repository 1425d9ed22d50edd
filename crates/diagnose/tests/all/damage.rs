//! Damaged files: everything up to the damage, one reason, and never a panic or a loop.

use crate::build::{
    Header, Order, Written, enhanced, ethernet, interface, ipv4, pcap, read, section, tcp,
};
use crate::script::Script;
use proptest::prelude::*;
use std::io::Write;
use std::sync::LazyLock;

/// Data, some of them twice, and acknowledgments.
fn frames(count: u32) -> Vec<Written> {
    let frame = |number: u32| {
        let header = Header {
            seq: (number - number / 4) * 100,
            ack: number * 50,
            flags: 16,
            payload: if number % 5 == 4 { 0 } else { 100 },
            timestamps: Some((number, 0)),
        };
        let mut data = ethernet(0x0800, &ipv4(6, &tcp(header)));
        if number.is_multiple_of(3) {
            data = ethernet(0x8100, &[&[0, 5, 8, 0], &data[14..]].concat());
        }
        let original_bytes = data.len() as u32;
        Written { time_ns: u64::from(number) * 1_000_000, interface: 0, original_bytes, data }
    };
    (0..count).map(frame).collect()
}

/// A capture in three formats, written once: compressing it takes longer than reading it.
static FILES: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let frames = frames(20);
    let order = Order::Little;
    let mut pcapng = [section(order), interface(order, None, 0)].concat();
    frames.iter().for_each(|frame| pcapng.extend(enhanced(order, frame.time_ns / 1_000, frame)));
    let pcap = pcap(order, 0xa1b2_c3d4, 1, &frames);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&pcap).expect("memory takes it");
    [pcap.clone(), pcapng, gzip.finish().expect("memory takes it")]
});

/// Wherever a file is cut, the frames before the cut are there, and a warning unless the cut is
/// between two records.
#[test]
fn truncated_files() {
    for (kind, file) in FILES.iter().enumerate().take(2) {
        let whole = read(file).0;
        assert_eq!(whole.len(), 20);
        let mut clean = 0;
        for length in 30..file.len() {
            let (packets, damage) = read(&file[..length]);
            assert_eq!(packets, whole[..packets.len()]);
            clean += usize::from(damage.is_none());
        }
        // Between records; in pcapng after the section and after the interface too, less where
        // the length begins.
        assert!((19..=21).contains(&clean), "format {kind}: {clean} cuts without a warning");
    }
    let [_, _, gzip] = &*FILES;
    let (packets, damage) = read(&gzip[..gzip.len() - 30]);
    assert!(packets.len() < 20 && damage.is_some(), "{damage:?}");
}

#[test]
fn a_length_that_cannot_be() {
    let mut file = FILES[0].clone();
    // The captured length of the second record.
    let at = 24 + 16 + frames(1)[0].data.len() + 8;
    file[at..at + 4].fill(0xff);
    let (packets, damage) = read(&file);
    assert_eq!(packets.len(), 1);
    let expected = format!("at {}: a record says that it has 4294967295 bytes", at - 8);
    assert_eq!(damage, Some(expected));
}

/// Damaged times, up to the last one that 64 bits express: none of their sums overflows.
#[test]
fn times_after_centuries() {
    let mut script = Script::open(false);
    (0..2).for_each(|number| script.data(40, number));
    script.ack(80, 2);
    script.packet(90, false, (1, 2_001), (100, 16));
    (2..4).for_each(|number| script.data(130, number));
    script.ack(170, 4);
    let order = Order::Little;
    let mut file = [section(order), interface(order, None, 0)].concat();
    for (number, frame) in script.frames.iter().enumerate() {
        file.extend(enhanced(order, number as u64 * 2_000_000_000_000_000, frame));
    }
    let answer = retx_diagnose::diagnose(file.as_slice(), "late").expect("a capture");
    assert_eq!(answer.flows.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// Bytes changed, removed or repeated anywhere.
    #[test]
    fn mutated_files(
        kind in 0usize..3,
        changes in proptest::collection::vec((any::<usize>(), any::<u8>(), 0u8..4), 1..12),
    ) {
        let mut file = FILES[kind].clone();
        for (place, value, action) in changes {
            let at = place % file.len();
            match action {
                0 => file[at] = value,
                1 => file[at] ^= 1 << (value & 7),
                2 => { file.drain(at..(at + usize::from(value)).min(file.len() - 1)); }
                _ => {
                    let part = file[at..(at + usize::from(value)).min(file.len())].to_vec();
                    file.splice(at..at, part);
                }
            }
        }
        let packets = read(&file).0;
        if let Ok(answer) = retx_diagnose::diagnose(file.as_slice(), "mutated") {
            let counted: u64 = answer.flows.iter().map(|flow| flow.packets).sum();
            prop_assert_eq!(counted, packets.len() as u64);
            prop_assert!(answer.flows.iter().all(|flow| flow.life_s >= 0.0));
            let whole = &FILES[0];
            let both = [file.as_slice(), whole.as_slice()];
            let pair = retx_diagnose::diagnose_pair(both, ["mutated", "whole"], None);
            prop_assert_eq!(pair.expect("both are captures").flows.len(), answer.flows.len());
        }
    }
}
