//! retx's TCP as a shared object for packetdrill (`--so_filename`). The unmodified tool plays its
//! scripts against the same endpoint and sockets as `retx drill`.
//!
//! [`boundary`] fills packetdrill's table of functions, and replaces the C functions that
//! packetdrill calls directly; it only translates. [`Monitor`](monitor::Monitor) synchronises two
//! threads and the virtual clock. [`Machine`](machine::Machine) contains the sockets, addresses and
//! packets.

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
