//! Tables as Parquet files, and back.
//!
//! A float is a DOUBLE, a whole number an INT64 (`replication` an unsigned INT32), a flag a
//! BOOLEAN, a name a STRING by way of a dictionary; what is absent is null. A column without absent
//! values is REQUIRED, which saves the definition levels. Whole numbers are encoded as differences,
//! which are small for counters and positions. Floats are split into streams of their bytes, since
//! neighbouring values have equal first bytes. Columns with few distinct numbers use a dictionary,
//! too. With these encodings LZ4 makes files about as small as ZSTD does with plain values, in half
//! the time.

mod read;
mod write;

pub use read::{ReadError, Reader};
pub use write::write;

/// Rows per row group, the unit of reading.
const GROUP_ROWS: usize = 1 << 17;

#[cfg(test)]
mod tests;
