use super::tests::stream;
use super::*;

const N: f64 = SINUSOIDS as f64;

/// Sinusoids that all have one direction and one phase, in turns, and a direct path.
fn in_phase(direction: f64, phase: f64, direct: f64) -> Sinusoids {
    Sinusoids { drawn: true, direction: [direction; SINUSOIDS], phase: [phase; SINUSOIDS], direct }
}

fn is_near(measured: f64, expected: f64) -> bool {
    (measured - expected).abs() < 1e-9
}

/// Two halves of N phasors of the power 1/N, whose phases differ by δ turns, add up to the power
/// N·cos²(πδ).
#[test]
fn phasors_add_up() {
    for (one, other) in [(0.0, 0.0), (0.3, 0.3), (0.1, 0.6), (0.2, 0.45), (0.9, 0.2), (0.5, 0.6)] {
        let mut sinusoids = in_phase(0.0, one, 0.0);
        sinusoids.phase[SINUSOIDS / 2..].fill(other);
        let half = libm::cos(PI * (one - other));
        let power = sinusoids.power(Time::ZERO, 50.0, 0.0);
        assert!(is_near(power, N * half * half), "{one} and {other}: {power}");
    }
}

/// Z = (Y + √K·exp(jφ₀))/√(1 + K). If all N phasors have the angle a, then |Y| = √N and |Z|² =
/// (N + K + 2√(N·K)·cos(a − φ₀))/(1 + K). The angle is 2π·f_d·t·cos α + φ.
#[test]
fn the_direct_path_has_no_doppler_shift() {
    for k in [0.25, 1.0, 3.0] {
        for direct in [0.0, 0.15, 0.4, 0.8] {
            for (direction, phase) in [(0.0, 0.3), (1.0, 0.05), (-1.0, 0.6), (0.5, 0.9)] {
                for ms in [0, 7, 30] {
                    let now = Time::from_nanos(ms * 1_000_000);
                    let turns = 20.0 * now.as_secs_f64() * direction + phase - direct;
                    let expected =
                        (N + k + 2.0 * libm::sqrt(N * k) * libm::cos(TAU * turns)) / (1.0 + k);
                    let power = in_phase(direction, phase, direct).power(now, 20.0, k);
                    assert!(is_near(power, expected), "{k} {direct} {direction} {phase} {ms}");
                }
            }
        }
    }
}

/// Whole turns make no difference, even after 2⁴⁰ of them.
#[test]
fn many_turns_lose_no_precision() {
    let late = Time::from_nanos((1 << 30) * 1_000_000_000);
    let sinusoids = in_phase(1.0, 0.125, 0.375);
    let power = sinusoids.power(late, 1024.0, 1.0);
    // The angle between the phasors and the direct path is a quarter of a turn.
    assert!(is_near(power, (N + 1.0) / 2.0), "{power}");
}

/// A number u of the stream stands for the angle θ_n = (2u − 1)π. The first number drawn is for the
/// phase of the direct path; for each sinusoid, one for its direction and one for its phase follow.
#[test]
fn the_numbers_of_the_sinusoids() {
    let mut numbers = stream(3);
    let mut sinusoids = Sinusoids::default();
    sinusoids.draw(&mut stream(3));
    assert!(is_near(sinusoids.direct, numbers.uniform()));
    for index in 0..SINUSOIDS {
        let theta = PI * (2.0 * numbers.uniform() - 1.0);
        let alpha = (TAU * (index + 1) as f64 + theta) / N;
        assert!(is_near(sinusoids.direction[index], libm::cos(alpha)), "{index}");
        assert!(is_near(sinusoids.phase[index], numbers.uniform()), "{index}");
    }
}

/// The first query of the signal-to-noise ratio draws the sinusoids, and later queries keep them.
#[test]
fn the_sinusoids_are_drawn_once() {
    let config = Config {
        mean_snr_db: 0.0,
        doppler_hz: 20.0,
        rician_k: 0.0,
        rate: None,
        process: Process::Sinusoids,
    };
    let mut sinusoids = Sinusoids::default();
    sinusoids.draw(&mut stream(3));
    let (mut state, mut numbers) = (config.build(), stream(3));
    for ms in [0, 3, 40] {
        let now = Time::from_nanos(ms * 1_000_000);
        let expected = 10.0 * libm::log10(sinusoids.power(now, 20.0, 0.0));
        let db = state.snr_db(now, &mut numbers);
        assert!(is_near(db, expected), "{db} instead of {expected} dB at {ms} ms");
    }
}
