//! *What it does.* Runs a Python class that the user has written.
//!
//! *Reference.* docs/how-to/write-a-congestion-control-in-python.md.
//!
//! *Equations.* Those of the class. After each call cwnd is limited to 1 SMSS … max_cwnd, or 2^30
//! bytes if that is not set (RFC 7323 §2.3: no window is larger). After a loss or a timeout
//! ssthresh is at least 2 SMSS (RFC 5681 eq. 4).

use super::{Ack, CongestionControl, Loss, Sent, Window};
use crate::user::{Instance, Loaded, UserCode};
use retx_units::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Debug;

/// Congestion control in user code.
pub trait UserControl: CongestionControl + Debug + Send + Sync {
    /// Copy in the same state, for a copy of the connection; `None` after a fault.
    fn copy(&self) -> Option<Box<dyn UserControl>>;
}

impl UserCode for dyn UserControl {
    fn copied(&self) -> Option<Box<Self>> {
        self.copy()
    }

    fn report_sent(&mut self, sent: &Sent) {
        self.on_sent(sent);
    }
}

/// A class of your own in Python; every other key of this table is an argument of its constructor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {
    /// The class: its name in `file`, or one that `@retx.congestion_control` has registered.
    pub class: String,
    /// The Python file that defines it; its path is relative to the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Arguments of its constructor, by name.
    #[serde(flatten)]
    pub parameters: Map<String, Value>,
    /// Loaded code.
    #[serde(skip)]
    pub program: Loaded<dyn UserControl>,
}

/// Running controller.
#[derive(Debug, Clone)]
pub struct State {
    instance: Instance<dyn UserControl>,
    max_cwnd: u64,
}

/// Largest window that TCP permits (RFC 7323 §2.3), bytes.
const LARGEST_WINDOW: u64 = 1 << 30;

impl State {
    /// Creates a controller with these parameters. The code must have been loaded.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        let max_cwnd = tcp.max_cwnd.map_or(LARGEST_WINDOW, |size| size.bytes(tcp.mss));
        Self { instance: Instance::new(&config.program), max_cwnd }
    }

    fn hold(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(window.smss.into()).min(self.max_cwnd);
    }

    fn hold_after_loss(&self, window: &mut Window) {
        self.hold(window);
        window.ssthresh = window.ssthresh.max(2 * u64::from(window.smss));
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, smss: u32) {
        if let Some(running) = self.instance.on_ack(ack.bytes_acked) {
            running.observe(ack, smss);
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.instance.on_sent(sent);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(running) = self.instance.caught_up() {
            running.on_ack(window, ack);
            self.hold(window);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        if let Some(running) = self.instance.caught_up() {
            running.on_loss(window, loss);
            self.hold_after_loss(window);
        }
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        if let Some(running) = self.instance.caught_up() {
            running.on_timeout(window, loss, repeated);
            self.hold_after_loss(window);
        }
    }

    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        if let Some(running) = self.instance.caught_up() {
            running.on_recovery_end(window, now);
            self.hold(window);
        }
    }

    fn on_undo(&mut self, window: &mut Window) {
        if let Some(running) = self.instance.caught_up() {
            running.on_undo(window);
            self.hold(window);
        }
    }

    fn pacing_rate(&self, window: &Window, srtt: Option<Duration>) -> Option<Rate> {
        if let Some(running) = self.instance.running_instance() {
            return running.pacing_rate(window, srtt);
        }
        // There is no instance before the first data. The caller then uses the rate only to learn
        // whether the controller paces at all.
        self.instance.paces().then_some(Rate::from_bit_s(u64::MAX))
    }

    fn bandwidth_delay_bytes(&self) -> Option<u64> {
        self.instance.running_instance()?.bandwidth_delay_bytes()
    }

    fn is_overdue(&self, now: Time) -> bool {
        self.instance.running_instance().is_some_and(|running| running.is_overdue(now))
    }

    fn repeats_window(&self) -> bool {
        self.instance.running_instance().is_some_and(CongestionControl::repeats_window)
    }

    fn holds_rto(&self) -> bool {
        self.instance.running_instance().is_some_and(CongestionControl::holds_rto)
    }
}
