//! Boundary to C, with the only unsafe code of the crate. It translates arguments and results, and
//! makes calls through the [`Monitor`](crate::monitor::Monitor).

// packetdrill calls through a table of C functions, which cannot be implemented without unsafe
// code.
#![allow(unsafe_code)]

mod address;
mod calls;
mod interface;
mod memory;
mod preload;
mod table;
#[cfg(test)]
mod tests;
mod transfers;
