//! Boundary to C, with the only unsafe code. It translates arguments and results, and passes
//! through the [`Monitor`](crate::monitor::Monitor).

// packetdrill fills and calls a table of C functions: there is no safe way to be on the other side.
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
