use super::super::super::testing::{at, loss, window};
use super::*;

/// Plays one window of ACKs per RTT; returns the window at the end, in segments.
fn play(curve: &mut LinuxCurve, window: &mut Window, ms: [u64; 2], rtt: u64) -> f64 {
    let mut now = at(ms[0]).as_nanos();
    while now < at(ms[1]).as_nanos() {
        now += rtt * 1_000_000 * 1000 / window.cwnd;
        curve.grow(window, Time::from_nanos(now), 1);
    }
    window.cwnd as f64 / 1000.0
}

/// Linux's C is 410/1024, β 717/1024; the curve is evaluated one minimum RTT ahead. Targets and
/// quotients are integers, so the window lags by a few segments.
#[test]
fn follows_the_curve() {
    let mut curve = LinuxCurve::new(&Config::default());
    let mut window = window(1000, 1);
    curve.on_loss(&mut window, &loss(at(0), 1000));
    assert_eq!(window.cwnd, 700_000);
    curve.sample(Duration::from_millis(100));
    let k = libm::cbrt(300.0 * 1024.0 / 410.0);
    for seconds in [3, 9, 12, 16] {
        let from = if seconds == 3 { 0 } else { seconds - if seconds == 9 { 6 } else { 4 } };
        let from = if seconds == 12 { 9 } else { from };
        let cwnd = play(&mut curve, &mut window, [from * 1000, seconds * 1000], 100);
        let d = seconds as f64 - k;
        let expected = 410.0 / 1024.0 * d * d * d + 1000.0;
        assert!((cwnd / expected - 1.0).abs() < 0.01, "{cwnd}, not {expected} at {seconds} s");
    }
}

/// 8·1741/3/307 = 15: Reno's window grows by a segment per 15/8 windows.
#[test]
fn friendly_to_reno_and_no_more_than_that() {
    let mut curve = LinuxCurve::new(&Config::default());
    let mut window = window(100, 1);
    curve.on_loss(&mut window, &loss(at(0), 100));
    let cwnd = play(&mut curve, &mut window, [0, 2000], 20);
    assert!((cwnd - (70.0 + 100.0 * 8.0 / 15.0)).abs() < 2.0, "{cwnd}");
}

#[test]
fn five_percent_per_round_before_the_first_loss() {
    let mut curve = LinuxCurve::new(&Config::default());
    let mut window = window(100, 1);
    // Ten rounds follow, each of which increases the window by 1/20.
    let cwnd = play(&mut curve, &mut window, [0, 500], 50);
    assert!((cwnd - 100.0 * libm::pow(1.05, 10.0)).abs() < 2.0, "{cwnd}");
}

#[test]
fn fast_convergence_and_timeouts() {
    let mut curve = LinuxCurve::new(&Config::default());
    let mut lossy = window(100, 1);
    curve.on_loss(&mut lossy, &loss(at(0), 100));
    assert_eq!(curve.last_max, 100);
    curve.on_loss(&mut lossy, &loss(at(1), 70));
    assert_eq!((curve.last_max, lossy.cwnd), (59, 49_000));
    let later = Loss { snd_una: 900_000, snd_max: 999_000, ..loss(at(9), 49) };
    curve.on_timeout(&mut lossy, &later, false);
    assert_eq!((curve.last_max, lossy.cwnd, lossy.ssthresh), (0, 1000, 34_000));
}

/// The shortcut of the fast paths grows the window in the same way.
#[test]
fn counting_is_a_shortcut_of_growth() {
    let mut curves = [(); 2].map(|()| LinuxCurve::new(&Config::default()));
    let mut windows = [window(50, 1); 2];
    let mut counted = 0;
    for n in 0..20_000 {
        let (now, acked) = (Time::from_nanos(n * 700_000), 1 + n % 3);
        if n % 5_000 == 2_500 {
            windows.iter_mut().for_each(|window| window.smss += 1);
        }
        curves[0].grow(&mut windows[0], now, acked);
        let computed = curves[1].computed;
        curves[1].grow_or_count(&mut windows[1], now, acked);
        counted += u32::from(curves[1].computed == computed);
        assert_eq!(format!("{:?}", curves[0]), format!("{:?}", curves[1]), "{n}");
        assert_eq!(windows[0].cwnd, windows[1].cwnd, "{n}");
    }
    assert!(counted > 1_000 && windows[0].cwnd > 100_000, "{counted} {windows:?}");
}

fn epoch() -> Epoch {
    Epoch { start: at(0), k: 0, origin: 100, reno: 100, acked: 0 }
}

fn curve() -> LinuxCurve {
    LinuxCurve::new(&Config::default())
}

/// `cubictcp_acked`: RTTs are ignored for a second (`HZ`) after the start of the epoch.
#[test]
fn the_first_second_of_an_epoch() {
    let mut curve = curve();
    assert!(!curve.is_in_first_second(at(0)), "no epoch");
    curve.epoch = Some(epoch());
    assert_eq!(
        [0, 999, 1000, 1001].map(|ms| curve.is_in_first_second(at(ms))),
        [true, true, false, false]
    );
}

