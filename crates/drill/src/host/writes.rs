//! Blocking writes, which continue when enough of the send buffer is free.

use super::{Fault, Host, Return, SocketEnd};
use crate::script::{Operation, Transfer};
use retx_units::Time;

impl Host {
    /// Continues a write of which `written` bytes have been accepted. On a blocking socket the call
    /// waits until all its bytes have been accepted.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn continue_write(
        &mut self,
        now: Time,
        transfer: &Transfer,
        written: &mut u64,
    ) -> Result<Return, Fault> {
        // As in Linux, a waiting writer is woken only when enough of the buffer is free (see
        // `has_room`). A part of the write might fit earlier.
        let end = self.end_for_fd(transfer.fd)?;
        let waits = |end: &SocketEnd| end.write_waits && end.found_buffer_full;
        if end.is_some_and(|end| waits(&self.ends[end]) && self.ends[end].error.is_none()) {
            return Ok(Return::Wait);
        }
        let answer = self.write_more(now, transfer, written)?;
        if let Some(end) = end {
            let waits = matches!(answer, Return::Wait) && !self.never_waits(transfer);
            self.ends[end].write_waits = waits;
        }
        Ok(answer)
    }

    /// Passes as much of the rest of a write as the buffer accepts.
    fn write_more(
        &mut self,
        now: Time,
        transfer: &Transfer,
        written: &mut u64,
    ) -> Result<Return, Fault> {
        let left = Transfer { bytes: transfer.bytes - *written, ..*transfer };
        match self.call(now, &Operation::Write(left), None)? {
            Return::Done(taken) => *written += taken as u64,
            // If some bytes have been accepted, the call returns their number, and a later call
            // returns the error.
            Return::Error(_) if *written > 0 => return Ok(Return::Done(*written as i64)),
            answer => return Ok(answer),
        }
        let waits = *written < transfer.bytes && !self.never_waits(transfer);
        Ok(if waits { Return::Wait } else { Return::Done(*written as i64) })
    }
}
