//! User code that makes a decision of the sender. It is called through trait objects; all other
//! algorithms are known at compile time.
//!
//! The [`Loader`](crate::Loader) passed by the caller knows the language and the location of the
//! code, and how it is called.

use crate::sent::Sent;
use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::{Arc, OnceLock};

/// Code that has been found and checked, ready to be instantiated for each connection.
pub trait Program<T: ?Sized>: Debug + Send + Sync {
    /// Creates an instance for a connection. Reports a fault to `faults`, and then returns `None`.
    fn start(&self, faults: &Arc<Faults>) -> Option<Box<T>>;

    /// True for a congestion control with a pacing rate.
    fn paces(&self) -> bool {
        false
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

    /// Directs faults of the program to `faults`.
    pub(crate) fn report_to(&mut self, faults: &Arc<Faults>) {
        self.faults = Arc::clone(faults);
    }

    /// True before the program is loaded.
    pub(crate) fn is_missing(&self) -> bool {
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
}

impl<T: ?Sized + UserCode> Instance<T> {
    /// Reports transmitted data to the instance, which the first data create.
    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        if self.running.is_none() {
            if sent.position == 0 || (sent.bytes == 1 && self.early.is_none()) {
                self.early = Some(*sent).filter(|sent| sent.position > 0);
                return;
            }
            if self.faults.first().is_none() {
                self.running = self.program.start(&self.faults);
            }
        }
        let early = self.early.take();
        if let Some(running) = self.running_instance_mut() {
            early.iter().chain([sent]).for_each(|sent| running.report_sent(sent));
        }
    }

    /// Instance for an acknowledgment of data or a loss, after it has been told of data sent before
    /// it was created.
    pub(crate) fn caught_up(&mut self) -> Option<&mut T> {
        let early = self.early.take();
        if early.is_some() && self.faults.first().is_none() {
            self.running = self.program.start(&self.faults);
        }
        let running = self.running_instance_mut()?;
        early.iter().for_each(|sent| running.report_sent(sent));
        Some(running)
    }

    /// Instance for any acknowledgment. That of a FIN alone must not create it.
    pub(crate) fn on_ack(&mut self, bytes_acked: u64) -> Option<&mut T> {
        if bytes_acked > 0 { self.caught_up() } else { self.running_instance_mut() }
    }
}

/// Operations of every kind of user code.
pub(crate) trait UserCode {
    /// Copy in the same state; `None` after a fault.
    fn copied(&self) -> Option<Box<Self>>;

    /// Reports transmitted data.
    fn report_sent(&mut self, sent: &Sent);
}

impl<T: ?Sized + UserCode> Clone for Instance<T> {
    fn clone(&self) -> Self {
        Self {
            program: Arc::clone(&self.program),
            faults: Arc::clone(&self.faults),
            running: self.running_instance().and_then(T::copied),
            early: self.early,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
