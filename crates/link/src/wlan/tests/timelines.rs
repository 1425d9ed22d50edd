//! Timelines of a cell compared with calculations by hand, in µs.
//!
//! 802.11b at 11 Mbit/s with the long preamble: a packet of 1464 bytes is a frame of 1500 bytes,
//! which takes 192 + ⌈12000/11⌉ = 1283; ACK and CTS take 192 + 56 = 248, and an RTS 192 + 80 = 272.
//! Propagation adds 1 to every frame.

use super::rig::{Rig, config, packet};
use crate::channel::{self, Reason};
use crate::wlan::{Airtime, Config, Departure, Geometry};
use retx_units::Time;

const BYTES: u32 = 1464;
const DATA: u64 = 1283 + 1;
const ACK: u64 = 248 + 1;
const RTS: u64 = 272 + 1;
const SIFS: u64 = 10;
const SLOT: u64 = 20;
const DIFS: u64 = 50;
const EIFS: u64 = 364;
const ACK_TIMEOUT: u64 = 222;

const DELIVERED: fn(u32) -> Departure = |id| Departure::Delivered { id };

/// Departure of a packet that a station gives up.
fn given_up(at_us: u64, id: u32) -> (u64, Departure) {
    let at = Time::from_nanos(at_us * 1000);
    (at_us, Departure::Lost { id, at, reason: Reason::RetryLimit })
}

/// A station's airtime in µs: data frames received intact, lost by the channel, and lost in
/// collisions; ACKs; RTS and CTS.
fn airtimes(rig: &Rig, station: u16) -> [u64; 5] {
    let on_air = rig.cell.statistics(rig.now, station).counters.airtime;
    let Airtime { data, erroneous, collided, ack, rts_cts } = on_air;
    [data, erroneous, collided, ack, rts_cts].map(|time| time.as_nanos() / 1000)
}

/// A cell in which every backoff is zero slots, so that times can be computed by hand.
fn eager(stations: usize) -> Config {
    let mut config = config(stations);
    config.parameters.cw_min = 0;
    config.parameters.cw_max = 0;
    config
}

/// A channel that loses these frames, counted from 0 for each ordered pair of stations.
fn losing(drop: &[u64]) -> Vec<channel::Config> {
    let script = channel::script::Config { drop: drop.to_vec(), ..Default::default() };
    vec![channel::Config::script(script)]
}

#[test]
fn the_standards_numbers() {
    let parameters = config(2).parameters;
    let us = |duration: retx_units::Duration| duration.as_nanos() / 1000;
    assert_eq!(us(parameters.difs), DIFS);
    assert_eq!(us(parameters.eifs), EIFS);
    assert_eq!(us(parameters.ack_timeout), ACK_TIMEOUT);
    assert_eq!(us(parameters.airtime(1500, parameters.rate)) + 1, DATA);
    assert_eq!(us(parameters.airtime(14, parameters.control_rate())) + 1, ACK);
    assert_eq!(us(parameters.airtime(20, parameters.control_rate())) + 1, RTS);
}

#[test]
fn a_frame_on_an_idle_medium_goes_at_once() {
    let mut rig = Rig::new(&config(2), 1);
    let _ = rig.send(1000, (0, 1), &packet(7, BYTES));
    rig.run_to(10_000);
    assert_eq!(rig.left, [(1000 + DATA, DELIVERED(7))]);
    // The four events are start and end of the frame and of the ACK; the backoff after them is not
    // an event.
    assert_eq!(rig.events, 4);
    // If the medium has not yet been idle for DIFS, the frame waits for the rest of it.
    let mut rig = Rig::new(&config(2), 1);
    let _ = rig.send(20, (0, 1), &packet(7, BYTES));
    rig.run_to(10_000);
    assert_eq!(rig.left, [(DIFS + DATA, DELIVERED(7))]);
}

