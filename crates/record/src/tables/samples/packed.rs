//! Compact storage of samples: values that have not changed since a sender's previous sample are
//! left out.
//!
//! A row may be written at each acknowledgment. Its memory is in no cache, so writing less saves
//! more time than the comparison with the previous values takes. A row consists of a few 32-bit
//! words. The first word holds the time since the previous row and, in its highest bits, flags that
//! show which words follow. The flow and the values that change in nearly every row always follow,
//! as 16-bit differences. RTT estimates, timeout and peer's window follow only if they have
//! changed, as 32-bit differences. If a difference does not fit, or if any other value has changed,
//! the row is written in full.

use super::Sample;
use crate::reason::SenderState;
use crate::tables::words::{Words, split_u64};
use retx_units::{Duration, Time};

/// Number of bits in the first word that hold the time.
const TIME_BITS: u32 = 28;
/// Flag: SRTT and RTTVAR follow in two words.
const ESTIMATES: u32 = 1 << TIME_BITS;
/// Flag: the timeout follows in one word.
const TIMEOUT: u32 = 1 << 29;
/// Flag: the peer's window follows in one word.
const PEER: u32 = 1 << 30;
/// Flag: all values follow in full.
const WHOLE: u32 = 1 << 31;
/// Mask of the bits that hold the time.
const TIME: u32 = ESTIMATES - 1;

/// Value of an absent duration.
const NONE: u64 = u64::MAX;

/// Values of a row, without time and flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Values {
    cwnd: u64,
    flight: u64,
    ack: u64,
    ssthresh: u64,
    rwnd: u64,
    srtt: u64,
    rttvar: u64,
    rto: u64,
    backoff: u32,
    state: SenderState,
}

/// Initial values of a flow.
const NOTHING: Values = Values {
    cwnd: 0,
    flight: 0,
    ack: 0,
    ssthresh: 0,
    rwnd: 0,
    srtt: NONE,
    rttvar: NONE,
    rto: 0,
    backoff: 0,
    state: SenderState::SlowStart,
};

impl Values {
    #[inline]
    fn of(sample: &Sample) -> Self {
        let nanos = |of: Option<Duration>| of.map_or(NONE, Duration::as_nanos);
        Self {
            cwnd: sample.cwnd_bytes,
            flight: sample.flight_size_bytes,
            ack: sample.ack_bytes,
            ssthresh: sample.ssthresh_bytes,
            rwnd: sample.rwnd_bytes,
            srtt: nanos(sample.srtt),
            rttvar: nanos(sample.rttvar),
            rto: sample.rto.as_nanos(),
            backoff: sample.backoff,
            state: sample.state,
        }
    }

    /// Non-zero if the samples differ in a value that seldom changes; such a row is written in
    /// full.
    #[inline]
    const fn rarely_differ(&self, other: &Self) -> u64 {
        let small = (self.backoff ^ other.backoff) | (self.state as u32 ^ other.state as u32);
        (self.ssthresh ^ other.ssthresh) | small as u64
    }

    /// Non-zero if the samples differ in a value that has a flag of its own.
    #[inline]
    const fn differ_at_times(&self, other: &Self) -> u64 {
        (self.srtt ^ other.srtt)
            | (self.rttvar ^ other.rttvar)
            | (self.rto ^ other.rto)
            | (self.rwnd ^ other.rwnd)
    }

    fn sample(&self, time: Time, flow: u32) -> Sample {
        let duration = |nanos| (nanos != NONE).then(|| Duration::from_nanos(nanos));
        Sample {
            flow,
            time,
            cwnd_bytes: self.cwnd,
            ssthresh_bytes: self.ssthresh,
            flight_size_bytes: self.flight,
            rwnd_bytes: self.rwnd,
            srtt: duration(self.srtt),
            rttvar: duration(self.rttvar),
            rto: Duration::from_nanos(self.rto),
            backoff: self.backoff,
            state: self.state,
            ack_bytes: self.ack,
        }
    }
}

/// State after the previous rows; the next row is stored relative to it.
#[derive(Debug, Clone, Default)]
struct Before {
    time: u64,
    flow: u32,
    /// Last values of each flow.
    values: Vec<Values>,
}

impl Before {
    #[inline]
    fn values(&mut self, flow: u32) -> &mut Values {
        if flow as usize >= self.values.len() {
            self.add(flow);
        }
        &mut self.values[flow as usize]
    }

