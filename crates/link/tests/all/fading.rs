//! Fading channels, compared with closed forms of the Rayleigh process and with frame error rates
//! of the modulation.

use retx_link::channel::{self, Channel, Frame, Model};
use retx_link::modulation::Modulation;
use retx_units::{StreamKey, Time};
use std::f64::consts::TAU;

fn model(text: &str) -> channel::Config {
    serde_json::from_str(text).expect("a model")
}

fn fading(text: &str) -> channel::fading::State {
    let channel::Config::fading(config) = model(text) else { unreachable!() };
    config.build()
}

/// A mean and its standard error over independent realisations.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// A Rayleigh process crosses a level N = √(2π) f_d ρ exp(−ρ²) times per second, and its mean fade
/// lasts (exp(ρ²) − 1)/(ρ f_d √(2π)), with ρ the ratio of the level to the RMS amplitude.
///
/// The ratio is looked at every 0.2 ms, 1/60 of the shortest mean fade here, so few dips are
/// missed. The amplitude of a sum of 32 phasors has the Rayleigh density times 1 − L₂(ρ²)/64, and
/// so the expected crossings are multiplied by this factor. The measured mean fade is the share of
/// time below the level divided by the crossings per second.
#[test]
fn level_crossings_and_fades() {
    let doppler = 10.0;
    for process in ["sinusoids", "markov"] {
        let text = format!(
            r#"{{"model":"fading","mean_snr_db":0,"doppler_hz":{doppler},"process":"{process}"}}"#
        );
        // These levels are borders of the Markov chain's states, so that both processes cross them.
        for db in [-10, -6, 0] {
            let rho = 10f64.powf(f64::from(db) / 20.0);
            let x = rho * rho;
            let (mut crossings, mut below) = (vec![], vec![]);
            for seed in 0..150 {
                let mut state = fading(&text);
                let mut stream = StreamKey { seed, replication: 0 }.stream("fading");
                let (step_s, steps) = (2e-4, 10_000);
                let under: Vec<bool> = (0..steps)
                    .map(|step| {
                        let now = Time::from_nanos(step * 200_000);
                        state.snr_db(now, &mut stream) < f64::from(db)
                    })
                    .collect();
                let ups = under.windows(2).filter(|pair| pair[0] && !pair[1]).count();
                crossings.push(ups as f64 / (step_s * steps as f64));
                below.push(under.iter().filter(|under| **under).count() as f64 / steps as f64);
            }
            let uneven = if process == "sinusoids" {
                1.0 - (1.0 - 2.0 * x + 0.5 * x * x) / 64.0
            } else {
                1.0
            };
            let rate = TAU.sqrt() * doppler * rho * (-x).exp();
            let (measured, sigma) = mean(&crossings);
            assert!(
                (measured - rate * uneven).abs() < 4.0 * sigma,
                "{process} at {db} dB: {measured} ± {sigma} crossings per second instead of {rate}"
            );
            let fade = (x.exp() - 1.0) / (rho * doppler * TAU.sqrt());
            let (share, share_sigma) = mean(&below);
            let measured_fade = share / measured;
            let relative = ((share_sigma / share).powi(2) + (sigma / measured).powi(2)).sqrt();
            // The factor's effect on the share of time below the level is smaller than on the
            // density.
            let uneven = (uneven - 1.0).abs();
            assert!(
                (measured_fade / fade - 1.0).abs() < 4.0 * relative + uneven,
                "{process} at {db} dB: fades of {measured_fade} s instead of {fade}"
            );
        }
    }
}

