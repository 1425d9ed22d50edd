//! packetdrill's table of functions: `struct packetdrill_interface` in its `packetdrill.h`.

use libc::{c_int, c_long, c_longlong, c_uint, c_ulong, c_void, size_t, ssize_t};
use libc::{epoll_event, iovec, loff_t, msghdr, nfds_t, pollfd, sockaddr, socklen_t, timeval};

/// Opaque pointer: first argument of every function, buffers, and others.
pub type Data = *mut c_void;

/// Table of functions, field by field. Each function gets `userdata` as its first argument.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Interface {
    pub userdata: Data,
    pub free: extern "C" fn(Data),
    pub socket: extern "C" fn(Data, c_int, c_int, c_int) -> c_int,
    pub bind: unsafe extern "C" fn(Data, c_int, *const sockaddr, socklen_t) -> c_int,
    pub listen: extern "C" fn(Data, c_int, c_int) -> c_int,
    pub accept: unsafe extern "C" fn(Data, c_int, *mut sockaddr, *mut socklen_t) -> c_int,
    pub connect: unsafe extern "C" fn(Data, c_int, *const sockaddr, socklen_t) -> c_int,
    pub read: unsafe extern "C" fn(Data, c_int, Data, size_t) -> ssize_t,
    pub readv: unsafe extern "C" fn(Data, c_int, *const iovec, c_int) -> ssize_t,
    pub recv: unsafe extern "C" fn(Data, c_int, Data, size_t, c_int) -> ssize_t,
    pub recvfrom: RecvFrom,
    pub recvmsg: unsafe extern "C" fn(Data, c_int, *mut msghdr, c_int) -> ssize_t,
    pub write: extern "C" fn(Data, c_int, *const c_void, size_t) -> ssize_t,
    pub writev: unsafe extern "C" fn(Data, c_int, *const iovec, c_int) -> ssize_t,
    pub send: extern "C" fn(Data, c_int, *const c_void, size_t, c_int) -> ssize_t,
    pub sendto: SendTo,
    pub sendmsg: unsafe extern "C" fn(Data, c_int, *const msghdr, c_int) -> ssize_t,
    // In C these two functions have a variable argument. All supported platforms pass it like an
    // integer or a pointer.
    pub fcntl: extern "C" fn(Data, c_int, c_int, c_long) -> c_int,
    pub ioctl: unsafe extern "C" fn(Data, c_int, c_ulong, *mut c_int) -> c_int,
    pub close: extern "C" fn(Data, c_int) -> c_int,
    pub shutdown: extern "C" fn(Data, c_int, c_int) -> c_int,
    pub getsockopt: unsafe extern "C" fn(Data, c_int, c_int, c_int, Data, *mut socklen_t) -> c_int,
    pub setsockopt:
        unsafe extern "C" fn(Data, c_int, c_int, c_int, *const c_void, socklen_t) -> c_int,
    pub poll: unsafe extern "C" fn(Data, *mut pollfd, nfds_t, c_int) -> c_int,
    pub netdev_send: unsafe extern "C" fn(Data, *const c_void, size_t) -> c_int,
    pub netdev_receive: unsafe extern "C" fn(Data, Data, *mut size_t, *mut c_longlong) -> c_int,
    pub usleep: extern "C" fn(Data, c_uint) -> c_int,
    pub gettimeofday: unsafe extern "C" fn(Data, *mut timeval, Data) -> c_int,
    pub epoll_create: extern "C" fn(Data, c_int) -> c_int,
    pub epoll_ctl: extern "C" fn(Data, c_int, c_int, c_int, *mut epoll_event) -> c_int,
    pub epoll_wait: extern "C" fn(Data, c_int, *mut epoll_event, c_int, c_int) -> c_int,
    pub pipe: extern "C" fn(Data, *mut c_int) -> c_int,
    pub splice: Splice,
}

type RecvFrom = unsafe extern "C" fn(
    Data,
    c_int,
    Data,
    size_t,
    c_int,
    *mut sockaddr,
    *mut socklen_t,
) -> ssize_t;
type SendTo =
    extern "C" fn(Data, c_int, *const c_void, size_t, c_int, *const sockaddr, socklen_t) -> ssize_t;
type Splice =
    extern "C" fn(Data, c_int, *mut loff_t, c_int, *mut loff_t, size_t, c_uint) -> ssize_t;