    #[cold]
    fn add(&mut self, flow: u32) {
        self.values.resize(flow as usize + 1, NOTHING);
    }
}

/// Packed rows.
#[derive(Debug, Clone, Default)]
pub(super) struct PackedRows {
    words: Vec<u32>,
    rows: usize,
    before: Before,
}

impl PackedRows {
    /// Number of rows.
    pub const fn row_count(&self) -> usize {
        self.rows
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, sample: &Sample) {
        self.rows += 1;
        let now = Values::of(sample);
        let time = sample.time.as_nanos();
        let after = time.wrapping_sub(std::mem::replace(&mut self.before.time, time));
        let flow_step = sample.flow.wrapping_sub(self.before.flow) as i32;
        self.before.flow = sample.flow;
        let last = self.before.values(sample.flow);
        let [cwnd, flight, ack] = [
            now.cwnd.wrapping_sub(last.cwnd),
            now.flight.wrapping_sub(last.flight),
            now.ack.wrapping_sub(last.ack),
        ];
        // One comparison checks that all differences fit into 16 bits: a signed number that fits
        // has no bits above the lowest 16 after 2^15 is added.
        let raised = |step: u64| step.wrapping_add(1 << 15);
        let above = raised(i64::from(flow_step) as u64) | raised(cwnd) | raised(flight) | ack;
        if (after >> TIME_BITS) | (above >> 16) | last.rarely_differ(&now) != 0 {
            *last = now;
            return self.push_whole(time, sample.flow, &now);
        }
        let pair = |low: u64, high: u64| u32::from(low as u16) | (high as u32) << 16;
        let words = [after as u32, pair(flow_step as u64, cwnd), pair(flight, ack)];
        if last.differ_at_times(&now) != 0 {
            let last = std::mem::replace(last, now);
            return self.push_changes(words, sample.flow, [&last, &now]);
        }
        (last.cwnd, last.flight, last.ack) = (now.cwnd, now.flight, now.ack);
        self.words.extend_from_slice(&words);
    }

    /// Writes a row: `words`, then the values that have changed, for which flags are set in the
    /// first word.
    #[inline(never)]
    fn push_changes(&mut self, words: [u32; 3], flow: u32, [last, now]: [&Values; 2]) {
        let steps = [
            difference(last.srtt, now.srtt),
            difference(last.rttvar, now.rttvar),
            difference(last.rto, now.rto),
            difference(last.rwnd, now.rwnd),
        ];
        if steps.into_iter().any(|step| i64::from(step as i32) != step) {
            return self.push_whole(self.before.time, flow, now);
        }
        let [srtt, rttvar, rto, rwnd] = steps.map(|step| step as u32);
        let at = self.words.len();
        self.words.extend_from_slice(&words);
        if srtt | rttvar != 0 {
            self.words[at] |= ESTIMATES;
            self.words.extend_from_slice(&[srtt, rttvar]);
        }
        if rto != 0 {
            self.words[at] |= TIMEOUT;
            self.words.push(rto);
        }
        if rwnd != 0 {
            self.words[at] |= PEER;
            self.words.push(rwnd);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_whole(&mut self, time: u64, flow: u32, now: &Values) {
        let &Values { cwnd, flight, ack, ssthresh, rwnd, srtt, rttvar, rto, backoff, state } = now;
        self.words.extend_from_slice(&[WHOLE | state as u32, flow, backoff]);
        for long in [time, cwnd, flight, ack, ssthresh, rwnd, srtt, rttvar, rto] {
            self.words.extend_from_slice(&split_u64(long));
        }
    }

    /// Rows in the order in which they were written.
    pub fn iter(&self) -> impl Iterator<Item = Sample> {
        Reader { words: Words::new(&self.words), before: Before::default() }
    }
}

/// Difference modulo 2^64, as a signed number.
const fn difference(last: u64, now: u64) -> i64 {
    now.wrapping_sub(last) as i64
}

struct Reader<'a> {
    words: Words<'a>,
    before: Before,
}

impl Reader<'_> {
    fn step(&mut self, of: &mut u64) {
        *of = of.wrapping_add_signed((self.words.next_word() as i32).into());
    }

