//! Pool: runs on all cores, with one queue for all threads.
//!
//! Expensive jobs run first; otherwise a long run at the end of a sweep would leave all other cores
//! idle. The number of events of a job's first run predicts the cost of its other runs.

use crate::build;
use crate::options::{Options, RunError};
use crate::plan::Plan;
use crate::run::{Control, Outcome, run_plan};
use retx_scenario::Scenario;
use std::any::Any;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem::take;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Replications of a scenario to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// Label that the caller has chosen; it identifies the job in results and failures.
    pub label: u64,
    /// Number that is equal for jobs that record the same tables; their results are returned
    /// together.
    pub kind: u64,
    /// Options of each run; `replication` is ignored.
    pub options: Options,
    /// Scenario to run.
    pub scenario: Arc<Scenario>,
    /// First replication.
    pub first: u64,
    /// Number of replications.
    pub count: u64,
}

/// Collector of results; each thread has its own.
pub trait Collect: Default + Send + 'static {
    /// Adds the outcome of a run of this job.
    fn collect(&mut self, job: &Job, outcome: Outcome);
}

impl Collect for Vec<Outcome> {
    fn collect(&mut self, _: &Job, outcome: Outcome) {
        self.push(outcome);
    }
}

/// Wrapper around a thread's work: a function that calls its argument once, for example after
/// preparing the thread.
pub type ThreadWrapper = fn(&mut (dyn FnMut() + Send));

/// Results since the last call.
#[derive(Debug)]
pub struct PoolResults<C> {
    /// Results of each thread; the runs are in no particular order.
    pub parts: Vec<C>,
    /// True if no work is left.
    pub is_idle: bool,
    /// Label, replication and error of each failed run; all other runs are cancelled.
    pub failures: Vec<(u64, u64, RunError)>,
}

/// Threads that run jobs. Dropping the pool cancels the remaining work and joins the threads.
#[derive(Debug)]
pub struct Pool<C: Collect> {
    shared: Arc<Shared<C>>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared<C> {
    control: Arc<Control>,
    state: Mutex<State>,
    /// Signals that there is new work, or that the pool ends.
    work: Condvar,
    /// Signals that the last run is done, or that a run has failed.
    rest: Condvar,
    found: Vec<Mutex<C>>,
}

#[derive(Debug, Default)]
struct State {
    /// Jobs of which no run has started.
    fresh: VecDeque<Arc<Task>>,
    /// All other unfinished jobs: the most expensive first, equal ones in the order of insertion.
    begun: BinaryHeap<(u64, Reverse<u64>, Held)>,
    order: u64,
    busy: usize,
    closed: bool,
    failures: Vec<(u64, u64, RunError)>,
    panic: Option<Box<dyn Any + Send>>,
}

/// Job and the state shared by its runs.
#[derive(Debug)]
struct Task {
    job: Job,
    plan: OnceLock<Plan>,
    /// Number of replications handed out to threads.
    given: AtomicU64,
    /// Largest number of events in a run so far; [`UNKNOWN`] before the first run has ended.
    cost: AtomicU64,
}

/// Cost of a task of which no run has ended. It exceeds all other costs, so the task is run first:
/// its runs may be long.
const UNKNOWN: u64 = u64::MAX;
/// Number of events in a block of short runs, which a thread takes at once; it simulates them in
/// about ten milliseconds.
const BLOCK_EVENTS: u64 = 200_000;

/// Task in the heap. All tasks compare as equal, so that the heap is ordered by cost and number
/// only.
#[derive(Debug)]
struct Held(Arc<Task>);

impl PartialEq for Held {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Held {}
impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Held {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl<C: Collect> Pool<C> {
    /// Starts the threads.
    pub fn new(threads: NonZeroUsize, control: Arc<Control>, within: ThreadWrapper) -> Self {
        let shared = Arc::new(Shared {
            control,
            state: Mutex::default(),
            work: Condvar::new(),
            rest: Condvar::new(),
            found: (0..threads.get()).map(|_| Mutex::default()).collect(),
        });
        let start = |number| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || within(&mut || shared.serve(number)))
        };
        let threads = (0..threads.get()).map(start).collect();
        Self { shared, threads }
    }

    /// Adds a job.
    pub fn submit(&self, job: Job) {
        if job.count == 0 {
            return;
        }
        let (plan, given, cost) = (OnceLock::new(), AtomicU64::new(0), AtomicU64::new(UNKNOWN));
        self.shared.state().fresh.push_back(Arc::new(Task { job, plan, given, cost }));
        self.shared.work.notify_all();
    }

