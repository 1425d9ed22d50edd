//! record

mod atomic;
pub mod capture;
pub mod pcapng;

pub use atomic::{WriteError, write_atomically};
