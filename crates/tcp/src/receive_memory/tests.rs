use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn at(ms: u64) -> Time {
    Time::ZERO + MS(ms)
}

/// State after everything up to `end` has arrived and was read, in segments of `rcv_mss` bytes.
fn place(end: u64, rcv_wnd: u64, rcv_mss: u32) -> ReceiverState {
    ReceiverState { rcv_nxt: end, read: end, highest: end, rcv_wnd, rcv_mss }
}

fn opened() -> ReceiveMemory {
    let mut memory = ReceiveMemory::growing(131_072, 32 << 20, 1460);
    memory.on_open(at(0), true, memory.first_window(true));
    memory
}

/// Plays full segments that arrive and are read one after another; returns the advertised
/// windows.
fn windows<const N: usize>(memory: &mut ReceiveMemory, first: u64, unit: u64) -> [u64; N] {
    let mut rcv_wnd = first;
    std::array::from_fn(|n| {
        let position = place(1 + 1448 * (n as u64 + 1), rcv_wnd, 1448);
        if n == 0 {
            memory.on_larger_segment(1448, &position);
        }
        memory.grow(1448, 1448, &position);
        let (window, _) = memory.window(1448, unit, &position);
        rcv_wnd = window.max((rcv_wnd - 1448).next_multiple_of(unit));
        rcv_wnd
    })
}

/// A buffer smaller than a segment, after one segment was read: a window of zero would last for
/// ever, since only data increase it.
#[test]
fn an_empty_buffer_offers_something() {
    let mut memory = ReceiveMemory::growing(3_226, 32 << 20, 1_769);
    memory.on_open(at(0), true, memory.first_window(true));
    memory.on_larger_segment(1_613, &place(1_614, 1_613, 1_613));
    let at = ReceiverState { rcv_wnd: 0, ..place(1_614, 0, 1_613) };
    memory.buffer = 15_150;
    memory.clamp = memory.window_of(memory.buffer);
    assert_eq!(memory.window(0, 1, &at).0, 1_184);
    assert_eq!(memory.window(15_000, 1, &at).0, 0);
}

/// As captures show it with the default `tcp_rmem` of 4096 131072 33554432: a full packet takes
/// 2304 bytes, hence 160/256 of the buffer minus one packet.
#[test]
fn starts_as_linux_does() {
    let memory = ReceiveMemory::growing(131_072, 32 << 20, 1460);
    assert_eq!((memory.first_window(false), memory.window_scale()), (64_240, 10));
    assert_eq!(memory.first_window(true), 65_160, "who answers knows of timestamps");
    assert_eq!(ReceiveMemory::growing(131_072, 6 << 20, 1460).window_scale(), 7);
    let mut memory = opened();
    assert_eq!((memory.window, memory.space), (64_088, 14_480));
    let windows = windows(&mut memory, 64_512, 1024);
    assert_eq!(windows, [67_584, 70_656, 73_728, 76_800, 79_872, 80_896, 80_896]);
}

/// `SO_RCVBUF` of 16 kB: the window is 11 segments of the SYN's MSS at first, then 13 full
/// segments.
#[test]
fn a_fixed_buffer_is_doubled() {
    let mut memory = ReceiveMemory::fixed(16_384, 1460);
    assert_eq!((memory.first_window(false), memory.window_scale()), (16_060, 0));
    memory.on_open(at(0), true, 16_060);
    assert_eq!(windows(&mut memory, 16_060, 1), [18_824, 18_824, 18_824]);
    assert!(!memory.grow(1448, 1448, &place(1, 18_824, 1448)), "no further");
}

/// Segments of less than 536 bytes do not change the ratio; a segment whose payload is small
/// for its memory increases only a small window.
#[test]
fn small_segments_leave_the_ratio_at_half() {
    let mut memory = opened();
    let position = place(525, 64_512, 524);
    memory.clamp = 80_000;
    memory.buffer = 200_000;
    assert!(memory.grow(524, 524, &position));
    assert_eq!(memory.window, 64_088 + 2 * 524);
    assert!(memory.grow(200, 524, &position));
    assert_eq!(memory.window, 64_088 + 4 * 524);
    assert!(!memory.grow(127, 524, &position), "too small to count");
    memory.most = Some(100_000);
    assert!(!memory.grow(200, 524, &position), "the window is too large for such");
}

