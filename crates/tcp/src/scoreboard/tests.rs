use super::*;
use proptest::prelude::*;
use retx_units::{Duration, SeqNr};
use retx_wire::SackBlock;

const MS: fn(u64) -> Time = |ms| Time::ZERO + Duration::from_millis(ms);

/// Segments of 1000 bytes, sent at the start of time.
fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    (0..segments).for_each(|n| board.push(Time::ZERO, 1 + 1_000 * n, 1_000));
    board
}

fn acknowledge_in_time_order(board: &mut Scoreboard, snd_una: u64) -> RemovedInTimeOrder {
    let first = board.first_below(snd_una).expect("a whole segment");
    board.acknowledge_in_time_order(snd_una, first)
}

fn acknowledge(board: &mut Scoreboard, snd_una: u64, blocks: &[(u64, u64)]) -> Delivered {
    let mut delivered = Delivered::default();
    board.acknowledge(snd_una, blocks, &mut delivered);
    delivered
}

/// RFC 6675 §4, `NextSeg` rule 3: segments below the highest selectively acknowledged one, neither
/// arrived nor retransmitted.
#[test]
fn next_below_the_highest_arrival() {
    let mut board = board(5);
    assert_eq!(board.next_below_highest_sacked(1), None, "nothing has arrived");
    acknowledge(&mut board, 1, &[(2_001, 4_001)]);
    assert_eq!(board.next_below_highest_sacked(1_001), Some((1_001, 1_000)));
    board.mark_first_lost();
    board.mark_retransmitted(MS(1), 1);
    let mut again = board.clone();
    assert_eq!(again.next_below_highest_sacked(1), Some((1_001, 1_000)));
    board.mark_retransmitted(MS(1), 1_001);
    assert_eq!(board.next_below_highest_sacked(1), None, "4001 lies above");
    assert_eq!(board.last_unsacked(), Some((4_001, 1_000)));
    acknowledge(&mut board, 1, &[(4_001, 5_001)]);
    assert_eq!(board.last_unsacked(), Some((1_001, 1_000)));
    assert!(board.sacked.contains(2_001, 5_001) && !board.sacked.contains(2_000, 5_001));
    acknowledge(&mut board, 5_001, &[]);
    assert_eq!(board.last_unsacked(), None);
}

/// RFC 6675 §4, `SetPipe`: a segment retransmitted without being marked lost counts twice, until
/// it is marked.
#[test]
fn an_early_retransmission_counts_twice() {
    let mut board = board(5);
    board.mark_retransmitted(MS(1), 1);
    assert_eq!((board.pipe(5_000), board.marked_segments()), (6_000, 0));
    board.mark_lost(0);
    assert_eq!((board.pipe(5_000), board.marked_segments()), (4_000, 1));
    assert_eq!((board.previous_copy_bytes, board.losses), (0, 1));
}

/// A segment has arrived once a block covers all of it; no part of it counts before, neither as
/// arrived nor as the highest arrival (a sign of reordering).
#[test]
fn a_segment_arrives_with_a_block_that_covers_it() {
    for (part, whole, segments) in [
        ((1_501, 2_001), (1_001, 2_001), 1),
        ((1_001, 1_501), (1_001, 2_001), 1),
        ((1_501, 1_600), (1_001, 2_001), 1),
        ((1_001, 1_501), (1_001, 3_001), 2),
        ((501, 1_200), (1, 2_400), 2),
    ] {
        let mut board = board(5);
        let delivered = acknowledge(&mut board, 1, &[part]);
        assert_eq!((delivered.sacked, board.sacked_segments()), (0, 0), "{part:?}");
        let delivered = acknowledge(&mut board, 1, &[whole]);
        assert_eq!((delivered.sacked, delivered.reordered), (1_000 * segments, None), "{part:?}");
        assert_eq!(board.sacked_segments(), segments);
        assert_eq!(acknowledge(&mut board, 1, &[part, whole]).sacked, 0, "again: {part:?}");
    }
}

/// RFC 8985 §6.2, step 3: only an original below data acknowledged earlier shows reordering.
#[test]
fn an_acknowledged_original_below_a_block_was_overtaken() {
    let mut first = board(5);
    acknowledge(&mut first, 1, &[(2_001, 3_001)]);
    assert_eq!(acknowledge(&mut first, 1_001, &[]).reordered, Some(1));
    assert_eq!(acknowledge(&mut first, 5_001, &[]).reordered, Some(1_001));
    let mut second = board(5);
    acknowledge(&mut second, 1, &[(1_001, 2_001)]);
    second.mark_first_lost();
    second.mark_retransmitted(MS(1), 1);
    // The segment at 1 was retransmitted; those from 2001 on lie above the block.
    assert_eq!(acknowledge(&mut second, 4_001, &[]).reordered, None);
}

