//! retx's TCP as a shared object for packetdrill (`--so_filename`): the unmodified tool plays its
//! scripts against the same endpoint, and the same sockets over it, as `retx drill`.
//!
//! [`boundary`] fills packetdrill's table of functions, and stands in for calls that it makes past
//! the table; it only translates. [`Door`](door::Door) keeps two threads and the virtual clock in
//! order, [`Machine`](machine::Machine) has sockets, addresses and packets.

#[cfg(not(target_os = "linux"))]
compile_error!("packetdrill's shared objects are tried on Linux only");

mod boundary;
mod door;
mod information;
mod machine;
mod options;
mod settings;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