/// With less than half of the window free, quick ACKs end; with less than a segment free, the
/// window closes.
#[test]
fn what_waits_takes_room() {
    let mut memory = ReceiveMemory::fixed(16_384, 1460);
    memory.on_open(at(0), true, 16_060);
    windows::<1>(&mut memory, 16_060, 1);
    let position = place(1, 18_824, 1448);
    assert_eq!(memory.window(5 * 1448, 1, &position), (9 * 1448, false));
    assert_eq!(memory.window(8 * 1448, 1, &position), (6 * 1448, true));
    assert_eq!(memory.window(14 * 1448, 1, &position), (0, true));
}

/// RTT 40 ms; 28,960 bytes are read after 14,480 in the previous round trip: 2·28960·(1 + 2·1) =
/// 173,760, at a ratio of 160/256. The window follows by two segments for each segment.
#[test]
fn grows_with_what_is_read_in_a_round_trip() {
    let mut memory = opened();
    windows::<7>(&mut memory, 64_512, 1024);
    memory.on_echo(MS(40), &place(1, 80_896, 1448));
    for n in 1..=20 {
        let position = place(1 + n * 1448, 80_896, 1448);
        memory.on_data_in_order(at(40), &position);
        if n < 20 {
            memory.now = at(39);
        }
        memory.on_read(1448, &position);
    }
    assert_eq!((memory.space, memory.buffer), (28_960, 173_760 * 256 / 160));
    let before = memory.window;
    assert!(memory.grow(1448, 1448, &place(28_961, 80_896, 1448)));
    assert_eq!(memory.window, before + 2 * 1448);
}

/// `tcp_recvmsg_locked` calls `tcp_rcv_space_adjust` after each packet. The first packet of a read
/// ends the round; the others still wait then, and count in the next round.
#[test]
fn a_read_of_several_packets_ends_the_round_with_the_first() {
    for (bytes, space, begun) in [(1_448, 20_272, 20_273), (2_896, 17_376, 18_825)] {
        let mut memory = ReceiveMemory::growing(131_072, 6_291_456, 1460);
        memory.on_open(at(0), true, 64_240);
        memory.on_echo(MS(40), &place(1, 64_512, 1448));
        memory.on_larger_segment(1448, &place(1, 64_512, 1448));
        memory.on_data_in_order(at(50), &place(20_273, 64_512, 1448));
        memory.on_read(bytes, &place(20_273, 64_512, 1448));
        assert_eq!((memory.space, memory.begun), (space, (begun, at(50))), "{bytes}");
    }
}

/// `tcp_data_queue_ofo`: a segment beyond a gap lets the buffer grow for the out-of-order data, and
/// for twice the bytes read in a round trip. A fixed buffer does not grow.
#[test]
fn a_segment_beyond_a_gap_lets_the_buffer_grow() {
    let mut growing = opened();
    let mut fixed = ReceiveMemory::fixed(65_536, 1460);
    for memory in [&mut growing, &mut fixed] {
        memory.space = 14_480;
        let before = memory.buffer;
        let beyond = |span: u64| ReceiverState { highest: 1 + span, ..place(1, 64_512, 1448) };
        let wanted = |memory: &ReceiveMemory, span: u64| (28_960 + span) * 256 / memory.ratio;
        memory.on_gap(&beyond(1_000));
        assert_eq!(memory.buffer, before, "large enough");
        memory.on_gap(&beyond(200_000));
        let expected = if memory.most.is_some() { wanted(memory, 200_000) } else { before };
        assert_eq!(memory.buffer, expected);
    }
}

#[test]
fn ends_at_the_largest_buffer_or_where_it_is_fixed() {
    let mut growing = ReceiveMemory::growing(131_072, 200_000, 1460);
    let mut fixed = ReceiveMemory::fixed(65_536, 1460);
    for memory in [&mut growing, &mut fixed] {
        memory.on_open(at(0), true, 64_240);
        memory.on_echo(MS(40), &place(1, 64_512, 1448));
        memory.on_data_in_order(at(50), &place(900_001, 64_512, 1448));
        memory.on_read(1448, &place(900_001, 64_512, 1448));
    }
    assert_eq!((growing.buffer, growing.clamp), (200_000, 100_000));
    assert_eq!((fixed.buffer, fixed.space), (131_072, 900_000));
}

