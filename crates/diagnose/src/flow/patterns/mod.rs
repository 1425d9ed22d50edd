//! Known faults and habits, such as a path-MTU black hole, a policer, a closed window or a slow
//! server.
//!
//! The shares of a flow's lifetime show which limits the flow had. A pattern names the reason for
//! such a limit, if the packets reveal the reason.

mod black_hole;
pub(crate) mod options;
mod outage;
pub mod pauses;
mod policer;
mod small_buffer;
pub(crate) mod standing_queue;

pub use black_hole::BlackHoleDetector;
pub use options::Negotiation;
pub use pauses::Pauses;
pub use policer::PolicerDetector;
pub use small_buffer::Windows;
pub use standing_queue::AckQueueing;

use super::direction::Direction;
use super::record::RetransmissionRecord;
use crate::answer::{Kind, Limits, Necessity, Pattern};

/// Pauses are reported only if together they take at least this fraction of a flow's life (an
/// arbitrary choice).
const WORTH_NAMING: f64 = 0.1;
/// Pauses are reported only if the longest one takes at least this time (an arbitrary choice:
/// nobody notices a shorter one).
const NOTICEABLE_NS: i64 = 20_000_000;

/// Evidence of the patterns of one direction.
#[derive(Debug, Default)]
pub struct PatternDetectors {
    /// Detector of segments that are too large for the path.
    pub black_hole: BlackHoleDetector,
    /// Detector of a policer, from losses and from the bytes sent.
    pub policer: PolicerDetector,
    /// Detector of closed windows, and of pauses of the application.
    pub pauses: Pauses,
    /// Waits of acknowledgments in queues.
    pub queueing: AckQueueing,
    /// Sizes of the windows.
    pub windows: Windows,
}

/// Packet of the data's sender.
#[derive(Debug, Clone, Copy)]
pub struct SentPacket {
    /// Number of the frame in the capture.
    pub packet: u64,
    /// Time of transmission.
    pub time_ns: i64,
    /// Position of the first byte.
    pub start: i64,
    /// Number of payload bytes.
    pub payload_bytes: i64,
    /// True if the data were sent before.
    pub is_retransmission: bool,
}

impl PatternDetectors {
    /// Handles data that pass the capture. `segment` is the largest payload of a segment on the
    /// path, and `una` the first unacknowledged position that the sender knows.
    pub fn on_data(&mut self, sent: &SentPacket, segment: i64, una: i64) {
        self.windows.on_data(sent.start + sent.payload_bytes - una);
        self.policer.on_data(sent);
        self.black_hole.on_data(sent, segment);
        self.pauses.on_data(sent);
    }
}

/// Joins names by commas and “and”.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// True if, according to the capture, an earlier copy was lost before this retransmission.
fn follows_a_loss(record: &RetransmissionRecord) -> bool {
    let repairs = matches!(record.kind, Kind::Fast | Kind::Recovery | Kind::Timeout);
    repairs && record.needless != Necessity::Yes
}

impl Direction {
    /// Patterns of this direction of a flow that lasts `life_ns`.
    pub fn patterns(&mut self, life_ns: i64) -> Vec<Pattern> {
        let detectors = std::mem::take(&mut self.detectors);
        // The windows are needed once the limits are known.
        self.detectors.windows = detectors.windows;
        let mut found = Vec::new();
        found.extend(detectors.black_hole.finish());
        // Timeouts of a black hole would look like an outage.
        if found.is_empty() {
            found.extend(outage::longest_outage(&self.timeouts, &self.records.all));
        }
        let repaired_ns = |index: u32| {
            let record = &self.records.all[index as usize];
            follows_a_loss(record).then_some(record.sent_ns)
        };
        // A full queue delays the packets before a loss, a policer does not.
        let waits: Vec<i64> = self.episodes.iter().map(|it| it.rtt_ns).collect();
        let evaluated = waits.iter().filter_map(|rtt| self.sender.rtts.evaluate(*rtt));
        let longer: Vec<f64> = evaluated.map(|it| it.share_at_or_above).collect();
        let (rtts, least_ns) = ((&*waits, &*longer), self.sender.rtt_min_ns);
        let policer = detectors.policer.finish(repaired_ns, rtts, least_ns);
        self.is_policed = policer.is_some();
        found.extend(policer);
        found.extend(detectors.queueing.find_standing_queue(&self.sender.rtts));
        found.extend(detectors.pauses.finish(life_ns));
        found.extend(self.ecn.pattern());
        found
    }

    /// Adds the pattern of a small buffer. A window that the receiver closes is another pattern:
    /// its program reads too slowly, and a larger buffer would not help.
    pub fn add_small_buffer(&self, patterns: &mut Vec<Pattern>, limits: &Limits, life_s: f64) {
        if !patterns.iter().any(|it| it.name == "zero_window") {
            let (windows, rtt_min_ns) = (self.detectors.windows, self.sender.rtt_min_ns);
            patterns.extend(windows.find_small_buffer(limits, life_s, &self.path, rtt_min_ns));
        }
    }
}
