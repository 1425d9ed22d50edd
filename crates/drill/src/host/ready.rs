//! Event bits of `poll` and epoll.

/// Readable, or an accept would not wait.
pub const IN: u32 = 0x1;
/// Writable.
pub const OUT: u32 = 0x4;
/// An error is pending.
pub const ERR: u32 = 0x8;
/// Both directions are closed.
pub const HUP: u32 = 0x10;
/// The peer has closed its direction.
pub const RDHUP: u32 = 0x2000;

/// Edge-triggered (`EPOLLET`).
pub const EDGE: u32 = 1 << 31;
/// Reported only once (`EPOLLONESHOT`).
pub const ONE_SHOT: u32 = 1 << 30;

const NAMES: [(&str, u32); 10] = [
    ("POLLIN", IN),
    ("POLLRDNORM", 0x40),
    ("POLLOUT", OUT),
    ("POLLWRNORM", 0x100),
    ("POLLERR", ERR),
    ("POLLHUP", HUP),
    ("POLLRDHUP", RDHUP),
    ("POLLET", EDGE),
    ("POLLONESHOT", ONE_SHOT),
    ("POLLEXCLUSIVE", 1 << 28),
];

/// Bit with this name, such as `POLLIN` or `EPOLLIN`.
pub fn bit_by_name(name: &str) -> Option<u32> {
    let name = name.strip_prefix('E').unwrap_or(name);
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, bit)| *bit)
}

/// Names of bits, as a script writes them.
pub fn describe(bits: u32) -> String {
    let names: Vec<&str> =
        NAMES.iter().filter(|(_, bit)| bits & bit != 0).map(|(name, _)| *name).collect();
    if names.is_empty() { "0".into() } else { names.join("|") }
}

/// Adds `POLLRDNORM` to [`IN`] and `POLLWRNORM` to [`OUT`], which mean the same.
pub const fn add_normal_bits(bits: u32) -> u32 {
    let read = if bits & IN != 0 { 0x40 } else { 0 };
    let write = if bits & OUT != 0 { 0x100 } else { 0 };
    bits | read | write
}
