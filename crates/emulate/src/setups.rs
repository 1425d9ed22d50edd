//! Traffic sources as parts of messages to the worker, which creates the simulator's sources from
//! them.
//!
//! Parameters of distributions are sent as bits, because decimal numbers may be rounded. A seed
//! thus yields the same draws as in a simulation.

use retx_sim::exchanges::ExchangeSequence;
use retx_sim::plan::{Amounts, DatagramPlan, ExchangePlan, Limits, Pace, PacketSizes};
use retx_sim::source::Source;
use retx_units::{Law, Rate, StreamKey, Time};
use serde::{Deserialize, Serialize};

/// Key of a flow's random streams.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowStreamKey {
    /// Seed of the scenario.
    pub seed: u64,
    /// Number of the replication.
    pub replication: u64,
    /// Name of the flow.
    pub name: String,
}

impl FlowStreamKey {
    const fn key(&self) -> StreamKey {
        StreamKey { seed: self.seed, replication: self.replication }
    }
}

/// Distribution: its kind and the bits of its parameters.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum SerializedLaw {
    Constant(u64),
    Exponential(u64),
    Uniform(u64, u64),
    Pareto(u64, u64),
}

impl From<Law> for SerializedLaw {
    fn from(law: Law) -> Self {
        match law {
            Law::Constant(amount) => Self::Constant(amount.to_bits()),
            Law::Exponential(mean) => Self::Exponential(mean.to_bits()),
            Law::Uniform(least, most) => Self::Uniform(least.to_bits(), most.to_bits()),
            Law::Pareto(least, shape) => Self::Pareto(least.to_bits(), shape.to_bits()),
        }
    }
}

impl SerializedLaw {
    fn law(self) -> Law {
        let of = f64::from_bits;
        match self {
            Self::Constant(amount) => Law::Constant(of(amount)),
            Self::Exponential(mean) => Law::Exponential(of(mean)),
            Self::Uniform(least, most) => Law::Uniform(of(least), of(most)),
            Self::Pareto(least, shape) => Law::Pareto(of(least), of(shape)),
        }
    }
}

/// Pace of packets; rates in bit/s.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum SerializedPace {
    Saturating { backlog: u32 },
    Constant { rate: u64 },
    Poisson { rate: u64 },
    OnOff { rate: u64, on: SerializedLaw, off: SerializedLaw },
}

impl From<Pace> for SerializedPace {
    fn from(pace: Pace) -> Self {
        match pace {
            Pace::Saturating { backlog } => Self::Saturating { backlog },
            Pace::Constant(rate) => Self::Constant { rate: rate.as_bit_s() },
            Pace::Poisson(rate) => Self::Poisson { rate: rate.as_bit_s() },
            Pace::OnOff { rate, on, off } => {
                Self::OnOff { rate: rate.as_bit_s(), on: on.into(), off: off.into() }
            }
        }
    }
}

impl SerializedPace {
    fn pace(self) -> Pace {
        match self {
            Self::Saturating { backlog } => Pace::Saturating { backlog },
            Self::Constant { rate } => Pace::Constant(Rate::from_bit_s(rate)),
            Self::Poisson { rate } => Pace::Poisson(Rate::from_bit_s(rate)),
            Self::OnOff { rate, on, off } => {
                Pace::OnOff { rate: Rate::from_bit_s(rate), on: on.law(), off: off.law() }
            }
        }
    }
}

/// Source of datagrams.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceSetup {
    draws: FlowStreamKey,
    pace: SerializedPace,
    sizes: SerializedLaw,
    largest: u32,
    packets: Option<u64>,
    bytes: Option<u64>,
    #[serde(with = "crate::nanos")]
    end: Time,
    #[serde(with = "crate::nanos")]
    start: Time,
}

impl SourceSetup {
    /// Source of a flow.
    pub fn new(flow: &DatagramPlan, draws: FlowStreamKey) -> Self {
        let Limits { packets, bytes, end } = flow.limits;
        Self {
            draws,
            pace: flow.pace.into(),
            sizes: flow.sizes.distribution.into(),
            largest: flow.sizes.max_bytes,
            packets,
            bytes,
            end,
            start: flow.start,
        }
    }

    /// True if the source keeps its first hop full. The source then needs reports on its packets in
    /// that hop.
    pub const fn fills_first_hop(&self) -> bool {
        matches!(self.pace, SerializedPace::Saturating { .. })
    }

    /// Sender of the simulator for this source.
    pub fn sender(&self) -> retx_sim::datagram::Sender {
        let sizes = PacketSizes { distribution: self.sizes.law(), max_bytes: self.largest };
        let draws = (self.draws.key(), self.draws.name.as_str());
        let source = Source::new(self.pace.pace(), sizes, self.start, draws);
        let limits = Limits { packets: self.packets, bytes: self.bytes, end: self.end };
        retx_sim::datagram::Sender::new(source, &limits, self.start)
    }
}

/// Sizes or times of successive exchanges: drawn from a distribution, or listed.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum SerializedAmounts {
    Drawn(SerializedLaw),
    Listed(Vec<u64>),
}

