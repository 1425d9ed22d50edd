//! Transport of a flow, and the check that its packets fit into the links of its path.

use crate::error::Problem;
use crate::scenario::{Flow, Hop, Link, NamedTcp, Transport};
use crate::tables::{FlowTable, Initiator};
use crate::tcp::TcpTable;
use crate::udp;
use crate::{App, Spread};
use retx_link::channel::Model;
use retx_link::wlan;
use retx_units::Rate;

/// IPv4 and TCP headers without options.
const TCP_HEADERS: u32 = 40;

/// Reads a flow's transport, TCP or UDP.
///
/// # Errors
/// The flow has no transport or both, its TCP is unknown, or its application requires the other
/// transport.
pub fn resolve_transport(table: &FlowTable, tcps: &mut TcpTable) -> Result<Transport, Problem> {
    let refuse = |key: &str, message: String| Err(Problem::new(message).within(key));
    let kind = table.app.name();
    match (&table.tcp, table.udp) {
        (None, None) => {
            Err(Problem::new("lacks `tcp` or `udp`: a [tcp.NAME] or a preset, or packets of UDP"))
        }
        (Some(_), Some(_)) => {
            refuse("udp", "contradicts `tcp`: a flow is carried by one or the other".into())
        }
        (Some(_), None) if table.app.requires_tcp() == Some(false) => {
            refuse("app", format!("{kind} goes by UDP: write `udp` in place of `tcp`"))
        }
        (None, Some(_)) if table.app.requires_tcp() == Some(true) => {
            refuse("app", format!("{kind} needs a connection: write `tcp` in place of `udp`"))
        }
        (Some(tcp), None) => {
            let tcp = tcps.find(tcp).map_err(|problem| problem.within("tcp"))?;
            let initiator = table.initiator.unwrap_or_default();
            if matches!(table.app, App::RequestResponse(_)) && initiator == Initiator::From {
                let message = "with request_response the client, `to`, opens the connections";
                return refuse("initiator", message.into());
            }
            let read_rate = table.read_rate;
            if read_rate == Some(Rate::from_bit_s(0)) {
                let message =
                    "0 bit/s: the receiver would never read; leave it out to read at once";
                return refuse("read_rate", message.into());
            }
            Ok(Transport::Tcp { tcp, initiator, read_rate })
        }
        (None, Some(udp)) => {
            udp.check(&table.app).map_err(|problem| problem.within("udp"))?;
            udp.check_on_off(&table.app)?;
            if table.initiator.is_some() {
                return refuse("initiator", "UDP opens no connection".into());
            }
            if table.read_rate.is_some() {
                let message = "UDP has no window: a slow reader would not slow its sender";
                return refuse("read_rate", message.into());
            }
            Ok(Transport::Udp(udp))
        }
    }
}

/// Checks that a full packet fits into every link of its path (RFC 9293 §3.7.1), and fills in the
/// values that depend on the path.
///
/// # Errors
/// An MTU that is too small, a first link that cannot be saturated, or an endless flow whose round
/// trips take no time.
pub fn fit_to_path(flow: &mut Flow, tcps: &[NamedTcp], links: &[Link]) -> Result<(), Problem> {
    check_round_trip(flow, links)?;
    let mtu = |hop: &Hop| match hop {
        Hop::Link { link, direction: way } => links[*link as usize].direction(*way).mtu,
        Hop::Wlan { .. } => wlan::parameters::MTU,
    };
    let (packet, what, key) = match flow.transport {
        Transport::Tcp { tcp, .. } => {
            let mss = tcps[tcp].config.mss;
            let what = format!("mss of {mss} and {TCP_HEADERS} bytes of headers do");
            (u64::from(mss + TCP_HEADERS), what, "tcp")
        }
        Transport::Udp(udp) => {
            let Spread::Constant(packet) = udp.packet else {
                return set_default_backlog(flow, links);
            };
            (packet, format!("packets of {packet} bytes do"), "udp")
        }
    };
    let Some(hop) = flow.forward_path.iter().find(|hop| u64::from(mtu(hop)) < packet) else {
        return set_default_backlog(flow, links);
    };
    let place = match hop {
        Hop::Link { link, direction: way } => {
            format!("link \"{}\" ({})", links[*link as usize].name, way.name())
        }
        Hop::Wlan { .. } => "a wlan".to_owned(),
    };
    let message = format!("its {what} not fit the mtu of {place}, {}", mtu(hop));
    Err(Problem::new(message).within(key))
}

