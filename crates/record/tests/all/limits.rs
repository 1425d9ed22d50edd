//! Times during which a flow was limited by one factor or another, and how later knowledge moves
//! them from one factor to another.

use retx_record::flow::{FlowLimit, Limits, Reduction};
use retx_record::reason::Cause::{Congestion, Spurious, Wireless};
use retx_units::{Duration, Time};

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Two window reductions have the same cause at first, and the second one's is corrected while a
/// timeout may still claim time under the first: that time keeps the first one's cause.
#[test]
fn a_correction_moves_only_the_time_of_its_own_episode() {
    let reduction = |episode| Reduction::first_in_window(episode, Congestion);
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(10), FlowLimit::SlowStart, at(10));
    limits.note_reduction(at(20), at(10), &reduction(1));
    limits.set(at(20), FlowLimit::Recovery(Congestion), at(10));
    limits.set(at(30), FlowLimit::Window(Congestion), at(10));
    limits.note_reduction(at(40), at(10), &reduction(2));
    limits.set(at(40), FlowLimit::Recovery(Congestion), at(10));
    limits.correct_cause(2, Wireless);
    limits.set(at(50), FlowLimit::Window(Wireless), at(10));
    let times = limits.times();
    assert_eq!(times.time_under(FlowLimit::Recovery(Wireless)), ms(10));
    assert_eq!(times.time_under(FlowLimit::Recovery(Congestion)), ms(10));
    assert_eq!(times.time_under(FlowLimit::Window(Congestion)), ms(10));
    // The timeout claims all the time since data were last sent.
    limits.note_reduction(at(60), at(10), &Reduction { by_timer: true, ..reduction(3) });
    limits.end_life(at(70));
    let times = limits.times();
    assert_eq!(times.time_under(FlowLimit::Timeout(Congestion)), ms(50));
    assert_eq!(times.total(), ms(70));
}

/// The peer delayed an acknowledgment by 40 ms. Later, under the same limit, data were sent and not
/// answered: the timeout claims this silence, as it would without the delayed acknowledgment.
#[test]
fn a_delayed_acknowledgment_does_not_keep_the_timer_from_its_silence() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(10), FlowLimit::SlowStart, at(10));
    limits.note_delayed_ack(at(20), at(60));
    limits.set(at(70), FlowLimit::SlowStart, at(70));
    let timer = Reduction { by_timer: true, ..Reduction::first_in_window(1, Wireless) };
    limits.note_reduction(at(1070), at(70), &timer);
    limits.end_life(at(1070));
    let times = limits.times();
    assert_eq!(times.time_under(FlowLimit::DelayedAck), ms(40));
    assert_eq!(times.time_under(FlowLimit::Timeout(Wireless)), ms(1000));
    assert_eq!(times.time_under(FlowLimit::SlowStart), ms(20));
    assert_eq!(times.total(), ms(1070));
}

/// The delayed acknowledgment is lost: the time of its delay counts under the peer's delay, the
/// rest under the timeout.
#[test]
fn a_timer_claims_what_lies_before_and_after_a_lost_delayed_acknowledgment() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(10), FlowLimit::SlowStart, at(10));
    limits.note_delayed_ack(at(30), at(70));
    let timer = Reduction { by_timer: true, ..Reduction::first_in_window(1, Wireless) };
    limits.note_reduction(at(1010), at(10), &timer);
    limits.end_life(at(1010));
    let times = limits.times();
    assert_eq!(times.time_under(FlowLimit::DelayedAck), ms(40));
    assert_eq!(times.time_under(FlowLimit::Timeout(Wireless)), ms(960));
    assert_eq!(times.time_under(FlowLimit::SlowStart), ms(0));
    assert_eq!(times.time_under(FlowLimit::Handshake), ms(10));
}

/// A second acknowledgment, such as an update of the window, ends the same delay as the first one.
#[test]
fn a_delay_that_two_acknowledgments_end_counts_once() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(10), FlowLimit::SlowStart, at(10));
    limits.note_delayed_ack(at(20), at(30));
    limits.note_delayed_ack(at(20), at(60));
    let timer = Reduction { by_timer: true, ..Reduction::first_in_window(1, Wireless) };
    limits.note_reduction(at(100), at(10), &timer);
    limits.end_life(at(100));
    let times = limits.times();
    assert_eq!(times.time_under(FlowLimit::DelayedAck), ms(40));
    assert_eq!(times.time_under(FlowLimit::Timeout(Wireless)), ms(50));
    assert_eq!(times.total(), ms(100));
}

