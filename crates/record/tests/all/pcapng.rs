//! Capture files, read back.

use crate::connections::{ACK, DATA, Hand, Part, download, reset, start};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::section_header::SectionHeaderOption;
use retx_record::capture::{CaptureBuffer, CapturedPacket, Fate, FlowNodes, NAME_MAX_BYTES};
use retx_record::capture::{Side, Transmission};
use retx_record::pcapng::{CaptureMetadata, CaptureMetadataError, SnapLength, write};
use retx_units::{SeqNr, Time};
use retx_wire::{Ecn, Segment, Transport, decode_packet, verify_checksums};

fn bytes_of(capture: &CaptureBuffer, snap: SnapLength) -> Vec<u8> {
    let about = CaptureMetadata::new("retx 1.2.3", "a test", snap).unwrap();
    let mut bytes = Vec::new();
    write(capture, &about, &mut bytes).unwrap();
    bytes
}

/// The packet blocks of a capture file.
fn packets(bytes: &[u8]) -> Vec<EnhancedPacketBlock<'static>> {
    let mut reader = PcapNgReader::new(bytes).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push(packet.into_owned());
        }
    }
    packets
}

fn comment<'a>(packet: &'a EnhancedPacketBlock<'_>) -> &'a str {
    let [EnhancedPacketOption::Comment(comment)] = packet.options.as_slice() else {
        panic!("not one comment: {:?}", packet.options)
    };
    comment
}

fn both() -> CaptureBuffer {
    let mut capture = CaptureBuffer::new();
    download(&mut capture);
    reset(&mut capture);
    capture
}

#[test]
fn the_file_says_what_it_is() {
    let bytes = bytes_of(&both(), SnapLength::default());
    let mut reader = PcapNgReader::new(bytes.as_slice()).unwrap();
    let text = |option: &SectionHeaderOption<'_>| match option {
        SectionHeaderOption::UserApplication(text) => format!("application {text}"),
        SectionHeaderOption::Comment(text) => format!("comment {text}"),
        other => panic!("{other:?}"),
    };
    let section: Vec<_> = reader.section().options.iter().map(text).collect();
    assert_eq!(section, ["application retx 1.2.3", "comment a test"]);
    while let Some(block) = reader.next_block() {
        block.unwrap();
    }
    let names = reader.interfaces().iter().map(|interface| {
        assert_eq!((interface.linktype, interface.snaplen), (DataLink::RAW, 96));
        match interface.options.as_slice() {
            [
                InterfaceDescriptionOption::IfName(name),
                InterfaceDescriptionOption::IfTsResol(9),
            ] => name.clone().into_owned(),
            other => panic!("{other:?}"),
        }
    });
    // The place at which packets were only lost is not an interface.
    assert_eq!(names.collect::<Vec<_>>(), ["cloud forward in", "wan forward in"]);
}

#[test]
fn packets_come_in_order_of_time_with_nothing_left_out() {
    let capture = both();
    let packets = packets(&bytes_of(&capture, SnapLength::Full));
    assert_eq!(packets.len(), capture.sighting_count());
    assert_eq!(packets.len(), 28);
    assert!(packets.is_sorted_by_key(|packet| packet.timestamp));
    assert_eq!(packets[0].timestamp.as_nanos(), 1_000_001);
    assert_eq!(packets.iter().filter(|packet| packet.interface_id == 1).count(), 5);
    assert!(packets.windows(2).any(|pair| pair[0].interface_id != pair[1].interface_id));
}

#[test]
fn whole_packets_are_valid_and_a_retransmission_repeats_its_original() {
    let packets = packets(&bytes_of(&both(), SnapLength::Full));
    let mut payloads = std::collections::HashMap::new();
    let mut repeated = 0;
    for packet in &packets {
        verify_checksums(&packet.data).unwrap();
        assert_eq!(packet.original_len as usize, packet.data.len());
        let decoded = decode_packet(&packet.data).unwrap();
        let Transport::Tcp(segment) = decoded.packet.transport else { panic!("{decoded:?}") };
        if segment.payload_bytes == DATA {
            let payload = packet.data[decoded.payload].to_vec();
            if let Some(original) = payloads.insert(segment.seq, payload.clone()) {
                assert_eq!(original, payload);
                repeated += 1;
            }
        }
    }
    assert_eq!((payloads.len(), repeated), (7, 4));
    assert!(payloads[&SeqNr(u32::MAX - 1_999)].starts_with(b"00000000000000000000 abcdefghij\n"));
}

