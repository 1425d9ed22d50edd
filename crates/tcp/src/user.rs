//! The user's own code behind a decision: trait objects, and the one place where calls are
//! dispatched at run time.
//!
//! What language the code is in, where it lies and how it is called is the business of the
//! [`Loader`] that is handed in; nothing of that is known here.

use crate::congestion_control::{self, CongestionControl, Sent};
use crate::loss_cause::{self, LossCause};
use crate::{Config, ConfigError};
use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::{Arc, OnceLock};

/// A congestion control of the user's own.
pub trait UserControl: CongestionControl + Debug + Send + Sync {
    /// Copy in the same state, for a copy of the connection; `None` after a fault.
    fn copy(&self) -> Option<Box<dyn UserControl>>;
}

/// A rule of the user's own that tells congestion from corruption.
pub trait UserCause: LossCause + Debug + Send + Sync {
    /// Copy in the same state, for a copy of the connection; `None` after a fault.
    fn copy(&self) -> Option<Box<dyn UserCause>>;
}

/// Code that has been found and checked, ready to be started for each connection.
pub trait Program<T: ?Sized>: Debug + Send + Sync {
    /// An instance of its own for a connection; `None` after a fault, which it has reported.
    fn start(&self, faults: &Arc<Faults>) -> Option<Box<T>>;

    /// True for a congestion control that says at which rate segments are to leave.
    fn paces(&self) -> bool {
        false
    }
}

/// Finds the code that a configuration names.
pub trait Loader {
    /// Puts the program into the configuration, and its file's full path.
    ///
    /// # Errors
    /// There is no such code, or it does not take these parameters.
    fn congestion_control(
        &self,
        wanted: &mut congestion_control::python::Config,
    ) -> Result<(), Refusal>;

    /// Loads a loss cause.
    ///
    /// # Errors
    /// There is no such code, or it does not take these parameters.
    fn loss_cause(&self, wanted: &mut loss_cause::python::Config) -> Result<(), Refusal>;
}

/// Where nobody can run the user's code.
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
    /// Answer to every request.
    pub fn refusal() -> Refusal {
        Refusal { key: "name".into(), message: NO_INTERPRETER.into() }
    }
}

/// Why code is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The key of the choice that is wrong (`file`, `class`, a parameter); empty for all of it.
    pub key: String,
    /// Message: what is wrong, and what instead.
    pub message: String,
}

/// An error in the user's code while it ran.
#[derive(Clone)]
pub struct Fault {
    /// Message in one line: what went wrong, in which call, and when.
    pub message: String,
    /// The error as the code's language has it.
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

/// The first fault of a run. Code that has failed is not called again.
#[derive(Debug, Default)]
pub struct Faults {
    first: OnceLock<Fault>,
}

impl Faults {
    /// Keeps the first, and only that.
    pub fn report(&self, fault: Fault) {
        let _ = self.first.set(fault);
    }

    /// The fault, if there was one.
    pub fn first(&self) -> Option<&Fault> {
        self.first.get()
    }
}

/// A program as a configuration holds it, and to whom its faults are told.
pub struct Loaded<T: ?Sized> {
    program: Option<Arc<dyn Program<T>>>,
    faults: Arc<Faults>,
}

impl<T: ?Sized> Loaded<T> {
    /// The program, once it is found.
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

/// File, class and parameters say what a program is; they stand beside it.
impl<T: ?Sized> PartialEq for Loaded<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A program's instance for one connection. It is made when the first data leave, so that an end
/// that only acknowledges has none.
#[derive(Debug)]
pub(crate) struct Instance<T: ?Sized> {
    program: Arc<dyn Program<T>>,
    faults: Arc<Faults>,
    running: Option<Box<T>>,
    /// One byte of sequence space that left before anything else: a byte, or only a FIN.
    early: Option<Sent>,
}

impl<T: ?Sized> Instance<T> {
    /// For a connection that has sent nothing yet.
    pub(crate) fn new(loaded: &Loaded<T>) -> Self {
        // `Config::check` refuses it.
        let program = loaded.program.clone().expect("the user's code is loaded before it runs");
        Self { program, faults: Arc::clone(&loaded.faults), running: None, early: None }
    }

    /// See [`Program::paces`].
    pub(crate) fn paces(&self) -> bool {
        self.program.paces()
    }

    /// The instance, unless it is not needed yet, or has failed.
    pub(crate) fn running(&self) -> Option<&T> {
        if self.faults.first().is_some() { None } else { self.running.as_deref() }
    }

    /// Mutable reference to the running program.
    pub(crate) fn running_mut(&mut self) -> Option<&mut T> {
        if self.faults.first().is_some() { None } else { self.running.as_deref_mut() }
    }

    /// Data leave: the instance, and what is to be told first and then.
    pub(crate) fn sending(&mut self, sent: &Sent) -> Option<(&mut T, [Option<Sent>; 2])> {
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
        Some((self.running_mut()?, [early, Some(*sent)]))
    }

    /// An acknowledgment or a loss: the instance, and what it has not been told yet.
    pub(crate) fn started(&mut self) -> Option<(&mut T, Option<Sent>)> {
        let early = self.early.take();
        if early.is_some() && self.faults.first().is_none() {
            self.running = self.program.start(&self.faults);
        }
        Some((self.running_mut()?, early))
    }
}

/// How a trait object is copied.
pub(crate) trait Copied {
    fn copied(&self) -> Option<Box<Self>>;
}

impl Copied for dyn UserControl {
    fn copied(&self) -> Option<Box<Self>> {
        self.copy()
    }
}

impl Copied for dyn UserCause {
    fn copied(&self) -> Option<Box<Self>> {
        self.copy()
    }
}

impl<T: ?Sized + Copied> Clone for Instance<T> {
    fn clone(&self) -> Self {
        Self {
            program: Arc::clone(&self.program),
            faults: Arc::clone(&self.faults),
            running: self.running().and_then(T::copied),
            early: self.early,
        }
    }
}

impl Config {
    /// True when one of the decisions is the user's own code.
    pub fn has_user_code(&self) -> bool {
        matches!(self.congestion_control, congestion_control::Config::python(_))
            || matches!(self.loss_cause, loss_cause::Config::python(_))
    }

    /// Has the user's own code found.
    ///
    /// # Errors
    /// The decision (a field of this configuration), and why its code is not taken.
    pub fn load(&mut self, loader: &dyn Loader) -> Result<(), (&'static str, Refusal)> {
        if let congestion_control::Config::python(wanted) = &mut self.congestion_control {
            loader.congestion_control(wanted).map_err(|error| ("congestion_control", error))?;
        }
        if let loss_cause::Config::python(wanted) = &mut self.loss_cause {
            loader.loss_cause(wanted).map_err(|error| ("loss_cause", error))?;
        }
        Ok(())
    }

    /// Has faults of the user's own code told to `faults`, as each run wants its own.
    pub fn report_faults_to(&mut self, faults: &Arc<Faults>) {
        if let congestion_control::Config::python(code) = &mut self.congestion_control {
            code.program.faults = Arc::clone(faults);
        }
        if let loss_cause::Config::python(code) = &mut self.loss_cause {
            code.program.faults = Arc::clone(faults);
        }
    }

    /// The files of the user's own code.
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

    /// Refuses code that nobody has loaded.
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
