//! Rules that several algorithms share, and the passing on of calls by [`State`].

use super::testing::{SMSS, ack, at, loss, tcp, window};
use super::*;
use crate::congestion_control::python::UserControl;
use crate::user::{Faults, Loaded, Program};
use std::sync::{Arc, Mutex};

fn control(name: &str) -> State {
    let config: Config = serde_json::from_value(name.into()).expect("a name");
    config.build(&tcp())
}

/// `tcp_current_ssthresh`: max(ssthresh, cwnd/2 + cwnd/4), in whole segments.
#[test]
fn an_undo_restores_three_quarters_of_the_window() {
    for (cwnd, ssthresh, restored) in [(10, 2, 7), (10, 8, 8), (4, 2, 3), (4, 3, 3)] {
        assert_eq!(window(cwnd, ssthresh).current_ssthresh(), restored * 1000, "{cwnd}");
    }
}

/// RFC 5681 eq. 4: max(FlightSize/2, 2·SMSS).
#[test]
fn half_of_the_flight_is_at_least_two_segments() {
    for (flight, half) in [(1, 2000), (4, 2000), (5, 2500), (10, 5000)] {
        assert_eq!(half_of_flight(&window(1, 1), &loss(at(0), flight)), half, "{flight}");
    }
}

#[test]
fn few_algorithms_differ_in_what_they_need() {
    let of = |holds: fn(&State) -> bool| -> Vec<&str> {
        Config::BUILT_IN.iter().copied().filter(|name| holds(&control(name))).collect()
    };
    // Algorithms without an estimate of the path, so the connection may skip the calls.
    let blind =
        ["reno", "reno_linux", "tahoe", "hybla_linux", "highspeed", "scalable", "dctcp", "lp"];
    let mut observing_not = of(|it| !it.observes());
    observing_not.sort_unstable();
    let mut blind = blind.to_vec();
    blind.sort_unstable();
    assert_eq!(observing_not, blind);
    assert_eq!(of(|it| !it.takes_fast_paths()), ["cdg", "lp"], "they ask for reductions");
    // Linux `TCP_CONG_NEEDS_ECN`.
    assert_eq!(of(State::needs_ecn), ["dctcp"]);
    assert_eq!(of(State::models_path), ["bbr"]);
    assert_eq!(of(|it| it.bandwidth_delay_bytes().is_some()), [""; 0], "no sample yet");
}

/// Algorithms whose slow start is that of RFC 5681 or of Linux, while they have no RTT samples.
const LIKE_RENO: [&str; 16] = [
    "reno",
    "reno_linux",
    "tahoe",
    "westwood_plus",
    "westwood_linux",
    "dctcp",
    "veno",
    "veno_linux",
    "highspeed",
    "scalable",
    "lp",
    "cdg",
    "bic",
    "htcp",
    "yeah",
    "nv",
];

/// RFC 5681 eq. 2 and §3.1: below the threshold each full segment acknowledged adds one; a timeout
/// leaves one segment and lowers the threshold.
#[test]
fn slow_start_grows_by_a_segment_and_a_timeout_leaves_one() {
    for name in LIKE_RENO {
        let (mut state, mut window) = (control(name), window(10, 100));
        state.on_ack(&mut window, &ack(at(0), 1000));
        assert_eq!(window.cwnd, 11_000, "{name}");
        window.cwnd = 10_000;
        state.on_timeout(&mut window, &loss(at(1), 10), false);
        assert_eq!(window.cwnd, 1000, "{name}");
        assert!((2000..=10_000).contains(&window.ssthresh), "{name}: {}", window.ssthresh);
    }
}

/// `tcp_enter_loss` keeps ssthresh until `high_seq` of the last reduction is acknowledged, but not
/// if that reduction has been undone.
#[test]
fn after_an_undo_a_timeout_sets_the_threshold_again() {
    let names = [
        "bic",
        "cdg",
        "dctcp",
        "highspeed",
        "htcp",
        "illinois",
        "lp",
        "nv",
        "reno_linux",
        "scalable",
        "vegas_linux",
        "veno_linux",
        "yeah",
    ];
    for name in names {
        for undone in [false, true] {
            let (mut state, mut first) = (control(name), window(100, 999));
            state.on_loss(&mut first, &loss(at(0), 100));
            let mut window = window(100, 999);
            if undone {
                state.on_undo(&mut window);
            }
            state.on_timeout(&mut window, &loss(at(1), 100), false);
            assert_eq!(window.ssthresh == 999_000, !undone, "{name}: {}", window.ssthresh);
        }
    }
}

type Call = fn(&mut State);

fn send(state: &mut State) {
    state.on_sent(&Sent {
        now: at(3),
        position: 1,
        bytes: SMSS,
        flight_size: 9000,
        retransmission: false,
    });
}

fn connect(state: &mut State) {
    let (rtt, identity) = (None, 7);
    let start = Start { now: at(1), rtt, samples_segments: true, identity };
    state.on_connected(&mut window(10, 99), &start);
}

fn sample(state: &mut State) {
    let rtt = Some(Duration::from_millis(70));
    state.on_segments_acked(&mut window(10, 99), &ack(at(0), 1000), rtt);
}