    fn whole(&mut self, first: u32) -> (u32, u64, Values) {
        let (flow, backoff, time) =
            (self.words.next_word(), self.words.next_word(), self.words.next_u64());
        let values = Values {
            cwnd: self.words.next_u64(),
            flight: self.words.next_u64(),
            ack: self.words.next_u64(),
            ssthresh: self.words.next_u64(),
            rwnd: self.words.next_u64(),
            srtt: self.words.next_u64(),
            rttvar: self.words.next_u64(),
            rto: self.words.next_u64(),
            backoff,
            state: SenderState::ALL[(first & !WHOLE) as usize],
        };
        (flow, time, values)
    }

    fn changes(&mut self, first: u32) -> (u32, u64, Values) {
        let [one, two] = [self.words.next_word(), self.words.next_word()];
        let halves = |word: u32| (word as u16 as i16, (word >> 16) as u16);
        let ((flow_step, cwnd), (flight, ack)) = (halves(one), halves(two));
        let flow = self.before.flow.wrapping_add_signed(flow_step.into());
        let mut now = *self.before.values(flow);
        now.cwnd = now.cwnd.wrapping_add_signed((cwnd as i16).into());
        now.flight = now.flight.wrapping_add_signed(flight.into());
        now.ack = now.ack.wrapping_add(ack.into());
        if first & ESTIMATES != 0 {
            self.step(&mut now.srtt);
            self.step(&mut now.rttvar);
        }
        if first & TIMEOUT != 0 {
            self.step(&mut now.rto);
        }
        if first & PEER != 0 {
            self.step(&mut now.rwnd);
        }
        (flow, self.before.time + u64::from(first & TIME), now)
    }
}

impl Iterator for Reader<'_> {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        let first = self.words.next_row()?;
        let (flow, time, values) =
            if first & WHOLE != 0 { self.whole(first) } else { self.changes(first) };
        (self.before.flow, self.before.time) = (flow, time);
        *self.before.values(flow) = values;
        Some(values.sample(Time::from_nanos(time), flow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Strategy for differences: small ones, and arbitrary ones.
    fn step() -> impl Strategy<Value = i64> {
        prop_oneof![
            4 => Just(0),
            6 => -3000i64..3000,
            2 => -40_000i64..70_000,
            1 => -(1i64 << 33)..1 << 33,
            1 => any::<i64>(),
        ]
    }

    proptest! {
        /// Rows are read back unchanged, whether they differ little or much from the previous row.
        #[test]
        fn what_is_put_in_comes_out(
            rows in prop::collection::vec(
                (
                    (0u32..4, 0u32..5, 0u64..1 << 29),
                    prop::array::uniform8(step()),
                    (0u32..30, 0u32..30),
                ),
                0..200,
            ),
        ) {
            let mut packed = PackedRows::default();
            let mut values = [NOTHING; 4];
            let (mut time, mut samples) = (0u64, Vec::new());
            for ((flow, scale, after), steps, (backoff, state)) in rows {
                time += after >> (8 * scale.saturating_sub(1));
                let values = &mut values[flow as usize];
                let Values { cwnd, flight, ack, ssthresh, rwnd, srtt, rttvar, rto, .. } = values;
                let fields = [cwnd, flight, ack, rwnd, srtt, rttvar, rto, ssthresh];
                for (field, step) in fields.into_iter().zip(steps) {
                    *field = field.wrapping_add_signed(step);
                }
                if backoff < 5 {
                    values.backoff = backoff;
                    values.state = SenderState::ALL[state as usize % 3];
                }
                // The index of flow 3 is replaced by 40,000, so that its difference does not fit
                // into 16 bits.
                let flow = if flow == 3 { 40_000 } else { flow };
                let sample = values.sample(Time::from_nanos(time), flow);
                packed.push(&sample);
                samples.push(sample);
            }
            prop_assert_eq!(packed.row_count(), samples.len());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), samples);
        }
    }

    #[test]
    fn an_acknowledgment_takes_twelve_bytes() {
        let mut packed = PackedRows::default();
        let first = Values { cwnd: 14_600, ssthresh: 9000, rwnd: 65_535, ..NOTHING };
        let mut sizes = Vec::new();
        for round in 0..4u64 {
            let moved = Values {
                cwnd: first.cwnd + 146 * round,
                ack: 2920 * round,
                srtt: if round < 3 { 20_000_000 } else { 20_001_000 },
                ..first
            };
            let before = packed.words.len();
            packed.push(&moved.sample(Time::from_nanos(12_000 * round), 7));
            sizes.push(4 * (packed.words.len() - before));
        }
        assert_eq!(sizes, [84, 12, 12, 20]);
    }
}
