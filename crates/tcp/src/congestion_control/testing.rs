//! Test helpers for congestion controls: acknowledgments, and a path with a known queue.

use super::{Ack, CongestionControl, Loss, Sent, Window};
use retx_units::{Duration, Time};
use std::collections::VecDeque;

/// Payload of a full segment in these tests.
pub(crate) const SMSS: u32 = 1000;

/// Configuration of the endpoint around a congestion control.
pub(crate) fn tcp() -> crate::Config {
    (crate::presets::find("reno").expect("a preset").config)()
}

pub(crate) fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

pub(crate) fn window(cwnd: u64, ssthresh: u64) -> Window {
    let bytes = |segments: u64| segments.saturating_mul(SMSS.into());
    Window { cwnd: bytes(cwnd), ssthresh: bytes(ssthresh), smss: SMSS }
}

/// ACK of new data (with 0 bytes: duplicate ACK) without an RTT sample, while the window limits the
/// sender.
pub(crate) fn ack(now: Time, bytes_acked: u64) -> Ack {
    Ack {
        now,
        bytes_acked,
        delivered: bytes_acked.max(SMSS.into()),
        flight_size: 0,
        rtt: None,
        srtt: None,
        snd_una: 0,
        snd_nxt: 0,
        cwnd_limited: true,
        in_recovery: false,
        receiver_time: None,
    }
}

/// Loss with `flight` segments in flight.
pub(crate) fn loss(now: Time, flight: u64) -> Loss {
    let flight_size = flight * u64::from(SMSS);
    Loss { now, flight_size, snd_una: 1, snd_max: 1 + flight_size, srtt: None }
}

/// Lossless path: a FIFO server with a service time per segment, then a fixed delay; each segment
/// is acknowledged. In equilibrium a window of W segments keeps W − base/service of them queued.
pub(crate) struct Path {
    pub service: Duration,
    /// RTT of a single segment, its service included.
    pub base: Duration,
    pub now: Time,
    pub window: Window,
    server_free: Time,
    in_flight: VecDeque<(u64, Time, Time)>,
    pub snd_una: u64,
    snd_nxt: u64,
    srtt: Option<Duration>,
}

impl Path {
    pub fn new(service: Duration, base: Duration, window: Window) -> Self {
        Self {
            service,
            base,
            now: Time::ZERO,
            window,
            server_free: Time::ZERO,
            in_flight: VecDeque::new(),
            snd_una: 1,
            snd_nxt: 1,
            srtt: None,
        }
    }

    /// Segments in flight.
    pub fn flight(&self) -> u64 {
        self.in_flight.len() as u64
    }

    /// Sends the segments that the window allows.
    pub fn fill(&mut self, control: &mut impl CongestionControl) {
        while self.snd_nxt - self.snd_una + u64::from(SMSS) <= self.window.cwnd {
            let position = self.snd_nxt;
            self.snd_nxt += u64::from(SMSS);
            let served = self.server_free.max(self.now) + self.service;
            self.server_free = served;
            let arrives = served + (self.base - self.service);
            self.in_flight.push_back((self.snd_nxt, self.now, arrives));
            control.on_sent(&Sent {
                now: self.now,
                position,
                bytes: SMSS,
                flight_size: self.snd_nxt - self.snd_una,
                retransmission: false,
            });
        }
    }

    /// Processes the next acknowledgment, and sends the segments that it allows. Returns its RTT.
    pub fn step(&mut self, control: &mut impl CongestionControl) -> Duration {
        self.fill(control);
        let (end, sent, arrives) = self.in_flight.pop_front().expect("data in flight");
        self.now = arrives;
        let rtt = arrives.since(sent);
        let srtt = self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8);
        self.srtt = Some(srtt);
        let flight_size = self.snd_nxt - self.snd_una;
        self.snd_una = end;
        let ack = Ack {
            flight_size,
            rtt: Some(rtt),
            srtt: Some(srtt),
            snd_una: end,
            snd_nxt: self.snd_nxt,
            ..ack(arrives, SMSS.into())
        };
        control.observe(&ack, SMSS);
        control.on_ack(&mut self.window, &ack);
        self.fill(control);
        rtt
    }

    /// Processes `acks` acknowledgments; returns the last RTT.
    pub fn run(&mut self, control: &mut impl CongestionControl, acks: u64) -> Duration {
        (0..acks).map(|_| self.step(control)).last().expect("at least one")
    }

    /// Processes `rounds` whole windows of acknowledgments; returns the last RTT.
    pub fn rounds(&mut self, control: &mut impl CongestionControl, rounds: u64) -> Duration {
        let mut rtt = Duration::ZERO;
        for _ in 0..rounds {
            self.fill(control);
            rtt = self.run(control, self.flight());
        }
        rtt
    }
}
