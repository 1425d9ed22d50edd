//! Replications on several threads.

use crate::build;
use crate::plan::Plan;
use crate::run::{Control, Options, Outcome, RunError, run_plan};
use retx_scenario::Scenario;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which replications, and on how many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The first replication.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Threads; more than there are replications do no harm.
    pub threads: NonZeroUsize,
}

/// Runs a scenario.
///
/// # Errors
/// See [`RunError`].
pub fn run(scenario: &Scenario, options: &Options, control: &Control) -> Result<Outcome, RunError> {
    run_plan(&build::plan(scenario), options, control)
}

/// Runs a scenario's replications; `options.replication` is ignored. The outcomes are in the order
/// of the replications and do not depend on the number of threads.
///
/// # Errors
/// The error of the first replication that has one; the others are then cancelled.
pub fn run_many(
    scenario: &Scenario,
    options: &Options,
    batch: Batch,
    control: &Control,
) -> Result<Vec<Outcome>, RunError> {
    run_many_within(scenario, options, batch, (control, &|work| work()))
}

/// What is done around all the work of a thread: it calls what it is given, once.
pub type Within<'a> = &'a (dyn Fn(&mut (dyn FnMut() + Send)) + Sync);

/// The same as [`run_many`], for those who have to prepare each thread.
///
/// # Errors
/// As there.
pub fn run_many_within(
    scenario: &Scenario,
    options: &Options,
    batch: Batch,
    (control, within): (&Control, Within<'_>),
) -> Result<Vec<Outcome>, RunError> {
    let plan = build::plan(scenario);
    let next = AtomicU64::new(0);
    let done = Mutex::new(Vec::new());
    let threads = batch.threads.get().min(usize::try_from(batch.count).unwrap_or(usize::MAX));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                within(&mut || work(&plan, options, (batch, &next), (control, &done)));
            });
        }
    });
    let mut results = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(replication, _)| *replication);
    // A run that failed of itself, rather than because another one did.
    let failed = |(_, result): &(u64, Result<Outcome, RunError>)| {
        result.as_ref().err().filter(|error| **error != RunError::Cancelled).cloned()
    };
    if let Some(error) = results.iter().find_map(failed) {
        return Err(error);
    }
    if results.len() as u64 != batch.count {
        return Err(RunError::Cancelled);
    }
    results.into_iter().map(|(_, result)| result).collect()
}

type Done = Mutex<Vec<(u64, Result<Outcome, RunError>)>>;

/// One thread: takes the next replication until there is none.
fn work(
    plan: &Plan,
    options: &Options,
    (batch, next): (Batch, &AtomicU64),
    (control, done): (&Control, &Done),
) {
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= batch.count || control.is_cancelled() {
            return;
        }
        let replication = batch.first + index;
        let result = run_plan(plan, &Options { replication, ..options.clone() }, control);
        if result.is_err() {
            control.cancel();
        }
        let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.push((replication, result));
    }
}