    /// Waits until all work is done; returns the results since the last call, and the failed runs.
    ///
    /// # Panics
    /// If a run panicked.
    pub fn finish(&self) -> (Vec<C>, Vec<(u64, u64, RunError)>) {
        let (mut parts, mut failures) = (Vec::new(), Vec::new());
        loop {
            let found = self.wait_for_results(Duration::from_secs(3600));
            parts.extend(found.parts);
            failures.extend(found.failures);
            if found.is_idle {
                return (parts, failures);
            }
        }
    }

    /// Waits until everything is done, a run has failed, or this time has passed; returns the
    /// results since the last call.
    ///
    /// # Panics
    /// If a run panicked.
    pub fn wait_for_results(&self, timeout: Duration) -> PoolResults<C> {
        let over = |state: &mut State| !state.is_idle() && state.failures.is_empty();
        let waited = self.shared.rest.wait_timeout_while(self.shared.state(), timeout, over);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if let Some(panic) = state.panic.take() {
            drop(state);
            resume_unwind(panic);
        }
        // `is_idle` is read before the parts are taken; otherwise a result that arrives in between
        // would be missed.
        let (idle, failures) = (state.is_idle(), take(&mut state.failures));
        drop(state);
        let parts = self.shared.found.iter().map(|part| take(&mut *locked(part))).collect();
        PoolResults { parts, is_idle: idle, failures }
    }
}

impl<C: Collect> Drop for Pool<C> {
    fn drop(&mut self) {
        self.shared.control.cancel();
        self.shared.state().closed = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // An error means that the thread has panicked, which has been recorded already.
            let _ = thread.join();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C: Collect> Shared<C> {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Main function of a thread: runs jobs until the pool ends.
    fn serve(&self, number: usize) {
        let mut state = self.state();
        loop {
            if state.closed {
                return;
            }
            let Some((task, first, count)) = state.next(self.found.len() as u64) else {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.busy += 1;
            drop(state);
            let run = || self.run(&task, first, count, number);
            let done = catch_unwind(AssertUnwindSafe(run));
            state = self.state();
            state.busy -= 1;
            match done {
                Ok(Ok(())) => {}
                Ok(Err((replication, error))) => state.fail(task.job.label, replication, error),
                Err(panic) => state.panic = Some(panic),
            }
            if state.panic.is_some() || !state.failures.is_empty() {
                self.control.cancel();
                state.fresh.clear();
                state.begun.clear();
            }
            if state.is_idle() || !state.failures.is_empty() {
                self.rest.notify_all();
            }
        }
    }

    fn run(
        &self,
        task: &Task,
        first: u64,
        count: u64,
        number: usize,
    ) -> Result<(), (u64, RunError)> {
        let plan = task.plan.get_or_init(|| build::plan_from_scenario(&task.job.scenario));
        for replication in first..first + count {
            let options = Options { replication, ..task.job.options.clone() };
            let outcome =
                run_plan(plan, &options, &self.control).map_err(|error| (replication, error))?;
            let events = outcome.engine.events.max(1);
            let known = task.cost.load(Ordering::Relaxed);
            if known == UNKNOWN || known < events {
                task.cost.store(events, Ordering::Relaxed);
            }
            locked(&self.found[number]).collect(&task.job, outcome);
        }
        Ok(())
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.busy == 0 && self.fresh.is_empty() && self.begun.is_empty()
    }

    fn fail(&mut self, label: u64, replication: u64, error: RunError) {
        // The first failure cancels all other runs, whose cancellations are not reported.
        if error != RunError::Cancelled || self.failures.is_empty() {
            self.failures.push((label, replication, error));
        }
    }

    /// Next block of work. Each task first gets a single run, which shows its cost; after that, the
    /// most expensive task comes first.
    fn next(&mut self, threads: u64) -> Option<(Arc<Task>, u64, u64)> {
        if let Some(task) = self.fresh.pop_front() {
            return Some(self.give(task, 1));
        }
        while let Some((held, order, Held(task))) = self.begun.pop() {
            let cost = task.cost.load(Ordering::Relaxed);
            if cost != held {
                // The task was inserted when its cost was not known yet: insert it again.
                self.begun.push((cost, order, Held(task)));
                continue;
            }
            let left = task.job.count - task.given.load(Ordering::Relaxed);
            // A block has at most 1/(2 · threads) of the remaining runs, so that all threads end at
            // about the same time.
            let block = (BLOCK_EVENTS / cost).min(left / (2 * threads)).max(1);
            return Some(self.give(task, block));
        }
        None
    }

    fn give(&mut self, task: Arc<Task>, block: u64) -> (Arc<Task>, u64, u64) {
        let given = task.given.fetch_add(block, Ordering::Relaxed);
        if given + block < task.job.count {
            self.order += 1;
            let cost = task.cost.load(Ordering::Relaxed);
            self.begun.push((cost, Reverse(self.order), Held(Arc::clone(&task))));
        }
        let first = task.job.first + given;
        (task, first, block)
    }
}
