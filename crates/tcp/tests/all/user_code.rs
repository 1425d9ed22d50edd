//! User code that takes a decision: when it is started, limited, and stopped.

use crate::rig::{self, Pair, preset};
use retx_tcp::NoLoader;
use retx_tcp::congestion_control::python::UserControl;
use retx_tcp::congestion_control::{self, Ack, CongestionControl, Loss, Sent, State, Window};
use retx_tcp::loss_cause;
use retx_tcp::user::{Fault, Faults, Loaded, Program};
use retx_tcp::{Config, Size};
use retx_units::{Duration, Time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Reno behind a trait object, which can fail at a given call of `on_ack`.
#[derive(Debug)]
struct Mine {
    reno: State,
    sent: Arc<Mutex<Vec<Sent>>>,
    acks: u64,
    fails_at: u64,
    faults: Arc<Faults>,
}

impl CongestionControl for Mine {
    fn on_sent(&mut self, sent: &Sent) {
        self.sent.lock().expect("no thread has died").push(*sent);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.acks += 1;
        assert!(self.acks <= self.fails_at, "called again after its fault");
        if self.acks == self.fails_at {
            self.faults.report(Fault { message: "enough".into(), cause: Arc::new(()) });
        }
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        self.reno.on_loss(window, loss);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        self.reno.on_timeout(window, loss, repeated);
    }
}

impl UserControl for Mine {
    fn copy(&self) -> Option<Box<dyn UserControl>> {
        let (reno, sent, faults) = (self.reno.clone(), self.sent.clone(), self.faults.clone());
        Some(Box::new(Self { reno, sent, faults, ..*self }))
    }
}

#[derive(Debug)]
struct Maker {
    fails_at: u64,
    made: AtomicU64,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Program<dyn UserControl> for Maker {
    fn start(&self, faults: &Arc<Faults>) -> Option<Box<dyn UserControl>> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Some(Box::new(Mine {
            reno: congestion_control::Config::reno(Default::default()).build(&preset("reno")),
            sent: self.sent.clone(),
            acks: 0,
            fails_at: self.fails_at,
            faults: faults.clone(),
        }))
    }
}

fn mine(fails_at: u64) -> (Arc<Maker>, Config) {
    let maker = Maker { fails_at, made: AtomicU64::new(0), sent: Arc::default() };
    let maker = Arc::new(maker);
    let mut config = preset("reno");
    config.congestion_control =
        congestion_control::Config::python(congestion_control::python::Config {
            class: "Mine".into(),
            file: None,
            parameters: Default::default(),
            program: Loaded::new(maker.clone()),
        });
    (maker, config)
}

fn download(config: &Config) -> Pair {
    let mut pair = Pair::new(config);
    pair.server.to_write = 60_000;
    pair.server.close_when_written = true;
    pair.drive(rig::seconds(30.0));
    assert_eq!(pair.client.bytes_read, 60_000);
    pair
}

/// The end that only acknowledges, and sends a FIN, has no instance; that of the other end is
/// informed of every byte.
#[test]
fn an_end_that_sends_has_an_instance() {
    let (maker, config) = mine(u64::MAX);
    let pair = download(&config);
    assert_eq!(maker.made.load(Ordering::Relaxed), 1);
    let sent = maker.sent.lock().expect("no thread has died");
    let bytes: u64 = sent.iter().map(|sent| u64::from(sent.bytes)).sum();
    assert_eq!((sent[0].position, bytes), (1, 60_001));
    let trace =
        |pair: &Pair| -> Vec<_> { pair.sent.iter().map(|sent| (sent.at, sent.transmit)).collect() };
    assert_eq!(trace(&pair), trace(&download(&preset("reno"))));
}

/// A single byte may be a FIN: it is reported to the instance once that is known.
#[test]
fn a_single_byte_is_not_lost() {
    let (maker, config) = mine(u64::MAX);
    let mut pair = Pair::new(&config);
    pair.server.to_write = 1;
    pair.drive(rig::seconds(5.0));
    assert_eq!(maker.made.load(Ordering::Relaxed), 1);
    let sent = maker.sent.lock().expect("no thread has died");
    assert_eq!(sent.iter().map(|sent| (sent.position, sent.bytes)).collect::<Vec<_>>(), [(1, 1)]);
}

/// A single byte is also reported if more data follow before its ACK.
#[test]
fn a_single_byte_is_told_before_what_follows() {
    let (maker, mut config) = mine(u64::MAX);
    config.nagle = false;
    let mut pair = Pair::new(&config);
    for bytes in [1, 500] {
        pair.server.to_write += bytes;
        pair.look_every = Duration::from_millis(5);
        pair.drive(pair.now + Duration::from_millis(65));
    }
    let mut sent = maker.sent.lock().expect("no thread has died");
    assert_eq!(sent.drain(..).map(|sent| sent.position).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn after_a_fault_nothing_is_called() {
    let (_, mut config) = mine(5);
    let faults = Arc::default();
    config.report_faults_to(&faults);
    download(&config);
    assert_eq!(faults.first().map(|fault| &*fault.message), Some("enough"));
}

#[test]
fn a_copy_goes_on_by_itself() {
    let (_, config) = mine(u64::MAX);
    let mut pair = Pair::new(&config);
    pair.server.to_write = 60_000;
    pair.drive(rig::seconds(0.25));
    let mut copy = pair.server.connection.clone();
    let before = copy.cwnd();
    assert!(before > u64::from(config.mss) * 4, "{before}");
    pair.drive(rig::seconds(2.0));
    assert!(pair.server.connection.cwnd() > before);
    assert_eq!(copy.cwnd(), before);
    copy.handle_timeout(rig::seconds(3600.0));
    assert_eq!(copy.cwnd(), u64::from(config.mss));
}

#[test]
fn code_that_nobody_has_loaded_is_refused() {
    let choice = r#"{ "name": "python", "class": "Mine", "gain": [1, 2] }"#;
    let mut config = preset("reno");
    config.congestion_control = serde_json::from_str(choice).expect("a sound choice");
    assert_eq!(config.check().unwrap_err().field, "congestion_control.name");
    let (decision, refusal) = config.load(&NoLoader).unwrap_err();
    assert_eq!((decision, &*refusal.key), ("congestion_control", "name"));
    let text = serde_json::to_value(&config.congestion_control).expect("plain data");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(choice).expect("JSON"));
    config = preset("reno");
    config.loss_cause = serde_json::from_str(choice).expect("a sound choice");
    assert_eq!(config.check().unwrap_err().field, "loss_cause.name");
    assert_eq!(config.load(&NoLoader).unwrap_err().0, "loss_cause");
}

#[test]
fn whatever_it_sets_is_held_within_bounds() {
    let (_, mut config) = mine(u64::MAX);
    config.max_cwnd = Some(Size::Mss(4));
    let mss = u64::from(config.mss);
    let mut control = config.congestion_control.build(&config);
    let sent = Sent {
        now: Time::ZERO,
        position: 1,
        bytes: config.mss,
        flight_size: mss,
        retransmission: false,
    };
    control.on_sent(&sent);
    let loss = Loss { now: Time::ZERO, flight_size: 100 * mss, snd_una: 1, snd_max: 2, srtt: None };
    let mut window = Window { cwnd: mss, ssthresh: 1, smss: config.mss };
    control.on_loss(&mut window, &loss);
    assert_eq!((window.cwnd, window.ssthresh), (4 * mss, 50 * mss));
    window.cwnd = 0;
    control.on_undo(&mut window);
    assert_eq!(window.cwnd, mss);
    window.ssthresh = 0;
    control.on_timeout(&mut window, &loss, true);
    assert_eq!((window.cwnd, window.ssthresh), (mss, 2 * mss));
}

#[test]
fn all_but_the_users_own_are_built_in() {
    let built_in = [congestion_control::Config::BUILT_IN, loss_cause::Config::BUILT_IN];
    let all = [congestion_control::Config::NAMES, loss_cause::Config::NAMES];
    for (built_in, all) in built_in.iter().zip(all) {
        assert_eq!([*built_in, &["python"]].concat(), all);
    }
}
