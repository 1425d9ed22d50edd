//! Tables as Parquet files, and back.
//!
//! *Types.* A float is a DOUBLE, a whole number an INT64 (`replication` an unsigned INT32), a flag
//! a BOOLEAN, and a name a STRING with a dictionary. Absent values are null. A column without
//! absent values is REQUIRED, which saves the definition levels.
//!
//! *Encodings.* Whole numbers are encoded as differences, which are small for counters and
//! positions. Floats are split into streams of their bytes, since neighbouring values have equal
//! first bytes. Columns with few distinct numbers also use a dictionary. With these encodings LZ4
//! makes files about as small as ZSTD does with plain values, in half the time.

mod read;
mod write;

pub use read::{ReadError, Reader};
pub use write::write;

/// Rows per row group, the unit of reading.
const GROUP_ROWS: usize = 1 << 17;

#[cfg(test)]
mod tests;
