//! Silences of a sender: the flag PSH shows that the application had no more data.

use crate::script::{SEGMENT, Script};

const ACK: u8 = 16;
const PSH: u8 = 8;
const FIN: u8 = 1;

/// Ten segments, the last one with these flags, and a segment 500 ms after their acknowledgment.
fn silence(flags: u8) -> retx_diagnose::answer::Flow {
    let mut script = Script::open(false);
    (0..9).for_each(|number| script.data(40, number));
    script.packet(40, true, (1 + 9 * SEGMENT, 1), (SEGMENT, flags));
    script.ack(80, 10);
    script.data(580, 10);
    script.ack(620, 11);
    script.data(620, 11);
    script.ack(660, 12);
    script.flow()
}

#[test]
fn only_a_segment_with_psh_ends_the_data_of_an_application() {
    let of = silence(ACK | PSH).limited_by;
    assert!(of.application > 0.49, "{of:?}");
    // The sender had more data, so something else has kept them back.
    let of = silence(ACK).limited_by;
    assert!(of.application < 0.1 && of.slow_start > 0.49, "{of:?}");
}

/// Nothing but a FIN follows the last data, although they lack PSH. A slow link takes 40 ms for
/// each segment; the last one arrives 20 ms before its acknowledgment.
#[test]
fn the_application_limits_a_flow_after_its_last_data() {
    let mut script = Script::open(false);
    (0..10).for_each(|number| script.data(40, number));
    (1..=10).for_each(|number| script.ack(40 + 40 * number, number as u32));
    script.packet(440, true, (1 + 10 * SEGMENT, 1), (0, ACK | FIN));
    let flow = script.flow();
    assert!((flow.limited_by.application - 0.38).abs() < 1e-3, "{:?}", flow.limited_by);
}

/// A timer retransmits segment 0, and its acknowledgment releases the other three. The next
/// acknowledgment, 40 ms before that of everything, makes room for the partial segment.
#[test]
fn a_partial_segment_waits_for_the_end_of_a_recovery_from_a_timeout() {
    let mut script = Script::open(false);
    (0..4).for_each(|number| script.data(40, number));
    script.data(1_040, 0);
    script.ack(1_080, 1);
    (1..4).for_each(|number| script.data(1_080, number));
    script.ack(1_120, 2);
    script.ack(1_160, 4);
    script.packet(1_160, true, (4_001, 1), (500, 24));
    script.packet(1_200, false, (1, 4_501), (0, 16));
    let of = script.flow().limited_by;
    assert!((of.nagle - 0.04).abs() < 2e-3, "{of:?}");
}
