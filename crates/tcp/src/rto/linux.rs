//! *What it does.* Estimator of Linux: the deviation grows slowly while the RTT falls, its maximum
//! in each window determines the timeout, and `min_rto` bounds the deviation, not the timeout.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_rtt_estimator`, `tcp_set_rto`) and
//! `include/net/tcp.h` (`__tcp_set_rto`); Sarolahti & Kuznetsov, USENIX 2002.
//!
//! *Equations.* In whole microseconds, with SRTT kept eightfold and deviations fourfold; divisions
//! are shifts.
//!
//! - *First sample* m. SRTT = m, 4·mdev = 2m, 4·RTTVAR = 4·mdev_max = max(2m, min_rto); hence RTO =
//!   3m, at least m + min_rto.
//! - *Each further sample* m. e = m − SRTT, SRTT += e/8; d = |e| − mdev, divided by 8 if e < 0 < d;
//!   4·mdev += d; 4·mdev_max and 4·RTTVAR rise to at least 4·mdev.
//! - *Once per window,* when `SND.UNA` has passed the mark. RTTVAR falls by a quarter of its excess
//!   over mdev_max, the mark becomes `SND.NXT`, and 4·mdev_max = min_rto.
//! - *Timeout.* RTO = SRTT + 4·RTTVAR, rounded up to the timer's tick, at most max_rto.
//!
//! *Where we differ.* The reported RTT variation is mdev, as in the kernel's `tcpi_rttvar`.

use super::{Estimator, Limits};
use crate::congestion_control::Window;
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Linux: SRTT + RTTVAR with `min_rto` as the floor of RTTVAR, adapted once per window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// State of the estimator.
#[derive(Debug, Clone)]
pub struct State {
    /// Tick to which the timeout is rounded up; zero for none.
    tick: Duration,
    max: Duration,
    /// Lower bound of 4·RTTVAR, in microseconds.
    floor: i64,
    /// 8·SRTT; 0 before the first sample.
    srtt8: i64,
    mdev4: i64,
    mdev_max4: i64,
    rttvar4: i64,
    /// Position whose acknowledgment ends the window (`rtt_seq`).
    mark: u64,
    /// Timeout, rounded up to the tick; before the first sample the initial one.
    timeout: Duration,
}

/// Limit of samples, 36 years in nanoseconds, so that sums do not overflow.
const LONGEST: u64 = 1 << 60;

impl State {
    /// Creates an estimator without samples.
    pub fn new(_: &Config, tcp: &crate::Config) -> Self {
        let limits = Limits::from_config(tcp);
        Self {
            tick: tcp.timer_granularity,
            max: limits.max,
            floor: micros(limits.min),
            srtt8: 0,
            mdev4: 0,
            mdev_max4: 0,
            rttvar4: 0,
            mark: 0,
            timeout: limits.initial.min(limits.max),
        }
    }

    /// Computes the timeout after a sample.
    #[inline(always)]
    fn update_timeout(&mut self) {
        // A minimum below a microsecond must not make the timeout zero.
        let timeout = duration(((self.srtt8 >> 3) + self.rttvar4).max(1)).min(self.max);
        // Most samples leave the timeout within the tick to which it was rounded up.
        if timeout > self.timeout || timeout + self.tick <= self.timeout {
            self.timeout = (Time::ZERO + timeout).align_up(self.tick).since(Time::ZERO);
        }
    }

    fn first(&mut self, m: i64) {
        self.srtt8 = 8 * m;
        self.mdev4 = 2 * m;
        self.rttvar4 = self.mdev4.max(self.floor);
        self.mdev_max4 = self.rttvar4;
    }

    #[inline(always)]
    fn next(&mut self, m: i64) {
        let error = m - (self.srtt8 >> 3);
        self.srtt8 += error;
        let mut change = error.abs() - (self.mdev4 >> 2);
        if error < 0 && change > 0 {
            // A falling RTT must not raise the timeout.
            change >>= 3;
        }
        self.mdev4 += change;
        self.mdev_max4 = self.mdev_max4.max(self.mdev4);
        self.rttvar4 = self.rttvar4.max(self.mdev_max4);
    }
}

