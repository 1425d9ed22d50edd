//! Functions of the C library that packetdrill calls directly, replaced by `LD_PRELOAD`.
//!
//! A code block `%{ … }%` reads `TCP_INFO` by `getsockopt`. At the start of every script
//! packetdrill waits for ticks of the kernel's clock, and requests a priority and locked memory
//! that only root may have.

use super::table::Data;
use super::{calls, interface};
use libc::{c_int, clock_t, pid_t, sched_param, socklen_t, tms};
use std::sync::atomic::{AtomicI64, Ordering};

/// Replaces the C library's `getsockopt` for descriptors of the machine.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: Data,
    length: *mut socklen_t,
) -> c_int {
    let is_ours = interface::monitor()
        .is_some_and(|monitor| monitor.with_machine(|machine| machine.has_descriptor(fd)));
    // SAFETY: the caller's promise is passed on.
    unsafe {
        if is_ours {
            calls::read_option(fd, level, name, value, length)
        } else {
            libc::syscall(libc::SYS_getsockopt, fd, level, name, value, length) as c_int
        }
    }
}

/// Kernel's clock until the table is filled. After that, a clock that ticks at every call, because
/// packetdrill waits for ten ticks before it begins.
///
/// # Safety
/// As the C library's: `buffer` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn times(buffer: *mut tms) -> clock_t {
    static TICKS: AtomicI64 = AtomicI64::new(0);
    if interface::monitor().is_some() {
        return TICKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { libc::syscall(libc::SYS_times, buffer) as clock_t }
}

/// Locks no memory: page faults delay packetdrill only in real time, which has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn mlockall(_flags: c_int) -> c_int {
    0
}

/// Sets no priority: waiting for the processor delays packetdrill only in real time, which has no
/// effect.
#[unsafe(no_mangle)]
pub extern "C" fn sched_setscheduler(
    _process: pid_t,
    _policy: c_int,
    _parameters: *const sched_param,
) -> c_int {
    0
}
