use super::*;
use crate::Config;
use crate::connection::testing::{at, config, open, pass, sent_by};
use crate::connection::{State, Transmit};
use retx_units::SeqNr;

/// `tcp_cwnd_validate`: the send buffer is the limit if all written data have been sent
/// (`tcp_write_queue_empty`), a write waits (`SOCK_NOSPACE`), the congestion window is not the
/// limit, and the connection is open (`TCPF_ESTABLISHED | TCPF_CLOSE_WAIT`).
#[test]
fn a_waiting_write_limits_once_everything_is_sent() {
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    let limited_ms = |state, waits, right| {
        let config = (crate::presets::find("linux").expect("a preset").config)();
        let mut connection = Connection::connect(&config, SeqNr(0));
        let mut memory = SendMemory::growing(16_384, 4 << 20);
        memory.write_blocked = waits;
        connection.sender.bursts.memory = Some(memory);
        connection.sender.written = 5_001;
        connection.state = state;
        connection.note_idle_window(at(1), right);
        connection.send_buffer_limited(at(4)).as_nanos() / 1_000_000
    };
    assert_eq!([5_000, 5_001].map(|right| limited_ms(State::Established, true, right)), [0, 3]);
    assert_eq!([5_000, 5_001].map(|right| limited_ms(State::CloseWait, true, right)), [0, 3]);
    assert_eq!(limited_ms(State::FinWait1, true, 5_001), 0);
    assert_eq!(limited_ms(State::Established, false, 5_001), 0);
}

/// Queue with segments of 1000 bytes, blocks of 3000 and bursts of 2000, none of them sent.
fn queue(unsent: u64, room: u64) -> WriteQueue {
    WriteQueue {
        written: 1 + unsent,
        unsent,
        bytes: unsent,
        bursts: 0,
        room,
        cwnd_room: room,
        leaves_room: false,
        tail: 1,
        pushed: 1,
        holds_short: false,
        nagle: true,
        block: 3_000,
        burst: 2_000,
        smss: 1_000,
        half_window: 50_000,
    }
}

/// `tcp_push` sends all whole segments, and a short rest unless Nagle's algorithm holds it
/// back.
#[test]
fn a_push_sends_whole_segments_and_one_short_end() {
    for (unsent, room, holds_short, sent, bursts, holds_after) in [
        (2_000, 9_000, false, 2_000, 1, false),
        (2_500, 9_000, false, 2_500, 2, true),
        (2_500, 2_500, false, 2_500, 2, true),
        (2_500, 2_499, false, 2_000, 1, false),
        (2_500, 1_999, false, 1_000, 1, false),
        (2_500, 9_000, true, 2_000, 1, true),
        (4_000, 9_000, true, 4_000, 2, true),
        (500, 9_000, true, 0, 0, true),
    ] {
        let mut queue = WriteQueue { holds_short, ..queue(unsent, room) };
        queue.push();
        let found = (unsent - queue.unsent, queue.bursts, queue.holds_short);
        assert_eq!(found, (sent, bursts, holds_after), "{unsent} {room}");
        assert_eq!((queue.room, queue.pushed), (room - sent, queue.written));
    }
    let mut queue = WriteQueue { nagle: false, ..queue(2_500, 9_000) };
    queue.push();
    assert!(!queue.holds_short, "without Nagle's algorithm nothing is held back");
}

/// The buffer may grow for a write that is about to wait if the first burst of its push leaves room
/// for a segment in the congestion window, whatever follows.
#[test]
fn the_first_burst_of_a_push_decides_on_growth() {
    for (unsent, cwnd_room, expected) in [
        (2_000, 2_999, false),
        (2_000, 3_000, true),
        (4_000, 4_000, true),
        (1_000, 1_999, false),
        (1_000, 2_000, true),
        (0, 9_000, false),
    ] {
        let mut queue = WriteQueue { cwnd_room, ..queue(unsent, 9_000) };
        queue.push();
        assert_eq!(queue.leaves_room, expected, "{unsent} {cwnd_room}");
    }
}

/// An acknowledgment that permits one burst, of two segments, fills the congestion window; the
/// first of two bursts does not (`tcp_event_new_data_sent`). Without TSO, each segment is a burst.
#[test]
fn the_first_burst_after_an_acknowledgment_decides_on_growth() {
    let config = (crate::presets::find("linux").expect("a preset").config)();
    let grows = |tso, segments| {
        let mut near = open(&Config { tso, ..config.clone() })[0].clone();
        near.sender.snd_wnd = 1 << 20;
        let smss = near.segment_size();
        near.sender.written = near.sender.snd_nxt + 100 * smss;
        near.sender.window.cwnd = near.sender.flight_size() + segments * smss;
        near.lets_send_buffer_grow(Time::ZERO)
    };
    assert_eq!([2, 4].map(|segments| grows(true, segments)), [false, true]);
    assert_eq!([1, 2].map(|segments| grows(false, segments)), [false, true]);
}

/// Each waiting block takes the memory overhead of a packet, and so does each burst in flight.
#[test]
fn waiting_blocks_and_bursts_take_memory() {
    let taken = |unsent| WriteQueue { bursts: 2, ..queue(unsent, 0) }.taken();
    let packets = |count| count * memory::SMALLEST_PACKET;
    assert_eq!(taken(0), packets(2));
    assert_eq!(taken(3_000), 3_000 + packets(3));
    assert_eq!(taken(3_001), 3_001 + packets(4));
    let free = [(0, 1), (1_000, 1), (3_000, 1), (2_000, 500)]
        .map(|(unsent, tail)| WriteQueue { tail, ..queue(unsent, 0) }.room_of_tail());
    assert_eq!(free, [0, 2_000, 0, 1_499]);
}