/// Duration in whole microseconds.
fn micros(duration: Duration) -> i64 {
    (duration.as_nanos().min(LONGEST) / 1_000) as i64
}

fn duration(micros: i64) -> Duration {
    Duration::from_micros(micros as u64)
}

impl Estimator for State {
    #[inline(always)]
    fn on_rtt(&mut self, rtt: Duration, snd_una: u64, snd_nxt: u64, _: &Limits) {
        let m = micros(rtt);
        if self.srtt8 == 0 {
            self.first(m);
            self.mark = snd_nxt;
            self.timeout = Duration::ZERO;
        } else {
            self.next(m);
            if snd_una > self.mark {
                self.rttvar4 -= (self.rttvar4 - self.mdev_max4) >> 2;
                self.mark = snd_nxt;
                self.mdev_max4 = self.floor;
            }
        }
        self.srtt8 = self.srtt8.max(1);
        self.update_timeout();
    }

    fn on_lost_syn(&mut self, rto: Duration, _: &Limits) {
        // `tcp_init_metrics`: TCP_TIMEOUT_FALLBACK is the first RTO after a lost SYN.
        if self.srtt8 == 0 {
            self.timeout = self.timeout.max(rto);
        }
    }

    fn rto(&self, _: &Window) -> Duration {
        self.timeout.min(self.max)
    }

    fn srtt(&self) -> Option<Duration> {
        (self.srtt8 > 0).then(|| duration(self.srtt8 >> 3))
    }

