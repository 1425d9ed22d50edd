//! *What it does.* Applies the rule of a Python class that the user has written.
//!
//! *Reference.* docs/how-to/write-a-loss-cause.md.
//!
//! *Equations.* Those of the class.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::{Ack, Sent, Window};
use crate::user::{Instance, Loaded, UserCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Debug;

/// Rule in user code that distinguishes corruption from congestion.
pub trait UserCause: LossCause + Debug + Send + Sync {
    /// Copy in the same state, for a copy of the connection; `None` after a fault.
    fn copy(&self) -> Option<Box<dyn UserCause>>;
}

impl UserCode for dyn UserCause {
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
    /// Name of the class in `file`, or of a class registered by `@retx.loss_cause`.
    pub class: String,
    /// Python file that defines it; its path is relative to the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Arguments of its constructor, by name.
    #[serde(flatten)]
    pub parameters: Map<String, Value>,
    /// Loaded program.
    #[serde(skip)]
    pub program: Loaded<dyn UserCause>,
}

/// State of the rule: an instance of the user's class.
#[derive(Debug, Clone)]
pub struct State {
    instance: Instance<dyn UserCause>,
}

impl State {
    /// Creates a rule with these parameters. The code must have been loaded.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { instance: Instance::new(&config.program) }
    }
}

impl LossCause for State {
    fn on_sent(&mut self, sent: &Sent) {
        self.instance.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) {
        if let Some(running) = self.instance.on_ack(ack.bytes_acked) {
            running.on_ack(ack, window);
        }
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        self.instance.caught_up().map_or(Cause::Congestion, |running| running.cause(loss))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WINDOW, duplicate, found, tcp, unsampled};
    use super::*;
    use crate::user::{Faults, Program};
    use retx_units::Time;
    use std::sync::{Arc, Mutex};

    /// User code that records its calls.
    #[derive(Debug, Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<&'static str>>>);

    impl Recorder {
        fn record(&self, call: &'static str) {
            self.0.lock().expect("no thread has died").push(call);
        }
    }

    impl LossCause for Recorder {
        fn on_sent(&mut self, _: &Sent) {
            self.record("sent");
        }

        fn on_ack(&mut self, _: &Ack, _: &Window) {
            self.record("ack");
        }

        fn cause(&mut self, _: &Loss) -> Cause {
            self.record("cause");
            Cause::Corruption
        }
    }

    impl UserCause for Recorder {
        fn copy(&self) -> Option<Box<dyn UserCause>> {
            Some(Box::new(self.clone()))
        }
    }

    impl Program<dyn UserCause> for Recorder {
        fn start(&self, _: &Arc<Faults>) -> Option<Box<dyn UserCause>> {
            self.copy()
        }
    }

    /// A first transmission of one byte may be a FIN: only its acknowledgment as data creates the
    /// instance, which then learns of it first.
    #[test]
    fn the_acknowledgment_of_data_creates_the_instance() {
        let recorder = Recorder::default();
        let program = Loaded::new(Arc::new(recorder.clone()));
        let config =
            Config { class: "Recorder".into(), file: None, parameters: Map::new(), program };
        let mut state = State::new(&config, &tcp());
        assert_eq!(state.cause(&found(1)), Cause::Congestion, "no instance");
        let (now, bytes, flight_size) = (Time::ZERO, 1, 1);
        state.on_sent(&Sent { now, position: 1, bytes, flight_size, retransmission: false });
        let calls = || recorder.0.lock().unwrap().clone();
        state.on_ack(&duplicate(1), &WINDOW);
        assert_eq!(calls(), [""; 0]);
        state.on_ack(&Ack { bytes_acked: 1, ..unsampled(2) }, &WINDOW);
        assert_eq!(calls(), ["sent", "ack"]);
        state.on_ack(&duplicate(3), &WINDOW);
        assert_eq!(state.cause(&found(1)), Cause::Corruption);
        assert_eq!(calls(), ["sent", "ack", "ack", "cause"]);
    }
}