/// A spurious timeout follows a reduction by congestion; undoing the timeout restores the window of
/// that reduction.
#[test]
fn an_undo_ends_the_time_of_the_reduction_that_it_takes_back() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(0), FlowLimit::SlowStart, at(0));
    limits.note_reduction(at(10), at(10), &Reduction::first_in_window(1, Congestion));
    limits.set(at(10), FlowLimit::Window(Congestion), at(10));
    let timer =
        |episode| Reduction { by_timer: true, ..Reduction::first_in_window(episode, Spurious) };
    limits.note_reduction(at(30), at(30), &timer(2));
    limits.set(at(30), FlowLimit::Window(Spurious), at(30));
    // The timer expires again for the same window: one undo reverts both timeouts.
    limits.note_reduction(at(40), at(40), &Reduction { same_window_of_data: true, ..timer(3) });
    limits.note_undo(at(50), at(50));
    limits.set(at(50), limits.window_limit(), at(50));
    assert_eq!(limits.limit(), FlowLimit::Window(Congestion));
    // A later correction of the first reduction's cause applies to the restored window, too.
    limits.correct_cause(1, Wireless);
    limits.end_life(at(80));
    let times = limits.times();
    assert_eq!(times.time_under(FlowLimit::Window(Wireless)), ms(50));
    assert_eq!(times.time_under(FlowLimit::Window(Spurious)), ms(20));
    assert_eq!(times.total(), ms(80));
}

/// An undo of the only reduction restores the state in which the window was never reduced.
#[test]
fn an_undo_of_the_first_reduction_brings_slow_start_back() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.note_reduction(at(10), at(10), &Reduction::first_in_window(1, Spurious));
    assert_eq!(limits.window_limit(), FlowLimit::Window(Spurious));
    limits.note_undo(at(20), at(20));
    assert_eq!(limits.window_limit(), FlowLimit::SlowStart);
}

/// The timer expires during a recovery from many losses, in which no partial ACK restarted it: its
/// time counts under the recovery's cause, even if this is corrected later.
#[test]
fn a_timer_that_measured_the_recovery_has_its_cause() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(0), FlowLimit::SlowStart, at(0));
    limits.note_reduction(at(10), at(10), &Reduction::first_in_window(1, Congestion));
    limits.set(at(10), limits.recovery_limit(), at(10));
    let timer =
        Reduction { by_timer: true, stale_timer: true, ..Reduction::first_in_window(2, Spurious) };
    limits.note_reduction(at(30), at(20), &timer);
    limits.set(at(30), limits.window_limit(), at(30));
    limits.end_life(at(90));
    let times = |cause| {
        let limits = limits.times();
        [FlowLimit::Recovery(cause), FlowLimit::Timeout(cause), FlowLimit::Window(cause)]
            .map(|limit| limits.time_under(limit))
    };
    assert_eq!(times(Congestion), [ms(10), ms(10), ms(60)]);
    let mut later = limits.clone();
    later.correct_cause(1, Wireless);
    assert_eq!(later.times().time_under(FlowLimit::Window(Wireless)), ms(60));
    assert_eq!(later.times().time_under(FlowLimit::Window(Congestion)), ms(0));
}

/// The time after a timeout no longer counts as slow start, even if the sender's state is not
/// recorded before the next acknowledgment.
#[test]
fn a_reduction_ends_slow_start_by_itself() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(0), FlowLimit::SlowStart, at(10));
    let timer = Reduction { by_timer: true, ..Reduction::first_in_window(1, Spurious) };
    limits.note_reduction(at(30), at(10), &timer);
    limits.end_life(at(70));
    let times = limits.times();
    assert_eq!(times.time_under(FlowLimit::SlowStart), ms(10));
    assert_eq!(times.time_under(FlowLimit::Timeout(Spurious)), ms(20));
    assert_eq!(times.time_under(FlowLimit::Window(Spurious)), ms(40));
}

/// A connection is given up in the wait for its third timeout: this wait counts as the first two
/// do, and nothing counts afterwards.
#[test]
fn a_failure_ends_the_life_and_belongs_to_the_timeouts_before() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(10), FlowLimit::SlowStart, at(10));
    let timer =
        |episode| Reduction { by_timer: true, ..Reduction::first_in_window(episode, Wireless) };
    limits.note_reduction(at(1010), at(10), &timer(1));
    limits.note_reduction(at(3010), at(1010), &timer(2));
    limits.set(at(3010), FlowLimit::Window(Wireless), at(3010));
    limits.fail(at(7010), at(3010));
    limits.set(at(7010), FlowLimit::Application, at(3010));
    limits.fail(at(8000), at(3010));
    let times = limits.times();
    assert_eq!(times.time_under(FlowLimit::Timeout(Wireless)), ms(7000));
    assert_eq!(times.total(), ms(7010));
}
