//! Calls that packetdrill makes without its table, replaced by `LD_PRELOAD`: `%{ … }%` reads
//! `TCP_INFO` through the C library, and every script begins by waiting for the kernel's clock,
//! with a priority and locked memory that only root may have.

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
    let is_ours =
        interface::monitor().is_some_and(|monitor| monitor.with(|machine| machine.has(fd)));
    // SAFETY: the caller's promise is passed on.
    unsafe {
        if is_ours {
            calls::option_of(fd, level, name, value, length)
        } else {
            libc::syscall(libc::SYS_getsockopt, fd, level, name, value, length) as c_int
        }
    }
}

/// Clock that ticks at every call once the table is filled, because packetdrill waits for ten ticks
/// of the kernel's clock before it begins; before that, the kernel's clock.
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

/// Locks nothing, because there is no real time to keep.
#[unsafe(no_mangle)]
pub extern "C" fn mlockall(_flags: c_int) -> c_int {
    0
}

/// Changes nothing, because there is no real time to keep.
#[unsafe(no_mangle)]
pub extern "C" fn sched_setscheduler(
    _process: pid_t,
    _policy: c_int,
    _parameters: *const sched_param,
) -> c_int {
    0
}