/// Without timestamps the RTT is the minimum of a window's times, with timestamps a moving mean of
/// echoes. `rcv_rtt_est.rtt_us` is eight times the RTT.
#[test]
fn the_rtt_comes_from_echoes_or_from_windows() {
    let mut memory = opened();
    let place = |end| place(end, 64_088, 1448);
    memory.on_data_in_order(at(100), &place(1));
    assert_eq!(memory.rtt(), None);
    memory.on_data_in_order(at(150), &place(64_089));
    assert_eq!((memory.rtt8, memory.rtt()), (8 * 50_000, Some(MS(50))));
    memory.on_data_in_order(at(250), &place(128_177));
    assert_eq!(memory.rtt8, 8 * 50_000, "a longer one does not count");
    memory.on_echo(MS(90), &place(128_177));
    assert_eq!((memory.rtt8, memory.rtt()), (7 * 50_000 + 90_000, Some(MS(55))));
    memory.on_echo(MS(0), &place(128_177));
    assert_eq!(memory.rtt8, 7 * 50_000 + 90_000, "less than a tick");
    memory.sample(MS(20), false);
    assert_eq!(memory.rtt(), Some(MS(20)), "a shorter one replaces the mean");
}

/// `__tcp_select_window` without window scaling: an advertised window within one MSS of the free
/// space is kept. If the MSS is the whole window, the advertised window is raised once the free
/// space exceeds it by more than half of the window (1000 bytes here).
#[test]
fn an_offer_close_to_the_free_space_is_kept() {
    let mut memory = ReceiveMemory::fixed(16_384, 1_460);
    (memory.clamp, memory.window) = (1_000, 1_000);
    let offer = |rcv_wnd, rcv_mss| memory.window(0, 1, &place(1, rcv_wnd, rcv_mss)).0;
    // The MSS of 1448 bytes is limited to the whole window, 1000 bytes.
    assert_eq!([499, 500].map(|rcv_wnd| offer(rcv_wnd, 1_448)), [1_000, 500]);
    // With a smaller MSS, whole segments are advertised, or the advertised window is kept.
    assert_eq!([400, 401, 499].map(|rcv_wnd| offer(rcv_wnd, 600)), [600, 401, 499]);
    assert_eq!([1_000, 1_001].map(|rcv_wnd| offer(rcv_wnd, 600)), [1_000, 600]);
}

/// `__tcp_grow_window`: packets of 524 bytes and of 200 bytes take 1280 bytes of memory, which give
/// a window of 640 at the ratio 1/2. The smallest n ≥ 1 with 640/2ⁿ ≤ payload is 1 for 524 bytes
/// (320) and 2 for 200 bytes (160). The window may then be at most 1/2ⁿ of that of the largest
/// buffer, which is 800,000 bytes here.
#[test]
fn the_window_up_to_which_costly_segments_count() {
    let step = |payload: u64, window: u64| {
        let mut memory = opened();
        (memory.most, memory.window) = (Some(1_600_000), window);
        let packet = memory.window_of(memory::packet_memory(payload + 52));
        assert_eq!(packet, 640);
        memory.step_of_costly_segment(packet, payload, &place(1, window, 700))
    };
    assert_eq!([400_000, 400_001].map(|window| step(524, window)), [1_400, 0]);
    assert_eq!([200_000, 200_001].map(|window| step(200, window)), [1_400, 0]);
    assert_eq!([step(320, 400_000), step(319, 400_000)], [1_400, 0]);
}

/// `__tcp_select_window`: quick ACKs end if less than half of the window is free; the window closes
/// if, in addition, less than a sixteenth of it or less than a segment is free. The buffer has 2000
/// bytes here, and a byte takes a byte of memory.
#[test]
fn limits_of_the_free_space() {
    let mut memory = ReceiveMemory::fixed(1_000, 1_460);
    (memory.buffer, memory.clamp, memory.window) = (2_000, 2_000, 2_000);
    (memory.ratio, memory.largest) = (256, (1, 1));
    let offer = |free: u64, rcv_mss| memory.window(2_000 - free, 1, &place(1, free, rcv_mss));
    assert_eq!([1_000, 999].map(|free| offer(free, 100)), [(1_000, false), (999, true)]);
    assert_eq!([125, 124].map(|free| offer(free, 100)), [(125, true), (0, true)]);
    assert_eq!([150, 149].map(|free| offer(free, 150)), [(150, true), (0, true)]);
}

/// An MSS that the timestamps option fills leaves a byte of payload.
#[test]
fn timestamps_leave_at_least_a_byte() {
    let first = |mss| ReceiveMemory::fixed(10_000, mss).first_window(true);
    // Payloads of 1, 1 and 3 bytes; the window is 10,000 bytes.
    assert_eq!([12, 13, 15].map(first), [10_000, 10_000, 9_999]);
}

