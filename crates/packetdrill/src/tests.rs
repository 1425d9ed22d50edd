//! A script as packetdrill plays it: packets as bytes, calls, and the clock, in one thread or two.

use crate::machine::Machine;
use crate::monitor::Monitor;
use crate::settings::Settings;
use retx_drill::host::Return;
use retx_drill::{MessageFlags, Operation, SocketOption, Transfer};
use retx_units::{Duration, SeqNr, Time};
use retx_wire::{
    Endpoint, Flags, Ipv4Header, Options, Packet, Segment, Transport, decode_packet, encode_packet,
    verify_checksums,
};
use std::net::Ipv4Addr;

const LOCAL: Endpoint = Endpoint { address: Ipv4Addr::new(192, 168, 0, 7), port: 8080 };
const REMOTE: Endpoint = Endpoint { address: Ipv4Addr::new(192, 0, 2, 1), port: 50_000 };

fn monitor() -> Monitor {
    let settings = Settings::new("tcp=reno,timestamps=false", None).unwrap();
    Monitor::new(Machine::new(settings).unwrap())
}

fn done(answer: Result<Return, String>) -> i32 {
    match answer {
        Ok(Return::Done(value)) => value as i32,
        other => panic!("{other:?}"),
    }
}

fn bytes(flags: Flags, seq: u32, ack: SeqNr) -> Vec<u8> {
    let mss = flags.contains(Flags::SYN).then_some(1000);
    let segment = Segment {
        seq: SeqNr(seq),
        ack,
        window: 65_535,
        flags,
        options: Options { mss, ..Options::default() },
        ..Segment::default()
    };
    let packet = Packet {
        source: REMOTE,
        destination: LOCAL,
        ip: Ipv4Header { identification: 1, time_to_live: 64, ecn: Default::default() },
        transport: Transport::Tcp(segment),
    };
    let mut bytes = Vec::new();
    encode_packet(&packet, &mut |_| {}, &mut bytes);
    bytes
}

fn arrive(monitor: &Monitor, flags: Flags, seq: u32, ack: SeqNr) {
    monitor.with_machine(|machine| machine.deliver_packet(&bytes(flags, seq, ack))).unwrap();
}

/// Next packet and its time.
fn leaving(monitor: &Monitor) -> Option<(Duration, Segment)> {
    let (at, bytes) = monitor.next_packet()?;
    verify_checksums(&bytes).unwrap();
    let packet = decode_packet(&bytes).unwrap().packet;
    assert_eq!((packet.source, packet.destination), (LOCAL, REMOTE));
    match packet.transport {
        Transport::Tcp(segment) => Some((at.since(Time::ZERO), segment)),
        Transport::Udp(_) => panic!("a datagram"),
    }
}

fn listening(monitor: &Monitor) -> i32 {
    let fd = done(monitor.with_machine(|machine| machine.socket(false)));
    done(monitor.with_machine(|machine| machine.bind(fd, LOCAL)));
    done(monitor.with_machine(|machine| machine.call(&Operation::Listen(fd))));
    fd
}

/// Completes the three-way handshake; returns the endpoint's initial sequence number.
fn shaken(monitor: &Monitor) -> SeqNr {
    arrive(monitor, Flags::SYN, 100, SeqNr(0));
    let (_, answer) = leaving(monitor).unwrap();
    assert_eq!(answer.flags, Flags::SYN.with(Flags::ACK));
    assert_eq!(answer.ack, SeqNr(101));
    arrive(monitor, Flags::ACK, 101, answer.seq.add(1));
    answer.seq
}

#[test]
fn time_passes_only_for_who_waits() {
    let monitor = monitor();
    let listener = listening(&monitor);
    monitor.sleep(Duration::from_millis(100));
    let start = shaken(&monitor);
    let (answer, from) = monitor.with_machine(|machine| machine.accept(listener)).unwrap();
    assert_eq!(from, Some(REMOTE));
    let fd = done(Ok(answer));
    let transfer = Transfer { fd, bytes: 500, flags: MessageFlags::default() };
    assert_eq!(done(monitor.with_machine(|machine| machine.write(&transfer, &mut 0))), 500);
    let (at, first) = leaving(&monitor).unwrap();
    assert_eq!(at, Duration::from_millis(100));
    assert_eq!((first.seq, first.payload_bytes), (start.add(1), 500));
    assert!(!first.flags.contains(Flags::PSH), "scripts do not look at PSH");
    // The RTO is one second (RFC 6298 §2.4), and doubles after the first retransmission.
    let (at, second) = leaving(&monitor).unwrap();
    assert_eq!((at, second.seq), (Duration::from_millis(1_100), first.seq));
    let (at, _) = leaving(&monitor).unwrap();
    assert_eq!(at, Duration::from_millis(3_100));
}

