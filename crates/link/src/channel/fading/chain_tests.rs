use super::tests::{STEP, stream};
use super::*;

fn fading(mean_snr_db: f64, doppler_hz: f64, rate: u64) -> State {
    let config = Config {
        mean_snr_db,
        doppler_hz,
        rician_k: 0.0,
        rate: Some(Rate::from_bit_s(rate)),
        process: Process::Markov,
    };
    config.build()
}

fn is_near(measured: f64, expected: f64, relative: f64) -> bool {
    (measured - expected).abs() <= relative * expected.abs()
}

/// Borders in dB relative to the mean: −30, −28, … 8.
fn border(index: usize) -> f64 {
    libm::pow(10.0, (2.0 * index as f64 - 32.0) / 10.0)
}

/// The chain crosses the border x = ρ² upwards and downwards √(2π)·f_d·ρ·exp(−ρ²) times per second,
/// like the Rayleigh process. A state has the probability that an exponential variable lies between
/// its borders.
#[test]
fn each_border_is_crossed_as_often_as_by_the_process() {
    let chain = Chain::new(7.0);
    for state in 0..STATES {
        let above = if state + 1 == STATES { 0.0 } else { libm::exp(-border(state + 1)) };
        let below = if state == 0 { 1.0 } else { libm::exp(-border(state)) };
        assert!(is_near(chain.share[state], below - above, 1e-12), "state {state}");
    }
    for state in 0..STATES - 1 {
        let rho = libm::sqrt(border(state + 1));
        let crossings = libm::sqrt(TAU) * 7.0 * rho * libm::exp(-rho * rho);
        let (_, up) = chain.rates[state];
        let (down, _) = chain.rates[state + 1];
        assert!(is_near(chain.share[state] * up, crossings, 1e-12), "up from {state}");
        assert!(is_near(chain.share[state + 1] * down, crossings, 1e-12), "down to {state}");
    }
    // No transition leads below the lowest state or above the highest.
    assert!(chain.rates[0].0.abs() + chain.rates[STATES - 1].1.abs() < f64::MIN_POSITIVE);
}

/// A number u selects the state that contains the quantile −ln(1 − u) of the exponential law.
#[test]
fn the_first_state_is_stationary() {
    let chain = Chain::new(7.0);
    for seed in 0..4000 {
        let power = stream(seed).exponential();
        let expected = (1..STATES).filter(|index| border(*index) <= power).count();
        assert_eq!(chain.stationary(&mut stream(seed)), expected, "{power}");
    }
    // A number equal to the probability of the first state no longer selects that state.
    let number = stream(1).uniform();
    let mut chain = Chain::new(7.0);
    (chain.share[0], chain.share[1]) = (number, 1.0);
    assert_eq!(chain.stationary(&mut stream(1)), 1);
    chain.share[0] = number + STEP;
    assert_eq!(chain.stationary(&mut stream(1)), 0);
    // Because of rounding, the probabilities may sum to less than the random number.
    chain.share = [0.0; STATES];
    assert_eq!(chain.stationary(&mut stream(1)), STATES - 1);
}

/// A chain in `state` until the instant `until`, in nanoseconds.
fn at(chain: &Chain, state: usize, until: u64, seed: u64) -> Chain {
    Chain { path: Some(Path { stream: stream(seed), state, until }), ..chain.clone() }
}

/// A state is left for the one below with probability down/(down + up), and for the one above
/// otherwise. The next state begins at the end of the sojourn.
#[test]
fn each_state_is_left_for_a_neighbour() {
    let chain = Chain::new(7.0);
    for state in 0..STATES {
        let (down, up) = chain.rates[state];
        for seed in 0..50 {
            let falls = stream(seed).uniform() < down / (down + up);
            let expected = if falls { state - 1 } else { state + 1 };
            let mut chain = at(&chain, state, 100, seed);
            assert_eq!(chain.state(Time::from_nanos(99), &mut stream(0)), state);
            assert_eq!(chain.state(Time::from_nanos(100), &mut stream(0)), expected);
        }
    }
    let number = stream(1).uniform();
    let mut chain = chain;
    for (down, expected) in [(number, 6), (number + STEP, 4)] {
        chain.rates[5] = (down, 1.0 - down);
        let mut chain = at(&chain, 5, 0, 1);
        assert_eq!(chain.state(Time::ZERO, &mut stream(0)), expected);
    }
}

