//! *What it does.* Lets the receive buffer, and with it the advertised window, grow with what the
//! application takes in a round trip.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_init_buffer_space`, `tcp_grow_window`,
//! `tcp_rcv_rtt_update`, `tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_measure`, `tcp_rcv_space_adjust`,
//! `tcp_rcvbuf_grow`), `tcp_output.c` (`tcp_select_initial_window`, `__tcp_select_window`); after
//! Fisk & Feng, *Dynamic right-sizing*, LACSI 2001.
//!
//! *Equations.* Windows are half of the buffer. `rcv_ssthresh` (the window) starts at 65536 less
//! one MSS, and grows by twice a segment as each arrives, up to half of the buffer. Once per round
//! trip: copied = what the application has read in it, less what waits to be read; where that
//! exceeds what it was the last time, the buffer becomes 2·(2·copied·(1 + 2·(copied − last)/last) +
//! out-of-order span), at most `receive_autotuning`. RTT: 7/8 + 1/8 of the timestamp echoes of full
//! segments, or the least time in which a window has come.
//!
//! *Where we differ.* The kernel's share of the buffer is the payload of a packet over the memory
//! that the driver took for it, first taken to be 1/2; here it stays 1/2. Data out of order take no
//! room. The RTT's clock is the timestamp's, 1 ms.

use retx_units::{Duration, Time};

/// Segments that are smaller cost more memory than the window counts for them
/// (`tcp_event_data_recv`).
const SMALLEST: u32 = 128;
/// The window at the start in segments, for the first comparison (TCP_INIT_CWND).
const FIRST_SPACE: u64 = 10;

/// How large the buffer is, and what makes it grow. Positions are those of the peer's stream.
#[derive(Debug, Clone)]
pub(crate) struct Autotuning {
    buffer: u64,
    most: u64,
    /// The window to offer at most (`rcv_ssthresh`).
    window: u64,
    /// The window is held below this (`window_clamp`).
    clamp: u64,
    /// Our own MSS, without options.
    mss: u64,
    /// What was read in the last round trip, and where and when this one began.
    space: u64,
    begun: (u64, Time),
    /// Eightfold, in microseconds; 0 before the first sample.
    rtt8: u64,
    /// A window's worth of data ends there, and was begun then.
    measured: Option<(u64, Time)>,
    last_echo: u32,
    now: Time,
}

/// Where the receiver stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    pub rcv_nxt: u64,
    /// After the last byte that the application has read.
    pub read: u64,
    /// After the highest byte that has arrived.
    pub highest: u64,
}

impl Autotuning {
    pub fn new(buffer: u64, most: u64, mss: u32) -> Self {
        Self {
            buffer,
            most: most.max(buffer),
            window: (buffer / 2).min(65_536),
            clamp: buffer / 2,
            mss: mss.into(),
            space: 0,
            begun: (1, Time::ZERO),
            rtt8: 0,
            measured: None,
            last_echo: 0,
            now: Time::ZERO,
        }
    }

    /// The shift of the window field (`tcp_select_initial_window`): what the largest buffer needs.
    pub fn shift(&self) -> u8 {
        (self.most.max(1).ilog2().saturating_sub(15)).min(14) as u8
    }

    /// The window of a SYN: whole segments.
    pub fn first_window(&self) -> u64 {
        let window = self.window.min(self.buffer / 2);
        if window > self.mss { window / self.mss * self.mss } else { window }
    }

    /// The handshake is over (`tcp_init_buffer_space`).
    pub fn on_open(&mut self, now: Time, payload: u32, known_window: u64) {
        self.mss = payload.into();
        // One segment is kept back as long as the buffer is the first one.
        self.clamp = (self.buffer / 2).saturating_sub(self.mss).max(2 * self.mss);
        self.window = known_window.min(self.clamp);
        self.space = self.window.min(FIRST_SPACE * self.mss);
        self.begun = (1, now);
    }

    /// The RTT, once there was a sample.
    pub fn rtt(&self) -> Option<Duration> {
        (self.rtt8 > 0).then(|| Duration::from_micros(self.rtt8 / 8))
    }

    /// The window to offer, with so much waiting to be read.
    pub fn window(&self, waiting: u64) -> u64 {
        (self.buffer / 2).saturating_sub(waiting).min(self.window)
    }

