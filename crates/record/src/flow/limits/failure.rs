//! End of a flow whose connection has failed.

use super::{Limits, Reduction};
use retx_units::{Duration, Time};

impl Limits {
    /// Ends the life of a flow whose connection was aborted or reset. Data were last sent at
    /// `last_data`.
    ///
    /// After a timeout, the sender has waited for its next timeout until now, although it does not
    /// retransmit any more. The time since the last data therefore belongs to *timeout*.
    pub fn fail(&mut self, now: Time, last_data: Time) {
        let timeout = self.claims.last().filter(|claim| claim.timeout > Duration::ZERO).copied();
        if let Some(claim) = timeout.filter(|_| !self.is_over) {
            let by_timer = Reduction::first_in_window(claim.episode, claim.cause);
            self.note_reduction(now, last_data, &Reduction { by_timer: true, ..by_timer });
        }
        self.end_life(now);
    }
}