#[test]
fn a_snapped_packet_is_the_beginning_of_the_whole_one() {
    let capture = both();
    let whole = packets(&bytes_of(&capture, SnapLength::Full));
    let snapped = packets(&bytes_of(&capture, SnapLength::Bytes(80)));
    for (whole, snapped) in whole.iter().zip(&snapped) {
        assert_eq!(snapped.data[..], whole.data[..whole.data.len().min(80)]);
        assert_eq!(snapped.original_len, whole.original_len);
    }
}

#[test]
fn comments_tell_the_truth() {
    let packets = packets(&bytes_of(&both(), SnapLength::default()));
    let comments: Vec<_> = packets
        .iter()
        .filter(|packet| packet.interface_id == 0 && packet.original_len > 1000)
        .map(comment)
        .collect();
    let expected = [
        "delivered at 0.014000004 s; flow download",
        "dropped by queue at wan forward; flow download",
        "delivered at 0.016000006 s; flow download",
        "dropped by channel at wan forward; flow download",
        "delivered at 0.018000008 s; flow download",
        "dropped by script at wan forward; flow download",
        "delivered at 0.020000010 s; flow download",
        "delivered at 0.025000015 s; retransmission, necessary; flow download",
        "delivered at 0.026000016 s; retransmission, necessary; flow download",
        "delivered at 0.027000017 s; retransmission; flow download",
        "delivered at 0.028000018 s; retransmission, unnecessary; flow download",
    ];
    assert_eq!(comments, expected);
    let last = packets.last().map(comment);
    assert_eq!(last, Some("still under way when the run ended; flow download"));
}

/// A packet captured at several places has a block for each, and these differ only in place and
/// time.
#[test]
fn a_packet_is_seen_where_it_passes() {
    let mut capture = CaptureBuffer::new();
    let places = ["a in", "a out", "b in"].map(|name| capture.add_interface(name).unwrap());
    let flow = capture.add_flow("f", FlowNodes { opener: 0, listener: 1 }).unwrap();
    let initial = [SeqNr(1), SeqNr(2)];
    let hand =
        &mut Hand { capture: &mut capture, place: places[0], flow, initial, now: Time::ZERO };
    let part = Part { flags: ACK, position: start(0), ack: 1, ..Part::default() };
    let packet = hand.send(Side::Opener, Part { payload_bytes: 10, ..part });
    // Sightings may be recorded out of order, and at equal times.
    capture.add_sighting(Time::from_nanos(9_000_000), places[2], packet, Ecn::NotEct);
    capture.add_sighting(Time::from_nanos(9_000_000), places[1], packet, Ecn::NotEct);
    capture.add_sighting(Time::from_nanos(5_000_000), places[1], packet, Ecn::NotEct);
    let packets = packets(&bytes_of(&capture, SnapLength::Full));
    let seen: Vec<_> = packets.iter().map(|p| (p.timestamp.as_nanos(), p.interface_id)).collect();
    assert_eq!(seen, [(1_000_001, 0), (5_000_000, 1), (9_000_000, 2), (9_000_000, 1)]);
    assert!(packets.iter().all(|p| p.data == packets[0].data));
}

