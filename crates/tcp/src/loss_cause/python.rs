//! *What it does.* Applies the rule of a Python class that the user has written.
//!
//! *Reference.* docs/how-to/write-a-loss-cause.md.
//!
//! *Equations.* Those of the class.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::{Ack, Sent, Window};
use crate::user::{Instance, Loaded, UserCause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A class of your own in Python; every other key is an argument of its constructor.
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

    /// Returns the instance, after reporting to it any data sent before it was created.
    fn caught_up(&mut self) -> Option<&mut (dyn UserCause + 'static)> {
        let (running, early) = self.instance.prepare_event()?;
        if let Some(sent) = early {
            running.on_sent(&sent);
        }
        Some(running)
    }
}

impl LossCause for State {
    fn on_sent(&mut self, sent: &Sent) {
        if let Some((running, sent)) = self.instance.prepare_sent(sent) {
            sent.iter().flatten().for_each(|sent| running.on_sent(sent));
        }
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) {
        // The acknowledgment of a FIN alone must not create an instance.
        let instance =
            if ack.bytes_acked > 0 { self.caught_up() } else { self.instance.running_mut() };
        if let Some(running) = instance {
            running.on_ack(ack, window);
        }
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        self.caught_up().map_or(Cause::Congestion, |running| running.cause(loss))
    }
}
