//! retx's TCP as a shared object for packetdrill (`--so_filename`): the unmodified tool plays its
//! scripts against the same endpoint, and the same sockets over it, as `retx drill`.
//!
//! [`boundary`] fills packetdrill's table of functions, and replaces the C functions that it calls
//! beyond the table; it only translates. [`Monitor`](monitor::Monitor) keeps two threads and the
//! virtual clock in order, [`Machine`](machine::Machine) has sockets, addresses and packets.

#[cfg(not(target_os = "linux"))]
compile_error!("packetdrill's shared objects are tried on Linux only");

mod boundary;
mod information;
mod machine;
mod monitor;
mod options;
mod settings;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