/// A retransmission that is lost again leaves no count behind when it is acknowledged.
#[test]
fn an_acknowledged_segment_that_was_lost_twice_is_forgotten() {
    let mut board = board(3);
    board.mark_first_lost();
    board.mark_retransmitted(MS(1), 1);
    board.mark_lost(0);
    assert_eq!((board.lost_bytes(), board.marked_segments()), (1_000, 1));
    let delivered = acknowledge(&mut board, 2_001, &[]);
    assert!(delivered.acked_retransmitted && board.has_advanced());
    assert_eq!((board.lost_bytes(), board.marked_segments(), board.segments()), (0, 0, 1));
    acknowledge(&mut board, 2_001, &[]);
    assert!(!board.has_advanced());
}

/// Segments that a timeout has marked lost are no longer counted as lost when they turn out to have
/// arrived, and make room for those behind them.
#[test]
fn acknowledged_segments_that_were_marked_lost_are_forgotten() {
    let mut board = board(4);
    board.mark_all_lost();
    assert_eq!((board.lost_bytes(), board.marked_segments()), (4_000, 4));
    let delivered = acknowledge(&mut board, 3_001, &[]);
    assert_eq!((delivered.bytes, delivered.acked_retransmitted), (3_000, false));
    assert_eq!((board.lost_bytes(), board.lost_segments, board.marked_segments()), (1_000, 1, 1));
    acknowledge(&mut board, 4_001, &[]);
    assert_eq!((board.lost_bytes(), board.pipe(0)), (0, 0));
}

/// Segments are marked, not octets: part of a segment does not count. A block may fill several
/// gaps.
#[test]
fn a_block_marks_whole_segments() {
    let mut board = board(5);
    assert!(board.mark_block(1_001, 2_001));
    assert!(!board.mark_block(1_001, 2_001), "again");
    assert!(!board.clone().mark_block(2_001, 2_500), "half of a segment");
    assert!(board.mark_block(3_001, 4_001));
    acknowledge(&mut board, 1, &[(1, 5_001)]);
    assert_eq!((board.sacked_bytes(), board.sacked_segments()), (5_000, 5));
    let mut blocks = SackBlocks::default();
    blocks.push(SackBlock { left: SeqNr(1), right: SeqNr(5_001) });
    board.note_sack(&blocks);
    assert_eq!(board.last_sack.as_deref(), Some(&blocks));
}

/// The fast paths need a scoreboard without arrivals beyond a gap, losses and copies.
#[test]
fn a_scoreboard_in_order_has_no_marks() {
    assert!(board(3).is_in_order());
    let marks = |lost_bytes, previous_copy_bytes, extra_copy_bytes, marked_segments| {
        let board = Scoreboard { lost_bytes, previous_copy_bytes, extra_copy_bytes, ..board(3) };
        Scoreboard { marked_segments, ..board }.is_in_order()
    };
    for bits in 1..16_u64 {
        let value = |bit: u64| (bits >> bit) & 1;
        assert!(!marks(value(0), value(1), value(2), value(3)), "{bits:b}");
    }
    let mut sacked = board(3);
    acknowledge(&mut sacked, 1, &[(1_001, 2_001)]);
    assert!(!sacked.is_in_order());
}

/// Nothing in flight may have been sent again or overtaken.
#[test]
fn a_scoreboard_in_order_of_time_has_single_transmissions() {
    assert!(board(3).is_in_order_of_time(1));
    assert!(Scoreboard { without_times: true, ..Scoreboard::default() }.is_in_order_of_time(1));
    let resent =
        |snd_una| Scoreboard { resent_end: 1_001, ..board(3) }.is_in_order_of_time(snd_una);
    assert_eq!([1_000, 1_001, 1_002].map(resent), [false, true, true]);
    let mut board = board(3);
    board.overtaken.push_back((Time::ZERO, 1));
    assert!(!board.is_in_order_of_time(1), "one was overtaken");
    board.overtaken.clear();
    board.resent.push_back((Time::ZERO, 1));
    assert!(!board.is_in_order_of_time(1), "one was sent again");
    let first = Some((1, Time::ZERO));
    assert_eq!([1_000, 1_001, 1_002].map(|end| board.first_below(end)), [None, first, first]);
    assert_eq!(Scoreboard::default().first_below(u64::MAX), None);
}