/// `bictcp_update`: for an unchanged window the result is kept for HZ/32, and the cubic
/// function is computed at most once per jiffy.
#[test]
fn the_curve_is_computed_anew_after_a_while() {
    let last = TICK.as_nanos() - 1;
    for (cwnd, nanos, anew) in [
        (100, KEPT.as_nanos() + last, false),
        (100, KEPT.as_nanos() + last + 1, true),
        (101, 0, false),
        (101, last, false),
        (101, last + 1, true),
    ] {
        let mut curve = curve();
        (curve.epoch, curve.computed) = (Some(epoch()), Some((100, at(0))));
        let now = Time::from_nanos(nanos);
        curve.compute(cwnd, now, 0);
        let expected = if anew { (cwnd, jiffy(now)) } else { (100, at(0)) };
        assert_eq!(curve.computed, Some(expected), "{cwnd} at {nanos}");
    }
}

/// `bictcp_update`: times are differences of jiffies, and the minimum RTT is rounded up to
/// jiffies (`usecs_to_jiffies`). With K = 0 and C = 410/1024 the target is 100 + 410·t³/2⁴⁰,
/// where t is 1024/250 per jiffy, rounded down. It is 102 from 428 jiffies (1753 units) on.
#[test]
fn the_cubic_function_counts_jiffies() {
    let whole = [3, 4, 7, 8, 1000].map(|ms| units(Duration::from_millis(ms)));
    assert_eq!(whole, [0, 4, 4, 8, 1024]);
    let per = |start, now, delay_us| {
        let mut curve = curve();
        curve.delay_min = Duration::from_micros(delay_us);
        (curve.epoch, curve.last_max) = (Some(Epoch { start: at(start), ..epoch() }), 100);
        curve.compute(100, Time::from_nanos(now), 0);
        curve.per
    };
    // 427 jiffies (1708 ms) and a minimum RTT of 1 jiffy, or 426 jiffies and 2 of them.
    let ms = 1_000_000;
    assert_eq!(per(0, 1708 * ms - 1, 1), 100);
    assert_eq!(per(0, 1708 * ms, 1), 50);
    assert_eq!(per(0, 1704 * ms, 4_001), 50);
    assert_eq!(per(0, 1704 * ms, 4_000), 100);
}

/// `bictcp_update`: at 100 segments Reno's window grows by one per ⌊100·15/8⌋ = 187
/// acknowledged; 500 are two of these and 126 more.
#[test]
fn the_window_of_reno_grows_by_whole_segments() {
    for (acked, reno, rest) in [(187, 100, 187), (188, 101, 1), (374, 101, 187), (500, 102, 126)] {
        let mut curve = curve();
        curve.epoch = Some(Epoch { acked, ..epoch() });
        curve.limit_growth(100);
        let epoch = curve.epoch.unwrap();
        assert_eq!((epoch.reno, epoch.acked), (reno, rest), "{acked}");
    }
}

/// `bictcp_update`: cnt is at most cwnd/(tcp_cwnd − cwnd), so that the window keeps up with
/// Reno's, and never below 2.
#[test]
fn the_distance_to_reno_limits_the_count() {
    for (reno, per) in [(90, 1000), (100, 1000), (101, 100), (110, 10), (190, 2)] {
        let mut curve = curve();
        (curve.epoch, curve.per) = (Some(Epoch { reno, ..epoch() }), 1000);
        curve.limit_growth(100);
        assert_eq!(curve.per, per, "{reno}");
    }
}

/// `tcp_enter_loss` keeps ssthresh during a reduction that has not been undone: 717/1024 of 100
/// segments are 70.
#[test]
fn after_an_undo_a_timeout_sets_the_threshold_again() {
    for (undone, ssthresh) in [(false, 999_000), (true, 70_000)] {
        let mut curve = curve();
        curve.on_loss(&mut window(100, 999), &loss(at(0), 100));
        if undone {
            curve.undo();
        }
        let mut window = window(100, 999);
        curve.on_timeout(&mut window, &loss(at(1), 100), false);
        assert_eq!(window.ssthresh, ssthresh);
    }
}

/// `cubictcp_acked` records the smallest RTT.
#[test]
fn samples_of_segments_reach_the_curve() {
    use super::super::{Avoidance, State, Variant};
    use crate::congestion_control::CongestionControl;
    use crate::congestion_control::testing::{ack, tcp};
    let config = Config { variant: Variant::Linux, ..Config::default() };
    let mut state = State::new(&config, &tcp());
    for (ms, least) in [(20, 20), (30, 20), (10, 10)] {
        let rtt = Some(Duration::from_millis(ms));
        state.on_segments_acked(&mut window(10, 999), &ack(at(0), 1000), rtt);
        let Avoidance::Linux(curve) = &state.avoidance else { panic!("the variant of Linux") };
        assert_eq!(curve.delay_min, Duration::from_millis(least));
    }
}
