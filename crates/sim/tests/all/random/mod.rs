//! Random plans from a seed, for tests of properties that hold in every network.
//!
//! Each aspect (the shape of the network, its links, their queues, …) has a small function and a
//! random stream of its own, so that adding an aspect does not change the numbers drawn for others.
//! To add a kind of stage, write a function that makes a [`shapes::Part`] and name it in
//! `shapes::part`; to add a kind of flow, name it in [`traffic::flows`]; a new channel model takes
//! one line in [`links`].

pub mod datagrams;
pub mod links;
pub mod shapes;
pub mod traffic;

use crate::plans::{one_flow, tcp};
use retx_sim::plan::{AppPlan, Plan};
use retx_units::{Duration, RandomStream, StreamKey, Time};

/// Picks an element at random.
pub fn pick<T: Clone>(stream: &mut RandomStream, of: &[T]) -> T {
    of[stream.below(of.len() as u64) as usize].clone()
}

/// True with probability one in `times`.
pub fn once_in(stream: &mut RandomStream, times: u64) -> bool {
    stream.below(times) == 0
}

/// The random plan that belongs to a seed.
pub fn plan(seed: u64) -> Plan {
    let key = StreamKey { seed, replication: 0 };
    let draw = |aspect: &str| key.stream(&format!("swarm.{aspect}"));
    let mut plan = one_flow(&[], tcp("reno"), AppPlan::Bulk);
    plan.seed = seed;
    plan.end = Time::ZERO + Duration::from_secs(200_000);
    (plan.routes, plan.tcps, plan.flows) = (vec![], vec![], vec![]);
    let ways = shapes::network(&mut draw("shape"), &mut plan);
    traffic::tcps(&mut draw("tcps"), &mut plan);
    traffic::flows(&mut draw("flows"), &mut plan, &ways);
    traffic::slow_readers(&mut draw("readers"), &mut plan);
    links::vary_queues(&mut draw("queues"), &mut plan);
    links::repair_some(&mut draw("repair"), &mut plan);
    links::change_some(&mut draw("changes"), &mut plan);
    datagrams::add(&mut draw("datagrams"), &mut plan);
    plan
}
