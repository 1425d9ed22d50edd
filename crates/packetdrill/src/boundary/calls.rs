//! Socket calls, except those that transfer data.

use super::address::{endpoint_at, write_endpoint};
use super::interface::{call, require_monitor, return_value, set_errno};
use super::memory::{value_mut, values, values_mut};
use super::table::Data;
use crate::options;
use libc::{c_int, c_long, c_ulong, c_void, nfds_t, pollfd, sockaddr, socklen_t};
use retx_drill::Operation;
use retx_drill::host::Return;
use retx_units::{Duration, Time};

pub extern "C" fn socket(_: Data, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if domain != libc::AF_INET {
        return set_errno(libc::EAFNOSUPPORT);
    }
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    if kind & !flags != libc::SOCK_STREAM || ![0, libc::IPPROTO_TCP].contains(&protocol) {
        return set_errno(libc::EPROTONOSUPPORT);
    }
    return_value(
        require_monitor().with_machine(|machine| machine.socket(kind & libc::SOCK_NONBLOCK != 0)),
    ) as c_int
}

pub unsafe extern "C" fn bind(_: Data, fd: c_int, at: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: packetdrill passes an address of this length.
    match unsafe { endpoint_at(at, length) } {
        Some(local) => {
            return_value(require_monitor().with_machine(|machine| machine.bind(fd, local))) as c_int
        }
        None => set_errno(libc::EAFNOSUPPORT),
    }
}

pub extern "C" fn listen(_: Data, fd: c_int, _backlog: c_int) -> c_int {
    call(&Operation::Listen(fd)) as c_int
}

pub unsafe extern "C" fn accept(
    _: Data,
    fd: c_int,
    peer: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    let mut from = None;
    let result = require_monitor().call_blocking(Time::NEVER, |machine| {
        let (answer, remote) = machine.accept(fd)?;
        from = remote;
        Ok(answer)
    });
    if let Some(remote) = from {
        // SAFETY: as for accept(2), `peer` has room for `*length` bytes, or is null.
        unsafe { write_endpoint(remote, peer, length) };
    }
    return_value(result) as c_int
}

pub unsafe extern "C" fn connect(
    _: Data,
    fd: c_int,
    to: *const sockaddr,
    length: socklen_t,
) -> c_int {
    // SAFETY: packetdrill passes an address of this length.
    match unsafe { endpoint_at(to, length) } {
        Some(remote) => return_value(
            require_monitor().call_blocking(Time::NEVER, |machine| machine.connect(fd, remote)),
        ) as c_int,
        None => set_errno(libc::EAFNOSUPPORT),
    }
}

pub extern "C" fn fcntl(_: Data, fd: c_int, command: c_int, argument: c_long) -> c_int {
    let nonblocking = argument & c_long::from(libc::O_NONBLOCK) != 0;
    match command {
        libc::F_GETFL => call(&Operation::GetFlags(fd)) as c_int,
        libc::F_SETFL => call(&Operation::SetFlags(fd, nonblocking)) as c_int,
        _ => set_errno(libc::EINVAL),
    }
}

pub unsafe extern "C" fn ioctl(_: Data, fd: c_int, request: c_ulong, bytes: *mut c_int) -> c_int {
    // SAFETY: the caller of either request passes room for a number.
    let bytes = match unsafe { value_mut(bytes) } {
        Ok(bytes) => bytes,
        Err(errno) => return set_errno(errno),
    };
    let found = require_monitor().with_machine(|machine| match request {
        libc::FIONREAD => machine.in_queue(fd),
        libc::TIOCOUTQ => machine.out_queue(fd),
        _ => Ok(None),
    });
    match found {
        Ok(Some(count)) => {
            *bytes = count as c_int;
            0
        }
        Ok(None) => set_errno(libc::EINVAL),
        Err(fault) => return_value(Err(fault)) as c_int,
    }
}

pub extern "C" fn close(_: Data, fd: c_int) -> c_int {
    call(&Operation::Close(fd)) as c_int
}

