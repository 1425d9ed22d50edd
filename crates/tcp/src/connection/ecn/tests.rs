use super::*;
use crate::connection::testing::{at, config, in_recovery, open, sent_by, with_flight};
use retx_units::SeqNr;

impl Connection {
    /// True if both ends use ECN.
    pub(in crate::connection) const fn uses_ecn(&self) -> bool {
        self.ecn.enabled
    }
}

const MODES: [EcnMode; 3] = [EcnMode::Off, EcnMode::Offered, EcnMode::Needed];

/// `tcp_fastretrans_alert`: "CWR is to be held something *above* high_seq is ACKed for CWR bit
/// to reach receiver."
#[test]
fn a_reduction_ends_above_its_recovery_point() {
    let is_reducing = |snd_una| {
        let config = (crate::presets::find("linux").expect("a preset").config)();
        let mut connection = Connection::connect(&config, SeqNr(0));
        connection.ecn.reducing = true;
        connection.ecn.reductions.echo_recover = 5_001;
        connection.sender.snd_una = snd_una;
        connection.end_reduction_by_echo();
        connection.ecn.is_reducing()
    };
    assert_eq!([5_000, 5_001, 5_002, 9_001].map(is_reducing), [true, true, false, false]);
}

/// RFC 3168 §6.1.1: a SYN asks with ECE and CWR, a SYN/ACK agrees with ECE alone. Linux refuses a
/// SYN in an ECN-capable packet, unless its congestion control needs ECN.
#[test]
fn both_flags_ask_and_one_agrees() {
    let (syn, answer) = (Flags::SYN, Flags::SYN.with(Flags::ACK));
    let both = Flags::ECE.with(Flags::CWR);
    for (flags, arriving, expected) in [
        (syn.with(both), Ecn::NotEct, [false, true, true]),
        (syn.with(both), Ecn::Ect0, [false, false, true]),
        (syn.with(both), Ecn::Ce, [false, false, true]),
        (syn.with(Flags::ECE), Ecn::NotEct, [false; 3]),
        (syn.with(Flags::CWR), Ecn::NotEct, [false; 3]),
        (syn, Ecn::NotEct, [false; 3]),
        (answer.with(Flags::ECE), Ecn::NotEct, [false, true, true]),
        (answer.with(Flags::ECE), Ecn::Ect0, [false, true, true]),
        (answer.with(both), Ecn::NotEct, [false; 3]),
        (answer.with(Flags::CWR), Ecn::NotEct, [false; 3]),
        (answer, Ecn::NotEct, [false; 3]),
    ] {
        let enabled = MODES.map(|mode| {
            let mut state = EcnState { arriving, ..EcnState::new(mode) };
            state.negotiate(flags);
            state.is_enabled()
        });
        assert_eq!(enabled, expected, "{flags:?} {arriving:?}");
    }
}

/// SYNs, pure ACKs and retransmissions are ECN-capable only if the congestion control needs ECN.
#[test]
fn fields_of_packets_without_new_data() {
    let fields = |enabled| {
        MODES.map(|mode| {
            let state = EcnState { enabled, ..EcnState::new(mode) };
            (state.field_of_syn(), state.ecn_field())
        })
    };
    let none = (Ecn::NotEct, Ecn::NotEct);
    assert_eq!(fields(false), [none, none, (Ecn::Ect0, Ecn::NotEct)]);
    assert_eq!(fields(true), [none, none, (Ecn::Ect0, Ecn::Ect0)]);
    let asked = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
    let first = MODES.map(|mode| EcnState::new(mode).syn_flags(false));
    assert_eq!(first, [Flags::SYN, asked, asked]);
    assert_eq!(MODES.map(|mode| EcnState::new(mode).syn_flags(true)), [Flags::SYN; 3]);
}

/// CWR is sent once after a reduction, and not after its withdrawal.
#[test]
fn new_data_carry_cwr_once() {
    let cwr = |enabled, reduce: fn(&mut EcnState)| {
        let mut state = EcnState { enabled, ..EcnState::new(EcnMode::Offered) };
        reduce(&mut state);
        [(); 2].map(|()| state.on_new_data().0 == Flags::CWR)
    };
    assert_eq!(cwr(true, |_| ()), [false, false]);
    assert_eq!(cwr(true, EcnState::on_lost_syn), [true, false]);
    assert_eq!(cwr(true, |it| it.on_reduction(7)), [true, false]);
    assert_eq!(cwr(false, EcnState::on_lost_syn), [false, false]);
    let withdrawn = |it: &mut EcnState| {
        it.on_reduction(7);
        it.withdraw_reduction();
    };
    assert_eq!(cwr(true, withdrawn), [false, false]);
}

#[test]
fn the_timer_releases_new_data_once() {
    let mut state = EcnState::new(EcnMode::Offered);
    assert!(!state.waits_for_rto() && !state.on_rto());
    state.waits_for_rto = true;
    assert!(state.waits_for_rto() && state.on_rto() && !state.on_rto());
}

