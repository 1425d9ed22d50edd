//! Flows of UDP.

use super::pick;
use retx_sim::plan::{DatagramPlan, Limits, Pace, PacketSizes, Plan};
use retx_units::{Duration, Law, RandomStream, Rate, Time};

/// Adds up to three UDP flows, each of them finite.
pub fn add(stream: &mut RandomStream, plan: &mut Plan) {
    for index in 0..stream.below(4) {
        let rate = Rate::from_bit_s(10_000 + stream.below(3_000_000));
        let [on, off] = [Law::Exponential(0.2), Law::Pareto(0.1, 1.2)];
        let on_off = Pace::OnOff { rate, on, off };
        let saturating = Pace::Saturating { backlog: 1 + stream.below(5) as u32 };
        let pace = pick(stream, &[Pace::Constant(rate), Pace::Poisson(rate), on_off, saturating]);
        let largest = pick(stream, &[28, 500, 1500]);
        let law = pick(stream, &[Law::Constant(f64::from(largest)), Law::Exponential(300.0)]);
        let start = Time::ZERO + Duration::from_millis(stream.below(2000));
        let end = start + Duration::from_secs(1 + stream.below(20));
        let [packets, bytes] = [1 + stream.below(2000), 1 + stream.below(100_000)];
        let one_limit = pick(stream, &[None, Some(packets)]);
        // A saturating source over links of infinite rate is slowed down by nothing except its
        // limits.
        let endless = matches!(pace, Pace::Saturating { .. });
        let packets = if endless { Some(packets) } else { one_limit };
        let bytes = pick(stream, &[None, Some(bytes)]);
        plan.datagrams.push(DatagramPlan {
            name: format!("datagrams.{index}"),
            pace,
            sizes: PacketSizes { distribution: law, max_bytes: largest },
            limits: Limits { packets, bytes, end },
            start,
            route: stream.below(plan.routes.len() as u64) as u32,
            nodes: [0, 1],
            flows_before: 0,
        });
    }
}