#[test]
fn packets_follow_each_other_after_ack_difs_and_backoff() {
    let mut rig = Rig::new(&eager(2), 1);
    for id in 0..3 {
        let _ = rig.send(1000, (0, 1), &packet(id, BYTES));
    }
    rig.run_to(20_000);
    let round = DATA + SIFS + ACK + DIFS;
    let times: Vec<u64> = rig.left.iter().map(|(time, _)| time - 1000 - DATA).collect();
    assert_eq!(times, [0, round, 2 * round]);
}

#[test]
fn backoff_is_drawn_and_counts_in_slots() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..400 {
        let mut rig = Rig::new(&config(2), seed);
        for id in 0..2 {
            let _ = rig.send(1000, (0, 1), &packet(id, BYTES));
        }
        rig.run_to(20_000);
        let waited = rig.left[1].0 - rig.left[0].0 - SIFS - ACK - DIFS - DATA;
        assert_eq!(waited % SLOT, 0);
        seen.insert(waited / SLOT);
    }
    assert_eq!(seen, (0..=31).collect());
}

#[test]
fn a_lost_frame_is_sent_again_after_the_ack_timeout() {
    let mut rig = Rig::new(&Config { channel: losing(&[0, 1]), ..eager(2) }, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    rig.run_to(20_000);
    // Without an ACK, the backoff of zero slots begins at the timeout, when DIFS has already
    // passed.
    assert_eq!(rig.left, [(1000 + 2 * (DATA + ACK_TIMEOUT) + DATA, DELIVERED(0))]);
    let counters = rig.cell.counters();
    // The script also loses the first two ACKs.
    assert_eq!((counters.frames_sent, counters.frames_erroneous, counters.retries), (5, 2, 4));
    assert_eq!(counters.acks_lost, 2);
    assert_eq!((counters.error_bursts.count, counters.error_bursts.longest), (1, 2));
    assert_eq!(counters.channel_bursts, counters.error_bursts);
    assert_eq!(counters.frames_collided, 0);
    let attempts = counters.attempts;
    assert_eq!((attempts.packets, attempts.frames, attempts.max_frames), (1, 5, 5));
    // Two frames are lost, three arrive and have an ACK each; propagation is no airtime.
    assert_eq!(airtimes(&rig, 0), [3 * (DATA - 1), 2 * (DATA - 1), 0, 0, 0]);
    assert_eq!(airtimes(&rig, 1), [0, 0, 0, 3 * (ACK - 1), 0]);
}

#[test]
fn a_lost_ack_makes_a_duplicate_that_the_receiver_filters() {
    // The first frame of each station is lost: a data frame of station 0, and an ACK of station 1.
    let config = Config { channel: losing(&[0]), ..eager(2) };
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    let _ = rig.send(1000, (0, 1), &packet(1, BYTES));
    rig.run_to(20_000);
    let counters = rig.cell.counters();
    // Data frames: packet 0, lost; packet 0, whose ACK is lost; packet 0 as a duplicate; packet 1.
    assert_eq!((counters.frames_sent, counters.acks_lost, counters.retries), (4, 1, 2));
    let second = 1000 + DATA + ACK_TIMEOUT + DATA;
    // The sender waits EIFS after the damaged ACK.
    let third = second + SIFS + ACK + EIFS + DATA;
    let fourth = third + SIFS + ACK + DIFS + DATA;
    assert_eq!(rig.left, [(second, DELIVERED(0)), (fourth, DELIVERED(1))]);
}

#[test]
fn at_the_retry_limit_only_what_has_not_arrived_is_lost() {
    let lost = Config { channel: losing(&[0, 1, 2, 3, 4, 5, 6]), ..eager(2) };
    let mut rig = Rig::new(&lost, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    rig.run_to(50_000);
    let end = 1000 + 7 * (DATA + ACK_TIMEOUT);
    assert_eq!(rig.left, [given_up(end, 0)]);
    assert_eq!(rig.cell.counters().dropped_at_retry_limit, 1);
    // A packet delivered at the last attempt, but never acknowledged, is no loss.
    let unheard = Config { channel: losing(&[0, 1]), short_retry_limit: Some(3), ..eager(2) };
    let mut rig = Rig::new(&unheard, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    rig.run_to(50_000);
    assert_eq!(rig.left, [(1000 + 2 * (DATA + ACK_TIMEOUT) + DATA, DELIVERED(0))]);
    let counters = rig.cell.counters();
    assert_eq!((counters.acks_lost, counters.dropped_at_retry_limit), (1, 0));
    assert_eq!(counters.loss_bursts.total, 0);
    // Retries never end if there is no limit.
    let endless = Config { short_retry_limit: None, ..lost };
    let mut rig = Rig::new(&endless, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    rig.run_to(50_000);
    // Seven frames are lost, and then seven ACKs.
    assert_eq!(rig.left, [(1000 + 7 * (DATA + ACK_TIMEOUT) + DATA, DELIVERED(0))]);
    assert_eq!(rig.cell.counters().frames_sent, 15);
}

#[test]
fn contention_windows_double_and_start_again() {
    let mut config = config(2);
    config.channel = losing(&[0, 1, 2, 3, 4, 5, 6]);
    let mut most = [0; 7];
    for seed in 0..3000 {
        let mut rig = Rig::new(&config, seed);
        let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
        let _ = rig.send(1000, (0, 1), &packet(1, BYTES));
        let mut starts = Vec::new();
        while starts.len() < 8 {
            let sent = rig.cell.counters().frames_sent;
            rig.step();
            if rig.cell.counters().frames_sent > sent {
                starts.push(rig.now.as_nanos() / 1000);
            }
        }
        for (attempt, pair) in starts.windows(2).enumerate() {
            let slots = (pair[1] - pair[0] - DATA - ACK_TIMEOUT) / SLOT;
            most[attempt] = most[attempt].max(slots);
        }
    }
    // The second packet, after the first one's last attempt, has the smallest window again.
    let windows = [63, 127, 255, 511, 1023, 1023, 31];
    for (seen, window) in most.into_iter().zip(windows) {
        // The largest of 3000 draws is almost surely within 1 % of the window.
        assert!(seen <= window && seen * 100 >= window * 99, "{most:?}");
    }
}

#[test]
fn a_collision_costs_others_eifs_and_its_senders_the_timeout() {
    let mut config = eager(4);
    config.short_retry_limit = Some(1);
    let mut rig = Rig::new(&config, 1);
    // Stations 0 and 1 find the medium idle, and transmit at the same time.
    let _ = rig.send(1000, (0, 2), &packet(0, BYTES));
    let _ = rig.send(1000, (1, 2), &packet(1, BYTES));
    // Station 3 gets a packet while the two frames are on the air.
    let _ = rig.send(1500, (3, 2), &packet(3, BYTES));
    rig.run_to(20_000);
    let end = 1000 + DATA;
    let lost = |id| given_up(end + ACK_TIMEOUT, id);
    assert_eq!(rig.left, [lost(0), lost(1), (end + EIFS + DATA, DELIVERED(3))]);
    let counters = rig.cell.counters();
    assert_eq!((counters.frames_erroneous, counters.frames_collided), (2, 2));
    assert_eq!(airtimes(&rig, 1), [0, 0, DATA - 1, 0, 0]);
    assert_eq!(airtimes(&rig, 2), [0, 0, 0, ACK - 1, 0]);
    assert_eq!(counters.channel_bursts.count, 0);
}

#[test]
fn rts_and_cts_go_before_long_frames() {
    let mut config = eager(3);
    config.rts_threshold = 1499;
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    let _ = rig.send(1000, (2, 1), &packet(2, BYTES - 1));
    rig.run_to(20_000);
    let counters = rig.cell.counters();
    // A frame of 1500 bytes has an RTS, one of 1499 has none; the latter collides with the RTS.
    assert_eq!((counters.rts_sent, counters.rts_failed), (2, 1));
    // Without a second station that sends, the data frame follows RTS and CTS.
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    rig.run_to(20_000);
    assert_eq!(rig.left, [(1000 + RTS + SIFS + ACK + SIFS + DATA, DELIVERED(0))]);
    assert_eq!(airtimes(&rig, 0), [DATA - 1, 0, 0, 0, RTS - 1]);
    assert_eq!(airtimes(&rig, 1), [0, 0, 0, ACK - 1, ACK - 1]);
}

/// The short retry limit applies to RTS frames, the long one to the data frames behind them.
#[test]
fn announced_frames_have_their_own_limit() {
    let mut config = Config { rts_threshold: 100, channel: losing(&[0, 2]), ..eager(2) };
    config.short_retry_limit = Some(2);
    config.long_retry_limit = Some(1);
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    rig.run_to(20_000);
    // The first RTS is lost, and so is the CTS for the second RTS: the short retry limit of 2 is
    // reached.
    let counters = rig.cell.counters();
    assert_eq!((counters.rts_sent, counters.rts_failed), (2, 2));
    let end = 1000 + RTS + ACK_TIMEOUT + RTS + SIFS + ACK;
    assert_eq!(rig.left, [given_up(end, 0)]);
    // With a higher short retry limit the third RTS succeeds, but the data frame is lost, which
    // reaches the long retry limit of 1.
    config.short_retry_limit = Some(7);
    config.channel = losing(&[0, 3]);
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    rig.run_to(20_000);
    let counters = rig.cell.counters();
    assert_eq!((counters.rts_sent, counters.rts_failed, counters.frames_sent), (3, 2, 1));
    assert_eq!(rig.left.len(), 1);
    assert!(matches!(rig.left[0].1, Departure::Lost { id: 0, .. }));
}

/// Stations in a row, `metres` apart, with a range of 250 m for reception.
fn row(stations: usize, metres: i64, sense_m: u64) -> Config {
    let positions = (0..stations as i64).map(|place| [place * metres * 1000, 0]).collect();
    Config {
        geometry: Some(Geometry {
            positions,
            range: 250_000,
            carrier_sense_range: sense_m * 1000,
            interference_range: sense_m * 1000,
        }),
        ..eager(stations)
    }
}

#[test]
fn hidden_stations_collide_at_the_receiver() {
    let mut rig = Rig::new(&Config { short_retry_limit: Some(1), ..row(3, 200, 250) }, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    // Station 2 cannot hear the frame of station 0, and sends in the middle of it.
    let _ = rig.send(1600, (2, 1), &packet(2, BYTES));
    rig.run_to(20_000);
    let lost = |start, id| given_up(start + DATA + ACK_TIMEOUT, id);
    assert_eq!(rig.left, [lost(1000, 0), lost(1600, 2)]);
    // If the two stations sense each other, they take turns instead.
    let mut rig = Rig::new(&Config { short_retry_limit: Some(1), ..row(3, 200, 450) }, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    let _ = rig.send(1600, (2, 1), &packet(2, BYTES));
    rig.run_to(20_000);
    // Station 2 senses the data frame but cannot decode it, and so waits EIFS, until it decodes the
    // ACK.
    let second = 1000 + DATA + SIFS + ACK + DIFS;
    assert_eq!(rig.left, [(1000 + DATA, DELIVERED(0)), (second + DATA, DELIVERED(2))]);
}

#[test]
fn the_nav_of_a_cts_silences_a_hidden_station() {
    let mut config = row(3, 200, 250);
    config.rts_threshold = 100;
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    // The hidden station, which has received the CTS, gets a packet during the data frame.
    let data_start = 1000 + RTS + SIFS + ACK + SIFS;
    let _ = rig.send(data_start + 600, (2, 1), &packet(2, BYTES));
    rig.run_to(20_000);
    assert_eq!(rig.left[0], (data_start + DATA, DELIVERED(0)));
    // The hidden station also receives the ACK, which ends one propagation delay after the NAV.
    let start = data_start + DATA + SIFS + ACK + DIFS;
    assert_eq!(rig.left[1], (start + RTS + SIFS + ACK + SIFS + DATA, DELIVERED(2)));
    assert_eq!(rig.cell.counters().rts_failed, 0);
}

#[test]
fn a_station_whose_nav_is_set_answers_no_rts() {
    // Station 2 has received the CTS of station 1, so it does not answer the RTS of station 3,
    // which has not heard the CTS.
    let mut config = row(4, 200, 250);
    config.rts_threshold = 100;
    config.short_retry_limit = Some(1);
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    let data_start = 1000 + RTS + SIFS + ACK + SIFS;
    let _ = rig.send(data_start + 300, (3, 2), &packet(3, BYTES));
    rig.run_to(20_000);
    let lost = given_up(data_start + 300 + RTS + ACK_TIMEOUT, 3);
    let left = [lost, (data_start + DATA, DELIVERED(0))];
    assert_eq!(rig.left, left);
}

/// A NAV set by an RTS is reset if no frame begins within 2 SIFS, a CTS and 2 slots.
#[test]
fn an_rts_in_vain_reserves_nothing() {
    // Packets go from 2 to 3, 3 to 2, 1 to 0 and 2 to 3. The channel loses the first frame of each
    // ordered pair of stations, an RTS.
    let mut config = Config { channel: losing(&[0]), ..row(4, 200, 250) };
    config.rts_threshold = 100;
    config.short_retry_limit = Some(1);
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (2, 3), &packet(0, BYTES));
    let _ = rig.send(3000, (3, 2), &packet(3, BYTES));
    let _ = rig.send(5000, (1, 0), &packet(1, BYTES));
    let _ = rig.send(5100, (2, 3), &packet(2, BYTES));
    rig.run_to(20_000);
    let lost = |at, id| given_up(at + RTS + ACK_TIMEOUT, id);
    let start = 5000 + RTS + 2 * SIFS + (ACK - 1) + 2 * SLOT + DIFS;
    let data_end = start + RTS + SIFS + ACK + SIFS + DATA;
    assert_eq!(rig.left, [lost(1000, 0), lost(3000, 3), lost(5000, 1), (data_end, DELIVERED(2))]);
}

/// A CTS resets the short retry count, so that it starts again after a lost data frame.
#[test]
fn a_cts_clears_the_short_retry_count() {
    let mut config = Config { rts_threshold: 100, channel: losing(&[0, 3, 4]), ..eager(2) };
    config.short_retry_limit = Some(3);
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    rig.run_to(50_000);
    // Lost are, in this order: RTS, CTS, data, RTS, ACK of data, CTS; then the data frame is
    // repeated.
    let counters = rig.cell.counters();
    assert_eq!((counters.rts_sent, counters.rts_failed, counters.frames_sent), (7, 4, 3));
    assert_eq!(rig.left.len(), 1);
    assert_eq!(rig.left[0].1, DELIVERED(0));
}

/// EIFS ends with the next frame that the station sends itself.
#[test]
fn eifs_ends_with_ones_own_frame() {
    // Station 1 sends to 0, and station 2 senses the ACK of 0, but cannot decode it.
    let mut rig = Rig::new(&Config { channel: losing(&[0]), ..row(3, 200, 450) }, 1);
    let _ = rig.send(1000, (1, 0), &packet(0, BYTES));
    let _ = rig.send(20_000, (2, 1), &packet(2, BYTES));
    rig.run_to(50_000);
    let delivered = 20_000 + DATA + ACK_TIMEOUT + DATA;
    assert_eq!(rig.left[1..], [(delivered, DELIVERED(2))]);
}

/// Frames at 1 Mbit/s keep the long preamble even where the short one is configured, and so do
/// their responses.
#[test]
fn preambles_of_frames_at_1_mbit_s() {
    use crate::wlan::{Preamble, Standard};
    use retx_units::Rate;
    let mbit = |mbit: u64| Rate::from_bit_s(mbit * 1_000_000);
    let mut parameters = Standard::B.parameters();
    parameters.plcp = Standard::B.plcp(Preamble::Short).expect("802.11b has one");
    parameters.derive();
    let us = |duration: retx_units::Duration| duration.as_nanos() / 1000;
    assert_eq!(us(parameters.airtime(1500, mbit(11))), 96 + 1091);
    assert_eq!(us(parameters.airtime(1500, mbit(1))), 192 + 12_000);
    // The ACK, at 2 Mbit/s, has the short preamble; EIFS assumes an ACK at 1 Mbit/s.
    assert_eq!((us(parameters.ack_timeout), us(parameters.eifs)), (30 + 96, EIFS));
    // If 1 Mbit/s is the only basic rate, ACKs have the long preamble, which the ACK timeout
    // includes.
    parameters.basic_rates = vec![mbit(1)];
    parameters.derive();
    assert_eq!(us(parameters.ack_timeout), 30 + 192);
    // The data rate, 5.5 Mbit/s, is not basic, so the next lower basic rate is the control rate.
    parameters.basic_rates = vec![mbit(2), mbit(11)];
    parameters.rate = Rate::from_bit_s(5_500_000);
    assert_eq!(parameters.control_rate(), mbit(2));
}

#[test]
fn who_talks_cannot_hear() {
    // A hidden station starts a frame to station 1 during the SIFS before 1 sends its ACK.
    let mut rig = Rig::new(&Config { short_retry_limit: Some(1), ..row(3, 200, 250) }, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    let begun = 1000 + DATA + 5;
    let _ = rig.send(begun, (2, 1), &packet(2, BYTES));
    rig.run_to(20_000);
    let lost = given_up(begun + DATA + ACK_TIMEOUT, 2);
    assert_eq!(rig.left, [(1000 + DATA, DELIVERED(0)), lost]);
    let counters = rig.cell.counters();
    assert_eq!((counters.frames_collided, counters.acks_lost), (1, 0));
}

#[test]
fn a_packet_that_comes_before_ones_own_ack_backs_off() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..400 {
        let mut rig = Rig::new(&config(2), seed);
        let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
        // The receiver gets a packet of its own before it has sent its ACK.
        let _ = rig.send(1000 + DATA + 5, (1, 0), &packet(1, BYTES));
        rig.run_to(20_000);
        let start = rig.left[1].0 - DATA;
        let slots = start - (1000 + DATA + SIFS + ACK + DIFS);
        assert_eq!(slots % SLOT, 0);
        seen.insert(slots / SLOT);
    }
    assert_eq!(seen, (0..=31).collect());
}

#[test]
fn a_medium_that_becomes_busy_within_eifs_calls_for_backoff() {
    let end = 1000 + DATA;
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..1000 {
        let mut rig = Rig::new(&config(4), seed);
        let _ = rig.send(1000, (0, 2), &packet(0, BYTES));
        let _ = rig.send(1000, (1, 2), &packet(1, BYTES));
        // The packet comes when the medium is idle, but not yet for EIFS; the stations that
        // collided may try again before EIFS is over.
        let _ = rig.send(end + 100, (3, 2), &packet(3, BYTES));
        rig.run_to(50_000);
        let (first, second) = (rig.left[0].0, rig.left[1]);
        if first - DATA < end + EIFS && second.1 == DELIVERED(3) {
            let start = second.0 - DATA;
            // Runs with a further collision between the two deliveries are left out.
            if let Some(waited) = start.checked_sub(first + SIFS + ACK + DIFS)
                && waited <= 31 * SLOT
            {
                seen.insert(waited / SLOT);
            }
        }
    }
    // Without a backoff the packet would always be sent after 0 slots.
    assert!(seen.len() > 16, "{seen:?}");
}

#[test]
fn the_nav_of_data_covers_an_ack_that_cannot_be_heard() {
    // Station 0 receives the data frame from 1 to 2, but not the ACK of 2.
    let mut rig = Rig::new(&row(3, 200, 250), 1);
    let _ = rig.send(1000, (1, 2), &packet(1, BYTES));
    let _ = rig.send(1500, (0, 1), &packet(0, BYTES));
    rig.run_to(20_000);
    let data_end = 1000 + DATA;
    assert_eq!(rig.left[0], (data_end, DELIVERED(1)));
    // The NAV of station 0 ends with the ACK's last bit, without the propagation delay of 1 µs.
    let start = data_end + SIFS + ACK - 1 + DIFS;
    assert_eq!(rig.left[1], (start + DATA, DELIVERED(0)));
}

#[test]
fn exposed_stations_wait_though_they_need_not() {
    // Packets from 1 to 0 and 2 to 3: the senders sense each other, but each receiver senses only
    // its own sender.
    let both = |sense| {
        let mut rig = Rig::new(&row(4, 200, sense), 1);
        let _ = rig.send(1000, (1, 0), &packet(1, BYTES));
        let _ = rig.send(1600, (2, 3), &packet(2, BYTES));
        rig.run_to(20_000);
        rig.left
    };
    let wait = 1000 + DATA + SIFS + ACK - 1 + DIFS;
    assert_eq!(both(250), [(1000 + DATA, DELIVERED(1)), (wait + DATA, DELIVERED(2))]);
    // If the senders do not sense each other, both packets arrive without waiting.
    let mut config = row(4, 200, 250);
    if let Some(geometry) = &mut config.geometry {
        geometry.positions = vec![[0, 0], [200_000, 0], [600_000, 0], [800_000, 0]];
    }
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (1, 0), &packet(1, BYTES));
    let _ = rig.send(1600, (2, 3), &packet(2, BYTES));
    rig.run_to(20_000);
    assert_eq!(rig.left, [(1000 + DATA, DELIVERED(1)), (1600 + DATA, DELIVERED(2))]);
}

#[test]
fn backoff_stands_still_while_others_send() {
    // Station 1 sends during the backoff of station 0's second packet.
    for seed in 0..200 {
        let alone = second_start(seed, None);
        let slots = (alone - 1000 - DATA - SIFS - ACK - DIFS) / SLOT;
        // Station 1's packet comes halfway through slot 5 and is sent at once.
        let other = 1000 + DATA + SIFS + ACK + DIFS + 5 * SLOT + SLOT / 2;
        let held_up = second_start(seed, Some(other));
        if slots > 5 {
            let frozen = DATA + SIFS + ACK + DIFS;
            assert_eq!(held_up, other + frozen + (slots - 5) * SLOT, "{slots} slots");
        } else {
            assert_eq!(held_up, alone);
        }
    }
}

/// Start of the transmission of station 0's second packet.
fn second_start(seed: u64, other: Option<u64>) -> u64 {
    let mut rig = Rig::new(&config(3), seed);
    let _ = rig.send(1000, (0, 2), &packet(0, BYTES));
    let _ = rig.send(1000, (0, 2), &packet(1, BYTES));
    if let Some(at) = other {
        let _ = rig.send(at, (1, 2), &packet(9, BYTES));
    }
    rig.run_to(50_000);
    let arrived = rig.left.iter().find(|(_, left)| *left == DELIVERED(1)).expect("it arrives");
    arrived.0 - DATA
}

/// Each of two stations sends a packet, and every channel loses its first frame. Returns the
/// numbers of data frames sent, of those that did not arrive, and of lost ACKs.
fn first_lost(config: Config) -> [u64; 3] {
    let mut rig = Rig::new(&Config { channel: losing(&[0]), ..config }, 1);
    let _ = rig.send(1000, (0, 1), &packet(1, BYTES));
    let _ = rig.send(20_000, (1, 0), &packet(2, BYTES));
    rig.run_to(40_000);
    assert_eq!(rig.left.len(), 2);
    let counters = rig.cell.counters();
    [counters.frames_sent, counters.frames_erroneous, counters.acks_lost]
}

#[test]
fn a_channel_for_each_direction_or_one_for_both() {
    // Each channel loses its first frame: a data frame and, in the other direction, the ACK of its
    // retransmission.
    assert_eq!(first_lost(eager(2)), [4, 1, 1]);
    // With one channel for both directions, only the very first frame is lost.
    assert_eq!(first_lost(Config { channel_reciprocal: true, ..eager(2) }), [3, 1, 0]);
}

#[test]
fn a_channel_that_spoils_the_frames_of_one_station() {
    let of = |station: &str| Config { channel_senders: Some(vec![station.into()]), ..eager(2) };
    assert_eq!(first_lost(of("s0")), [3, 1, 0]);
    assert_eq!(first_lost(of("s1")), [3, 0, 1]);
}
