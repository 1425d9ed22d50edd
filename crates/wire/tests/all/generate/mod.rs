//! Random packets, for the tests of this folder.

use proptest::prelude::*;
use retx_units::SeqNr;
use retx_wire::{
    Ecn, Endpoint, Flags, Ipv4Header, Options, Packet, SackBlock, SackBlocks, Segment,
    TCP_OPTIONS_MAX_BYTES, Timestamps, Transport, UdpHeader,
};

/// Arbitrary options that fit into a header.
pub fn options() -> impl Strategy<Value = Options> {
    let timestamps =
        (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    let sack = prop::collection::vec((any::<u32>(), any::<u32>()), 0..=4).prop_map(|pairs| {
        let mut blocks = SackBlocks::default();
        for (left, right) in pairs {
            blocks.push(SackBlock { left: SeqNr(left), right: SeqNr(right) });
        }
        blocks
    });
    (
        prop::option::of(any::<u16>()),
        prop::option::of(any::<u8>()),
        any::<bool>(),
        prop::option::of(timestamps),
        sack,
    )
        .prop_map(|(mss, window_scale, sack_permitted, timestamps, sack)| Options {
            mss,
            window_scale,
            sack_permitted,
            timestamps,
            sack,
        })
        .prop_filter("more options than a header has room for", |options| {
            options.encoded_bytes() <= TCP_OPTIONS_MAX_BYTES
        })
}

fn segment() -> impl Strategy<Value = Segment> {
    let numbers = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u8>());
    (numbers, payload_bytes(), options()).prop_map(
        |((seq, ack, window, flags), payload_bytes, options)| Segment {
            seq: SeqNr(seq),
            ack: SeqNr(ack),
            window,
            flags: Flags(flags),
            payload_bytes,
            options,
            loss_notice: false,
        },
    )
}

/// Mostly common payload lengths; occasionally up to the largest packet.
fn payload_bytes() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(0u32), 8 => 0..=1_460u32, 1 => 0..=65_455u32]
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    (any::<u32>(), any::<u16>())
        .prop_map(|(address, port)| Endpoint { address: address.into(), port })
}

/// An arbitrary packet.
pub fn packet() -> impl Strategy<Value = Packet> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
    let transport = prop_oneof![
        3 => segment().prop_map(Transport::Tcp),
        1 => payload_bytes().prop_map(|payload_bytes| Transport::Udp(UdpHeader { payload_bytes })),
    ];
    (endpoint(), endpoint(), (any::<u16>(), any::<u8>(), ecn), transport).prop_map(
        |(source, destination, (identification, time_to_live, ecn), transport)| Packet {
            source,
            destination,
            ip: Ipv4Header { identification, time_to_live, ecn },
            transport,
        },
    )
}