/// Checks that the round trip of an endless TCP flow takes time. Otherwise each ACK would let the
/// sender transmit again at the same instant, and the run would never end.
fn check_round_trip(flow: &Flow, links: &[Link]) -> Result<(), Problem> {
    let Transport::Tcp { read_rate: None, .. } = flow.transport else {
        return Ok(());
    };
    let is_endless = match &flow.app {
        App::Bulk(_) => true,
        App::RequestResponse(app) => {
            let never_thinks = matches!(app.think, Spread::Constant(think) if think.is_zero());
            app.exchanges.is_none() && never_thinks && app.service.least() <= 0.0
        }
        _ => false,
    };
    let takes_time = |hop: &Hop| match hop {
        Hop::Link { link, direction: way } => {
            links[*link as usize].direction(*way).has_delay(flow.start)
        }
        Hop::Wlan { .. } => true,
    };
    if !is_endless || flow.forward_path.iter().chain(&flow.reverse_path).any(takes_time) {
        return Ok(());
    }
    Err(Problem::new(format!(
        "{} never ends over links that take no time: give one of them a `rate` or a `delay`",
        flow.app.name()
    ))
    .within("app"))
}

/// Sets the default number of packets that a saturating source keeps in the first hop: one in
/// transmission and one that waits. On a link, the packets in propagation at its highest rate are
/// added.
fn set_default_backlog(flow: &mut Flow, links: &[Link]) -> Result<(), Problem> {
    let (Transport::Udp(udp), App::Bulk(bulk)) = (&mut flow.transport, &flow.app) else {
        return Ok(());
    };
    if bulk.write.is_some() {
        let message = "a flow over UDP passes each packet on by itself";
        return Err(Problem::new(message).within("write").within("app"));
    }
    let Hop::Link { link, direction: way } = flow.forward_path[0] else {
        udp.backlog.get_or_insert(2);
        return Ok(());
    };
    let link = &links[link as usize];
    let direction = link.direction(way);
    let traced = direction.channel.iter().any(|model| model.rates().is_some());
    if direction.rate.is_none() && !traced && direction.delay.is_zero() {
        let message = format!(
            "link \"{}\" takes no time: bulk would send without end at once; give it a rate",
            link.name
        );
        return Err(Problem::new(message).within("udp"));
    }
    if udp.backlog.is_some() {
        return Ok(());
    }
    let rates = direction.changes.iter().filter_map(|change| change.rate);
    let fastest = direction.rate.into_iter().chain(rates).max();
    let delays = direction.changes.iter().filter_map(|change| change.delay);
    let longest = delays.chain([direction.delay]).max().unwrap_or_default();
    let Some(rate) = fastest.filter(|rate| *rate > Rate::from_bit_s(0)) else {
        let message = format!(
            "link \"{}\" has no fixed rate that bulk could keep up with: say how many packets it \
             keeps there, `backlog`",
            link.name
        );
        return Err(Problem::new(message).within("udp"));
    };
    let frame = udp.packet.mean().max(f64::from(udp::HEADER_BYTES)) + f64::from(direction.overhead);
    let on_their_way = longest.as_secs_f64() * rate.as_bit_s() as f64 / (8.0 * frame);
    udp.backlog = Some(2 + on_their_way.ceil() as u32);
    Ok(())
}