    fn rttvar(&self) -> Option<Duration> {
        (self.srtt8 > 0).then(|| duration(self.mdev4 >> 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits that this estimator does not read.
    const UNUSED: Limits = Limits {
        initial: Duration::ZERO,
        min: Duration::ZERO,
        max: Duration::ZERO,
        granularity: Duration::ZERO,
    };

    const WINDOW: Window = Window { cwnd: 1, ssthresh: 1, smss: 1 };

    fn estimator() -> State {
        let ms = Duration::from_millis;
        let linux = crate::Config {
            initial_rto: ms(1_000),
            min_rto: ms(200),
            max_rto: ms(120_000),
            ..(crate::presets::find("reno").unwrap().config)()
        };
        State::new(&Config {}, &linux)
    }

    /// SRTT, mdev and RTO in microseconds.
    fn seen(state: &State) -> [u64; 3] {
        let micros = |it: Duration| it.as_nanos() / 1_000;
        [state.srtt().unwrap(), state.rttvar().unwrap(), state.rto(&WINDOW)].map(micros)
    }

    fn sample(state: &mut State, micros: u64, snd_una: u64, snd_nxt: u64) -> [u64; 3] {
        state.on_rtt(Duration::from_micros(micros), snd_una, snd_nxt, &UNUSED);
        seen(state)
    }

    /// The first sample m gives RTO = 3m, but at least m + 200 ms.
    #[test]
    fn the_first_sample() {
        assert_eq!(estimator().rto(&WINDOW), Duration::from_secs(1));
        assert_eq!(sample(&mut estimator(), 40_000, 1, 1), [40_000, 20_000, 240_000]);
        assert_eq!(sample(&mut estimator(), 300_000, 1, 1), [300_000, 150_000, 900_000]);
    }

    /// Three samples by hand: m = 100, 180, 60 ms within one window.
    /// 2nd: e = 80, SRTT = 110; d = 80 − 50, 4·mdev = 230 > 200: RTO = 110 + 230.
    /// 3rd: e = −50, SRTT = 103.75; d = 50 − 57.5 < 0, 4·mdev = 222.5; 4·RTTVAR stays 230.
    #[test]
    fn three_samples_by_hand() {
        let mut state = estimator();
        assert_eq!(sample(&mut state, 100_000, 1, 10), [100_000, 50_000, 300_000]);
        assert_eq!(sample(&mut state, 180_000, 5, 12), [110_000, 57_500, 340_000]);
        assert_eq!(sample(&mut state, 60_000, 10, 14), [103_750, 55_625, 333_750]);
    }

    /// A fall from 100 to 10 ms: e = −90, d = 90 − 50 = 40, of which an eighth counts: 4·mdev =
    /// 205. With all of it the RTO would be 88.75 + 240.
    #[test]
    fn a_falling_rtt_raises_the_deviation_slowly() {
        let mut state = estimator();
        sample(&mut state, 100_000, 1, 10);
        assert_eq!(sample(&mut state, 10_000, 5, 12), [88_750, 51_250, 293_750]);
    }

    /// m = 100 ms, then 500 ms: e = 400, SRTT = 150, d = 350, 4·mdev = 4·RTTVAR = 550. From then on
    /// m = 150: e = 0, and mdev decays by a quarter each time. The window that contains the peak
    /// keeps it; at the end of the next one, whose largest 4·mdev is 309.375 ms, RTTVAR loses a
    /// quarter of the difference.
    #[test]
    fn the_peak_of_a_window_fades_with_the_next() {
        let mut state = estimator();
        sample(&mut state, 100_000, 1, 10);
        assert_eq!(sample(&mut state, 500_000, 10, 20), [150_000, 137_500, 700_000]);
        // This ACK passes the mark at 10; the next mark lies at 21.
        assert_eq!(sample(&mut state, 150_000, 11, 21), [150_000, 103_125, 700_000]);
        // 4·mdev falls from 412.5 to 309.375 ms, which is the maximum since the mark. The reported
        // mdev is a quarter of it, truncated to whole µs.
        assert_eq!(sample(&mut state, 150_000, 21, 30), [150_000, 77_343, 700_000]);
        // The window ends: 550 − (550 − 309.375)/4 = 489.844.
        let [srtt, _, rto] = sample(&mut state, 150_000, 22, 31);
        assert_eq!((srtt, rto), (150_000, 150_000 + 489_844));
    }

    /// The lower bound applies to the variance: a constant RTT of 40 ms ends at 240 ms, not at 200
    /// ms.
    #[test]
    fn the_floor_lies_above_the_rtt() {
        let mut state = estimator();
        for window in 0..200 {
            sample(&mut state, 40_000, window * 10 + 1, window * 10 + 10);
        }
        assert_eq!(seen(&state), [40_000, 0, 240_000]);
        (state.tick, state.timeout) = (Duration::from_millis(7), Duration::ZERO);
        for micros in [40_000, 40_000, 5_600_000, 40_000] {
            let rto = sample(&mut state, micros, 3_000, 3_000)[2];
            let exact = ((state.srtt8 >> 3) + state.rttvar4) as u64;
            assert_eq!(rto, exact.next_multiple_of(7_000), "up to the tick");
        }
        state.on_rtt(Duration::MAX, 5_000, 5_000, &UNUSED);
        assert_eq!(state.rto(&WINDOW), Duration::from_secs(120));
    }

    #[test]
    fn a_lost_syn_counts_only_without_a_sample() {
        let mut state = estimator();
        state.on_lost_syn(Duration::from_secs(3), &UNUSED);
        assert_eq!(state.rto(&WINDOW), Duration::from_secs(3));
        assert_eq!(sample(&mut state, 40_000, 1, 1)[2], 240_000);
    }

    #[test]
    fn without_a_sample_nothing_is_known() {
        let mut state = estimator();
        assert_eq!((state.srtt(), state.rttvar()), (None, None));
        sample(&mut state, 40_000, 1, 1);
        assert!(state.srtt().is_some() && state.rttvar().is_some());
    }
}
