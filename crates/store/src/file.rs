//! Tables as Parquet files, and back.
//!
//! A float is a DOUBLE, a whole number an INT64 (`replication` an unsigned INT32), a flag a
//! BOOLEAN, a name a STRING by way of a dictionary; what is absent is null. A column of which
//! nothing is absent is REQUIRED, which spares it the levels. Whole numbers are written as
//! differences, which counters and positions keep small, floats byte by byte, since neighbours have
//! their first bytes in common; numbers of which few differ by way of a dictionary, too. So LZ4
//! makes files about as small as ZSTD would of plain values, for half the time.

mod read;
mod write;

pub use read::{ReadError, Reader};
pub use write::write;

/// Rows per row group, the unit of reading.
const GROUP_ROWS: usize = 1 << 17;

#[cfg(test)]
mod tests;
