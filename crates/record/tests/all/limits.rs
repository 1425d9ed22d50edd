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