pub extern "C" fn shutdown(_: Data, fd: c_int, how: c_int) -> c_int {
    let (read, write) = (how != libc::SHUT_WR, how != libc::SHUT_RD);
    call(&Operation::Shutdown { fd, read, write }) as c_int
}

pub unsafe extern "C" fn getsockopt(
    _: Data,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: Data,
    length: *mut socklen_t,
) -> c_int {
    // SAFETY: as for getsockopt(2), the caller passes a buffer of `*length` bytes.
    unsafe { read_option(fd, level, name, value, length) }
}

/// `getsockopt` on a descriptor of the machine.
///
/// # Safety
/// `length` is null or points to a length; `value` is null or points to a buffer of that many
/// bytes.
pub unsafe fn read_option(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: Data,
    length: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller's promise.
    let found = unsafe {
        value_mut(length).and_then(|length| {
            // A negative length arrives as an unsigned number that exceeds a C `int`.
            let count = c_int::try_from(*length).map_err(|_| libc::EINVAL)?;
            Ok((values_mut(value.cast::<u8>(), count)?, length))
        })
    };
    let (buffer, length) = match found {
        Ok(found) => found,
        Err(errno) => return set_errno(errno),
    };
    let reported = match (level, name) {
        (libc::IPPROTO_TCP, libc::TCP_INFO) => require_monitor()
            .with_machine(|machine| machine.tcp_info(fd))
            .map(Vec::from)
            .ok_or(libc::EINVAL),
        // There are no details of a congestion control to report, and no kernel memory.
        (libc::IPPROTO_TCP, libc::TCP_CC_INFO) => Ok(Vec::new()),
        (libc::SOL_SOCKET, libc::SO_MEMINFO) => Ok(vec![0; buffer.len()]),
        _ => options::socket_option(level, name, &[0; 8])
            .and_then(|option| {
                require_monitor().with_machine(|machine| machine.read_option(fd, &option))
            })
            .map(|number| number.to_ne_bytes().to_vec()),
    };
    match reported {
        Ok(bytes) => {
            let count = bytes.len().min(buffer.len());
            buffer[..count].copy_from_slice(&bytes[..count]);
            *length = count as socklen_t;
            0
        }
        Err(errno) => set_errno(errno),
    }
}

pub unsafe extern "C" fn setsockopt(
    _: Data,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    let length = c_int::try_from(length).map_err(|_| libc::EINVAL);
    // SAFETY: as for setsockopt(2), the caller passes `length` bytes.
    let bytes = length.and_then(|length| unsafe { values(value.cast::<u8>(), length) });
    match bytes.and_then(|bytes| options::socket_option(level, name, bytes)) {
        Ok(option) => call(&Operation::SetOption(fd, option)) as c_int,
        Err(errno) => set_errno(errno),
    }
}

pub unsafe extern "C" fn poll(
    _: Data,
    entries: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
) -> c_int {
    // SAFETY: as for poll(2), the caller passes `count` entries.
    let entries = match unsafe { values_mut(entries, count) } {
        Ok(entries) => entries,
        Err(errno) => return set_errno(errno),
    };
    let monitor = require_monitor();
    let deadline = match u64::try_from(timeout) {
        Ok(millis) => monitor.with_machine(|machine| machine.now) + Duration::from_millis(millis),
        Err(_) => Time::NEVER,
    };
    let result = monitor.call_blocking(deadline, |machine| {
        let mut ready = 0;
        for entry in entries.iter_mut() {
            let always = (libc::POLLERR | libc::POLLHUP) as u16;
            let asked = u32::from(entry.events as u16 | always);
            entry.revents = (machine.ready_events(entry.fd)? & asked) as i16;
            ready += i64::from(entry.revents != 0);
        }
        let over = ready > 0 || machine.now >= deadline;
        Ok(if over { Return::Done(ready) } else { Return::Wait })
    });
    return_value(result) as c_int
}
