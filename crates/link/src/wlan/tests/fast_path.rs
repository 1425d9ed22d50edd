//! Random cells with and without the fast path.

use super::rig::{Rig, config, packet};
use crate::channel;
use crate::wlan::{Change, Config, Statistics};
use retx_units::{RandomStream, Rate, StreamKey, Time};

/// Everything that can be seen of a cell.
fn state(rig: &mut Rig, inclusive: bool) -> (Vec<Statistics>, String) {
    let Rig { cell, now, .. } = rig;
    cell.advance_to(*now, inclusive);
    let stations = (0..cell.stations()).map(|station| cell.statistics(*now, station)).collect();
    (stations, format!("{:?} {:?}", cell.counters(), cell.busy_time(*now)))
}

fn random_cell(stream: &mut RandomStream) -> Config {
    let mut below = |count| stream.below(count) as usize;
    let mut config = config(2 + below(4));
    config.parameters.cw_min = [0, 3, 31][below(3)];
    config.parameters.cw_max = 63;
    config.rts_threshold = [2347, 2347, 800, 100][below(4)];
    config.short_retry_limit = [None, Some(1), Some(7)][below(3)];
    config.long_retry_limit = config.short_retry_limit;
    config.channel_reciprocal = below(2) == 0;
    let losses = [None, Some(r#"{"model": "bernoulli", "p": 0.2}"#)][below(2)];
    let model = |text: &str| serde_json::from_str::<channel::Config>(text).expect("a channel");
    config.channel = losses.into_iter().map(model).collect();
    config.changes = (1..=below(4) as u64)
        .map(|number| Change {
            at: Time::from_nanos(number * 40_000_000),
            rate: Some(Rate::from_bit_s([1_000_000, 5_500_000][number as usize % 2])),
            channel: None,
        })
        .collect();
    config
}

/// The fast path changes nothing that can be seen, neither at the end nor at any arrival.
#[test]
fn agrees_with_the_general_code() {
    for seed in 0..2000 {
        let mut stream = StreamKey { seed, replication: 7 }.stream("cell");
        let config = random_cell(&mut stream);
        let [mut plain, mut fast] = [0; 2].map(|_| Rig::new(&config, seed));
        fast.cell.enable_fast_path();
        let stations = config.stations.len() as u64;
        // Times on a grid, so that packets often arrive at the start or end of a frame.
        let (grid, gap) = ([1, 10, 50][stream.below(3) as usize], 1 + stream.below(300));
        let mut at = 0;
        for id in 0..200 {
            at += grid * stream.below(gap) * u64::from(stream.below(3) > 0);
            let from = stream.below(stations);
            let to = (from + 1 + stream.below(stations - 1)) % stations;
            let bytes = [40, 700, 1500][stream.below(3) as usize];
            let entries = [&mut plain, &mut fast].map(|rig| {
                let entry = rig.send(at, (from as u16, to as u16), &packet(id, bytes));
                (entry, state(rig, false))
            });
            assert_eq!(entries[0], entries[1], "seed {seed}, packet {id}");
        }
        for rig in [&mut plain, &mut fast] {
            rig.run_to(at + 10_000_000);
        }
        let first = plain.left.iter().zip(&fast.left).find(|(plain, fast)| plain != fast);
        assert_eq!((first, plain.left.len()), (None, fast.left.len()), "seed {seed}");
        assert_eq!(state(&mut plain, true), state(&mut fast, true), "seed {seed}");
        assert!(fast.events <= plain.events);
    }
}
