//! Monitor (Hoare 1974) of the machine that two threads share.
//!
//! packetdrill's main thread plays the script, and is the only one that advances the clock. Its
//! second thread makes blocking calls, and waits here. Real time must not influence the outcome.
//! The main thread therefore waits before it advances the clock, until the blocked call has seen
//! every event. If the call has returned, the main thread also waits until the second thread has
//! read the clock.

use crate::machine::Machine;
use retx_drill::host::{Fault, Return};
use retx_units::{Duration, Time};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Longest virtual time that a call may wait, because packetdrill sets no limit.
const REACTION_TIMEOUT: Duration = Duration::from_secs(600);

/// Virtual time that reading the clock takes. Without it time would not pass while packetdrill
/// polls the clock.
const CLOCK_COST: Duration = Duration::from_micros(1);

/// Longest real time to wait for the second thread. The limit is needed because that thread ends
/// without notice when a script fails.
const GRACE: std::time::Duration = std::time::Duration::from_secs(1);

/// Machine, and the blocking call that waits for it.
#[derive(Debug)]
pub struct Monitor {
    inner: Mutex<Inner>,
    /// Signals an event at the machine.
    changed: Condvar,
    /// Signals that the waiting call has seen all events.
    idle: Condvar,
    main: ThreadId,
}

#[derive(Debug)]
struct Inner {
    machine: Machine,
    /// Number of events so far.
    events: u64,
    waiter: Option<Waiter>,
    /// Thread whose blocking call has returned and which has not read the clock since; `None` if
    /// there is no such thread.
    returned: Option<ThreadId>,
}

/// Waiting call.
#[derive(Debug, Clone, Copy)]
struct Waiter {
    /// Number of events that the call has seen.
    seen: u64,
    /// Time at which the call stops waiting.
    deadline: Time,
}

impl Inner {
    fn is_idle(&self) -> bool {
        self.returned.is_none() && self.waiter.is_none_or(|it| it.seen == self.events)
    }
}

impl Monitor {
    /// Creates the monitor of a machine; the calling thread becomes the main one.
    pub fn new(machine: Machine) -> Self {
        Self {
            inner: Mutex::new(Inner { machine, events: 0, waiter: None, returned: None }),
            changed: Condvar::new(),
            idle: Condvar::new(),
            main: std::thread::current().id(),
        }
    }

    fn is_main(&self) -> bool {
        std::thread::current().id() == self.main
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // If the lock is poisoned, another thread has panicked and the process is about to end, so
        // the state does not matter.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs an action on the machine; the action must not wait.
    pub fn with_machine<T>(&self, act: impl FnOnce(&mut Machine) -> T) -> T {
        let mut inner = self.lock();
        let result = act(&mut inner.machine);
        self.signal(&mut inner);
        result
    }

    fn signal(&self, inner: &mut Inner) {
        inner.events += 1;
        self.changed.notify_all();
    }

    /// True while a call waits in the second thread.
    #[cfg(test)]
    pub fn has_waiter(&self) -> bool {
        self.lock().waiter.is_some()
    }

    /// Makes a call that may wait until `deadline`; `attempt` is repeated after every event.
    ///
    /// # Errors
    /// The error of `attempt`.
    pub fn call_blocking(
        &self,
        deadline: Time,
        mut attempt: impl FnMut(&mut Machine) -> Result<Return, Fault>,
    ) -> Result<Return, Fault> {
        let mut inner = self.lock();
        let latest = inner.machine.now + REACTION_TIMEOUT;
        let mut waited = false;
        loop {
            let answer = attempt(&mut inner.machine);
            self.signal(&mut inner);
            if answer != Ok(Return::Wait) {
                if waited {
                    inner.waiter = None;
                    inner.returned = Some(std::thread::current().id());
                    self.idle.notify_all();
                }
                return answer;
            }
            if self.is_main() {
                let next = inner.machine.next_timeout().min(deadline);
                if next > latest {
                    // The main thread would wait forever, because no other thread advances the
                    // clock.
                    return Ok(Return::Error("EDEADLK"));
                }
                inner = self.advance(inner, next);
            } else {
                waited = true;
                inner.waiter = Some(Waiter { seen: inner.events, deadline });
                self.idle.notify_all();
                let seen = inner.events;
                inner = self
                    .changed
                    .wait_while(inner, |inner| inner.events == seen)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Advances the clock to `to`, and handles the timers that are due before.
    fn advance<'a>(&'a self, inner: MutexGuard<'a, Inner>, to: Time) -> MutexGuard<'a, Inner> {
        let mut inner = self.let_thread_react(inner);
        loop {
            let deadline = inner.waiter.map_or(Time::NEVER, |it| it.deadline);
            let next = inner.machine.next_timeout().min(deadline);
            if next > to || inner.machine.is_exhausted() {
                inner.machine.now = inner.machine.now.max(to);
                return inner;
            }
            inner.machine.advance_to(next);
            self.signal(&mut inner);
            inner = self.let_thread_react(inner);
        }
    }

    /// Waits until the second thread has seen all events and reacted.
    fn let_thread_react<'a>(&'a self, inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
        if inner.is_idle() {
            return inner;
        }
        let (mut inner, waited) = self
            .idle
            .wait_timeout_while(inner, GRACE, |inner| !inner.is_idle())
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            inner.waiter = None;
            inner.returned = None;
        }
        inner
    }

    /// Reads the virtual clock. In the main thread, a reading takes [`CLOCK_COST`].
    pub fn read_clock(&self) -> Time {
        let mut inner = self.lock();
        if self.is_main() {
            let to = inner.machine.now + CLOCK_COST;
            return self.advance(inner, to).machine.now;
        }
        if inner.returned == Some(std::thread::current().id()) {
            inner.returned = None;
            self.idle.notify_all();
        }
        inner.machine.now
    }

    /// Advances the clock by `duration`, and handles the events in this time.
    pub fn sleep(&self, duration: Duration) {
        let inner = self.lock();
        let to = inner.machine.now + duration;
        drop(self.advance(inner, to));
    }

    /// Advances the clock until the machine sends its next packet. Returns the packet's time and
    /// bytes, or `None` if no packet will be sent.
    pub fn next_packet(&self) -> Option<(Time, Vec<u8>)> {
        let mut inner = self.lock();
        let latest = inner.machine.now + REACTION_TIMEOUT;
        while !inner.machine.has_sent() {
            let next = inner.machine.next_timeout();
            if next > latest || inner.machine.is_exhausted() {
                return None;
            }
            inner = self.advance(inner, next);
        }
        inner.machine.dequeue_sent()
    }
}
