//! Skew between the clocks of two captures, estimated from the lower envelope of the delays.
//!
//! The method is that of Moon, Skelly and Towsley (INFOCOM 1999). Of all lines below all delays,
//! the one with the smallest sum of distances to them has the slope of the skew, because the
//! minimum delay is constant.

/// Minimum number of packets to estimate the skew.
const POINTS_MIN: usize = 50;

/// Minimum delay as a linear function of time.
#[derive(Debug, Clone, Copy)]
pub struct MinimumDelay {
    start_ns: i64,
    slope: f64,
    /// Least delay at the start, including the difference of the clocks.
    pub least_ns: i64,
}

impl MinimumDelay {
    /// Highest line of this slope below all delays, which are given with their times.
    pub fn lower_bound(points: &[(i64, i64)], slope: f64) -> Self {
        let start_ns = points.first().map_or(0, |point| point.0);
        let mut line = Self { start_ns, slope, least_ns: 0 };
        line.least_ns = points.iter().map(|point| line.corrected(*point)).min().unwrap_or(0);
        line
    }

    fn corrected(&self, (time_ns, delay_ns): (i64, i64)) -> i64 {
        let elapsed = time_ns.saturating_sub(self.start_ns) as f64;
        delay_ns.saturating_sub((elapsed * self.slope).round() as i64)
    }

    /// Delay above the minimum.
    pub fn excess(&self, point: (i64, i64)) -> i64 {
        self.corrected(point).saturating_sub(self.least_ns)
    }
}

/// Slope of the lower envelope of the delays, at the mean of their times.
pub fn lower_envelope_slope(points: &[(i64, i64)]) -> Option<f64> {
    if points.len() < POINTS_MIN {
        return None;
    }
    let start_ns = points[0].0;
    let mut hull: Vec<(f64, f64)> = Vec::new();
    let mut middle = 0.0;
    for (time_ns, delay_ns) in points {
        let point =
            (time_ns.saturating_sub(start_ns) as f64, *delay_ns as f64 - points[0].1 as f64);
        middle += point.0 / points.len() as f64;
        while let [.., before, last] = hull.as_slice()
            && cross(*before, *last, point) <= 0.0
        {
            hull.pop();
        }
        hull.push(point);
    }
    let edge = hull.windows(2).find(|edge| edge[0].0 <= middle && middle <= edge[1].0)?;
    let length = edge[1].0 - edge[0].0;
    (length > 0.0).then(|| (edge[1].1 - edge[0].1) / length)
}

/// Cross product; positive if the path through the three points turns left.
fn cross(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> f64 {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
}

#[cfg(test)]
mod tests {
    use super::{MinimumDelay, lower_envelope_slope};

    /// Delays above a line of 40 ppm; the line is found for any distances of the delays from it.
    #[test]
    fn the_lower_envelope_shows_the_skew() {
        let mut points = Vec::new();
        for index in 0..1_000_i64 {
            let time_ns = index * 10_000_000;
            let above = (index * 7_919 % 101) * 100_000;
            points.push((time_ns, 5_000_000 + time_ns / 25_000 + above));
        }
        let slope = lower_envelope_slope(&points).expect("enough points");
        assert!((slope - 40e-6).abs() < 0.5e-6, "{slope}");
        let line = MinimumDelay::lower_bound(&points, slope);
        assert!((line.least_ns - 5_000_000).abs() < 20_000, "{}", line.least_ns);
    }
}
