//! Table II of García, Agüero & Muñoz: four losses of one segment lead to a silence of 57 s, and
//! their proposal shortens it.

use crate::rig::{self, End, Pair, preset};
use retx_tcp::backoff::{self, Backoff, Timeout};
use retx_tcp::congestion_control::Window;
use retx_tcp::rto::{self, Estimator, Limits};
use retx_tcp::{Config, Event, Size};
use retx_units::{Duration, Time};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A row: srtt and mdev in ms, cwnd and ssthresh in segments, backoff, packets out.
type Row = [u64; 6];

const UNKNOWN: u64 = u64::MAX;

/// Published values, except for the unknown ssthresh and a second column for the backoff.
const TABLE_II: [Row; 8] = [
    [30, 10, 8, UNKNOWN, 0, 8],
    [30, 10, 1, 4, 1, 8],
    [30, 10, 1, 4, 2, 8],
    [30, 10, 1, 4, 3, 8],
    [30, 10, 1, 4, 4, 8],
    [400, 750, 2, 4, 4, 5],
    [350, 660, 3, 4, 4, 3],
    [310, 580, 4, 4, 4, 1],
];

/// The published silence before the ninth row, computed by eq. 1 from the eighth: (310 + 4·580)·(1
/// + 1/4 + 1/8)·2^4 ms.
const SILENCE: Duration = Duration::from_millis(57_860);

/// Timeout without backoff.
const PROPOSED: Duration = Duration::from_micros(3_616_250);

/// The paper's Linux, except that its timers do not fire on a grid of 10 ms, so that waits are
/// exact.
fn linux24(backoff: &str) -> Config {
    Config {
        rto: rto::Config::linux24(Default::default()),
        backoff: serde_json::from_value(backoff.into()).expect("a registered name"),
        timestamps: true,
        limited_transmit: false,
        initial_rto: MS(3_000),
        min_rto: MS(200),
        max_rto: MS(120_000),
        rtt_granularity: MS(10),
        ..preset("sack")
    }
}

/// Estimator and backoff, to which the table's events are passed.
struct Timer {
    limits: Limits,
    estimator: rto::State,
    backoff: backoff::State,
}

impl Timer {
    /// Creates the state of row 1: after six samples of 30 ms, srtt = 30 ms and mdev = 10 ms.
    fn new(backoff: &str) -> Self {
        let config = linux24(backoff);
        let limits = Limits::from_config(&config);
        let (mut estimator, backoff) = (config.rto.build(&config), config.backoff.build(&config));
        for _ in 0..6 {
            estimator.on_rtt(MS(30), 0, 0, &limits);
        }
        Self { limits, estimator, backoff }
    }

    /// Wait in force with a window of `cwnd` segments.
    fn wait(&self, cwnd: u64) -> Duration {
        let window = Window { cwnd: cwnd * 1_448, ssthresh: 1, smss: 1_448 };
        let doubled = self.estimator.rto(&window).saturating_mul(1 << self.backoff.exponent());
        doubled.min(MS(120_000))
    }

    fn time_out(&mut self) {
        self.backoff.on_timeout(&Timeout { bandwidth_delay_bytes: None, in_syn_sent: false });
    }

    fn acknowledge(&mut self, rtt: Duration) {
        self.estimator.on_rtt(rtt, 0, 0, &self.limits);
        let ack = backoff::Ack { advances: true, has_rtt_sample: true, loss_state_over: false };
        self.backoff.on_ack(&ack);
    }

    fn row(&self) -> [u64; 3] {
        let ms = |it: Option<Duration>| it.expect("sampled").as_nanos() / 1_000_000;
        [ms(self.estimator.srtt()), ms(self.estimator.rttvar()), self.backoff.exponent().into()]
    }
}

/// The waits are 200, 400, 800 and 1600 ms: the next ACK echoes a timestamp that is 3.00 s old. The
/// RTTs of the two ACKs after it are less than two ticks, and count as one tick.
#[test]
fn the_timer_goes_through_table_ii() {
    let mut timer = Timer::new("keep");
    let mut rows = vec![timer.row()];
    let mut passed = timer.wait(8);
    assert_eq!(passed, MS(200));
    for _ in 0..3 {
        timer.time_out();
        rows.push(timer.row());
        passed += timer.wait(1);
    }
    timer.time_out();
    rows.push(timer.row());
    assert_eq!(passed, MS(3_000));
    for rtt in [passed, MS(9), MS(19)] {
        timer.acknowledge(rtt);
        rows.push(timer.row());
    }
    assert_eq!(rows, TABLE_II.map(|row| [row[0], row[1], row[4]]));
    assert_eq!(timer.wait(4), SILENCE);
}

#[test]
fn without_the_old_backoff_the_eighth_row_waits_3_6_s() {
    for policy in ["reset_on_ack", "linux", "rfc6298"] {
        let mut timer = Timer::new(policy);
        (0..4).for_each(|_| timer.time_out());
        [3_000, 9, 19].iter().for_each(|rtt| timer.acknowledge(MS(*rtt)));
        assert_eq!(timer.wait(4), PROPOSED, "{policy}");
    }
}

const SMSS: u64 = 1_448;

/// Position of a segment of the table; ten segments came before it.
const fn position(segment: u64) -> u64 {
    1 + (9 + segment) * SMSS
}

