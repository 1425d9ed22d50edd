//! Functions that packetdrill calls.
//!
//! Each function translates its arguments, makes the call through the [`Monitor`] and sets `errno`.
//! The contents of written buffers are ignored; reads return zeros.

use super::calls::*;
use super::memory::{value_mut, values, values_mut};
use super::table::{Data, Interface};
use super::transfers::*;
use crate::machine::Machine;
use crate::monitor::Monitor;
use crate::options;
use crate::settings::Settings;
use libc::{
    c_char, c_int, c_longlong, c_uint, c_void, epoll_event, loff_t, size_t, ssize_t, timeval,
};
use retx_drill::Operation;
use retx_drill::host::{Fault, Return};
use retx_units::{Duration, Time};
use std::ffi::CStr;
use std::sync::OnceLock;

static MONITOR: OnceLock<Monitor> = OnceLock::new();

/// Monitor; none until packetdrill has requested the table.
pub fn monitor() -> Option<&'static Monitor> {
    MONITOR.get()
}

pub fn require_monitor() -> &'static Monitor {
    MONITOR.get().expect("the table is filled before its functions are called")
}

/// Time of day at the start. It is arbitrary, but packetdrill takes 0 for an unset time.
const EPOCH: Duration = Duration::from_secs(1_000_000);

/// Fills the table. `flags` is the value of `--so_flags=`.
///
/// # Safety
/// `flags` is null or a C string, and `table` points to packetdrill's table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(flags: *const c_char, table: *mut Interface) {
    // SAFETY: packetdrill passes a C string, or null if there is no --so_flags.
    let flags = if flags.is_null() { c"" } else { unsafe { CStr::from_ptr(flags) } };
    let machine = Settings::from_env(&flags.to_string_lossy()).and_then(Machine::new);
    let machine = machine.unwrap_or_else(|message| {
        eprintln!("retx: {message}");
        std::process::exit(2);
    });
    assert!(MONITOR.set(Monitor::new(machine)).is_ok(), "packetdrill asks for one table");
    // SAFETY: `table` points to a table that packetdrill lets this function fill; all of it is
    // written.
    unsafe { table.write(TABLE) };
}

/// Table of the functions that packetdrill calls.
pub const TABLE: Interface = Interface {
    userdata: std::ptr::null_mut(),
    free,
    socket,
    bind,
    listen,
    accept,
    connect,
    read,
    readv,
    recv,
    recvfrom,
    recvmsg,
    write,
    writev,
    send,
    sendto,
    sendmsg,
    fcntl,
    ioctl,
    close,
    shutdown,
    getsockopt,
    setsockopt,
    poll,
    netdev_send,
    netdev_receive,
    usleep,
    gettimeofday,
    epoll_create,
    epoll_ctl,
    epoll_wait,
    pipe,
    splice,
};

/// Sets `errno`, and returns −1.
pub fn set_errno(errno: c_int) -> c_int {
    // SAFETY: the C library returns the address of this thread's `errno`.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// Return value of a call. If the script is faulty, also prints the fault.
pub fn return_value(result: Result<Return, Fault>) -> i64 {
    match result {
        Ok(Return::Done(value)) => value,
        Ok(Return::Error(errno)) => set_errno(options::errno_number(errno)).into(),
        Ok(Return::Wait) => unreachable!("a call that waits has not returned"),
        Err(fault) => {
            eprintln!("retx: {fault}");
            set_errno(libc::EINVAL).into()
        }
    }
}

/// Makes a call that needs only the machine.
pub fn call(operation: &Operation) -> i64 {
    return_value(require_monitor().call_blocking(Time::NEVER, |machine| machine.call(operation)))
}

extern "C" fn free(_: Data) {
    require_monitor().with_machine(Machine::leave_files_open);
}

unsafe extern "C" fn netdev_send(_: Data, packet: *const c_void, bytes: size_t) -> c_int {
    // SAFETY: packetdrill passes a packet of this length.
    let packet = match unsafe { values(packet.cast::<u8>(), bytes) } {
        Ok(packet) => packet,
        Err(errno) => return set_errno(errno),
    };
    return_value(
        require_monitor()
            .with_machine(|machine| machine.deliver_packet(packet))
            .map(|()| Return::Done(0)),
    ) as c_int
}

unsafe extern "C" fn netdev_receive(
    _: Data,
    buffer: Data,
    bytes: *mut size_t,
    micros: *mut c_longlong,
) -> c_int {
    // SAFETY: packetdrill passes a buffer of `*bytes` bytes, and room for the time.
    let places = unsafe {
        value_mut(bytes).and_then(|bytes| {
            let buffer = values_mut(buffer.cast::<u8>(), *bytes)?;
            Ok((buffer, bytes, value_mut(micros)?))
        })
    };
    let (buffer, bytes, micros) = match places {
        Ok(places) => places,
        Err(errno) => return set_errno(errno),
    };
    *bytes = 0;
    if let Some((at, packet)) = require_monitor().next_packet() {
        *bytes = packet.len().min(buffer.len());
        buffer[..*bytes].copy_from_slice(&packet[..*bytes]);
        *micros = ((at + EPOCH).as_nanos() / 1_000) as c_longlong;
    }
    0
}

extern "C" fn usleep(_: Data, micros: c_uint) -> c_int {
    require_monitor().sleep(Duration::from_micros(micros.into()));
    0
}

unsafe extern "C" fn gettimeofday(_: Data, now: *mut timeval, _zone: Data) -> c_int {
    // SAFETY: as for gettimeofday(2), the caller passes room for a time.
    let now = match unsafe { value_mut(now) } {
        Ok(now) => now,
        Err(errno) => return set_errno(errno),
    };
    let micros = (require_monitor().read_clock() + EPOCH).as_nanos() / 1_000;
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    *now = timeval { tv_sec: seconds as i64, tv_usec: rest as i64 };
    0
}

// Calls that are not supported. Scripts that use them also fail in `retx drill`.

extern "C" fn epoll_create(_: Data, _size: c_int) -> c_int {
    set_errno(libc::ENOSYS)
}

extern "C" fn epoll_ctl(_: Data, _: c_int, _: c_int, _: c_int, _: *mut epoll_event) -> c_int {
    set_errno(libc::ENOSYS)
}

extern "C" fn epoll_wait(_: Data, _: c_int, _: *mut epoll_event, _: c_int, _: c_int) -> c_int {
    set_errno(libc::ENOSYS)
}

extern "C" fn pipe(_: Data, _ends: *mut c_int) -> c_int {
    set_errno(libc::ENOSYS)
}

extern "C" fn splice(
    _: Data,
    _: c_int,
    _: *mut loff_t,
    _: c_int,
    _: *mut loff_t,
    _: size_t,
    _: c_uint,
) -> ssize_t {
    set_errno(libc::ENOSYS) as ssize_t
}
