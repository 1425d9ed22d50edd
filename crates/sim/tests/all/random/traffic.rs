//! Random TCP configurations, and the flows that use them.

use super::shapes::Way;
use super::{once_in, pick};
use crate::plans::tcp;
use retx_sim::plan::{Amounts, AppPlan, ExchangePlan, FileSizes, FlowPlan, Plan, Side, TcpPlan};
use retx_tcp::presets::PRESETS;
use retx_tcp::{Buffers, Config, Size, loss_cause};
use retx_units::{Duration, Law, RandomStream, Rate, Time};

/// Adds up to three presets, each with some of its fields changed at random.
pub fn tcps(stream: &mut RandomStream, plan: &mut Plan) {
    plan.tcps = (0..1 + stream.below(3)).map(|_| random_tcp(stream)).collect();
}

fn random_tcp(stream: &mut RandomStream) -> TcpPlan {
    let mut plan = tcp(pick(stream, PRESETS).name);
    let config = &mut plan.config;
    // Connections never give up, because such a flow would not finish.
    config.max_retransmissions = None;
    config.max_syn_retransmissions = None;
    config.ecn = once_in(stream, 2);
    if once_in(stream, 3) {
        return plan;
    }
    config.timestamps = once_in(stream, 2);
    config.sack = once_in(stream, 2);
    config.min_rto = Duration::from_millis(pick(stream, &[1, 50, 1000]));
    config.initial_rto = Duration::from_millis(pick(stream, &[20, 1000]));
    if !backs_off(config) {
        // With a shorter RTO, copies in the network could keep causing further ones for ever.
        config.min_rto = Duration::from_secs(1);
    }
    config.max_rto = Duration::from_secs(pick(stream, &[2, 60]));
    config.mss = pick(stream, &[100, 536, 1460]);
    let [send, receive] = [(); 2].map(|()| pick(stream, &[2, 6, 1000]));
    config.send_buffer = Size::Mss(send);
    config.receive_buffer = Size::Mss(receive);
    config.receive_autotuning = None;
    config.buffers = pick(stream, &[Buffers::Payload, Buffers::Linux]);
    config.loss_cause = cause(pick(stream, loss_cause::Config::BUILT_IN));
    config.check().unwrap_or_else(|error| panic!("{}: {error:?}", plan.name));
    plan
}

/// The rule, configured so that it does not apply to timeouts: a sender that never slows down might
/// never get through.
fn cause(rule: &str) -> loss_cause::Config {
    let text = match rule {
        "threshold" | "jitter" => format!(r#"{{"name": "{rule}", "timeouts": false}}"#),
        other => format!("{other:?}"),
    };
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// False if repeated timeouts may all be equally short.
fn backs_off(config: &Config) -> bool {
    config.backoff.name() != "reset_if_bdp"
        && config.congestion_control.name() != "westwood_bulk_repeat_like"
}

/// Adds up to four flows, each over one of the ways, some of them in reverse direction.
pub fn flows(stream: &mut RandomStream, plan: &mut Plan, ways: &[Way]) {
    for index in 0..1 + stream.below(4) {
        let way = pick(stream, ways);
        let there = plan.routes.len() as u32;
        plan.routes.extend([way.there, way.back]);
        let swapped = once_in(stream, 2);
        let tcp = stream.below(plan.tcps.len() as u64) as u32;
        let work = work(stream);
        let start = Time::ZERO + Duration::from_millis(stream.below(2000));
        let either = pick(stream, &[Side::Sender, Side::Receiver]);
        plan.flows.push(FlowPlan {
            name: format!("flow.{index}"),
            tcp,
            receiver_tcp: tcp,
            // The side that sends requests opens the connection.
            initiator: if work.sends_requests() { Side::Receiver } else { either },
            app: work.into(),
            start,
            routes: if swapped { [there + 1, there] } else { [there, there + 1] },
            nodes: [2 * index as u32, 2 * index as u32 + 1],
            read_rate: None,
            write_size: 256 << 10,
        });
    }
}

/// Makes the receivers of some flows read slowly.
pub fn slow_readers(stream: &mut RandomStream, plan: &mut Plan) {
    for flow in &mut plan.flows {
        let rate = Rate::from_bit_s(pick(stream, &[20_000, 1_000_000, 30_000_000]));
        flow.read_rate = once_in(stream, 4).then_some(rate);
    }
}

fn work(stream: &mut RandomStream) -> AppPlan {
    match stream.below(5) {
        0 => AppPlan::transfer(stream.below(200_000)),
        1 => AppPlan::transfer(stream.below(3) * 1460),
        2 => AppPlan::Files {
            sizes: FileSizes::Each((0..3).map(|_| stream.below(30_000)).collect()),
            pause: Duration::from_millis(stream.below(3000)),
        },
        3 => AppPlan::Files {
            sizes: FileSizes::Equal { count: 4, bytes: stream.below(5000) },
            pause: Duration::ZERO,
        },
        _ => AppPlan::Exchanges(ExchangePlan {
            request_bytes: pick(stream, &[Law::Constant(1.0), Law::Exponential(3000.0)]),
            response_bytes: Amounts::Drawn(pick(
                stream,
                &[Law::Constant(1460.0), Law::Pareto(8000.0, 1.2)],
            )),
            service_time: Amounts::Drawn(Law::Constant(0.0)),
            think_time: pick(stream, &[Law::Constant(0.0), Law::Exponential(0.3)]),
            count: Some(1 + stream.below(6) as u32),
            connection_per_exchange: once_in(stream, 2),
        }),
    }
}
