//! Accounting of limits: what later knowledge moves.

use retx_record::flow::{FlowLimit, Limits, Reduction};
use retx_record::reason::Cause::{Congestion, Wireless};
use retx_units::{Duration, Time};

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Two reductions with the same cause, of which that of the second is corrected while a timer may
/// still claim time under the first: that time remains with the first's cause.
#[test]
fn a_correction_moves_only_the_time_of_its_own_episode() {
    let reduction = |episode| Reduction { episode, cause: Congestion, by_timer: false };
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(10), FlowLimit::SlowStart, at(10));
    limits.reduce(at(20), at(10), &reduction(1));
    limits.set(at(20), FlowLimit::Recovery(Congestion), at(10));
    limits.set(at(30), FlowLimit::Window(Congestion), at(10));
    limits.reduce(at(40), at(10), &reduction(2));
    limits.set(at(40), FlowLimit::Recovery(Congestion), at(10));
    limits.correct(2, Wireless);
    limits.set(at(50), FlowLimit::Window(Wireless), at(10));
    let times = limits.times();
    assert_eq!(times.of(FlowLimit::Recovery(Wireless)), ms(10));
    assert_eq!(times.of(FlowLimit::Recovery(Congestion)), ms(10));
    assert_eq!(times.of(FlowLimit::Window(Congestion)), ms(10));
    // The timer fires: it claims everything since data were last sent.
    limits.reduce(at(60), at(10), &Reduction { by_timer: true, ..reduction(3) });
    limits.end(at(70));
    let times = limits.times();
    assert_eq!(times.of(FlowLimit::Timeout(Congestion)), ms(50));
    assert_eq!(times.total(), ms(70));
}

/// The peer held an acknowledgment back for 40 ms; later, under the same limit, data were sent and
/// nobody answered: the timer claims the silence, as if there had been no such acknowledgment.
#[test]
fn a_delayed_acknowledgment_does_not_keep_the_timer_from_its_silence() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(10), FlowLimit::SlowStart, at(10));
    limits.held_back(at(20), at(60));
    limits.set(at(70), FlowLimit::SlowStart, at(70));
    let timer = Reduction { episode: 1, cause: Wireless, by_timer: true };
    limits.reduce(at(1070), at(70), &timer);
    limits.end(at(1070));
    let times = limits.times();
    assert_eq!(times.of(FlowLimit::DelayedAck), ms(40));
    assert_eq!(times.of(FlowLimit::Timeout(Wireless)), ms(1000));
    assert_eq!(times.of(FlowLimit::SlowStart), ms(20));
    assert_eq!(times.total(), ms(1070));
}

/// The acknowledgment that was held back is lost: its time is the peer's, the rest the timer's.
#[test]
fn a_timer_claims_what_lies_before_and_after_a_lost_delayed_acknowledgment() {
    let mut limits = Limits::default();
    limits.begin_connection(at(0));
    limits.set(at(10), FlowLimit::SlowStart, at(10));
    limits.held_back(at(30), at(70));
    let timer = Reduction { episode: 1, cause: Wireless, by_timer: true };
    limits.reduce(at(1010), at(10), &timer);
    limits.end(at(1010));
    let times = limits.times();
    assert_eq!(times.of(FlowLimit::DelayedAck), ms(40));
    assert_eq!(times.of(FlowLimit::Timeout(Wireless)), ms(960));
    assert_eq!(times.of(FlowLimit::SlowStart), ms(0));
    assert_eq!(times.of(FlowLimit::Handshake), ms(10));
}