#[test]
fn a_machine_at_rest_sends_nothing() {
    let monitor = monitor();
    listening(&monitor);
    assert!(monitor.next_packet().is_none());
    assert_eq!(monitor.with_machine(|machine| machine.now), Time::ZERO);
}

#[test]
fn who_waits_for_nothing_is_told_so() {
    let monitor = monitor();
    let listener = listening(&monitor);
    let answer =
        monitor.call_blocking(Time::NEVER, |machine| machine.accept(listener).map(|it| it.0));
    assert_eq!(answer, Ok(Return::Error("EDEADLK")));
    let second = Time::from_nanos(1_000_000_000);
    let answer = monitor.call_blocking(second, |machine| {
        Ok(if machine.now < second { Return::Wait } else { Return::Done(7) })
    });
    assert_eq!(answer, Ok(Return::Done(7)));
}

/// The second thread's call returns at the virtual time at which it could, however long its thread
/// sleeps in real time.
#[test]
fn a_call_in_the_second_thread_returns_in_time() {
    let monitor = monitor();
    let listener = listening(&monitor);
    let ended = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let accepted = monitor
                .call_blocking(Time::NEVER, |machine| machine.accept(listener).map(|it| it.0));
            std::thread::sleep(std::time::Duration::from_millis(50));
            (accepted, monitor.read_clock())
        });
        while !monitor.has_waiter() {
            std::thread::yield_now();
        }
        monitor.sleep(Duration::from_millis(200));
        shaken(&monitor);
        monitor.sleep(Duration::from_secs(5));
        waiting.join().unwrap()
    });
    done(ended.0);
    assert_eq!(ended.1, Time::from_nanos(200_000_000));
    assert_eq!(monitor.with_machine(|machine| machine.now), Time::from_nanos(5_200_000_000));
}

/// A deadline of the second thread's call is met, although it is no timer of the machine.
#[test]
fn a_deadline_in_the_second_thread_is_met() {
    let monitor = monitor();
    let deadline = Time::from_nanos(300_000_000);
    let ended = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let answer = monitor.call_blocking(deadline, |machine| {
                Ok(if machine.now < deadline { Return::Wait } else { Return::Done(0) })
            });
            (answer, monitor.read_clock())
        });
        while !monitor.has_waiter() {
            std::thread::yield_now();
        }
        monitor.sleep(Duration::from_secs(1));
        waiting.join().unwrap()
    });
    assert_eq!(ended, (Ok(Return::Done(0)), deadline));
}

#[test]
fn commands_change_the_connections_after_them() {
    let file = std::env::temp_dir().join(format!("retx-commands-{}", std::process::id()));
    let settings = Settings::new("tcp=reno", Some(file.clone().into())).unwrap();
    let monitor = Monitor::new(Machine::new(settings).unwrap());
    let listener = listening(&monitor);
    std::fs::write(&file, "sysctl \"-q\" \"net.ipv4.tcp_window_scaling=0\"\n").unwrap();
    shaken(&monitor);
    let (answer, _) = monitor.with_machine(|machine| machine.accept(listener)).unwrap();
    let information = monitor.with_machine(|machine| machine.tcp_info(done(Ok(answer)))).unwrap();
    assert_eq!(information[5] & 4, 0, "no window scaling");
    std::fs::write(&file, "sysctl \"-q\" \"net.ipv4.tcp_sick=0\"\n").unwrap();
    let refused = monitor.with_machine(|machine| machine.socket(false)).unwrap_err();
    std::fs::remove_file(&file).unwrap();
    assert!(refused.contains("tcp_sick") && refused.contains("in `sysctl"), "{refused}");
}

#[test]
fn flags_are_checked() {
    assert!(Settings::new("linux", None).unwrap_err().contains("\"linux\" is not key=value"));
    let settings = Settings::new("tcp=cubik", None).unwrap();
    assert!(Machine::new(settings).unwrap_err().contains("cubik"));
}

/// Window, state and options of a connection are at the same offsets as in Linux's `tcp_info`.
#[test]
fn information_is_laid_out_as_linux_does() {
    let monitor = monitor();
    let listener = listening(&monitor);
    let option = SocketOption::MaxSegment(700);
    done(monitor.with_machine(|machine| machine.call(&Operation::SetOption(listener, option))));
    shaken(&monitor);
    let (answer, _) = monitor.with_machine(|machine| machine.accept(listener)).unwrap();
    let bytes = monitor.with_machine(|machine| machine.tcp_info(done(Ok(answer)))).unwrap();
    let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(bytes[0], 1, "TCP_ESTABLISHED");
    assert_eq!(number(16), 700, "tcpi_snd_mss");
    assert_eq!(number(80), 4, "tcpi_snd_cwnd");
    assert_eq!(number(76), 0x7fff_ffff, "tcpi_snd_ssthresh");
}
