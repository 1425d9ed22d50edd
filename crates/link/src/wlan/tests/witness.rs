//! Throughput of cells compared with that of ns-3.44, whose figures are means over three runs of 60
//! s.
//!
//! In ns-3, stations of an ad-hoc 802.11b network at 11 Mbit/s send packets of 1500 bytes, with
//! ACKs at 11 Mbit/s, the long preamble, 1 µs of propagation delay and equal path losses
//! (`YansWifiPhy`, `MatrixPropagationLossModel`). The tests imitate two properties of ns-3: its
//! retry limit of 7 counts retransmissions, so that there are 8 attempts; and it detects no
//! preamble of frames that collide with equal power, so that no station waits EIFS after them.

use super::rig::{Rig, config_of, packet};
use crate::wlan::{Config, Departure, Geometry, Standard};
use retx_units::Rate;

const BYTES: u32 = 1500;
const SECONDS: u64 = 60;
/// Relative tolerance. The standard error of ns-3's means is 0.5 % with four hops, and up to 0.2 %
/// in the other cases.
const WITHIN: f64 = 0.01;

fn cell(stations: usize) -> Config {
    let mut parameters = Standard::B.parameters();
    let rate = |kbit: u64| Rate::from_bit_s(kbit * 1000);
    parameters.basic_rates = [1_000, 2_000, 5_500, 11_000].map(rate).to_vec();
    parameters.derive();
    parameters.eifs = parameters.difs;
    let config = config_of(parameters, stations);
    Config { short_retry_limit: Some(8), long_retry_limit: Some(8), ..config }
}

/// Stations in a row, each of which hears only its neighbours.
fn row(stations: usize, rts_threshold: u32) -> Config {
    let positions = (0..stations as i64).map(|place| [place * 200_000, 0]).collect();
    let [range, carrier_sense_range, interference_range] = [250_000; 3];
    let geometry = Geometry { positions, range, carrier_sense_range, interference_range };
    Config { geometry: Some(geometry), rts_threshold, ..cell(stations) }
}

/// Throughput in Mbit/s from saturated sources to the stations for which `next` is `None`; all
/// others forward packets to their `next` station.
fn throughput(config: &Config, sources: &[u16], next: impl Fn(u16) -> Option<u16>) -> f64 {
    // A packet's id consists of its source and the station that currently sends it.
    let packet = |source: u16, at: u16| packet(u32::from(source) << 16 | u32::from(at), BYTES);
    let mut arrived = 0u64;
    for seed in 0..3 {
        let mut rig = Rig::new(config, seed);
        let send = |rig: &mut Rig, source, at| match next(at) {
            Some(to) => {
                let now_us = rig.now.as_nanos() / 1000;
                let _ = rig.send(now_us, (at, to), &packet(source, at));
                0
            }
            None => 1,
        };
        for source in sources {
            for _ in 0..2 {
                send(&mut rig, *source, *source);
            }
        }
        while rig.now.as_nanos() / 1_000_000_000 < SECONDS {
            rig.step();
            for (_, departure) in std::mem::take(&mut rig.left) {
                let (source, at) = ((departure.id() >> 16) as u16, departure.id() as u16);
                if let (Departure::Delivered { .. }, Some(to)) = (departure, next(at)) {
                    arrived += send(&mut rig, source, to);
                }
                if at == source {
                    send(&mut rig, source, source);
                }
            }
        }
    }
    arrived as f64 * f64::from(BYTES) * 8.0 / (3 * SECONDS) as f64 / 1e6
}

fn check(what: &str, measured: f64, ns3: f64) {
    assert!((measured / ns3 - 1.0).abs() < WITHIN, "{what}: {measured}, and {ns3} in ns-3");
}

#[test]
fn stations_that_hear_each_other() {
    for (n, ns3) in [(1, 6.368), (2, 6.662), (5, 6.610), (10, 6.311), (20, 5.907)] {
        let sources: Vec<u16> = (0..n).collect();
        let to_the_last = |at| (at < n).then_some(n);
        check(&format!("{n}"), throughput(&cell(usize::from(n) + 1), &sources, to_the_last), ns3);
    }
}

#[test]
fn hidden_stations() {
    for (rts_threshold, ns3) in [(2347, 4.133), (100, 4.878)] {
        let to_the_middle = |at| (at != 1).then_some(1);
        let measured = throughput(&row(3, rts_threshold), &[0, 2], to_the_middle);
        check(&format!("RTS above {rts_threshold}"), measured, ns3);
    }
}

#[test]
fn chains() {
    for (hops, ns3) in [(2, 3.312), (3, 2.215), (4, 1.635)] {
        let along = |at| (at < hops).then_some(at + 1);
        let measured = throughput(&cell(usize::from(hops) + 1), &[0], along);
        check(&format!("{hops} hops"), measured, ns3);
    }
    let along = |at| (at < 2).then_some(at + 1);
    check("2 hops, hidden ends", throughput(&row(3, 2347), &[0], along), 3.437);
}