/// While the write goes on, data are pushed once more than half of the largest window has been
/// written since the last push (`forced_push`). Otherwise one burst is sent of a block that is
/// at the head of the queue (`tcp_push_one`).
#[test]
fn a_long_write_is_sent_block_by_block() {
    let memory = SendMemory::fixed(1 << 20);
    let filled = |bytes, room, half_window| {
        let mut queue = WriteQueue { half_window, ..queue(0, room) };
        assert_eq!(queue.fill(bytes, &memory), bytes);
        (queue.unsent, queue.pushed, queue.bursts)
    };
    // The write fits into one block and is pushed at its end, in two bursts.
    assert_eq!(filled(3_000, 90_000, 50_000), (0, 3_001, 2));
    // Each burst of 2000 bytes leaves room in the block for as many more: three bursts.
    assert_eq!(filled(6_000, 90_000, 50_000), (0, 6_001, 3));
    // One byte more than a block: after a burst of the first block, the rest is one burst.
    assert_eq!(filled(3_001, 90_000, 50_000), (0, 3_001 + 1, 1 + 1));
    // The first block alone exceeds half of the peer's window, so it is pushed as a whole.
    assert_eq!(filled(6_000, 90_000, 2_999), (0, 6_001, 4));
    // A burst of 2000 bytes leaves room for 2000 more in the block, so that the block is full
    // again at 5001: 5000 bytes after the last push. This is more than half of the peer's
    // window in the first case, and just half in the second.
    assert_eq!(filled(6_000, 90_000, 4_999), (0, 6_001, 4));
    assert_eq!(filled(6_000, 90_000, 5_000), (0, 6_001, 3));
    // Without room nothing is sent, however much is pushed.
    assert_eq!(filled(6_000, 0, 2_999), (6_000, 6_001, 0));
}

#[test]
fn a_full_buffer_ends_a_write() {
    let memory = SendMemory::fixed(1);
    let mut queue = queue(3_000, 0);
    assert_eq!(queue.fill(10, &SendMemory::fixed(1 << 20)), 10, "there is memory");
    let mut full = WriteQueue { unsent: 3_000, ..self::queue(3_000, 0) };
    let expected = if memory.is_full(full.taken()) { 0 } else { 10 };
    assert_eq!(full.fill(10, &memory), expected);
}

/// Room for new data: the narrower of both windows.
#[test]
fn both_windows_bound_new_data() {
    let mut sender = Connection::connect(&config("sack"), SeqNr(0)).sender;
    (sender.snd_una, sender.snd_nxt, sender.snd_max) = (2_001, 4_001, 4_001);
    let mut usable = |snd_wnd, cwnd| {
        (sender.snd_wnd, sender.window.cwnd) = (snd_wnd, cwnd);
        sender.usable_window()
    };
    assert_eq!((usable(7_500, 9_000), usable(7_500, 5_000)), (5_500, 3_000));
    assert_eq!((usable(1_000, 9_000), usable(9_000, 1_000)), (0, 0));
}

/// No data are accepted after the FIN, nor in states in which this end may not send.
#[test]
fn a_closed_direction_takes_no_data() {
    let taken = |state, fin_queued| {
        let mut near = open(&config("sack"))[0].clone();
        near.state = state;
        near.sender.fin_queued = fin_queued;
        near.recompute_fast_paths();
        near.write(Time::ZERO, 10)
    };
    assert_eq!((taken(State::Established, false), taken(State::Established, true)), (10, 0));
    assert_eq!([State::Closed, State::TimeWait].map(|state| taken(state, false)), [0, 0]);
    assert_eq!([State::CloseWait, State::SynSent].map(|state| taken(state, false)), [10, 10]);
}

/// `__tcp_ack_snd_check`: Linux acknowledges a request before the application answers it or closes
/// the connection. Data that were waiting for the acknowledged window carry the acknowledgment.
#[test]
fn a_due_acknowledgment_goes_before_the_answer() {
    let lengths = |preset: &str, acts: &dyn Fn(&mut Connection)| {
        let [mut near, mut far] = open(&config(preset));
        near.write(at(40), 2_000);
        pass(at(40), &mut near, at(50), &mut far);
        far.read(u64::MAX);
        acts(&mut far);
        let lengths = |sent: Vec<Transmit>| {
            sent.iter().map(|it| it.segment.payload_bytes).collect::<Vec<_>>()
        };
        (lengths(sent_by(&mut far, at(50))), far.state())
    };
    let answers = |far: &mut Connection| assert_eq!(far.write(at(50), 900), 900);
    assert_eq!(lengths("linux", &answers), (vec![0, 900], State::Established));
    assert_eq!(lengths("sack", &answers), (vec![900], State::Established));
    let closes = |far: &mut Connection| far.close();
    assert_eq!(lengths("linux", &closes), (vec![0, 0], State::FinWait1));
    assert_eq!(lengths("sack", &closes), (vec![0], State::FinWait1));
    let waited = |far: &mut Connection| {
        far.receiver.ack_now = false;
        far.write(at(50), 900);
        far.receiver.ack_now = true;
        far.write(at(50), 900);
    };
    assert_eq!(lengths("linux", &waited), (vec![988, 812], State::Established));
}