/// RFC 3168 §6.1.3: a mark is echoed until CWR arrives; a mark on the packet with CWR is a new one.
/// `on_data` returns true for the first mark, and for data that are not ECN-capable after data that
/// were.
#[test]
fn marks_are_echoed_until_cwr() {
    let (none, cwr) = (Flags::ACK, Flags::ACK.with(Flags::CWR));
    let mut state = EcnState { enabled: true, ..EcnState::new(EcnMode::Offered) };
    for (arriving, flags, unusual, echoes) in [
        (Ecn::NotEct, none, false, false),
        (Ecn::Ect0, none, false, false),
        (Ecn::NotEct, none, true, false),
        (Ecn::Ce, none, true, true),
        (Ecn::Ce, none, false, true),
        (Ecn::Ect0, none, false, true),
        (Ecn::NotEct, none, true, true),
        (Ecn::Ect0, cwr, false, false),
        (Ecn::Ce, cwr, true, true),
        (Ecn::Ce, cwr, true, true),
        (Ecn::NotEct, cwr, true, false),
    ] {
        state.arriving = arriving;
        assert!(!state.ce_state_changes(), "only a receiver that needs ECN reports changes");
        assert_eq!((state.on_data(flags), state.echoes), (unusual, echoes), "{arriving:?}");
        assert_eq!(state.echo_flags() == Flags::ECE, echoes);
    }
}

/// RFC 8257 §3.2: the echo follows the marks of ECN-capable data (`DCTCP.CE`).
#[test]
fn each_change_is_echoed_for_dctcp() {
    let mut state = EcnState { enabled: true, ..EcnState::new(EcnMode::Needed) };
    for (arriving, changes, unusual, echoes) in [
        (Ecn::NotEct, false, false, false),
        (Ecn::Ect0, false, false, false),
        (Ecn::Ce, true, false, true),
        (Ecn::Ce, false, false, true),
        (Ecn::NotEct, false, true, true),
        (Ecn::Ect0, true, false, false),
        (Ecn::Ect0, false, false, false),
        (Ecn::NotEct, false, true, false),
    ] {
        state.arriving = arriving;
        assert_eq!(state.ce_state_changes(), changes, "{arriving:?}");
        assert_eq!((state.on_data(Flags::ACK), state.echoes), (unusual, echoes), "{arriving:?}");
    }
}

fn with_ecn(name: &str) -> Config {
    Config { ecn: true, ..config(name) }
}

/// RFC 8257 §3.2: data before a change are acknowledged first, with the echo of their own marks.
#[test]
fn a_change_acknowledges_the_data_before_it() {
    for (marked, echo) in [(false, Flags(0)), (true, Flags::ECE)] {
        let dctcp = congestion_control::Config::dctcp(Default::default());
        let mut far = open(&Config { congestion_control: dctcp, ..config("sack") })[1].clone();
        far.ecn.marked = marked;
        far.ecn.echoes = marked;
        far.ecn.arriving = if marked { Ecn::Ect0 } else { Ecn::Ce };
        let data = Segment { payload_bytes: 500, flags: Flags::ACK, ..Segment::default() };
        let mut alone = far.clone();
        alone.process_ecn_field(at(50), &data);
        assert!(alone.reply.is_none() && alone.receiver.ack_now, "nothing waits");
        let mut empty = far.clone();
        empty.process_ecn_field(at(50), &Segment { payload_bytes: 0, ..data });
        assert!(!empty.receiver.ack_now, "no data");
        far.timers.delayed_ack = at(90);
        far.process_ecn_field(at(50), &data);
        let reply = far.reply.clone().expect("an acknowledgment");
        assert_eq!((reply.seq, reply.ack), (far.seq_at(1), far.rcv_nxt_seq()));
        assert_eq!((reply.flags, reply.window), (Flags::ACK.with(echo), far.window_field().0));
        assert_eq!(reply.payload_bytes, 0);
        far.ecn.enabled = false;
        far.receiver.ack_now = false;
        far.process_ecn_field(at(50), &data);
        assert!(!far.receiver.ack_now, "ECN is off");
    }
}

/// §6.1.2: ECN-Echo reduces the window once for each window of data: again only if the
/// acknowledgment lies above the end of the last reduction.
#[test]
fn an_echo_reduces_once_per_window() {
    let near = with_flight(&with_ecn("sack")).0[0].clone();
    assert!(near.uses_ecn() && near.ecn.echo_recover() == 0);
    let after = |flags, ack, change: fn(&mut Connection)| {
        let mut near = near.clone();
        near.ecn.reductions.recover = 3_001;
        change(&mut near);
        near.reduce_for_echo(at(80), flags, ack);
        assert_eq!(near.ecn.is_echo(), near.uses_ecn() && flags.contains(Flags::ECE));
        (near.cwnd() < 10_000, near.ecn.echo_recover())
    };
    let echo = Flags::ACK.with(Flags::ECE);
    assert_eq!(
        [3_000, 3_001, 3_002, 9_001].map(|ack| after(echo, ack, |_| ())),
        [(false, 0), (false, 0), (true, 10_001), (true, 10_001)]
    );
    assert_eq!(after(Flags::ACK, 9_001, |_| ()), (false, 0));
    assert_eq!(after(echo, 9_001, |it| it.ecn.enabled = false), (false, 0));
    let repairing = |it: &mut Connection| it.sender.timeout_recovery_end = 10_001;
    assert_eq!(after(echo, 9_001, repairing), (false, 0));
    let mut recovering = in_recovery(&with_ecn("sack"))[0].clone();
    assert_eq!(recovering.begin_reduction(at(80)), None);
    let mut calm = near.clone();
    assert_eq!(calm.begin_reduction(at(80)), Some(10_000));
}

