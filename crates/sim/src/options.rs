//! How a plan is run, and why there may be no outcome.

use crate::capture::CapturePoint;
use retx_tcp::user::Fault;
use retx_units::Duration;

/// How a plan is run, and what is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Which repetition this is: chooses the random draws together with the plan's seed.
    pub replication: u64,
    /// Keep the `segments` table.
    pub segments: bool,
    /// Keep the `drops` table.
    pub drops: bool,
    /// Keep the `episodes` table.
    pub episodes: bool,
    /// Capture packets at these points.
    pub capture: Vec<CapturePoint>,
    /// Run without anything that exists only for speed: each hop by its own event, each segment
    /// the long way through its connection. All results are the same but the count of events.
    pub reference: bool,
}

/// Why there is no outcome.
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
        /// Two per link, two per flow, one per wlan.
        targets: u64,
    },
    /// More rows than a plan allows.
    #[error(
        "samples every {interval} come to more than {most} rows by {at} of the run: take a longer \
         `sample_interval`, or \"every_ack\""
    )]
    TooManySamples {
        /// Between two samples.
        interval: Duration,
        /// So many are allowed.
        most: u64,
        /// When there are more.
        at: Duration,
    },
    /// A name that does not fit into a capture file.
    #[error(transparent)]
    Capture(#[from] retx_record::capture::LongName),
    /// The user's own code failed.
    #[error("{}", .0.message)]
    UserCode(Fault),
    /// Packets that came from nowhere or went nowhere: a fault of ours.
    #[error("packets are not conserved at {place}: {counts}; please report this scenario and seed")]
    Conservation {
        /// Where.
        place: String,
        /// What was counted.
        counts: String,
    },
}
