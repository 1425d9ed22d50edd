//! Series drawn by channels.

use retx_fit::loss::{Answer, Model, Options, Series, fit};
use retx_link::channel::{Channel, Config, Frame, Model as _};
use retx_units::{StreamKey, Time};

/// Poisson instants, 1 ms apart on average.
pub fn instants(count: usize, seed: u64) -> Vec<f64> {
    let mut stream = StreamKey { seed, replication: 0 }.stream("instants");
    let mut now = 0.0;
    (0..count)
        .map(|_| {
            now += 0.001 * stream.exponential();
            now
        })
        .collect()
}

/// Fates of frames of 1500 bytes on a channel.
pub fn fates(channel: &str, times: &[f64], seed: u64) -> Vec<f64> {
    let config: Config = serde_json::from_str(channel).expect(channel);
    let (mut state, key) = (config.build(), StreamKey { seed, replication: 0 });
    let mut stream = key.stream("channel");
    let frame = Frame { bytes: 1500, payload_bytes: 1460, ..Frame::default() };
    times
        .iter()
        .map(|time| {
            let now = Time::from_nanos((time * 1e9) as u64);
            f64::from(u8::from(state.fate(now, &frame, &mut stream).is_loss()))
        })
        .collect()
}

/// Series with packets of 1500 bytes.
pub fn series(times: Vec<f64>, lost: Vec<f64>) -> Series {
    let sizes = vec![1500.0; times.len()];
    Series::new(times, sizes, lost).expect("a series")
}

/// Fit of what a channel does to 12,000 frames.
pub fn fitted(channel: &str, seed: u64) -> Answer {
    let times = instants(12_000, seed);
    let lost = fates(channel, &times, seed);
    fit(&series(times, lost), &Options { drawn_series: 19, ..Options::default() }).expect("a fit")
}

/// Fit of one law, tested on a few drawn series.
pub fn fit_one(name: &str, series: &Series) -> Answer {
    let laws = vec![name.to_string()];
    fit(series, &Options { drawn_series: 1, laws, ..Options::default() }).expect("a fit")
}

/// Model of this name.
pub fn model<'a>(answer: &'a Answer, name: &str) -> &'a Model {
    answer.models.iter().find(|it| it.name == name).expect(name)
}
