//! Options of a run, and its errors.

use crate::capture::CapturePoint;
use retx_tcp::user::Fault;
use retx_units::Duration;

/// Options of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Number of the replication, which determines the random draws together with the plan's seed.
    pub replication: u64,
    /// True to record the `segments` table.
    pub record_segments: bool,
    /// True to record the `drops` table.
    pub record_drops: bool,
    /// True to record the `episodes` table.
    pub record_episodes: bool,
    /// Places of captures.
    pub capture_points: Vec<CapturePoint>,
    /// True to run without anything that exists only for speed: each hop is an event of its own,
    /// and each segment takes the general path through its connection. All results are equal,
    /// except the number of events.
    pub is_reference_run: bool,
}

/// Error of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// [`Control::cancel`] was called.
    #[error("cancelled")]
    Cancelled,
    /// More links and flows than the engine can address.
    #[error(
        "links and flows need {targets} timers: at most {} are possible",
        crate::event_queue::MAX_TARGETS
    )]
    TooLarge {
        /// Number of timers that the plan needs.
        targets: u64,
    },
    /// More sample rows than the plan allows.
    #[error(
        "samples every {interval} come to more than {most} rows by {at} of the run: take a longer \
         `sample_interval`, or \"every_ack\""
    )]
    TooManySamples {
        /// Sampling interval.
        interval: Duration,
        /// Largest number of rows.
        most: u64,
        /// Time at which the limit is exceeded.
        at: Duration,
    },
    /// A name that does not fit into a capture file.
    #[error(transparent)]
    Capture(#[from] retx_record::capture::LongName),
    /// User code failed.
    #[error("{}", .0.message)]
    UserCode(Fault),
    /// Packets were not conserved: an error of the engine.
    #[error("packets are not conserved at {place}: {counts}; please report this scenario and seed")]
    Conservation {
        /// Place of the violation.
        place: String,
        /// Counters of the place at which packets were not conserved.
        counts: String,
    },
}
