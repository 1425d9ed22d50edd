use super::*;

fn stream(seed: u64) -> RandomStream {
    StreamKey { seed, replication: 0 }.stream("channel")
}

fn state(mean_good_ms: u64, mean_bad_ms: u64) -> State {
    let config = Config {
        mean_good: Some(Duration::from_millis(mean_good_ms)),
        mean_bad: Some(Duration::from_millis(mean_bad_ms)),
        ..Config::default()
    };
    config.build()
}

/// A span is half-open: an instant at its end no longer belongs to it.
#[test]
fn an_instant_at_the_end_of_a_span_lies_outside() {
    let gap = stream(1).exponential();
    let instants =
        |period| Instants { stream: stream(1), mean_gap: 1.0, period, now: 0.0 }.next().is_some();
    assert!(!instants(gap));
    assert!(instants(gap * (1.0 + f64::EPSILON)));
}

/// The instants of a span are those of a Poisson process with 8 per span; each has a number of its
/// own, uniform in [0, 1).
#[test]
fn the_instants_form_a_poisson_process() {
    const SPANS: u64 = 4000;
    let spans: Vec<Vec<(u64, f64)>> =
        (0..SPANS).map(|span| Instants::of(5, span, 1000.0, 8000).collect()).collect();
    for instants in &spans {
        assert!(instants.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert!(instants.iter().all(|(at, number)| *at < 8000 && (0.0..1.0).contains(number)));
    }
    let near = |measured: f64, expected: f64, deviation: f64| {
        assert!((measured - expected).abs() < 4.0 * deviation, "{measured} for {expected}");
    };
    let n = SPANS as f64;
    let counts = || spans.iter().map(|instants| instants.len() as f64);
    // A Poisson variable with mean m has the variance m, and its square deviation the variance
    // m + 2m².
    let mean = counts().sum::<f64>() / n;
    near(mean, 8.0, (8.0 / n).sqrt());
    near(counts().map(|count| (count - 8.0).powi(2)).sum::<f64>() / n, 8.0, (136.0 / n).sqrt());
    // Given their count, instants are uniform in the span.
    let all = || spans.iter().flatten();
    let count = all().count() as f64;
    near(
        all().map(|(at, _)| *at as f64).sum::<f64>() / count,
        4000.0,
        8000.0 / (12.0 * count).sqrt(),
    );
    near(all().map(|(_, number)| number).sum::<f64>() / count, 0.5, 1.0 / (12.0 * count).sqrt());
}

/// The chain is bad from an instant on if the number of this instant lies below the share of bad
/// time. The last instant before a span determines the state at its start.
#[test]
fn the_number_of_the_last_instant_decides() {
    let mut state = state(30, 10);
    // 1/30 ms + 1/10 ms: an instant every 7.5 ms on average, and 8 per span.
    assert_eq!(state.period, 60_000_000);
    let mut stream = stream(1);
    for span in [0, 1, 2, 5, 1000] {
        let start = span * state.period;
        state.is_bad(Time::from_nanos(start), &mut stream);
        let instants = state.instants.clone();
        let key = state.key.expect("drawn");
        if span > 0 {
            let before = Instants::of(key, span - 1, 7.5e6, state.period).last().expect("one");
            assert_eq!(instants[0], (0, before.1));
        }
        assert!(instants.len() > 1);
        for (index, (at, number)) in instants.iter().enumerate() {
            let until = instants.get(index + 1).map_or(state.period, |(next, _)| *next);
            for within in [*at, until - 1] {
                for (bad_share, is_bad) in
                    [(*number, false), (number + 1.0 / (1u64 << 53) as f64, true)]
                {
                    state.chain.bad_share = bad_share;
                    let now = Time::from_nanos(start + within);
                    assert_eq!(state.is_bad(now, &mut stream), is_bad, "span {span}, {within} ns");
                }
            }
        }
    }
}
