//! Loading of the user code that a configuration names.

use crate::user::{Faults, Refusal};
use crate::{Config, ConfigError, congestion_control, loss_cause};
use std::sync::Arc;

/// Finds the code that a configuration names.
pub trait Loader {
    /// Loads a congestion control into the configuration, and replaces its file by the full path.
    ///
    /// # Errors
    /// The code does not exist, or does not take these parameters.
    fn congestion_control(
        &self,
        wanted: &mut congestion_control::python::Config,
    ) -> Result<(), Refusal>;

    /// Loads a loss cause.
    ///
    /// # Errors
    /// The code does not exist, or does not take these parameters.
    fn loss_cause(&self, wanted: &mut loss_cause::python::Config) -> Result<(), Refusal>;
}

/// Loader for environments that cannot run user code.
#[derive(Debug, Clone, Copy)]
pub struct NoLoader;

impl Loader for NoLoader {
    fn congestion_control(
        &self,
        _: &mut congestion_control::python::Config,
    ) -> Result<(), Refusal> {
        Err(NoLoader::refusal())
    }

    fn loss_cause(&self, _: &mut loss_cause::python::Config) -> Result<(), Refusal> {
        Err(NoLoader::refusal())
    }
}

const NO_INTERPRETER: &str = "code in Python needs an interpreter, and there is none here: \
     simulate it with `retx run` or `retx.run`";

impl NoLoader {
    /// Refusal that answers every request of this loader.
    pub fn refusal() -> Refusal {
        Refusal { key: "name".into(), message: NO_INTERPRETER.into() }
    }
}

impl Config {
    /// True if the congestion control or the loss cause is user code.
    pub fn has_user_code(&self) -> bool {
        matches!(self.congestion_control, congestion_control::Config::python(_))
            || matches!(self.loss_cause, loss_cause::Config::python(_))
    }

    /// Loads the user code.
    ///
    /// # Errors
    /// The decision (a field of this configuration), and the reason why its code is refused.
    pub fn load(&mut self, loader: &dyn Loader) -> Result<(), (&'static str, Refusal)> {
        if let congestion_control::Config::python(wanted) = &mut self.congestion_control {
            loader.congestion_control(wanted).map_err(|error| ("congestion_control", error))?;
        }
        if let loss_cause::Config::python(wanted) = &mut self.loss_cause {
            loader.loss_cause(wanted).map_err(|error| ("loss_cause", error))?;
        }
        Ok(())
    }

    /// Directs faults of user code to `faults`; each run has its own.
    pub fn report_faults_to(&mut self, faults: &Arc<Faults>) {
        if let congestion_control::Config::python(code) = &mut self.congestion_control {
            code.program.report_to(faults);
        }
        if let loss_cause::Config::python(code) = &mut self.loss_cause {
            code.program.report_to(faults);
        }
    }

    /// Files of the user code.
    pub fn code_files(&mut self) -> impl Iterator<Item = &mut String> {
        let control = match &mut self.congestion_control {
            congestion_control::Config::python(code) => code.file.as_mut(),
            _ => None,
        };
        let cause = match &mut self.loss_cause {
            loss_cause::Config::python(code) => code.file.as_mut(),
            _ => None,
        };
        control.into_iter().chain(cause)
    }

    /// Refuses code that was not loaded.
    pub(crate) fn check_user_code(&self) -> Result<(), ConfigError> {
        let refuse = |field| Err(ConfigError { field, message: NO_INTERPRETER.into() });
        match (&self.congestion_control, &self.loss_cause) {
            (congestion_control::Config::python(code), _) if code.program.is_missing() => {
                refuse("congestion_control.name")
            }
            (_, loss_cause::Config::python(code)) if code.program.is_missing() => {
                refuse("loss_cause.name")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::{Instance, Loaded, Program};

    /// Program with a pacing rate, which creates no instance.
    #[derive(Debug)]
    struct Unused;

    impl<T: ?Sized> Program<T> for Unused {
        fn start(&self, _: &Arc<Faults>) -> Option<Box<T>> {
            None
        }

        fn paces(&self) -> bool {
            true
        }
    }

    fn reno() -> Config {
        (crate::presets::find("reno").expect("a preset").config)()
    }

    /// A configuration with user code is invalid until the code is loaded, whether the code is a
    /// congestion control or a loss cause.
    #[test]
    fn code_must_be_loaded() {
        let code = || serde_json::json!({ "name": "python", "class": "Rule" });
        let (mut control, mut cause) = (reno(), reno());
        control.congestion_control = serde_json::from_value(code()).expect("a choice");
        cause.loss_cause = serde_json::from_value(code()).expect("a choice");
        let seen = |config: &Config| {
            (config.has_user_code(), config.check_user_code().err().map(|error| error.field))
        };
        assert_eq!(seen(&reno()), (false, None));
        assert_eq!(seen(&control), (true, Some("congestion_control.name")));
        assert_eq!(seen(&cause), (true, Some("loss_cause.name")));
        if let congestion_control::Config::python(code) = &mut control.congestion_control {
            assert_eq!(format!("{:?}", code.program), "not loaded");
            code.program = Loaded::new(Arc::new(Unused));
            assert_eq!(format!("{:?}", code.program), "loaded");
            assert!(Instance::new(&code.program).paces());
            assert_eq!(code.program, Loaded::default(), "always equal");
        }
        if let loss_cause::Config::python(code) = &mut cause.loss_cause {
            code.program = Loaded::new(Arc::new(Unused));
        }
        assert_eq!([seen(&control), seen(&cause)], [(true, None); 2]);
    }
}
