//! Open connections in known states, for unit tests.

use super::parameters::SharedConfig;
use super::{Connection, State, Transmit};
use crate::{Config, Size, presets};
use retx_units::{Duration, SeqNr, Time};

pub(super) fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Preset with segments of 1000 bytes, and an initial window of ten segments.
pub(super) fn config(name: &str) -> Config {
    let mut config = (presets::find(name).expect("a preset").config)();
    config.mss = 1_000;
    config.initial_window = Size::Mss(10).into();
    config
}

pub(super) fn open(config: &Config) -> [Connection; 2] {
    open_as(&config.into())
}

/// Both ends after a handshake from 0 to 30 ms, the client first.
pub(super) fn open_as(shared: &SharedConfig) -> [Connection; 2] {
    let mut near = Connection::connect_as(shared, SeqNr(1_000));
    let mut far = Connection::listen_as(shared, SeqNr(2_000));
    pass(at(0), &mut near, at(10), &mut far);
    pass(at(10), &mut far, at(20), &mut near);
    pass(at(20), &mut near, at(30), &mut far);
    assert_eq!([near.state, far.state], [State::Established; 2]);
    for end in [&mut near, &mut far] {
        while end.poll_event().is_some() {}
    }
    [near, far]
}

/// All segments that a connection sends now.
pub(super) fn sent_by(connection: &mut Connection, now: Time) -> Vec<Transmit> {
    std::iter::from_fn(|| connection.poll_transmit(now)).collect()
}

/// Passes all segments of one end to the other.
pub(super) fn pass(sent: Time, from: &mut Connection, arrival: Time, to: &mut Connection) {
    for transmit in sent_by(from, sent) {
        to.handle_packet(arrival, &transmit.segment, transmit.ecn);
    }
}

/// Open connection with ten segments in flight since 40 ms, and its peer.
pub(super) fn with_flight(config: &Config) -> ([Connection; 2], Vec<Transmit>) {
    let [mut near, far] = open(config);
    near.write(at(40), 100_000);
    let sent = sent_by(&mut near, at(40));
    assert_eq!(sent.len(), 10);
    ([near, far], sent)
}

/// As [`with_flight`], after the first of the ten segments was lost and retransmitted.
pub(super) fn in_recovery(config: &Config) -> [Connection; 2] {
    let ([mut near, mut far], sent) = with_flight(config);
    for transmit in &sent[1..] {
        far.handle_packet(at(50), &transmit.segment, transmit.ecn);
        pass(at(50), &mut far, at(60), &mut near);
    }
    sent_by(&mut near, at(60));
    assert!(near.in_recovery());
    // The checks of Vegas after a retransmission are over.
    near.sender.overdue_checks = 0;
    near.recompute_fast_paths();
    [near, far]
}
