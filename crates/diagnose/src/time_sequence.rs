//! Time–sequence diagram of a flow: data, acknowledgments and the right edge of the receive window.
//! Points are thinned, so that memory is bounded.

use serde::Serialize;

/// Maximum number of points of each kind.
const POINTS_MAX: usize = 8_000;

/// Thinned sequence of points.
#[derive(Debug, Default)]
struct Course {
    points: Vec<(f64, i64, i64)>,
    /// Every `stride`-th point is kept.
    stride: usize,
    seen: usize,
}

impl Course {
    fn push(&mut self, point: (f64, i64, i64)) {
        self.stride = self.stride.max(1);
        if self.seen.is_multiple_of(self.stride) {
            self.points.push(point);
        }
        self.seen += 1;
        if self.points.len() > POINTS_MAX {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

/// Points of one direction.
#[derive(Debug, Default)]
pub struct Recorder {
    data: Course,
    acks: Course,
}

/// Time–sequence diagram of a flow.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TimeSequenceDiagram {
    /// Data packets: time in seconds, first position, position after the last byte.
    pub data: Vec<(f64, i64, i64)>,
    /// Acknowledgments: time in seconds, position, right edge of the receive window.
    pub acks: Vec<(f64, i64, i64)>,
    /// Number of data packets for each one that is drawn.
    #[serde(rename = "one_of")]
    pub decimation_factor: usize,
}

impl Recorder {
    /// Adds a data segment.
    pub fn add_data(&mut self, time_ns: i64, start: i64, end: i64) {
        self.data.push((time_ns as f64 * 1e-9, start, end));
    }

    /// Adds an acknowledgment.
    pub fn add_ack(&mut self, time_ns: i64, ack: i64, edge: i64) {
        self.acks.push((time_ns as f64 * 1e-9, ack, edge));
    }

    /// Returns the diagram; called after the last packet.
    pub fn finish(self) -> TimeSequenceDiagram {
        let decimation_factor = self.data.stride.max(1);
        TimeSequenceDiagram { data: self.data.points, acks: self.acks.points, decimation_factor }
    }
}