/// Calls change the state of the algorithms that need them.
#[test]
fn calls_reach_the_algorithm() {
    let check = |name: &str, before: Call, call: Call| {
        let mut state = control(name);
        before(&mut state);
        let seen = format!("{state:?}");
        call(&mut state);
        assert_ne!(seen, format!("{state:?}"), "{name}");
    };
    let nothing: Call = |_| ();
    for name in ["bic", "cdg", "htcp", "illinois", "yeah"] {
        check(name, nothing, connect);
        check(name, nothing, send);
        check(name, nothing, sample);
    }
    check("nv", nothing, connect);
    check("nv", nothing, send);
    check("dctcp", nothing, |state| {
        let ack = Ack { snd_una: 1001, snd_nxt: 9001, ..ack(at(0), 1000) };
        state.observe_echo(&ack, SMSS, true);
    });
    check("lp", nothing, |state| {
        state.observe_timestamps(Timestamps { value: 5, echo: 6 }, 7);
    });
    check("cdg", send, State::on_reduction_end);
    check("cdg", send, |state| state.on_idle_restart(&window(10, 99)));
    let shortage: Call = |state| state.on_app_limited(1);
    check("bbr", nothing, shortage);
    check("bbr", shortage, |state| state.on_restart(&mut window(10, 99), at(1)));
}

/// User code that records its calls, and gives the answer `says`.
#[derive(Debug, Clone)]
struct Recorder {
    says: bool,
    calls: Arc<Mutex<Vec<&'static str>>>,
}

impl Recorder {
    fn record(&self, call: &'static str) {
        self.calls.lock().expect("no thread has died").push(call);
    }
}

impl CongestionControl for Recorder {
    fn observe(&mut self, _: &Ack, _: u32) {
        self.record("observe");
    }

    fn on_sent(&mut self, _: &Sent) {
        self.record("sent");
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack) {
        self.record("ack");
    }

    fn on_loss(&mut self, _: &mut Window, _: &Loss) {
        self.record("loss");
    }

    fn on_timeout(&mut self, _: &mut Window, _: &Loss, _: bool) {
        self.record("timeout");
    }

    fn on_recovery_end(&mut self, _: &mut Window, _: Time) {
        self.record("end");
    }

    fn bandwidth_delay_bytes(&self) -> Option<u64> {
        Some(77)
    }

    fn is_overdue(&self, now: Time) -> bool {
        self.says && now == at(5)
    }

    fn repeats_window(&self) -> bool {
        self.says
    }

    fn holds_rto(&self) -> bool {
        self.says
    }
}

impl UserControl for Recorder {
    fn copy(&self) -> Option<Box<dyn UserControl>> {
        Some(Box::new(self.clone()))
    }
}

impl Program<dyn UserControl> for Recorder {
    fn start(&self, _: &Arc<Faults>) -> Option<Box<dyn UserControl>> {
        self.copy()
    }
}

fn recorded(says: bool) -> (State, Recorder) {
    let recorder = Recorder { says, calls: Arc::default() };
    let config = python::Config {
        class: "Recorder".into(),
        file: None,
        parameters: serde_json::Map::new(),
        program: Loaded::new(Arc::new(recorder.clone())),
    };
    (Config::python(config).build(&tcp()), recorder)
}

/// A first transmission of one byte may be a FIN: only its acknowledgment as data, or a loss,
/// creates the instance, which then learns of it first.
#[test]
fn user_code_is_created_by_the_acknowledgment_of_data() {
    let (mut state, recorder) = recorded(true);
    state.on_sent(&Sent {
        now: at(0),
        position: 1,
        bytes: 1,
        flight_size: 1,
        retransmission: false,
    });
    state.observe(&ack(at(1), 0), SMSS);
    assert_eq!(*recorder.calls.lock().unwrap(), [""; 0]);
    state.observe(&ack(at(2), 1), SMSS);
    assert_eq!(*recorder.calls.lock().unwrap(), ["sent", "observe"]);
    state.observe(&ack(at(3), 0), SMSS);
    let mut window = window(10, 99);
    state.on_ack(&mut window, &ack(at(3), 1000));
    state.on_loss(&mut window, &loss(at(4), 10));
    state.on_recovery_end(&mut window, at(5));
    state.on_timeout(&mut window, &loss(at(6), 10), false);
    let calls = ["sent", "observe", "observe", "ack", "loss", "end", "timeout"];
    assert_eq!(*recorder.calls.lock().unwrap(), calls);
}

#[test]
fn user_code_answers_for_itself() {
    for says in [false, true] {
        let (mut state, _) = recorded(says);
        assert_eq!(state.bandwidth_delay_bytes(), None, "not created yet");
        assert!(!state.is_overdue(at(5)) && !state.repeats_window() && !state.holds_rto());
        send(&mut state);
        assert_eq!(state.bandwidth_delay_bytes(), Some(77));
        assert_eq!([4, 5].map(|ms| state.is_overdue(at(ms))), [false, says]);
        assert_eq!([state.repeats_window(), state.holds_rto()], [says; 2]);
    }
}