/// A sojourn is exponential with the mean 1/(down + up) seconds. Without Doppler shift, no state is
/// ever left.
#[test]
fn sojourns_are_exponential() {
    let (chain, still) = (Chain::new(7.0), Chain::new(0.0));
    for state in 0..STATES {
        let (down, up) = chain.rates[state];
        for seed in 0..20 {
            let nanos = stream(seed).exponential() / (down + up) * 1e9;
            let sojourn = chain.sojourn(state, &mut stream(seed));
            assert!((sojourn as f64 - nanos).abs() <= 1.0, "{sojourn} instead of {nanos} ns");
        }
        assert_eq!(still.sojourn(state, &mut stream(1)), u64::MAX);
    }
}

/// The error probability of a frame of 8 bits at 1 Mbit/s is 1 − (1 − ½·exp(−22γ))⁸, a sum of
/// exponentials. Over a state between a and b, exp(−s·x) has the mean
/// (exp(−(1 + s)·a) − exp(−(1 + s)·b))/(1 + s), divided by the probability of the state.
#[test]
fn errors_of_a_state_are_means_over_its_part_of_the_law() {
    let mut state = fading(-10.0, 7.0, 1_000_000);
    let config = state.config;
    let Source::Markov(chain) = &mut state.source else { unreachable!() };
    let bits = [8.0, 28.0, 56.0, 70.0, 56.0, 28.0, 8.0, 1.0];
    for index in 0..STATES {
        let ends = (chain.borders[index], chain.borders[index + 1]);
        let mean =
            |s: f64| (libm::exp(-(1.0 + s) * ends.0) - libm::exp(-(1.0 + s) * ends.1)) / (1.0 + s);
        let terms = bits.iter().enumerate().map(|(order, combinations)| {
            let order = (order + 1) as f64;
            -combinations * libm::pow(-0.5, order) * mean(22.0 * 0.1 * order)
        });
        let expected = terms.sum::<f64>() / chain.share[index];
        // The error probabilities of frames of other lengths are computed and cached in between.
        for bytes in 2..5 {
            let other = chain.error_rate(index, (Modulation::Dbpsk, bytes), &config);
            assert!(other > expected, "state {index}, {bytes} bytes");
        }
        for _ in 0..2 {
            let error_rate = chain.error_rate(index, (Modulation::Dbpsk, 1), &config);
            assert!(is_near(error_rate, expected, 1e-4), "{index}: {error_rate} for {expected}");
        }
    }
    assert_eq!(chain.known.len(), 4);
    // Only the error probabilities of the kinds of frames used most recently stay cached.
    for bytes in 5..40 {
        chain.error_rate(0, (Modulation::Dbpsk, bytes), &config);
        assert!(chain.known.len() <= KNOWN_MAX);
        assert!(chain.known.iter().any(|((_, known), _)| *known == bytes));
    }
    assert_eq!(chain.known.len(), KNOWN_MAX);
}

/// The ratio of a state is the middle of its 2 dB, relative to the mean.
#[test]
fn the_ratio_of_a_state_is_its_middle() {
    for index in 0..STATES {
        let mut state = fading(17.0, 7.0, 1_000_000);
        let Source::Markov(chain) = &mut state.source else { unreachable!() };
        **chain = at(chain, index, u64::MAX, 1);
        let db = state.snr_db(Time::ZERO, &mut stream(1));
        assert!((db - (17.0 - 31.0 + 2.0 * index as f64)).abs() < 1e-9, "state {index}: {db}");
    }
}

/// A frame is lost if the random number drawn for it lies below its error probability.
#[test]
fn a_number_decides_the_loss_of_a_frame() {
    let number = stream(1).uniform();
    for (error_rate, fate) in [(number, DELIVER), (number + STEP, Fate::Lose(Reason::Channel))] {
        let mut state = fading(17.0, 7.0, 1_000_000);
        let Source::Markov(chain) = &mut state.source else { unreachable!() };
        **chain = at(chain, 4, u64::MAX, 1);
        chain.known.push(((Modulation::Dbpsk, 100), [error_rate; STATES]));
        assert_eq!(state.fate(Time::ZERO, &Frame::control(100), &mut stream(1)), fate);
    }
}
