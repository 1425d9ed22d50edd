//! Bulk transfers of Linux's TCP, whose bursts are sent as trains and deferred.

use super::{World, presets};
use crate::Config;
use crate::connection::Connection;
use crate::connection::parameters::SharedConfig;
use retx_units::SeqNr;

/// Transfers bulk data with and without fast paths. Returns how often a train continued, and how
/// often data were still deferred.
fn transfer(config: &Config, lost: u64) -> (u64, u32) {
    let mut world = World::new(7);
    let shared = SharedConfig::from(config);
    let both = [shared.clone(), shared.without_fast_paths()];
    world.ends = [
        both.each_ref().map(|config| Connection::connect_as(config, SeqNr(1))),
        both.each_ref().map(|config| Connection::listen_as(config, SeqNr(2))),
    ];
    (world.lost, world.late) = (lost, u64::MAX);
    let mut deferrals = 0;
    for step in 0..8_000 {
        let now = world.now;
        world.both(0, |it| it.write(now, 1 << 20));
        world.both(1, |it| it.read(u64::MAX));
        deferrals += u32::from(world.ends[0][0].clone().still_defers(now));
        world.serve();
        if step % 64 == 0 {
            world.check();
        }
        world.go_on();
    }
    world.check();
    (world.trains, deferrals)
}

#[test]
fn trains_and_deferrals_change_nothing() {
    let mut seen = [(0, 0); 2];
    for (name, seen) in ["linux", "linux_bbr"].iter().zip(&mut seen) {
        let mut config = (presets::find(name).expect("a preset").config)();
        for mss in [300, 1_460] {
            config.mss = mss;
            for lost in [u64::MAX, 1_000, 150] {
                let (trains, deferrals) = transfer(&config, lost);
                (seen.0, seen.1) = (seen.0 + trains, seen.1 + deferrals);
            }
        }
    }
    // BBR sends trains in recoveries, and defers nothing on this path.
    assert!(seen[0].0 > 1_000 && seen[0].1 > 100 && seen[1].0 > 100, "{seen:?}");
}