/// §6.1.2: a window of one segment is not halved; the sender waits for its timer.
#[test]
fn at_a_window_of_one_segment_the_timer_decides() {
    for (name, cwnd, expected) in
        [("sack", 999, true), ("sack", 1_000, true), ("sack", 1_001, false), ("linux", 900, false)]
    {
        let mut near = with_flight(&with_ecn(name)).0[0].clone();
        near.sender.window.cwnd = cwnd;
        near.reduce_by_echo(at(80));
        assert_eq!(near.ecn.waits_for_rto(), expected, "{name} {cwnd}");
    }
}

/// Linux evaluates ECN-Echo last and reduces gradually; growth stops only while it reduces.
#[test]
fn linux_evaluates_the_echo_last() {
    let mut linux = with_flight(&with_ecn("linux")).0[0].clone();
    let mut sack = with_flight(&with_ecn("sack")).0[0].clone();
    assert!(linux.echo_comes_last() && !sack.echo_comes_last());
    for (near, stops) in [(&mut linux, false), (&mut sack, true)] {
        assert!(!near.echo_stops_growth());
        near.ecn.echoed = true;
        assert_eq!(near.echo_stops_growth(), stops);
        near.ecn.reducing = true;
        assert!(near.echo_stops_growth());
        near.ecn.echoed = false;
        assert!(near.echo_stops_growth());
        near.ecn.reducing = false;
    }
    let mut calm = linux.clone();
    calm.evaluate_echo_after_detection(at(80));
    assert!(!calm.ecn.is_reducing(), "no echo");
    linux.ecn.echoed = true;
    let cwnd = linux.cwnd();
    linux.evaluate_echo_after_detection(at(80));
    assert!(linux.ecn.is_reducing() && linux.cwnd() == cwnd, "reduced by later ACKs");
    linux.sender.snd_max += 1;
    let end = linux.ecn.echo_recover();
    linux.evaluate_echo_after_detection(at(80));
    assert_eq!(linux.ecn.echo_recover(), end, "one reduction at a time");
    sack.ecn.echoed = true;
    sack.evaluate_echo_after_detection(at(80));
    assert_eq!(sack.cwnd(), 10_000);
}

/// A loss in the window of data that ECN-Echo has reduced does not reduce it again.
#[test]
fn a_loss_after_an_echo_does_not_reduce_again() {
    let mut near = open(&with_ecn("sack"))[0].clone();
    near.ecn.reductions.echo_recover = 5_001;
    let reduced = |near: &mut Connection, una| {
        near.sender.snd_una = una;
        near.is_reduced_by_echo()
    };
    assert_eq!([5_000, 5_001, 5_002].map(|una| reduced(&mut near, una)), [true, true, false]);
    near.ecn.enabled = false;
    assert!(!reduced(&mut near, 5_001));
    let mut linux = open(&with_ecn("linux"))[0].clone();
    linux.ecn.reductions.echo_recover = 5_001;
    assert!(!reduced(&mut linux, 5_001));
    linux.ecn.reducing = true;
    assert!(reduced(&mut linux, 5_002));
}

/// §6.1.5: only new data within the peer's window are ECN-capable.
#[test]
fn new_data_are_ecn_capable() {
    let mut near = open(&with_ecn("sack"))[0].clone();
    near.write(at(40), 2_000);
    let fields: Vec<Ecn> = sent_by(&mut near, at(40)).iter().map(|it| it.ecn).collect();
    assert_eq!(fields, [Ecn::Ect0; 2]);
}

/// The mark of a packet does not count for the next one, which a fast path may handle.
#[test]
fn a_mark_belongs_to_one_packet() {
    for name in ["sack", "linux"] {
        let mut far = open(&with_ecn(name))[1].clone();
        far.ecn.arriving = Ecn::Ce;
        let data = Segment {
            seq: far.rcv_nxt_seq(),
            ack: far.seq_at(1),
            flags: Flags::ACK,
            payload_bytes: 1_000,
            ..Segment::default()
        };
        far.handle_plain(at(50), data.plain(), None);
        assert!(far.fast_paths.plain || far.ecn.arriving == Ecn::NotEct, "{name}");
        assert!(name == "sack" || !far.fast_paths.plain, "{name} has the detailed fast path");
    }
}
