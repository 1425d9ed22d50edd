use super::*;

/// Distance between the numbers that a stream can yield.
pub(super) const STEP: f64 = 1.0 / (1u64 << 53) as f64;

/// Stream of random numbers for tests.
pub(super) fn stream(seed: u64) -> RandomStream {
    StreamKey { seed, replication: 0 }.stream("fading")
}

/// Xiao, Zheng & Beaulieu 2006: α_n = (2πn + θ_n)/N with θ_n in [−π, π), n = 1 … N. Each direction
/// thus lies in a sector of its own, of width 2π/N around 2πn/N, and is uniform within it.
#[test]
fn each_sinusoid_has_a_sector_of_directions() {
    const DRAWS: u64 = 2_000;
    let count = SINUSOIDS as f64;
    // Position of each direction in its sector, as a share of the sector's width: uniform in [0,
    // 1).
    let mut shares = Vec::new();
    for seed in 0..DRAWS {
        let mut sinusoids = Sinusoids::default();
        sinusoids.draw(&mut StreamKey { seed, replication: 0 }.stream("fading"));
        for (index, cosine) in sinusoids.direction.into_iter().enumerate() {
            let middle = TAU * (index + 1) as f64 / count;
            let (first, last) = (middle - PI / count, middle + PI / count);
            // The channel stores only the cosines of the directions. A cosine determines the angle,
            // except in the two sectors that contain 0 and π.
            let angle = libm::acos(cosine);
            let angle = if middle > PI { TAU - angle } else { angle };
            let is_folded = index + 1 == SINUSOIDS || index + 1 == SINUSOIDS / 2;
            let distance = if is_folded { (angle - middle).abs() } else { 0.0 };
            assert!(distance <= PI / count, "sinusoid {index}: {angle} not around {middle}");
            if !is_folded {
                assert!(
                    (first - 1e-9..last + 1e-9).contains(&angle),
                    "sinusoid {index}: {angle} outside {first} … {last}"
                );
                shares.push((angle - first) / (last - first));
            }
        }
    }
    // A uniform variable has the mean 1/2 and the variance 1/12; the standard error of the measured
    // variance is √(1/180/n).
    let n = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / n;
    let variance = shares.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / n;
    assert!((mean - 0.5).abs() < 4.0 * libm::sqrt(1.0 / 12.0 / n), "{mean}");
    assert!((variance - 1.0 / 12.0).abs() < 4.0 * libm::sqrt(1.0 / 180.0 / n), "{variance}");
}