    /// The RTT told by a timestamp echo in a full segment; each echo counts once.
    pub fn on_echo(&mut self, echo: u32, rtt: Option<Duration>, at: &Position) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        if let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) {
            self.sample(rtt, at.rcv_nxt == at.read);
        }
    }

    fn sample(&mut self, rtt: Duration, smooth: bool) {
        let m = rtt.as_nanos() / 1_000;
        if self.rtt8 == 0 || 8 * m < self.rtt8 {
            self.rtt8 = (8 * m).max(1);
        } else if smooth {
            self.rtt8 = self.rtt8 - self.rtt8 / 8 + m;
        }
    }

    /// Data have come, in order or not. True when the window grows by it.
    pub fn on_data(&mut self, now: Time, bytes: u32, at: &Position) -> bool {
        self.now = now;
        match self.measured {
            Some((end, _)) if at.rcv_nxt < end => {}
            before => {
                if let Some((_, since)) = before {
                    self.sample(now.since(since).max(Duration::from_micros(1)), false);
                }
                self.measured = Some((at.rcv_nxt + self.window, now));
            }
        }
        let waiting = at.rcv_nxt.saturating_sub(at.read);
        let open = (self.buffer / 2).saturating_sub(waiting).min(self.clamp);
        let room = open.saturating_sub(self.window);
        if room == 0 || bytes < SMALLEST || 2 * u64::from(bytes) < self.mss {
            return false;
        }
        self.window += room.min(2 * self.mss.max(bytes.into()));
        true
    }

    /// The application has read (`tcp_rcv_space_adjust`).
    pub fn on_read(&mut self, at: &Position) {
        let (position, since) = self.begun;
        if self.rtt8 == 0 || self.now.since(since) < Duration::from_micros(self.rtt8 / 8) {
            return;
        }
        let waiting = at.rcv_nxt.saturating_sub(at.read);
        let copied = at.read.saturating_sub(position).saturating_sub(waiting);
        if copied > self.space {
            let growth = u128::from(4 * copied) * u128::from(copied - self.space)
                / u128::from(self.space.max(1));
            let span = at.highest.saturating_sub(at.rcv_nxt);
            let window = 2 * copied + span + growth.min(u128::from(self.most)) as u64;
            self.space = copied;
            let buffer = (2 * window).min(self.most);
            if buffer > self.buffer {
                self.buffer = buffer;
                self.clamp = buffer / 2;
            }
        }
        self.begun = (at.read, self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    fn opened() -> Autotuning {
        let mut tuning = Autotuning::new(131_072, 32 << 20, 1460);
        tuning.on_open(at(0), 1448, tuning.first_window());
        tuning
    }

    /// As `ss` and SYNs show them with the default `tcp_rmem` of 4096 131072 33554432.
    #[test]
    fn starts_as_linux_does() {
        let mut tuning = Autotuning::new(131_072, 32 << 20, 1460);
        assert_eq!((tuning.first_window(), tuning.shift()), (64_240, 10));
        assert_eq!(Autotuning::new(131_072, 6 << 20, 1460).shift(), 7);
        tuning.on_open(at(0), 1448, 65_160);
        assert_eq!((tuning.window(0), tuning.space), (64_088, 14_480));
    }

    /// 40 ms; 28,960 bytes read where 14,480 were before: 2·28960·(1 + 2·1) = 173,760, twice as
    /// much buffer. The window follows by two segments per segment.
    #[test]
    fn grows_with_what_is_read_in_a_round_trip() {
        let mut tuning = opened();
        let mut place = Position { rcv_nxt: 1, read: 1, highest: 1 };
        tuning.on_echo(1, Some(MS(40)), &place);
        for n in 1..=20 {
            place.rcv_nxt = 1 + n * 1448;
            place.highest = place.rcv_nxt;
            assert!(!tuning.on_data(at(40), 1448, &place), "no room before the buffer grows");
            place.read = place.rcv_nxt;
            if n < 20 {
                tuning.now = at(39);
            }
            tuning.on_read(&place);
        }
        assert_eq!((tuning.space, tuning.buffer), (28_960, 347_520));
        assert!(tuning.on_data(at(41), 1448, &place));
        assert_eq!(tuning.window(0), 64_088 + 2 * 1448);
        assert!(!tuning.on_data(at(41), 100, &place), "small segments do not count");
    }

    #[test]
    fn ends_at_the_largest_buffer() {
        let mut tuning = Autotuning::new(131_072, 200_000, 1460);
        tuning.on_open(at(0), 1448, 64_240);
        tuning.on_echo(1, Some(MS(40)), &Position { rcv_nxt: 1, read: 1, highest: 1 });
        let place = Position { rcv_nxt: 900_001, read: 900_001, highest: 900_001 };
        tuning.on_data(at(50), 1448, &place);
        tuning.on_read(&place);
        while tuning.on_data(at(50), 1448, &place) {}
        assert_eq!(
            (tuning.buffer, tuning.window(0), tuning.window(99_000)),
            (200_000, 100_000, 1_000)
        );
    }

    /// The least of a window's times without timestamps, a moving mean of echoes with them.
    #[test]
    fn the_rtt_comes_from_echoes_or_from_windows() {
        let mut tuning = opened();
        let place = |end| Position { rcv_nxt: end, read: end, highest: end };
        tuning.on_data(at(100), 1448, &place(1));
        tuning.on_data(at(150), 1448, &place(64_089));
        assert_eq!(tuning.rtt8, 8 * 50_000);
        tuning.on_data(at(250), 1448, &place(128_177));
        assert_eq!(tuning.rtt8, 8 * 50_000, "a longer one does not count");
        tuning.on_echo(7, Some(MS(90)), &place(128_177));
        assert_eq!(tuning.rtt8, 7 * 50_000 + 90_000);
        tuning.on_echo(7, Some(MS(10)), &place(128_177));
        assert_eq!(tuning.rtt8, 7 * 50_000 + 90_000, "each echo once");
    }
}