/// Two copies of a packet have the same headers, and fates of their own.
#[test]
fn copies_have_the_same_identification() {
    let mut capture = CaptureBuffer::new();
    let place = capture.add_interface("a").unwrap();
    let flow = capture.add_flow("f", FlowNodes { opener: 0, listener: 1 }).unwrap();
    let segment = Segment { payload_bytes: 10, ..Segment::default() };
    let transmission = Transmission::First;
    let side = Side::Opener;
    let packet = |identification| CapturedPacket {
        flow,
        side,
        position: 1,
        transmission,
        identification,
        connection: 1,
        segment,
    };
    let [original, copy, again] = [5, 5, 6].map(|number| capture.add_packet(&packet(number)));
    for id in [original, copy, again] {
        capture.add_sighting(Time::ZERO, place, id, Ecn::NotEct);
    }
    capture.set_fate(copy, Fate::Delivered { at: Time::ZERO });
    let packets = packets(&bytes_of(&capture, SnapLength::Full));
    let identification = |packet: &EnhancedPacketBlock<'_>| {
        decode_packet(&packet.data).unwrap().packet.ip.identification
    };
    assert_eq!(packets.iter().map(identification).collect::<Vec<_>>(), [5, 5, 6]);
    let arrived = packets.iter().filter(|packet| comment(packet).contains("delivered at"));
    assert_eq!(arrived.count(), 1);
}

/// A packet that a queue marks is captured without the mark in front of the queue and with it
/// behind.
#[test]
fn a_mark_is_seen_from_where_it_is_made() {
    let mut capture = CaptureBuffer::new();
    let place = capture.add_interface("a").unwrap();
    let flow = capture.add_flow("f", FlowNodes { opener: 0, listener: 1 }).unwrap();
    let initial = [SeqNr(1), SeqNr(2)];
    let hand = &mut Hand { capture: &mut capture, place, flow, initial, now: Time::ZERO };
    let part = Part { flags: ACK, position: start(0), ack: 1, ..Part::default() };
    let packet = hand.send(Side::Opener, Part { payload_bytes: 10, ..part });
    capture.add_sighting(Time::from_nanos(5_000_000), place, packet, Ecn::Ect0);
    capture.add_sighting(Time::from_nanos(9_000_000), place, packet, Ecn::Ce);
    let packets = packets(&bytes_of(&capture, SnapLength::Full));
    let fields = packets.iter().map(|packet| {
        verify_checksums(&packet.data).unwrap();
        decode_packet(&packet.data).unwrap().packet.ip.ecn
    });
    assert_eq!(fields.collect::<Vec<_>>(), [Ecn::NotEct, Ecn::Ect0, Ecn::Ce]);
}

#[test]
fn what_a_file_cannot_hold_is_refused() {
    let long = "x".repeat(70_000);
    let refused = CaptureMetadata::new("retx", &long, SnapLength::Full).unwrap_err();
    assert_eq!(refused, CaptureMetadataError::Text { bytes: 70_000 });
    let refused = CaptureMetadata::new("retx", "", SnapLength::Bytes(79)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a snap length of 79 bytes would cut headers off; take at least 80 bytes, or all of each \
         packet"
    );
    let mut capture = CaptureBuffer::new();
    let nodes = FlowNodes { opener: 0, listener: 1 };
    let refused = capture.add_flow(&long, nodes).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a name of 70000 bytes is too long for a capture file: at most 10000"
    );
    assert!(capture.add_interface(&long).is_err());

    // Names of the greatest permitted length still fit into the file.
    let name = "ä".repeat(NAME_MAX_BYTES / 2);
    let place = capture.add_interface(&name).unwrap();
    let flow = capture.add_flow(&name, nodes).unwrap();
    let initial = [SeqNr(1), SeqNr(2)];
    let mut hand = Hand { capture: &mut capture, place, flow, initial, now: Time::ZERO };
    hand.send(Side::Opener, Part { flags: ACK, ..Part::default() });
    assert!(comment(&packets(&bytes_of(&capture, SnapLength::Full))[0]).ends_with(&name));
}

#[test]
fn a_capture_of_nothing_is_a_valid_file() {
    assert!(packets(&bytes_of(&CaptureBuffer::new(), SnapLength::Full)).is_empty());
}

#[test]
fn a_full_disk_is_reported() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let about = CaptureMetadata::new("retx", "", SnapLength::Full).unwrap();
    let error = write(&both(), &about, Full).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}
