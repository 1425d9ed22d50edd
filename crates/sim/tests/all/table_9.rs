//! The congestion window after a loss, ACK by ACK, compared with table 9 of Electronics 2022,
//! 11(14), 2254.

use crate::plans::{high_ber, script};
use retx_sim::plan::Sampling;
use retx_sim::{Control, Options, run_plan};

/// Windows in bytes that start at three segments and grow by cwnd += MSS²/cwnd with each ACK. The
/// paper misprints the seventh value as 7762.
const TABLE_9: [i64; 15] =
    [4380, 4867, 5305, 5707, 6080, 6431, 6762, 7077, 7379, 7667, 7945, 8214, 8473, 8725, 8969];

#[test]
fn the_window_grows_back_as_in_table_9() {
    let mut plan = high_ber(0.0);
    plan.sampling = Sampling::EveryAck;
    plan.pipes[0].config.channel = vec![script(&[], &[296 * 1460 + 1])];
    let options = Options { record_episodes: true, ..Options::default() };
    let outcome = run_plan(&plan, &options, &Control::default()).expect("a sound run");
    let episode = outcome.tables.episodes.expect("asked for").rows()[0];
    let samples = outcome.tables.samples.expect("asked for");
    let windows: Vec<i64> = samples
        .rows()
        .iter()
        .filter(|sample| sample.time >= episode.end)
        .map(|sample| sample.cwnd_bytes as i64)
        .take(TABLE_9.len())
        .collect();
    // The table rounds each step, while the sender keeps the fraction, so the two differ by a byte
    // at most.
    let apart = windows.iter().zip(TABLE_9).map(|(window, printed)| (window - printed).abs());
    assert!(windows.len() == TABLE_9.len() && apart.max() <= Some(1), "{windows:?}");
}
