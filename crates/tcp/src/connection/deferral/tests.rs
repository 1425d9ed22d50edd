use super::*;
use crate::connection::parameters::SharedConfig;
use crate::connection::testing::{at, config, open, pass, sent_by};
use retx_units::SeqNr;

/// If a forced push is due within a burst, the burst's last segment carries PSH, as after
/// segmentation offload. The next push is due half of the window (1250 bytes) later.
#[test]
fn no_push_within_a_burst() {
    let mut config = (crate::presets::find("linux").expect("a preset").config)();
    config.mss = 1_000;
    let mut sender = Sender::new(&config, SeqNr(0));
    sender.max_snd_wnd = 2_500;
    sender.bursts.burst = Burst { bytes: 1, ..Burst::NONE };
    assert!(!sender.forced_push(Time::ZERO, 2_001));
    let later = Time::ZERO + MILLISECOND;
    assert!(!sender.forced_push(later, 3_001), "counted from 2001");
    assert!(sender.forced_push(later, 4_001), "the burst was that of an earlier instant");
}

/// A segment belongs to the burst of the same instant if it fits into the bytes left of this
/// burst; the last segment uses up the burst.
#[test]
fn a_burst_is_taken_segment_by_segment() {
    let (now, later) = (at(5), at(6));
    let of = |bytes| Burst { at: now, bytes, ..Burst::NONE };
    let mut burst = of(2_000);
    assert!(burst.is_open(now) && !burst.is_open(later) && !of(0).is_open(now));
    assert!(!burst.ends(now) && !burst.continues(now), "before its first segment");
    assert!(burst.take(now, 1_000) && burst.bytes == 1_000);
    assert!(burst.continues(now) && !burst.continues(later) && !burst.ends(now));
    assert!(burst.take(now, 1_000) && burst.bytes == 0);
    assert!(burst.ends(now) && !burst.ends(later));
    assert!(!burst.take(now, 1_000) && !burst.ends(now) && !burst.continues(now));
    let mut burst = of(999);
    assert!(!burst.take(now, 1_000) && burst.bytes == 999, "too small");
    assert!(!burst.take(later, 10) && burst.bytes == 999, "of an earlier instant");
    let end = |length| burst.short_end(now, length);
    assert_eq!([998, 999, 1_000].map(end), [None, Some(999), Some(999)]);
    assert_eq!((burst.short_end(later, 1_000), of(0).short_end(now, 9)), (None, None));
}

/// `tcp_nagle_check`: a short segment waits for an earlier short one, or in a cork.
#[test]
fn a_short_segment_waits_for_another() {
    let mut near = open(&config("linux"))[0].clone();
    near.sender.snd_una = 5_001;
    let mut holds = |nagle, short_end| {
        near.set_nagle(nagle);
        near.sender.bursts.short_end = short_end;
        near.holds_short()
    };
    assert_eq!(
        [5_000, 5_001, 5_002, 9_001].map(|end| holds(true, end)),
        [false, false, true, true]
    );
    assert!(!holds(false, 9_001));
    near.set_cork(true);
    assert!(near.holds_short(), "corked");
}

/// `tcp_tso_autosize`: the bytes of a millisecond at the pacing rate, here 2·cwnd/SRTT = 1 MB/s
/// (976 bytes), and 64 KiB halved for each 512 µs of the minimum RTT; at most 64 KiB, at least
/// two segments.
#[test]
fn a_short_path_has_long_bursts() {
    let mut near = open(&config("sack"))[0].clone();
    assert_eq!(near.srtt(), Some(Duration::from_millis(20)));
    for (us, segments) in
        [(1, 65), (511, 65), (512, 33), (1_535, 17), (2_047, 9), (2_048, 5), (16_384, 2)]
    {
        near.sender.least_rtt = Duration::from_micros(us);
        assert_eq!(near.tso_goal_bytes(), segments * 1_000, "{us} µs");
    }
}

/// `bbr_min_tso_segs`: below 1.2 Mbit/s the goal of BBR is a single segment, which then waits
/// for no second one. The first pacing rate is 2.89 windows of 10,000 bytes per RTT.
#[test]
fn a_slow_model_sends_single_segments() {
    let config = SharedConfig::from(&config("linux_bbr"));
    for (delay, waits) in [(10, true), (500, false)] {
        let [mut near, mut far] = [
            Connection::connect_as(&config, SeqNr(1_000)),
            Connection::listen_as(&config, SeqNr(2_000)),
        ];
        pass(at(0), &mut near, at(delay), &mut far);
        pass(at(delay), &mut far, at(2 * delay), &mut near);
        let now = at(4 * delay);
        near.write(at(2 * delay), 100_000);
        // The acknowledgment of the handshake goes first.
        assert_eq!(sent_by(&mut near, at(2 * delay)).len(), 11);
        // The first acknowledgment is due, the last departure was just now, and the window
        // permits one segment.
        near.pace(now, 1_000, true);
        (near.sender.window.cwnd, near.sender.bursts.burst) = (11_000, Burst::NONE);
        assert_eq!(near.defers_burst(now, 1_000), waits, "{delay} ms");
    }
}

/// New data that the windows permit: the congestion window in whole segments, and no more than
/// what is queued; the rest of a block is filled up.
#[test]
fn room_is_counted_in_segments() {
    let mut near = open(&config("sack"))[0].clone();
    let sender = &mut near.sender;
    (sender.snd_una, sender.snd_nxt, sender.snd_max) = (2_001, 4_001, 4_001);
    (sender.snd_wnd, sender.max_snd_wnd, sender.window.cwnd) = (7_500, 20_000, 6_999);
    sender.written = 24_001;
    let room = |near: &Connection, most| {
        let Room { congestion, offered, packet, last, .. } =
            near.room(near.congestion_room(1_000), most);
        (congestion, offered, packet, last)
    };
    // Blocks of 10,000 bytes, of which 4000 are sent: 6000 are left.
    assert_eq!(room(&near, 9_000), (4_000, 5_500, 6_000, false));
    near.sender.window.cwnd = 60_000;
    assert_eq!(room(&near, 9_000), (58_000, 5_500, 9_000, false));
    near.sender.written = 10_001;
    assert_eq!(room(&near, 3_000), (58_000, 5_500, 6_000, true));
    near.sender.written = 10_002;
    assert_eq!(room(&near, 3_000), (58_000, 5_500, 6_000, false));
}