/// Karn's rule (RFC 6298 §3): no RTT sample if one of the segments was retransmitted. Bursts are in
/// flight until their last segment is acknowledged.
#[test]
fn the_paths_in_order_remove_segments_and_bursts() {
    let bursts = || {
        let mut board = Scoreboard::default();
        for n in 0..6 {
            board.push(MS(n), 1 + 1_000 * n, 1_000);
            if n % 2 == 0 {
                board.mark_burst_start();
            }
        }
        board
    };
    let mut first = bursts();
    let removed = first.acknowledge_in_order(2_001);
    assert_eq!((removed.bytes, removed.first_sent), (2_000, Some(MS(0))));
    assert_eq!((first.bursts_in_flight(), first.segments()), (2, 4));
    first.mark_retransmitted(MS(9), 3_001);
    let removed = first.acknowledge_in_order(5_001);
    assert_eq!((removed.bytes, removed.first_sent), (3_000, None));
    assert_eq!(first.bursts_in_flight(), 1);
    let mut second = bursts();
    acknowledge_in_time_order(&mut second, 2_001);
    let removed = acknowledge_in_time_order(&mut second, 4_001);
    assert_eq!((removed.bytes, removed.segments, removed.end), (2_000, 2, 4_001));
    assert_eq!((removed.first_sent, removed.last_sent), (MS(2), MS(3)));
    assert_eq!(second.bursts_in_flight(), 1);
}

/// Only a segment that is neither marked, retransmitted nor arrived is newly lost.
#[test]
fn the_first_segment_is_marked_once() {
    let mut board = board(3);
    assert!(board.mark_first_lost());
    assert!(!board.mark_first_lost(), "marked");
    board.mark_retransmitted(MS(1), 1);
    assert!(!board.mark_first_lost(), "retransmitted");
    let mut sacked = Scoreboard::default();
    sacked.push(Time::ZERO, 1, 1_000);
    acknowledge(&mut sacked, 1, &[(1, 1_001)]);
    assert!(!sacked.mark_first_lost(), "arrived");
}

/// Linux `tcp_timeout_mark_lost`: the first segment is lost in any case.
#[test]
fn a_timeout_marks_at_least_the_first_segment() {
    let mut board = board(3);
    board.mark_lost_at_timeout(|_| false);
    assert_eq!((board.lost_bytes(), board.next_to_retransmit()), (1_000, Some((1, 1_000))));
}

/// RFC 6675 §4, `IsLost`, with DupThresh 3 and an SMSS of 1000 bytes: three discontiguous blocks,
/// or more than 2000 bytes.
#[test]
fn three_blocks_or_more_than_two_segments_show_a_loss() {
    let lost_below = |length: u32, segments: &[u64]| {
        let mut board = Scoreboard::default();
        let start = |n| 1 + u64::from(length) * n;
        (0..9).for_each(|n| board.push(Time::ZERO, start(n), length));
        for &n in segments {
            board.mark_block(start(n), start(n + 1));
        }
        board.lost_below(3, 1_000)
    };
    assert_eq!(lost_below(100, &[2, 4]), 0);
    assert_eq!(lost_below(100, &[2, 4, 6]), 201);
    assert_eq!(lost_below(100, &[2, 4, 6, 8]), 401);
    assert_eq!(lost_below(1_000, &[3, 4]), 0, "2000 bytes");
    assert_eq!(lost_below(1_001, &[3, 4]), 3_004, "2002 bytes");
}

/// A split of a segment that is not marked leaves the count of marked segments unchanged, also
/// where its previous copy is in flight.
#[test]
fn a_split_counts_only_marked_parts() {
    let mut board = board(2);
    board.split(1, 400);
    assert_eq!((board.segments(), board.marked_segments()), (3, 0));
    board.mark_retransmitted(MS(1), 1_001);
    board.split(1_001, 400);
    assert_eq!((board.segments(), board.marked_segments()), (4, 0));
}

#[test]
fn marked_and_retransmitted_segments_are_found() {
    let mut board = board(5);
    assert_eq!((board.first_marked_lost(), board.is_first_retransmitted()), (None, false));
    board.mark_lost(2);
    assert_eq!(board.first_marked_lost(), Some(2_001));
    board.mark_retransmitted(MS(1), 2_001);
    board.mark_retransmitted(MS(1), 1_001);
    // The second segment was retransmitted without being marked lost.
    assert_eq!(board.first_marked_lost(), Some(2_001));
    let within = [(1, 5_001), (1_001, 3_001), (1_001, 3_000), (2_001, 5_001), (1, 1_001)];
    let within = within.map(|(left, right)| board.retransmitted_within(left, right));
    assert_eq!(within, [2, 2, 1, 1, 0]);
    acknowledge(&mut board, 1_001, &[]);
    assert!(board.is_first_retransmitted());
}

/// An original that is lost after an undo is another loss.
#[test]
fn the_loss_of_an_original_is_counted() {
    let mut board = Scoreboard { as_linux: true, ..board(3) };
    board.mark_first_lost();
    board.mark_retransmitted(MS(1), 1);
    board.undo();
    board.mark_lost_below(1_001);
    assert_eq!(board.losses, 2);
}