/// Losses that produce the table. Of the eight segments of row 1 the originals 1, 2, 3 and 5
/// arrive, but none of their ACKs do. Three retransmissions of segment 1 are lost; the fourth and
/// its ACK arrive. Later the ACK of segment 8 is lost, so that the segment waits for its timer.
fn wire() -> rig::Channel {
    // Number of times that each of the segments 1 to 8 has been sent.
    let mut copies = [0; 9];
    Box::new(move |sent| {
        let begun = copies[1] > 0;
        let lost = if sent.from == End::Client {
            let ack = u64::from(sent.transmit.segment.ack.0.wrapping_sub(2_000));
            begun && copies[1] < 5 || ack == position(9) && copies[8] == 2
        } else if (position(1)..position(9)).contains(&sent.transmit.position) {
            let segment = ((sent.transmit.position - position(1)) / SMSS + 1) as usize;
            copies[segment] += 1;
            match segment {
                1 => !matches!(copies[1], 1 | 5),
                2 | 3 | 5 => false,
                _ => copies[segment] == 1,
            }
        } else {
            false
        };
        // Until segment 1 has been sent, the delay to the client is 26 ms longer.
        let extra = if sent.from == End::Server && copies[1] == 0 { MS(26) } else { MS(0) };
        if lost { vec![] } else { vec![extra] }
    })
}

/// Row of the table for the server's present state.
fn row(pair: &Pair) -> Row {
    let server = &pair.server.connection;
    let ms = |it: Option<Duration>| it.map_or(0, |it| it.as_nanos() / 1_000_000);
    [
        ms(server.srtt()),
        ms(server.rttvar()),
        server.cwnd() / SMSS,
        server.ssthresh() / SMSS,
        server.backoff().into(),
        (server.snd_max() - server.snd_una()) / SMSS,
    ]
}

/// Plays the losses of [`wire`] with enough data to send. Returns the rows, one for each timeout
/// and each ACK of new data.
fn play(config: &Config, seconds: u64) -> (Pair, Vec<Row>) {
    let mut config = config.clone();
    config.initial_window = Size::Mss(8).into();
    config.initial_ssthresh = Some(Size::Mss(2));
    let mut pair = Pair::new(&config);
    pair.delay = MS(2);
    pair.channel = wire();
    // Ten segments give five ACKs, which together with the handshake give six samples of 30 ms.
    pair.server.to_write = 10 * SMSS;
    pair.drive(Time::ZERO + MS(92));
    pair.server.to_write = 100 * SMSS;
    let (mut rows, mut seen) = (vec![], None);
    for millis in 92..92 + seconds * 1_000 {
        pair.drive(Time::ZERO + MS(millis));
        let state = (pair.server.connection.snd_una(), pair.server.connection.backoff());
        if seen.replace(state) != Some(state) {
            rows.push(row(&pair));
        }
    }
    (pair, rows)
}

/// Time at which the ACK of everything before segment 8 arrives, and the segments that the server
/// sends later.
fn after_ack_8(pair: &Pair) -> (Time, Vec<(Time, u64)>) {
    let is_ack_8 = |sent: &&rig::Sent| {
        sent.from == End::Client
            && u64::from(sent.transmit.segment.ack.0.wrapping_sub(2_000)) == position(8)
    };
    let acknowledged = pair.sent.iter().find(is_ack_8).expect("it is sent").at + MS(2);
    let data = pair.sent.iter().filter(|sent| {
        sent.from == End::Server
            && sent.at > acknowledged
            && sent.transmit.segment.payload_bytes > 0
    });
    (acknowledged, data.map(|sent| (sent.at, sent.transmit.position)).collect())
}

fn with_ssthresh_known(mut rows: Vec<Row>) -> Vec<Row> {
    rows[0][3] = UNKNOWN;
    rows
}

/// One scripted exchange gives the whole of table II: segment 8 is retransmitted 57.86 s after the
/// ACK of segment 7, and nothing is sent in between, although the window has room for three
/// segments.
#[test]
fn a_silence_of_57_86_s() {
    let (pair, rows) = play(&linux24("keep"), 62);
    assert_eq!(with_ssthresh_known(rows[..8].to_vec()), TABLE_II);
    let (acknowledged, sent) = after_ack_8(&pair);
    assert_eq!(sent[0], (acknowledged + SILENCE, position(8)));
    let timed_out = pair.server.events.iter().filter_map(|(_, event)| match event {
        Event::TimedOut(episode) => Some((episode.rto, episode.backoff)),
        _ => None,
    });
    let waits = [(200, 0), (400, 1), (800, 2), (1_600, 3), (57_860, 4)];
    assert_eq!(timed_out.collect::<Vec<_>>(), waits.map(|(rto, backoff)| (MS(rto), backoff)));
    // The ACK of segment 8 ends the loss state, and with it the backoff.
    assert_eq!(sent[1].1, position(9));
    assert_eq!(pair.server.connection.backoff(), 0);
}

/// The proposal: the same losses, but without the old backoff from row 6 on.
#[test]
fn the_proposal_waits_3_6_s() {
    let (pair, rows) = play(&linux24("reset_on_ack"), 10);
    let proposed = TABLE_II.map(|[srtt, mdev, cwnd, ssthresh, backoff, out]| {
        [srtt, mdev, cwnd, ssthresh, if out < 8 { 0 } else { backoff }, out]
    });
    assert_eq!(with_ssthresh_known(rows[..8].to_vec()), proposed);
    let (acknowledged, sent) = after_ack_8(&pair);
    assert_eq!(sent[0], (acknowledged + PROPOSED, position(8)));
}

/// Without the loss state the sender uses the window at once, and there is no silence.
#[test]
fn new_data_need_not_be_held_back() {
    let mut config = linux24("keep");
    config.rto = rto::Config::linux24(rto::linux24::Config { hold_new_data: false });
    let (pair, _) = play(&config, 5);
    let (acknowledged, _) = after_ack_8(&pair);
    let first_new = pair.sent.iter().find(|sent| sent.transmit.position == position(9));
    assert_eq!(first_new.expect("it is sent").at, acknowledged);
}
