//! Replications on several threads.

use crate::build;
use crate::options::{Options, RunError};
use crate::pool::{Job, Pool, ThreadWrapper};
use crate::run::{Control, Outcome, run_plan};
use retx_scenario::Scenario;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Range of replications to run, and number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// First replication.
    pub first: u64,
    /// Number of replications.
    pub count: u64,
    /// Number of threads; may exceed the number of replications.
    pub threads: NonZeroUsize,
}

/// Runs a scenario.
///
/// # Errors
/// See [`RunError`].
pub fn run(scenario: &Scenario, options: &Options, control: &Control) -> Result<Outcome, RunError> {
    let plan = build::plan_from_scenario(scenario);
    if control.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    run_plan(&plan, options, control)
}

/// Runs a scenario's replications; `options.replication` is ignored. The outcomes are in the order
/// of the replications and do not depend on the number of threads.
///
/// # Errors
/// The error of the first replication that fails; the others are then cancelled.
pub fn run_many(
    scenario: &Arc<Scenario>,
    options: &Options,
    batch: Batch,
    control: &Arc<Control>,
) -> Result<Vec<Outcome>, RunError> {
    run_many_within(scenario, options, batch, (control, |work| work()))
}

/// Like [`run_many`], but the work of each thread runs inside a call of `within`.
///
/// # Errors
/// As for [`run_many`].
pub fn run_many_within(
    scenario: &Arc<Scenario>,
    options: &Options,
    Batch { first, count, threads }: Batch,
    (control, within): (&Arc<Control>, ThreadWrapper),
) -> Result<Vec<Outcome>, RunError> {
    let wanted = NonZeroUsize::new(usize::try_from(count).unwrap_or(usize::MAX));
    let threads = threads.min(wanted.unwrap_or(NonZeroUsize::MIN));
    let pool: Pool<Vec<Outcome>> = Pool::new(threads, Arc::clone(control), within);
    let (scenario, options) = (Arc::clone(scenario), options.clone());
    pool.submit(Job { label: 0, kind: 0, options, scenario, first, count });
    let (parts, mut failures) = pool.finish();
    // Runs that failed by themselves come first; the others were cancelled because of them.
    failures.sort_by_key(|(_, replication, error)| (*error == RunError::Cancelled, *replication));
    if let Some((_, _, error)) = failures.into_iter().next() {
        return Err(error);
    }
    let mut outcomes: Vec<Outcome> = parts.into_iter().flatten().collect();
    outcomes.sort_by_key(|outcome| outcome.replication);
    Ok(outcomes)
}