/// The mean power of every single realisation is the configured one: time averages of the sinusoids
/// converge, whatever their phases.
#[test]
fn the_mean_ratio_holds_in_every_run() {
    for k in [0.0, 5.0] {
        let text =
            format!(r#"{{"model":"fading","mean_snr_db":20,"doppler_hz":50,"rician_k":{k}}}"#);
        let means: Vec<f64> = (0..40)
            .map(|seed| {
                let mut state = fading(&text);
                let mut stream = StreamKey { seed, replication: 0 }.stream("fading");
                let power = |step: u64| {
                    let now = Time::from_nanos(step * 3_700_000);
                    10f64.powf(state.snr_db(now, &mut stream) / 10.0)
                };
                (0..5000).map(power).sum::<f64>() / 5000.0
            })
            .collect();
        let (measured, sigma) = mean(&means);
        assert!((measured - 100.0).abs() < 4.0 * sigma, "{measured} ± {sigma}");
        // A run lasts 925 Doppler periods; if amplitudes of the sinusoids were random, the mean
        // power would vary by 100/√32 = 18 between runs.
        assert!(means.iter().all(|mean| (mean - 100.0).abs() < 10.0), "{means:?}");
    }
}

/// The frame error rate is the modulation's if the direct path is a million times stronger than all
/// others.
#[test]
fn frame_errors_follow_the_curve() {
    let cases = [
        ("1", -7.0, 1_000_000),
        ("2", -1.0, 2_000_000),
        ("5.5", 1.0, 5_500_000),
        ("11", 4.0, 11_000_000),
    ];
    for (rate, middle, bit_s) in cases {
        let modulation = Modulation::from_rate(bit_s).expect("a rate of 802.11b");
        let mut partial = 0;
        for step in -8..=8 {
            let db = middle + 0.5 * f64::from(step);
            let config = model(&format!(
                r#"{{"model":"fading","mean_snr_db":{db},"doppler_hz":0,"rician_k":1e6,
                    "rate":"{rate} Mbit/s"}}"#
            ));
            let losses: Vec<f64> = (0..100)
                .map(|seed| {
                    let mut state = config.build();
                    let mut stream = StreamKey { seed, replication: 0 }.stream("fading");
                    let frame = Frame { bytes: 1500, flow: 0, position: 0, payload_bytes: 1460 };
                    let lost = |_| state.fate(Time::ZERO, &frame, &mut stream).is_loss();
                    (0..200).map(lost).filter(|lost| *lost).count() as f64 / 200.0
                })
                .collect();
            let stated = modulation.frame_error_rate(10f64.powf(db / 10.0), 1500);
            let (measured, sigma) = mean(&losses);
            partial += usize::from((0.05..0.95).contains(&stated));
            // A deviation of one frame is allowed where nearly none or nearly all of the 20,000
            // frames are expected to be lost.
            let allowed =
                (4.0 * sigma).max(if stated.min(1.0 - stated) < 1e-4 { 4e-4 } else { 0.0 });
            assert!(
                (measured - stated).abs() <= allowed,
                "{rate} Mbit/s at {db} dB: {measured} ± {sigma} instead of {stated}"
            );
        }
        assert!(partial >= 2, "{rate} Mbit/s: the curve was not met in its fall");
    }
}

