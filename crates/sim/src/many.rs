//! Replications on several threads.

use crate::build;
use crate::options::{Options, RunError};
use crate::pool::{Job, Pool, Within};
use crate::run::{Control, Outcome, run_plan};
use retx_scenario::Scenario;
use std::num::NonZeroUsize;
use std::sync::Arc;

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
    scenario: &Arc<Scenario>,
    options: &Options,
    batch: Batch,
    control: &Arc<Control>,
) -> Result<Vec<Outcome>, RunError> {
    run_many_within(scenario, options, batch, (control, |work| work()))
}

/// The same as [`run_many`], for those who have to prepare each thread.
///
/// # Errors
/// As there.
pub fn run_many_within(
    scenario: &Arc<Scenario>,
    options: &Options,
    Batch { first, count, threads }: Batch,
    (control, within): (&Arc<Control>, Within),
) -> Result<Vec<Outcome>, RunError> {
    let wanted = NonZeroUsize::new(usize::try_from(count).unwrap_or(usize::MAX));
    let threads = threads.min(wanted.unwrap_or(NonZeroUsize::MIN));
    let pool: Pool<Vec<Outcome>> = Pool::new(threads, Arc::clone(control), within);
    let (scenario, options) = (Arc::clone(scenario), options.clone());
    pool.submit(Job { label: 0, kind: 0, options, scenario, first, count });
    let (parts, mut failures) = pool.finish();
    // A run that failed of itself, rather than because another one did.
    failures.sort_by_key(|(_, replication, error)| (*error == RunError::Cancelled, *replication));
    if let Some((_, _, error)) = failures.into_iter().next() {
        return Err(error);
    }
    let mut outcomes: Vec<Outcome> = parts.into_iter().flatten().collect();
    outcomes.sort_by_key(|outcome| outcome.replication);
    Ok(outcomes)
}
