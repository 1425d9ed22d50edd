use super::super::testing::{Path, ack, at, loss, tcp, window};
use super::*;

const MS: Duration = Duration::from_millis(1);

fn cubic(variant: Variant, slow_start: SlowStart) -> State {
    State::new(&Config { variant, slow_start, ..Config::default() }, &tcp())
}

/// Slow start over a path of 100 segments; returns the state at its exit.
fn exit(slow_start: SlowStart) -> (State, Path) {
    let mut state = cubic(Variant::Rfc9438, slow_start);
    let mut path = Path::new(MS, MS * 100, window(10, u64::MAX / 1000));
    while path.window.in_slow_start() && path.window.cwnd < 2_000_000 {
        path.step(&mut state);
    }
    (state, path)
}

/// With a path of 100 segments, standard slow start has no exit. HyStart: in the round from 80
/// to 160 segments the ACK train exceeds half an RTT. HyStart++: the round from 160 to 320
/// begins with a queue; after that, the window grows by a quarter in each of four or five
/// rounds.
#[test]
fn slow_starts() {
    assert_eq!(exit(SlowStart::Standard).1.window.cwnd, 2_000_000);
    let (_, path) = exit(SlowStart::Hystart);
    assert!((80_000..=160_000).contains(&path.window.cwnd), "{}", path.window.cwnd);
    let (_, path) = exit(SlowStart::HystartPlusPlus);
    assert!(path.window.cwnd - path.window.ssthresh < 1000, "no segment more");
    assert!((700_000..=1_000_000).contains(&path.window.cwnd), "{}", path.window.cwnd);
}

#[test]
fn growth_per_ack_in_slow_start() {
    let grown = |variant, slow_start, bytes| {
        let (mut state, mut window) = (cubic(variant, slow_start), window(10, 999));
        state.on_ack(&mut window, &ack(at(0), bytes));
        window.cwnd - 10_000
    };
    for variant in [Variant::Rfc9438, Variant::Linux] {
        assert_eq!(grown(variant, SlowStart::Standard, 2000), 1000);
        assert_eq!(grown(variant, SlowStart::Hystart, 2000), 2000);
        assert_eq!(grown(variant, SlowStart::HystartPlusPlus, 2000), 2000);
        assert_eq!(grown(variant, SlowStart::HystartPlusPlus, 9000), 8000);
    }
}

#[test]
fn nothing_grows_unless_the_window_limits() {
    for variant in [Variant::Rfc9438, Variant::Linux] {
        for ssthresh in [2, 99] {
            let mut state = cubic(variant, SlowStart::Standard);
            let mut window = window(10, ssthresh);
            for n in 0..100 {
                let idle = Ack { cwnd_limited: false, ..ack(at(100 * n), 1000) };
                state.on_ack(&mut window, &idle);
            }
            assert_eq!(window.cwnd, 10_000);
        }
    }
}

#[test]
fn losses() {
    for variant in [Variant::Rfc9438, Variant::Linux] {
        let mut state = cubic(variant, SlowStart::Standard);
        let mut lossy = window(100, 999);
        state.on_loss(&mut lossy, &loss(at(0), 100));
        assert_eq!((lossy.cwnd, lossy.ssthresh), (70_000, 70_000), "{variant:?}");
        let later = Loss { snd_una: 200_000, snd_max: 270_000, ..loss(at(900), 70) };
        state.on_timeout(&mut lossy, &later, false);
        assert_eq!((lossy.cwnd, lossy.ssthresh), (1_000, 49_000), "{variant:?}");
    }
    // The reduction applies to cwnd in Linux, and to the data in flight in the RFC.
    let left = |variant| {
        let mut lossy = window(100, 999);
        cubic(variant, SlowStart::Standard).on_loss(&mut lossy, &loss(at(0), 50));
        lossy.cwnd
    };
    assert_eq!((left(Variant::Rfc9438), left(Variant::Linux)), (35_000, 70_000));
}

/// RFC 9406 §4.3: only the first slow start is modified. Before a loss an ACK of four segments
/// adds four (L = 8 and no conservative phase), after it one (RFC 5681 eq. 2).
#[test]
fn after_a_loss_slow_start_is_the_standard_one() {
    for (lossy, grown) in [(false, 14_000), (true, 11_000)] {
        let mut state = cubic(Variant::Rfc9438, SlowStart::HystartPlusPlus);
        if lossy {
            state.on_loss(&mut window(20, 99), &loss(at(0), 20));
        }
        let mut window = window(10, 999);
        state.on_ack(&mut window, &ack(at(1), 4000));
        assert_eq!(window.cwnd, grown);
    }
}
