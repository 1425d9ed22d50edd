//! *What it does.* A proxy splits connections: it receives data on one connection and sends them on
//! another. It acknowledges data to the sender before they have reached the receiver.
//!
//! *Reference.* Bakre & Badrinath, I-TCP, ICDCS 1995; RFC 3135 §2.4 (split connections) and §4.1
//! (consequences for end-to-end reliability); PEPsal, a proxy in user space that accepts, connects
//! and copies between two sockets.
//!
//! *How it works.* Both connections are ordinary connections ([`crate::flow`]). When one connection
//! is established at the proxy, the proxy opens the other, like a program that is woken by `accept`
//! and calls `connect`. The proxy holds at most `buffer` bytes, read from one connection and not
//! yet acknowledged on the other. Data that do not fit stay in the receiving connection, whose
//! window closes. The proxy forwards a FIN after all data before it, in both directions. When one
//! connection is aborted, the proxy resets the other.
//!
//! *Where we differ.* In I-TCP the proxy connects to the fixed host when the mobile host requests
//! it; here either endpoint may open its connection, and the proxy then opens the other one.
//! Reading and writing take no time. The proxy does not fail, and does not hand its state over to
//! another proxy.

use crate::flow::{Context, Flow};
use crate::plan::{ProxyPlan, Side};
use retx_record::counters::{Gauge, Measure};
use retx_units::Time;

/// Running proxy for one chain of connections.
#[derive(Debug, Clone)]
pub struct Proxy {
    plan: ProxyPlan,
    /// Bytes forwarded so far.
    pub bytes_forwarded: u64,
    /// Bytes held over time: read from the first leg and not yet acknowledged on the second.
    pub held_bytes: Gauge,
}

/// For each of the two legs, whether its endpoint at the proxy may have something to send.
pub type LegsToPoll = [bool; 2];

impl Proxy {
    /// Creates an empty proxy.
    pub fn new(plan: &ProxyPlan) -> Self {
        Self { plan: *plan, bytes_forwarded: 0, held_bytes: Gauge::default() }
    }

    /// Starts the statistics; returns a snapshot of the counters.
    pub fn begin_statistics(&mut self, now: Time) -> Self {
        self.held_bytes.advance_to(now);
        self.held_bytes.restart_maximum();
        self.clone()
    }

    /// Plan of the proxy.
    pub const fn plan(&self) -> &ProxyPlan {
        &self.plan
    }

    /// Handles an event of one of the two legs: opens the second connection, and forwards data,
    /// FINs and resets.
    pub fn run(&mut self, now: Time, flows: &mut [Flow], context: &mut Context<'_>) -> LegsToPoll {
        let legs = self.plan.legs.map(|leg| leg as usize);
        let [from, to] = flows.get_disjoint_mut(legs).expect("two different legs");
        let mut touched = open_second(now, [from, to], context);
        if from.connections_opened() == to.connections_opened() {
            self.pass_data(now, [from, to], &mut touched, context);
            touched[1] |= from.is_read_to_the_end() && to.end_supply(now, context.recorder);
            touched[0] |= to.is_closed_by_receiver() && from.close_receiver();
        }
        pass_failure(now, [from, to], &mut touched);
        touched
    }

    fn pass_data(
        &mut self,
        now: Time,
        [from, to]: [&mut Flow; 2],
        touched: &mut LegsToPoll,
        context: &mut Context<'_>,
    ) {
        if to.is_open() && from.is_open() {
            let held = from.read_bytes() - to.acked_bytes();
            let room = self.plan.buffer_bytes.checked_sub(held).expect("no more is read than fits");
            touched[0] |= from.read_into_proxy(now, room) > 0;
        }
        let new = from.read_bytes() - self.bytes_forwarded;
        if new > 0 {
            self.bytes_forwarded += new;
            to.supply_proxy(now, new, context.recorder);
            touched[1] = true;
        }
        let held = from.read_bytes() - to.acked_bytes();
        assert!(held <= self.plan.buffer_bytes, "a proxy's buffer is bounded");
        self.held_bytes.set(now, held);
    }
}

/// Opens the second connection once the first, which was opened by a peer of the proxy, is
/// established.
fn open_second(now: Time, [from, to]: [&mut Flow; 2], context: &Context<'_>) -> LegsToPoll {
    let ([first, second], side) = match from.initiator() {
        Side::Sender => ([from, to], Side::Receiver),
        Side::Receiver => ([to, from], Side::Sender),
    };
    let asked =
        first.connections_opened() > second.connections_opened() && first.is_connected_at(side);
    if !asked || !second.awaits_next_connection() {
        return [false; 2];
    }
    second.open_now(now, context);
    [side == Side::Sender, side == Side::Receiver]
}

/// Resets the other connection if one of the two has failed.
fn pass_failure(now: Time, [from, to]: [&mut Flow; 2], touched: &mut LegsToPoll) {
    touched[1] |= from.has_failed() && to.reset_with_other_leg(now, Side::Sender);
    touched[0] |= to.has_failed() && from.reset_with_other_leg(now, Side::Receiver);
}
