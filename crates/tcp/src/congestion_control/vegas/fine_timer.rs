//! Fine-grained retransmission timeout of Vegas (Brakmo & Peterson 1995).

/// The fine-grained retransmission timeout, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct FineTimer {
    srtt: i64,
    deviation: i64,
    pub timeout: i64,
}

impl FineTimer {
    pub fn new(sample: i64) -> Self {
        let mut timer = Self { srtt: sample, deviation: sample / 4, timeout: 0 };
        timer.renew();
        timer
    }

    pub fn sample(&mut self, sample: i64) {
        // Gains of 1/8 for the mean and 1/4 for the deviation, as in Jacobson 1988.
        let error = sample - self.srtt;
        self.srtt += error / 8;
        self.deviation += (error.abs() - self.deviation) / 4;
        self.renew();
    }

    fn renew(&mut self) {
        let timeout = self.srtt.saturating_add(self.deviation.saturating_mul(2));
        self.timeout = timeout.saturating_add(timeout / 16);
    }

    /// Backs off after the loss of a segment that had been sent `copies` times.
    pub fn back_off(&mut self, copies: u32) {
        let more = if copies > 1 { self.timeout } else { self.timeout / 8 };
        self.timeout = self.timeout.saturating_add(more);
    }
}
