//! Emulations with this machine's kernel. Skipped with a message if it does not allow them.

use crate::skipping::skip;
use crate::{allowed, allowed_with, emulate_alone, settings};
use retx_emulate::{Backend, EmulationResult, LaunchOptions, Settings};
use retx_record::reason::SegmentFate;
use retx_scenario::{Scenario, Source, parse};
use retx_sim::Options;
use retx_units::{Duration, Time};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn scenario(text: &str) -> Scenario {
    parse(&Source { name: "test", text, overrides: &[] }).expect("a sound scenario")
}

fn record() -> Options {
    Options {
        record_drops: true,
        record_segments: true,
        record_episodes: true,
        ..Options::default()
    }
}

/// A worker without privileges creates its hosts in a user namespace.
#[test]
fn an_ordinary_user_needs_no_privileges() {
    let setpriv = std::process::Command::new("setpriv").arg("--version").output();
    if !nix::unistd::geteuid().is_root() || setpriv.is_err() {
        skip("unprivileged", "only root can become somebody else, and needs setpriv for it");
        return;
    }
    // Copied to a place from which every user may start it.
    let folder = std::env::temp_dir().join(format!("retx-emulate-{}", std::process::id()));
    let worker = folder.join("worker");
    fs::create_dir(&folder).expect("there is room for a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::copy(env!("CARGO_BIN_EXE_retx-emulate-worker"), &worker).expect("it can be copied");
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut command: Vec<String> = user.map(str::to_owned).into();
    command.push(worker.to_string_lossy().into_owned());
    let launch = LaunchOptions { command, output_to_error: true };
    for backend in [Backend::Tun, Backend::Precise] {
        let settings = Settings { launch: launch.clone(), ..settings(record(), backend) };
        if let Some(emulated) =
            allowed_with("unprivileged", emulate_alone(&scenario(SMALL), &settings))
        {
            check_small(&emulated);
        }
        if let Some(emulated) =
            allowed_with("unprivileged", emulate_alone(&scenario(MIXED), &settings))
        {
            check_mixed(&emulated);
        }
    }
    fs::remove_dir_all(&folder).expect("it is ours");
}

/// 20 segments of 1448 bytes over 10 ms each way; the fourth packet is lost.
const SMALL: &str = r#"
    duration = "10 s"
    [[link]]
    name = "wire"
    ends = ["server", "client"]
    rate = "10 Mbit/s"
    delay = "10 ms"
    forward.channel = { model = "script", drop = [3] }
    [[flow]]
    name = "f"
    from = "server"
    to = "client"
    initiator = "to"
    tcp = "linux_reno"
    app = { kind = "transfer", bytes = 28960 }
"#;

/// CUBIC, which no namespace may have by default, a proxy, and large datagrams.
const MIXED: &str = r#"
    duration = "10 s"
    [[link]]
    name = "wire"
    ends = ["server", "middle"]
    rate = "10 Mbit/s"
    delay = "5 ms"
    [[link]]
    name = "air"
    ends = ["middle", "client"]
    rate = "10 Mbit/s"
    delay = "5 ms"
    mtu = 2000
    [[relay]]
    kind = "split"
    name = "proxy"
    node = "middle"
    [[flow]]
    name = "f"
    from = "server"
    to = "client"
    tcp = "linux"
    app = { kind = "transfer", bytes = 28960 }
    [[flow]]
    name = "u"
    from = "middle"
    to = "client"
    udp = { packet = 1800, backlog = 8, packets = 40 }
    app = "bulk"
"#;

fn check_mixed(emulated: &EmulationResult) {
    let flows = &emulated.summary.flows;
    for flow in flows.iter().filter_map(|flow| flow.tcp()) {
        assert_eq!(flow.fault, None);
        assert_eq!(flow.summary.bytes_delivered, 28_960);
    }
    let datagrams = flows[2].udp().expect("it is of UDP");
    assert_eq!(datagrams.fault, None);
    assert_eq!((datagrams.summary.datagrams.delivered, datagrams.summary.datagrams.lost), (40, 0));
    assert_eq!(emulated.summary.emulation.device_drops, 0);
    let sysctls = &emulated.summary.emulation.sysctls["server"];
    assert_eq!(sysctls["congestion control of programs"], "cubic");
}

fn small(backend: Backend) {
    let result = emulate_alone(&scenario(SMALL), &settings(record(), backend));
    if let Some(emulated) = allowed(result) {
        check_small(&emulated);
    }
}

fn check_small(emulated: &EmulationResult) {
    let flow = emulated.summary.flows[0].tcp().expect("it is over TCP");
    assert_eq!(flow.fault, None);
    let (flow, kernel) = (&flow.summary, &flow.kernel);
    assert_eq!(flow.bytes_delivered, 28_960);
    let response = flow.response_time_s.expect("the transfer is complete");
    // Two round trips, and one more for the window, are a lower bound for any model or kernel.
    assert!((0.06..5.0).contains(&response), "{response} s");
    assert_eq!(flow.segments_retransmitted, 1);
    assert_eq!(flow.segments_sent, 21);
    assert_eq!(kernel.total_retrans, 1);
    assert_eq!(kernel.snd_mss, 1448);
    let drops = emulated.outcome.tables.drops.as_ref().expect("they were asked for");
    let [drop] = drops.rows() else { panic!("{:?}", drops.rows()) };
    // SYN/ACK, then from 1 on.
    assert_eq!((drop.packet_number, drop.retransmission), (Some(3), false));
    check_segments(emulated);
    // The time from the first flight to what the first acknowledgment releases is at most an RTT;
    // the lost segment may have waited for a timer.
    assert_eq!(flow.retransmissions_unnecessary, 0);
    assert!(flow.idle_max_s <= flow.idle_total_s && flow.idle_total_s < response);
    assert!(flow.idle.application_s.abs() < f64::EPSILON);
    let link = &emulated.summary.links[0];
    assert_eq!((link.drops.script, link.drops.queue), (1, 0));
    assert_eq!(emulated.summary.emulation.device_drops, 0);
}

/// Requires the fates of all segments: SYN/ACK, 20 segments and one retransmission, and the FIN
/// with the last.
fn check_segments(emulated: &EmulationResult) {
    let tables = &emulated.outcome.tables;
    let segments = tables.segments.as_ref().expect("they were asked for");
    let rows: Vec<_> = segments.rows().collect();
    assert_eq!(rows[0].0.seq, 0);
    let data: Vec<_> = rows.iter().filter(|(row, _)| row.length_bytes > 0).collect();
    assert_eq!(data.len(), 21);
    let third: Vec<_> = data.iter().filter(|(row, _)| row.packet_number == 3).collect();
    let [(first, lost), (again, came)] = third[..] else { panic!("{third:?}") };
    assert_eq!((first.seq, first.retransmission, *lost), (2897, false, SegmentFate::Script));
    assert_eq!((again.seq, again.retransmission, *came), (2897, true, SegmentFate::Delivered));
    let others = rows.iter().filter(|(row, _)| row.packet_number != 3);
    assert!(others.clone().all(|(_, fate)| *fate == SegmentFate::Delivered));
    assert!(others.clone().all(|(row, _)| !row.retransmission));
    // At least an RTT of 20 ms and the serialization time.
    let lowest = Duration::from_millis(20);
    for (row, (sent, _)) in rows.iter().enumerate().filter(|(_, (sent, _))| sent.seq < 28_000) {
        let acked = segments.acked_at(row as u32);
        assert!(acked != Time::NEVER && acked.since(sent.sent) >= lowest, "{sent:?} {acked:?}");
    }
    let acks = tables.acks.as_ref().expect("they were asked for");
    assert!(acks.rows().all(|(_, fate)| fate == SegmentFate::Delivered));
    assert_eq!(acks.rows().map(|(ack, _)| ack.ack).max(), Some(28_962));
    assert!(acks.rows().all(|(ack, _)| ack.window_bytes > 28_960));
}

#[test]
fn a_transfer_over_tun() {
    small(Backend::Tun);
}

#[test]
fn a_transfer_over_packet_sockets() {
    small(Backend::Precise);
}
