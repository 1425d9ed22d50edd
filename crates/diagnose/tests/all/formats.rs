//! Formats of files: each way of writing the same frames is read as the same frames.

use crate::build::{
    Header, Order, Written, block, enhanced, ethernet, interface, ipv4, pcap, read, section, tcp,
};
use proptest::prelude::*;
use std::io::Write;

const SECOND: u64 = 1_000_000_000;

fn frames() -> impl Strategy<Value = Vec<Written>> {
    let frame = (0..4_000_000_000 * SECOND, any::<u32>(), 0u16..1_460, 0u32..3_000);
    let frame = frame.prop_map(|(time_ns, seq, payload, beyond)| {
        let segment = tcp(Header { seq, payload, ..Header::default() });
        let data = ethernet(0x0800, &ipv4(6, &segment));
        Written { time_ns, interface: 0, original_bytes: data.len() as u32 + beyond, data }
    });
    proptest::collection::vec(frame, 0..20)
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Little), Just(Order::Big)]
}

/// Number, time, sequence number and payload of each segment are those that were written, with
/// times rounded down to the unit.
fn check(file: &[u8], frames: &[Written], unit_ns: u64) {
    let (packets, damage) = read(file);
    assert_eq!(damage, None);
    assert_eq!(packets.len(), frames.len());
    for ((number, frame), (packet, original)) in frames.iter().enumerate().zip(packets) {
        assert_eq!(packet.number, number as u64 + 1);
        assert_eq!(packet.time_ns as u64, frame.time_ns / unit_ns * unit_ns);
        assert_eq!(packet.seq.to_be_bytes(), frame.data[38..42]);
        assert_eq!(packet.payload_bytes as usize, frame.data.len() - 54);
        assert_eq!(original, frame.original_bytes);
        assert_eq!(packet.checksum, 0xabcd);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn classic_files(frames in frames(), order in orders()) {
        check(&pcap(order, 0xa1b2_c3d4, 1, &frames), &frames, 1_000);
        check(&pcap(order, 0xa1b2_3c4d, 1, &frames), &frames, 1);
        check(&pcap(order, 0xa1b2_cd34, 1, &frames), &frames, 1_000);
    }

    /// Every resolution from seconds to nanoseconds, and an offset.
    #[test]
    fn pcapng_resolutions(
        frames in frames(), order in orders(), digits in 0u8..=9, offset in -5i64..5,
    ) {
        let mut file = section(order);
        file.extend(interface(order, (digits != 6).then_some(digits), offset));
        let unit = 10_u64.pow(9 - u32::from(digits));
        let mut shifted = frames.clone();
        for frame in &mut shifted {
            frame.time_ns += 10 * SECOND;
            let units = (frame.time_ns as i64 - offset * SECOND as i64) as u64 / unit;
            file.extend(enhanced(order, units, frame));
        }
        check(&file, &shifted, unit);
    }

    /// Two sections of different byte orders, each with two interfaces of different resolutions,
    /// milliseconds and 2^-20 s, in the second section the other way round.
    #[test]
    fn sections_and_interfaces(frames in frames()) {
        let mut file = Vec::new();
        let mut expected = Vec::new();
        for (order, codes) in [(Order::Little, [3, 0x94]), (Order::Big, [0x94, 3])] {
            file.extend(section(order));
            codes.iter().for_each(|code| file.extend(interface(order, Some(*code), 0)));
            for (index, mut frame) in frames.clone().into_iter().enumerate() {
                frame.interface = index as u32 % 2;
                let whole = frame.time_ns / SECOND;
                frame.time_ns = whole * SECOND;
                let is_decimal = codes[frame.interface as usize] == 3;
                let units = if is_decimal { whole * 1_000 } else { whole << 20 };
                file.extend(block(order, 0xbad, b"nobody knows it"));
                file.extend(enhanced(order, units, &frame));
                expected.push(frame);
            }
        }
        check(&file, &expected, 1);
    }

    /// Compressed in several members or frames.
    #[test]
    fn compressed(frames in frames(), cut in 0usize..400) {
        let file = pcap(Order::Little, 0xa1b2_3c4d, 1, &frames);
        let (first, second) = file.split_at(cut.min(file.len()));
        let mut members = Vec::new();
        for part in [first, second] {
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::GzEncoder::new(&mut members, level);
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap();
        }
        check(&members, &frames, 1);
        let mut members = vec![0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        for part in [first, second] {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress(part, &mut members, level);
        }
        check(&members, &frames, 1);
    }
}

/// A simple packet block has no time: the one before counts. An obsolete packet block does.
#[test]
fn packet_blocks_of_all_kinds() {
    let order = Order::Little;
    let data = ethernet(0x0800, &ipv4(6, &tcp(Header { payload: 3, ..Header::default() })));
    let original_bytes = data.len() as u32;
    let frame = Written { time_ns: 0, interface: 0, original_bytes, data: data.clone() };
    let mut simple = original_bytes.to_le_bytes().to_vec();
    simple.extend(&data);
    let mut obsolete = vec![0, 0, 9, 0];
    for field in [0, 2_000_000, original_bytes, original_bytes] {
        obsolete.extend(order.u32(field));
    }
    obsolete.extend(&data);
    let file = [
        section(order),
        interface(order, None, 0),
        enhanced(order, 1_000_000, &frame),
        block(order, 3, &simple),
        block(order, 2, &obsolete),
    ];
    let (packets, damage) = read(&file.concat());
    let times: Vec<i64> = packets.iter().map(|(packet, _)| packet.time_ns).collect();
    assert_eq!((times, damage), (vec![1_000_000_000, 1_000_000_000, 2_000_000_000], None));
    assert!(packets.iter().all(|(packet, _)| packet.payload_bytes == 3));
}

#[test]
fn no_capture() {
    let refusal = |file: &[u8]| read(file).1.unwrap();
    assert!(refusal(b"").starts_with("the file is empty"));
    assert!(refusal(b"#!/bin/sh\nexit\n").starts_with("the file begins with \"#!/b\""));
    let compressed = |file: &[u8]| refusal(file).starts_with("its compressed data are damaged");
    assert!(compressed(&[0x1f, 0x8b, 8, 0, 0]) && compressed(&[0x28, 0xb5, 0x2f, 0xfd, 0xff]));
}