impl From<&Amounts> for SerializedAmounts {
    fn from(amounts: &Amounts) -> Self {
        match amounts {
            Amounts::Drawn(law) => Self::Drawn((*law).into()),
            Amounts::Listed(listed) => Self::Listed(listed.iter().map(|it| it.to_bits()).collect()),
        }
    }
}

impl SerializedAmounts {
    fn amounts(&self) -> Amounts {
        match self {
            Self::Drawn(law) => Amounts::Drawn(law.law()),
            Self::Listed(listed) => {
                Amounts::Listed(listed.iter().map(|it| f64::from_bits(*it)).collect())
            }
        }
    }
}

/// Requests and responses of a flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExchangeSetup {
    draws: FlowStreamKey,
    request: SerializedLaw,
    response: SerializedAmounts,
    service: SerializedAmounts,
    think: SerializedLaw,
    /// Number of exchanges; `None` if unlimited.
    pub count: Option<u32>,
    /// True if each exchange opens a new connection.
    pub connection_per_exchange: bool,
}

impl ExchangeSetup {
    /// Exchanges of a flow.
    pub fn new(plan: &ExchangePlan, draws: FlowStreamKey) -> Self {
        Self {
            draws,
            request: plan.request_bytes.into(),
            response: (&plan.response_bytes).into(),
            service: (&plan.service_time).into(),
            think: plan.think_time.into(),
            count: plan.count,
            connection_per_exchange: plan.connection_per_exchange,
        }
    }

    /// Sequence of requests and responses, at its first exchange.
    pub fn exchange_sequence(&self) -> ExchangeSequence {
        let plan = ExchangePlan {
            request_bytes: self.request.law(),
            response_bytes: self.response.amounts(),
            service_time: self.service.amounts(),
            think_time: self.think.law(),
            count: self.count,
            connection_per_exchange: self.connection_per_exchange,
        };
        ExchangeSequence::new(plan, self.draws.key(), &self.draws.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws() -> FlowStreamKey {
        FlowStreamKey { seed: 7, replication: 3, name: "f".into() }
    }

    fn through_json<M: Serialize + serde::de::DeserializeOwned>(setup: &M) -> M {
        serde_json::from_str(&serde_json::to_string(setup).expect("plain data")).expect("the same")
    }

    /// UDP flow with parameters that have no short decimal representation.
    fn flow(pace: Pace) -> DatagramPlan {
        DatagramPlan {
            name: "f".into(),
            pace,
            sizes: PacketSizes { distribution: Law::Exponential(1000.0 / 3.0), max_bytes: 1500 },
            limits: Limits {
                packets: Some(500),
                bytes: None,
                end: Time::from_nanos(9_000_000_000),
            },
            start: Time::from_nanos(12_345),
            route: 0,
            nodes: [0, 1],
            flows_before: 0,
        }
    }

    #[test]
    fn a_source_sends_as_in_a_simulation() {
        let rate = Rate::from_bit_s(3_000_000);
        let [on, off] = [Law::Pareto(0.1 + 0.2, 1.0 / 0.7), Law::Uniform(1e-3 / 3.0, 0.1)];
        for pace in [Pace::Constant(rate), Pace::Poisson(rate), Pace::OnOff { rate, on, off }] {
            let flow = flow(pace);
            let key = draws().key();
            let source = Source::new(pace, flow.sizes, flow.start, (key, "f"));
            let mut here = retx_sim::datagram::Sender::new(source, &flow.limits, flow.start);
            let mut there = through_json(&SourceSetup::new(&flow, draws())).sender();
            loop {
                let now = here.poll_timeout();
                assert_eq!(now, there.poll_timeout());
                if now == Time::NEVER {
                    break;
                }
                here.handle_timeout(now);
                there.handle_timeout(now);
                assert_eq!(here.poll_transmit(now), there.poll_transmit(now));
            }
            assert!(
                here.packets_sent() > 100 && there.is_done(Time::NEVER),
                "{}",
                here.packets_sent()
            );
        }
    }

    #[test]
    fn a_script_is_the_same_at_both_ends() {
        let plan = ExchangePlan {
            request_bytes: Law::Exponential(100.0 / 3.0),
            response_bytes: Amounts::Drawn(Law::Pareto(1e4 / 7.0, 1.2)),
            service_time: Amounts::Listed([0.1, 0.3].into()),
            think_time: Law::Exponential(0.1),
            count: Some(50),
            connection_per_exchange: false,
        };
        let mut here = ExchangeSequence::new(plan.clone(), draws().key(), "f");
        let mut there = through_json(&ExchangeSetup::new(&plan, draws())).exchange_sequence();
        for _ in 0..50 {
            assert!(!here.is_last() && !there.is_last());
            assert_eq!(here.next_exchange(), there.next_exchange());
            assert_eq!(here.draw_service_time(), there.draw_service_time());
            assert_eq!(here.draw_think_time(), there.draw_think_time());
        }
        assert!(here.is_last() && there.is_last());
    }
}