/// `tcp_check_reno_reordering`: reordering is `tp->packets_out + addend`, and addend is the number
/// of segments just acknowledged.
#[test]
fn reordering_without_sack_includes_what_was_acknowledged() {
    let mut board = board(5);
    (0..4).for_each(|_| _ = board.assume_arrival(1_000));
    acknowledge(&mut board, 2_001, &[]);
    board.remove_assumed_arrivals();
    assert_eq!((board.assumed_arrivals(), board.take_reordering()), (2, Some(5)));
}

/// Segment of a hundred bytes, sent at this time.
fn record(start: u64, ms: u64) -> Record {
    Record { start, sent: MS(ms), length: 100, ..Record::default() }
}

/// Karn's rule for the RTT: the first segment acknowledged cumulatively, if none of these was
/// retransmitted, otherwise the first one acknowledged selectively. Linux's congestion control
/// takes the last one (`ca_rtt_us`), and prefers those acknowledged selectively.
#[test]
fn the_segment_of_the_rtt_sample() {
    let times = |acked_retransmitted, acked: Option<u64>, sacked: Option<u64>| {
        let (acked, sacked) = (acked.map(MS), sacked.map(MS));
        let delivered = Delivered {
            acked_retransmitted,
            first_acked: acked,
            last_acked: acked,
            first_sacked: sacked,
            last_sacked: sacked,
            ..Delivered::default()
        };
        (delivered.rtt_sent(), delivered.ca_rtt_sent())
    };
    assert_eq!(times(false, Some(1), Some(2)), (Some(MS(1)), Some(MS(2))));
    assert_eq!(times(true, Some(1), Some(2)), (Some(MS(2)), Some(MS(2))));
    assert_eq!(times(false, Some(1), None), (Some(MS(1)), Some(MS(1))));
    assert_eq!(times(true, Some(1), None), (None, None));
    assert_eq!(times(false, None, None), (None, None));
}

/// Segments that were delivered one by one or together are counted alike.
#[test]
fn delivered_segments_add_up() {
    let mut delivered = Delivered::default();
    let first = record(501, 5);
    delivered.add_sacked(&SackedRun { first, last: first, count: 1 }, 0);
    delivered.add_acked(&record(101, 1));
    assert_eq!((delivered.segments, delivered.sacked), (2, 100));
    let before = delivered.bytes;
    delivered.add_originals(&record(201, 2), &record(401, 4), 3);
    assert_eq!((delivered.bytes, delivered.segments), (before + 300, 5));
    assert_eq!((delivered.first_acked, delivered.last_acked), (Some(MS(1)), Some(MS(4))));
    assert_eq!(delivered.lowest_original_end, Some(201));
}

proptest! {
    /// A block of many segments has the same effect as blocks of one segment each, in ascending
    /// order: on the scoreboard, and on the delivered data except for evidence of reordering, which
    /// refers to the data acknowledged before.
    #[test]
    fn a_long_block_is_many_short_ones(
        states in prop::collection::vec(0u8..6, 1..40),
        edges in (0usize..40, 0usize..40),
        as_linux: bool,
    ) {
        let mut board = Scoreboard { as_linux, ..Scoreboard::default() };
        for (number, state) in (0..).zip(&states) {
            board.push(MS(number), 1 + 100 * number, 100);
            if state % 2 == 0 {
                board.mark_burst_start();
            }
        }
        for (index, state) in states.iter().enumerate() {
            let start = 1 + 100 * index as u64;
            match state {
                1 => board.mark_lost(index),
                2 => board.mark_retransmitted(MS(100), start),
                3 => drop(board.mark_block(start, start + 100)),
                _ => {}
            }
        }
        let (mut short, mut at_once, mut one_by_one) =
            (board.clone(), Delivered::default(), Delivered::default());
        let left = edges.0.min(edges.1).min(states.len() - 1) as u64;
        let right = (edges.0.max(edges.1) + 1).min(states.len()) as u64;
        board.acknowledge(1, &[(1 + 100 * left, 1 + 100 * right)], &mut at_once);
        for number in left..right {
            let start = 1 + 100 * number;
            short.acknowledge(1, &[(start, start + 100)], &mut one_by_one);
        }
        (board.examined, short.examined) = (0, 0);
        prop_assert_eq!(format!("{board:?}"), format!("{short:?}"));
        let reordered = None;
        let [at_once, one_by_one] =
            [at_once, one_by_one].map(|it| format!("{:?}", Delivered { reordered, ..it }));
        prop_assert_eq!(at_once, one_by_one);
    }
}
