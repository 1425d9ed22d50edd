//! The shape of a random network: its parts, and the ways through them.

use super::{links, pick};
use crate::plans::LinkOf;
use retx_link::wlan;
use retx_sim::plan::{Hop, Plan, Port, StagePlan, WlanPlan};
use retx_units::RandomStream;

/// A part of a network: the hops through it in the direction of the data, and those back.
#[derive(Debug, Clone)]
pub struct Part {
    pub there: Vec<Hop>,
    pub back: Vec<Hop>,
}

/// The hops from one host to another, and those back.
#[derive(Debug, Clone, Default)]
pub struct Way {
    pub there: Vec<Hop>,
    pub back: Vec<Hop>,
}

impl Way {
    fn through<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Self {
        let mut way = Self::default();
        for part in parts {
            way.there.extend(&part.there);
            way.back.splice(0..0, part.back.iter().copied());
        }
        way
    }
}

/// Adds a random network to the plan; returns the ways that flows may take.
pub fn network(stream: &mut RandomStream, plan: &mut Plan) -> Vec<Way> {
    match stream.below(4) {
        0 => dumbbell(stream, plan),
        1 => parking_lot(stream, plan),
        _ => chain(stream, plan),
    }
}

/// Parts in a row; all flows pass all of them.
fn chain(stream: &mut RandomStream, plan: &mut Plan) -> Vec<Way> {
    let parts = row(stream, plan, 1, 4);
    vec![Way::through(&parts)]
}

/// Parts in a row; some flows pass all of them, others only a few or one.
fn parking_lot(stream: &mut RandomStream, plan: &mut Plan) -> Vec<Way> {
    let parts = row(stream, plan, 2, 4);
    let mut ways = vec![Way::through(&parts)];
    for first in 0..parts.len() {
        let after = first + 1 + stream.below((parts.len() - first) as u64) as usize;
        ways.push(Way::through(&parts[first..after]));
    }
    ways
}

/// Flows that share a bottleneck, which each reaches over links of its own.
fn dumbbell(stream: &mut RandomStream, plan: &mut Plan) -> Vec<Way> {
    let shared = part(stream, plan, 0.15);
    (0..1 + stream.below(3))
        .map(|_| {
            let [left, right] = [(); 2].map(|()| add_link(stream, plan, 0.1));
            Way::through([&left, &shared, &right])
        })
        .collect()
}

/// Parts in a row, from `least` to `most` of them, each with losses of up to 40 % in each
/// direction.
fn row(stream: &mut RandomStream, plan: &mut Plan, least: u64, most: u64) -> Vec<Part> {
    let count = least + stream.below(most - least + 1);
    (0..count).map(|_| part(stream, plan, 0.4 / count as f64)).collect()
}

/// A random part: more often a link than a cell.
fn part(stream: &mut RandomStream, plan: &mut Plan, worst: f64) -> Part {
    let kinds = [add_link, add_link, add_cell];
    pick::<fn(&mut RandomStream, &mut Plan, f64) -> Part>(stream, &kinds)(stream, plan, worst)
}

fn add_link(stream: &mut RandomStream, plan: &mut Plan, worst: f64) -> Part {
    let first = plan.pipes.len() as u32;
    let link: LinkOf = links::link(stream, worst);
    let mut pipes = link.pipes();
    for pipe in &mut pipes {
        pipe.link = format!("link{}", first / 2).into();
    }
    plan.pipes.extend(pipes);
    Part { there: vec![Hop::Pipe(first)], back: vec![Hop::Pipe(first + 1)] }
}

/// Adds a cell, which packets pass from its first station to its last over all stations in between.
fn add_cell(stream: &mut RandomStream, plan: &mut Plan, worst: f64) -> Part {
    let config: wlan::Config = links::cell(stream, worst);
    let stage = plan.stages.len() as u32;
    let hops = config.stations.len() as u16 - 1;
    plan.stages.push(StagePlan::Wlan(WlanPlan { name: format!("cell{stage}"), config }));
    let port = |entry, exit| Hop::Stage(Port { stage, entry, exit });
    Part {
        there: (0..hops).map(|entry| port(entry, entry + 1)).collect(),
        back: (0..hops).rev().map(|exit| port(exit + 1, exit)).collect(),
    }
}
