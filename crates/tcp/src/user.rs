//! User code that makes a decision of the sender. It is called through trait objects; all other
//! algorithms are known at compile time.
//!
//! The [`Loader`] passed by the caller knows the language and the location of the code, and how it
//! is called.

use crate::congestion_control::{self, CongestionControl, Sent};
use crate::loss_cause::{self, LossCause};
use crate::{Config, ConfigError};
use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::{Arc, OnceLock};

/// Congestion control in user code.
pub trait UserControl: CongestionControl + Debug + Send + Sync {
    /// Copy in the same state, for a copy of the connection; `None` after a fault.
    fn copy(&self) -> Option<Box<dyn UserControl>>;
}

/// Rule in user code that distinguishes corruption from congestion.
pub trait UserCause: LossCause + Debug + Send + Sync {
    /// Copy in the same state, for a copy of the connection; `None` after a fault.
    fn copy(&self) -> Option<Box<dyn UserCause>>;
}

/// Code that has been found and checked, ready to be instantiated for each connection.
pub trait Program<T: ?Sized>: Debug + Send + Sync {
    /// Creates an instance for a connection. Reports a fault to `faults`, and then returns `None`.
    fn start(&self, faults: &Arc<Faults>) -> Option<Box<T>>;

    /// True for a congestion control with a pacing rate.
    fn paces(&self) -> bool {
        false
    }
}

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

/// Reason why code is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Invalid key of the configuration (`file`, `class` or a parameter); empty if the
    /// configuration as a whole is invalid.
    pub key: String,
    /// Message: the fault, and what is valid instead.
    pub message: String,
}

/// Error in user code at run time.
#[derive(Clone)]
pub struct Fault {
    /// One-line message with the error, the call and the time.
    pub message: String,
    /// Error object of the code's language.
    pub cause: Arc<dyn Any + Send + Sync>,
}

impl Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault").field("message", &self.message).finish_non_exhaustive()
    }
}

impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message && Arc::ptr_eq(&self.cause, &other.cause)
    }
}

impl Eq for Fault {}

/// First fault of a run. Code that has failed is not called again.
#[derive(Debug, Default)]
pub struct Faults {
    first: OnceLock<Fault>,
}

impl Faults {
    /// Records a fault, unless there was one before.
    pub fn report(&self, fault: Fault) {
        let _ = self.first.set(fault);
    }

    /// First fault, if any.
    pub fn first(&self) -> Option<&Fault> {
        self.first.get()
    }
}

/// Program of a configuration, and the recipient of its faults.
pub struct Loaded<T: ?Sized> {
    program: Option<Arc<dyn Program<T>>>,
    faults: Arc<Faults>,
}

impl<T: ?Sized> Loaded<T> {
    /// Pairs a loaded program with a recipient of faults.
    pub fn new(program: Arc<dyn Program<T>>) -> Self {
        Self { program: Some(program), faults: Arc::default() }
    }

    fn is_missing(&self) -> bool {
        self.program.is_none()
    }
}

impl<T: ?Sized> Default for Loaded<T> {
    fn default() -> Self {
        Self { program: None, faults: Arc::default() }
    }
}

impl<T: ?Sized> Clone for Loaded<T> {
    fn clone(&self) -> Self {
        Self { program: self.program.clone(), faults: Arc::clone(&self.faults) }
    }
}

impl<T: ?Sized> Debug for Loaded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_missing() { "not loaded" } else { "loaded" })
    }
}

/// Loaded programs always compare equal: their file, class and parameters are fields of the
/// configuration, and are compared there.
impl<T: ?Sized> PartialEq for Loaded<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Instance of a program for one connection, created when the first data are sent, so that an
/// endpoint that only acknowledges has none.
#[derive(Debug)]
pub(crate) struct Instance<T: ?Sized> {
    program: Arc<dyn Program<T>>,
    faults: Arc<Faults>,
    running: Option<Box<T>>,
    /// First transmission after the SYN if it occupies one sequence number. It may be only a FIN,
    /// for which no instance is needed, so it is reported later.
    early: Option<Sent>,
}

impl<T: ?Sized> Instance<T> {
    /// Creates the state of a connection that has sent nothing yet.
    pub(crate) fn new(loaded: &Loaded<T>) -> Self {
        // `Config::check` refuses a missing program.
        let program = loaded.program.clone().expect("the user's code is loaded before it runs");
        Self { program, faults: Arc::clone(&loaded.faults), running: None, early: None }
    }

    /// See [`Program::paces`].
    pub(crate) fn paces(&self) -> bool {
        self.program.paces()
    }

    /// Running instance; `None` before it is needed and after a fault.
    pub(crate) fn running_instance(&self) -> Option<&T> {
        if self.faults.first().is_some() { None } else { self.running.as_deref() }
    }

    /// Mutable reference to the running program.
    pub(crate) fn running_instance_mut(&mut self) -> Option<&mut T> {
        if self.faults.first().is_some() { None } else { self.running.as_deref_mut() }
    }

    /// Handles transmitted data: returns the instance, and the transmissions to report to it, in
    /// order.
    pub(crate) fn prepare_sent(&mut self, sent: &Sent) -> Option<(&mut T, [Option<Sent>; 2])> {
        if self.running.is_none() {
            if sent.position == 0 || (sent.bytes == 1 && self.early.is_none()) {
                self.early = Some(*sent).filter(|sent| sent.position > 0);
                return None;
            }
            if self.faults.first().is_none() {
                self.running = self.program.start(&self.faults);
            }
        }
        let early = self.early.take();
        Some((self.running_instance_mut()?, [early, Some(*sent)]))
    }

    /// Handles an acknowledgment or a loss: returns the instance, and a transmission that has not
    /// been reported to it yet.
    pub(crate) fn prepare_event(&mut self) -> Option<(&mut T, Option<Sent>)> {
        let early = self.early.take();
        if early.is_some() && self.faults.first().is_none() {
            self.running = self.program.start(&self.faults);
        }
        Some((self.running_instance_mut()?, early))
    }
}

/// Copying of trait objects.
pub(crate) trait CloneBox {
    fn copied(&self) -> Option<Box<Self>>;
}

impl CloneBox for dyn UserControl {
    fn copied(&self) -> Option<Box<Self>> {
        self.copy()
    }
}

impl CloneBox for dyn UserCause {
    fn copied(&self) -> Option<Box<Self>> {
        self.copy()
    }
}

impl<T: ?Sized + CloneBox> Clone for Instance<T> {
    fn clone(&self) -> Self {
        Self {
            program: Arc::clone(&self.program),
            faults: Arc::clone(&self.faults),
            running: self.running_instance().and_then(T::copied),
            early: self.early,
        }
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
            code.program.faults = Arc::clone(faults);
        }
        if let loss_cause::Config::python(code) = &mut self.loss_cause {
            code.program.faults = Arc::clone(faults);
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

    /// Two faults are the same if their messages and their error objects are.
    #[test]
    fn faults_are_compared_by_their_causes() {
        let fault = |message: &str, cause: &Arc<i32>| {
            let cause: Arc<dyn Any + Send + Sync> = Arc::<i32>::clone(cause);
            Fault { message: message.into(), cause }
        };
        let (first, second) = (Arc::new(1), Arc::new(1));
        assert_eq!(fault("a", &first), fault("a", &first));
        assert_ne!(fault("a", &first), fault("b", &first));
        assert_ne!(fault("a", &first), fault("a", &second));
        assert!(format!("{:?}", fault("a", &first)).contains("\"a\""));
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