/// `tcp_init_buffer_space`: one segment is reserved only if the window holds more than two.
#[test]
fn a_small_window_is_not_reduced() {
    let clamp = |bytes| {
        let mut memory = ReceiveMemory::fixed(bytes, 1_460);
        memory.on_open(at(0), false, 65_535);
        memory.clamp
    };
    // A fixed buffer is doubled, and half of it is window.
    assert_eq!([2_190, 2_920, 3_000, 4_381].map(clamp), [2_190, 2_920, 2_920, 2_921]);
}

/// The advertised window is rounded up to the unit of the field if windows are scaled
/// (`__tcp_select_window`).
#[test]
fn an_offer_is_rounded_up_to_its_unit() {
    let mut memory = opened();
    let mut offer = |window| {
        memory.window = window;
        assert_eq!(memory.largest_window(), window);
        memory.window(0, 1_024, &place(1, 0, 1_448)).0
    };
    assert_eq!([10_240, 10_241, 11_263].map(&mut offer), [10_240, 11_264, 11_264]);
}

/// `tcp_set_window_clamp` does nothing if the clamp is unchanged; a larger clamp raises the window
/// to the one advertised, a smaller clamp limits it. A full packet permits 20,480 bytes of window
/// here.
#[test]
fn a_new_ratio_moves_the_window_with_the_clamp() {
    let window = |clamp, window| {
        let mut memory = ReceiveMemory::fixed(16_384, 1_460);
        memory.on_open(at(0), true, 16_060);
        (memory.clamp, memory.window) = (clamp, window);
        memory.on_larger_segment(1_448, &place(1, 15_000, 1_448));
        assert_eq!(memory.clamp, 20_480);
        memory.window
    };
    assert_eq!(window(20_480, 10_000), 10_000);
    assert_eq!(window(20_479, 10_000), 15_000);
    assert_eq!(window(30_000, 25_000), 20_480);
}

/// `tcp_grow_window`: a segment whose payload is at least its memory times the ratio increases the
/// window by two MSS. Packets of 1252 bytes take 2304 bytes of memory, which give a window of 1152.
#[test]
fn a_segment_that_is_cheap_increases_the_window_by_two_mss() {
    let mut memory = opened();
    (memory.buffer, memory.clamp) = (200_000, 80_000);
    assert!(memory.grow(1_200, 0, &place(1, 64_088, 1_448)));
    assert_eq!(memory.window, 64_088 + 2 * 1_448);
    // `tcp_event_data_recv`: a segment of 128 bytes increases the window, a smaller one does not.
    assert!(memory.grow(128, 0, &place(1, 64_088, 1_448)));
    assert!(!memory.grow(127, 0, &place(1, 64_088, 1_448)));
}

/// The memory of a packet includes its headers: with 150 bytes of payload the packet has 202 bytes,
/// which take 1280 bytes of memory, so n = 3 in `__tcp_grow_window`: the window may be at most an
/// eighth of that of the largest buffer, 800,000 bytes.
#[test]
fn a_costly_segment_is_judged_with_its_headers() {
    let grows = |window| {
        let mut memory = opened();
        (memory.most, memory.buffer) = (Some(1_600_000), 1_000_000);
        (memory.clamp, memory.window) = (300_000, window);
        memory.grow(150, 0, &place(1, window, 1_448))
    };
    assert_eq!([100_000, 100_001].map(grows), [true, false]);
}

/// `__tcp_select_window` closes a window of less than a segment. The estimated size of a segment
/// may also shrink, which changes a window that is known.
#[test]
fn a_known_window_is_that_of_the_present_estimate() {
    let mut memory = ReceiveMemory::fixed(4_096, 1_460);
    memory.on_open(at(0), true, memory.first_window(true));
    let mut has_reopened = false;
    for waiting in (0..memory.buffer).step_by(97) {
        let [full, short] = [1_448, 600].map(|rcv_mss| {
            let place = place(1 + waiting, 0, rcv_mss);
            let window = memory.window(waiting, 128, &place);
            assert_eq!(memory.known_window(waiting, 128, &place), window, "{waiting} {rcv_mss}");
            window
        });
        has_reopened |= full.0 == 0 && short.0 > 0;
    }
    assert!(has_reopened);
}
