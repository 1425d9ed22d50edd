//! Layout of routes and stages in the engine.

use crate::datagram::DatagramFlow;
use crate::plan::{DatagramPlan, Hop, Plan, Port, StagePlan};
use crate::route_entry::{NextHop, RouteEntry};
use crate::source::Pace;
use crate::stage::Stage;
use retx_units::StreamKey;

/// Stage, and the index of its first place. Places are numbered through all stages; pipes have the
/// lowest indices.
#[derive(Debug, Clone)]
pub(crate) struct PlacedStage {
    pub stage: Stage,
    pub first_place: u32,
}

/// Creates the stages of a plan (all stages but pipes) and numbers their places.
pub(super) fn create_stages(plan: &Plan, key: StreamKey, fast_paths: bool) -> Vec<PlacedStage> {
    let mut first = plan.pipes.len() as u32;
    let placed = |plan: &StagePlan| {
        let stage = PlacedStage { stage: Stage::new(plan, key, fast_paths), first_place: first };
        first += plan.places().count() as u32;
        stage
    };
    plan.stages.iter().map(placed).collect()
}

/// UDP flows, each with a route of its own.
pub(super) fn create_datagram_flows(
    plan: &Plan,
    key: StreamKey,
    builder: &mut RouteBuilder,
) -> Vec<DatagramFlow> {
    let flow = |(index, datagrams): (usize, &DatagramPlan)| {
        let route = &plan.routes[datagrams.route as usize];
        let notifies_source = matches!(datagrams.pace, Pace::Saturating { .. });
        let first_hop = builder.append_flow_route(route, notifies_source);
        DatagramFlow::new((plan.flows.len() + index) as u32, datagrams, first_hop, key)
    };
    plan.datagrams.iter().enumerate().map(flow).collect()
}

/// Builder of the engine's routes and ports.
#[derive(Debug, Default)]
pub(super) struct RouteBuilder {
    pub routes: Vec<RouteEntry>,
    pub ports: Vec<Port>,
}

impl RouteBuilder {
    /// Appends a route and returns the index of its first entry. With `notifies_source`, the sender
    /// is notified when a packet leaves the first hop.
    pub fn append_flow_route(&mut self, route: &[Hop], notifies_source: bool) -> u32 {
        let start = self.append_route(route);
        if notifies_source {
            self.routes.insert(start as usize + 1, RouteEntry::new(NextHop::Source));
        }
        start
    }

    /// Appends a route; returns the index of its first entry.
    pub fn append_route(&mut self, route: &[Hop]) -> u32 {
        assert!(!route.is_empty(), "a route has a hop at least");
        let start = u32::try_from(self.routes.len()).expect("fewer than 2^32 hops");
        for hop in route {
            let next = match hop {
                Hop::Pipe(index) => NextHop::Pipe(*index),
                Hop::Stage(port) => {
                    self.ports.push(*port);
                    let index = self.ports.len() - 1;
                    NextHop::Port(u32::try_from(index).expect("fewer than 2^32 hops"))
                }
            };
            self.routes.push(RouteEntry::new(next));
        }
        self.routes.push(RouteEntry::new(NextHop::PacketDestination));
        start
    }
}