/// The loss rate under Rician fading is the modulation's error rate averaged over the power x with
/// the noncentral density p(x) = (1 + K) exp(−K − (1 + K)x) I₀(2√(K(1 + K)x)).
#[test]
fn rician_frame_errors() {
    let k = 4.0;
    let config =
        model(&format!(r#"{{"model":"fading","mean_snr_db":12,"doppler_hz":100,"rician_k":{k}}}"#));
    // Power series of the modified Bessel function I₀.
    let bessel = |z: f64| -> f64 {
        let terms = std::iter::successors(Some((1.0, 1.0)), |&(n, term): &(f64, f64)| {
            Some((n + 1.0, term * (z / 2.0 / n).powi(2)))
        });
        terms.take(200).map(|(_, term)| term).sum()
    };
    let density =
        |x: f64| (1.0 + k) * (-k - (1.0 + k) * x).exp() * bessel(2.0 * (k * (1.0 + k) * x).sqrt());
    let width = 1e-3;
    let stated: f64 = (0..10_000)
        .map(|index| {
            let x = width * (f64::from(index) + 0.5);
            let snr = 10f64.powf(1.2) * x;
            width * density(x) * Modulation::Cck11.frame_error_rate(snr, 1500)
        })
        .sum();
    let losses: Vec<f64> = (0..400)
        .map(|seed| {
            let mut state = config.build();
            let mut stream = StreamKey { seed, replication: 0 }.stream("fading");
            let frame = Frame { bytes: 1500, flow: 0, position: 0, payload_bytes: 1460 };
            let mut lost = |step: u64| {
                state.fate(Time::from_nanos(step * 1_000_000), &frame, &mut stream).is_loss()
            };
            (0..500u64).filter(|step| lost(*step)).count() as f64 / 500.0
        })
        .collect();
    let (measured, sigma) = mean(&losses);
    // The density of a sum of 32 phasors differs by up to 1/64 from the Gaussian one.
    let allowed = 4.0 * sigma + stated / 64.0;
    assert!((measured - stated).abs() < allowed, "{measured} ± {sigma} instead of {stated}");
}

/// The stated loss rate of the sinusoids, compared with Kluyver's exact density (1906) of the power
/// x = R²/N of a sum of N equal phasors: p(x) = N/2 ∫ t J₀(√(Nx) t) J₀(t)^N dt. The stated density
/// leaves out terms of relative order 1/N²; that of an exponential law would be wrong by 1/(2N).
#[test]
fn the_stated_loss_rate_is_that_of_32_phasors() {
    const N: f64 = 32.0;
    const STEP: f64 = 0.002;
    // J₀(t)³² lies below 10⁻¹² beyond the first zero of J₀ at 2.4.
    let at = |index: u32| STEP * (f64::from(index) + 0.5);
    let weights: Vec<(f64, f64)> =
        (0..1200).map(at).map(|t| (t, STEP * t * libm::j0(t).powf(N))).collect();
    let density = |x: f64| {
        let root = (N * x).sqrt();
        N / 2.0 * weights.iter().map(|(t, weight)| weight * libm::j0(root * t)).sum::<f64>()
    };
    // The power is at most N; beyond 14 it has probability 10⁻⁶. As errors occur in fades, √x is
    // integrated.
    let width = 14f64.sqrt() / 1500.0;
    let powers: Vec<(f64, f64)> = (0..1500)
        .map(|index| {
            let root = width * (f64::from(index) + 0.5);
            (root * root, 2.0 * root * width * density(root * root))
        })
        .collect();
    for db in [-100, 0, 4, 10, 20] {
        let text = format!(r#"{{"model":"fading","mean_snr_db":{db},"doppler_hz":1}}"#);
        let stated = model(&text).loss_rate(1500).expect("stated for Rayleigh fading");
        let snr = 10f64.powf(f64::from(db) / 10.0);
        let error = |x: f64| Modulation::Cck11.frame_error_rate(snr * x, 1500);
        let exact: f64 = powers.iter().map(|(x, weight)| weight * error(*x)).sum();
        assert!((stated / exact - 1.0).abs() < 1.0 / N / N, "{db} dB: {stated} for {exact}");
    }
}

/// The error probability of a frame of 8 bits at 1 Mbit/s is 1 − (1 − ½·exp(−22γ))⁸, a sum of
/// exponentials. The exponential law has the Laplace transform 1/(1 + s), and its product with L₂
/// has s²/(1 + s)³.
#[test]
fn the_loss_rate_of_short_frames() {
    let bits = [8.0, 28.0, 56.0, 70.0, 56.0, 28.0, 8.0, 1.0];
    for (process, uneven) in [("sinusoids", 1.0 / 64.0), ("markov", 0.0)] {
        for db in [-20, -10, -3, 0, 5] {
            let mean = |s: f64| 1.0 / (1.0 + s) - uneven * s * s / (1.0 + s).powi(3);
            let snr = 10f64.powf(f64::from(db) / 10.0);
            let terms = bits.iter().enumerate().map(|(order, combinations)| {
                let order = order as i32 + 1;
                -combinations * (-0.5f64).powi(order) * mean(22.0 * snr * f64::from(order))
            });
            let expected: f64 = terms.sum();
            let text = format!(
                r#"{{"model":"fading","mean_snr_db":{db},"doppler_hz":1,"rate":"1 Mbit/s",
                    "process":"{process}"}}"#
            );
            let stated = model(&text).loss_rate(1).expect("stated for Rayleigh fading");
            assert!((stated - expected).abs() < 1e-6, "{text}: {stated} for {expected}");
        }
    }
}

/// Over the ensemble of phases and directions, the powers at two instants τ apart have the mean
/// product 1 + |ρ|² − 1/N. Here ρ = J₀(2π f_d τ) is the autocorrelation of Clarke's model, and 1/N
/// comes from the constant power of each phasor. Directions are random within sectors of 2π/N; this
/// adds about (2π f_d τ·2π/N)²/(24 N), below 0.002 here.
#[test]
fn the_power_is_correlated_in_time() {
    const N: f64 = 32.0;
    let doppler = 50.0;
    // The first zero and the first minimum of J₀ are among these.
    for angle in [0.0, 1.0, 2.4048, 3.8317, 5.5201] {
        let lag = angle / TAU / doppler;
        let products: Vec<f64> = (0..400)
            .map(|seed| {
                let text =
                    format!(r#"{{"model":"fading","mean_snr_db":0,"doppler_hz":{doppler}}}"#);
                let mut state = fading(&text);
                let mut stream = StreamKey { seed, replication: 0 }.stream("fading");
                let mut power = |seconds: f64| {
                    let now = Time::from_nanos((seconds * 1e9) as u64);
                    10f64.powf(state.snr_db(now, &mut stream) / 10.0)
                };
                let product = |step: u32| {
                    let at = 0.0371 * f64::from(step);
                    power(at) * power(at + lag)
                };
                (0..200).map(product).sum::<f64>() / 200.0
            })
            .collect();
        let (measured, sigma) = mean(&products);
        let expected = 1.0 + libm::j0(angle).powi(2) - 1.0 / N;
        assert!(
            (measured - expected).abs() < 4.0 * sigma + 0.002,
            "{angle}: {measured} ± {sigma} instead of {expected}"
        );
    }
}
