//! Calls that read and write.

use super::interface::{call, require_monitor, return_value, set_errno};
use super::memory::{IOVECS_MAX, value_mut, values};
use super::table::Data;
use libc::{c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use retx_drill::{MessageFlags, Operation, Transfer};
use retx_units::Time;

/// Reads up to `bytes` bytes.
fn take(fd: c_int, bytes: u64, flags: c_int) -> i64 {
    match transfer(fd, bytes, flags) {
        Some(transfer) => call(&Operation::Read(transfer)),
        None => set_errno(libc::EOPNOTSUPP).into(),
    }
}

/// Writes `bytes` bytes.
fn give(fd: c_int, bytes: u64, flags: c_int) -> ssize_t {
    let Some(transfer) = transfer(fd, bytes, flags) else {
        return set_errno(libc::EOPNOTSUPP) as ssize_t;
    };
    let mut written = 0;
    let monitor = require_monitor();
    return_value(
        monitor.call_blocking(Time::NEVER, |machine| machine.write(&transfer, &mut written)),
    ) as ssize_t
}

fn transfer(fd: c_int, bytes: u64, flags: c_int) -> Option<Transfer> {
    const KNOWN: [(c_int, MessageFlags); 4] = [
        (libc::MSG_DONTWAIT, MessageFlags::DONT_WAIT),
        (libc::MSG_PEEK, MessageFlags::PEEK),
        (libc::MSG_MORE, MessageFlags::MORE),
        (libc::MSG_EOR, MessageFlags::END_OF_RECORD),
    ];
    let mut left = flags & !libc::MSG_NOSIGNAL;
    let mut found = MessageFlags::default();
    for (bit, flag) in KNOWN {
        if left & bit != 0 {
            left &= !bit;
            found = found.with(flag);
        }
    }
    (left == 0).then_some(Transfer { fd, bytes, flags: found })
}

pub unsafe extern "C" fn read(data: Data, fd: c_int, buffer: Data, bytes: size_t) -> ssize_t {
    // SAFETY: packetdrill passes a buffer of `bytes` bytes, as this function requires.
    unsafe { recv(data, fd, buffer, bytes, 0) }
}

pub unsafe extern "C" fn readv(_: Data, fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as for readv(2), the caller passes `count` parts.
    unsafe { scatter(parts, count, |bytes| take(fd, bytes, 0)) }
}

pub unsafe extern "C" fn recv(
    _: Data,
    fd: c_int,
    buffer: Data,
    bytes: size_t,
    flags: c_int,
) -> ssize_t {
    let whole = iovec { iov_base: buffer, iov_len: bytes };
    // SAFETY: as for recv(2), the caller passes a buffer of this length.
    unsafe { scatter(&raw const whole, 1, |bytes| take(fd, bytes, flags)) }
}

pub unsafe extern "C" fn recvfrom(
    data: Data,
    fd: c_int,
    buffer: Data,
    bytes: size_t,
    flags: c_int,
    _from: *mut sockaddr,
    _length: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the caller's guarantee. A connected socket returns no address.
    unsafe { recv(data, fd, buffer, bytes, flags) }
}

pub unsafe extern "C" fn recvmsg(
    _: Data,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as for recvmsg(2), the caller passes a message with its parts.
    unsafe {
        let message = match value_mut(message) {
            Ok(message) => message,
            Err(errno) => return set_errno(errno) as ssize_t,
        };
        message.msg_controllen = 0;
        message.msg_flags = 0;
        scatter(message.msg_iov, message.msg_iovlen, |bytes| take(fd, bytes, flags))
    }
}

pub extern "C" fn write(_: Data, fd: c_int, _buffer: *const c_void, bytes: size_t) -> ssize_t {
    give(fd, bytes as u64, 0)
}

pub unsafe extern "C" fn writev(_: Data, fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as for writev(2), the caller passes `count` parts.
    unsafe { gather(fd, parts, count, 0) }
}

pub extern "C" fn send(
    _: Data,
    fd: c_int,
    _buffer: *const c_void,
    bytes: size_t,
    flags: c_int,
) -> ssize_t {
    give(fd, bytes as u64, flags)
}

pub extern "C" fn sendto(
    _: Data,
    fd: c_int,
    _buffer: *const c_void,
    bytes: size_t,
    flags: c_int,
    _to: *const sockaddr,
    _length: socklen_t,
) -> ssize_t {
    give(fd, bytes as u64, flags)
}

pub unsafe extern "C" fn sendmsg(
    _: Data,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as for sendmsg(2), the caller passes a message with its parts, which is only read.
    unsafe {
        match value_mut(message.cast_mut()) {
            Ok(message) => gather(fd, message.msg_iov, message.msg_iovlen, flags),
            Err(errno) => set_errno(errno) as ssize_t,
        }
    }
}

/// Buffers (`iovec`) of one read or write, and their total length in bytes.
///
/// # Safety
/// `parts` is null, or points to `count` parts.
unsafe fn parts_of<'a>(
    parts: *const iovec,
    count: impl TryInto<usize>,
) -> Result<(&'a [iovec], u64), c_int> {
    // SAFETY: the caller's promise.
    let parts = unsafe { values(parts, count) }?;
    let total = parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.iov_len));
    match total.filter(|&total| parts.len() <= IOVECS_MAX && isize::try_from(total).is_ok()) {
        Some(total) => Ok((parts, total as u64)),
        None => Err(libc::EINVAL),
    }
}

/// Writes several buffers (`parts`) with one call.
///
/// # Safety
/// `parts` is null, or points to `count` parts.
unsafe fn gather(
    fd: c_int,
    parts: *const iovec,
    count: impl TryInto<usize>,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's promise.
    match unsafe { parts_of(parts, count) } {
        Ok((_, total)) => give(fd, total, flags),
        Err(errno) => set_errno(errno) as ssize_t,
    }
}

/// Reads into several buffers (`parts`) with one call, and fills them with zeros, because the
/// contents of streams are not kept.
///
/// # Safety
/// `parts` is null, or points to `count` buffers; those at null are not written.
unsafe fn scatter(
    parts: *const iovec,
    count: impl TryInto<usize>,
    take: impl FnOnce(u64) -> i64,
) -> ssize_t {
    // SAFETY: the caller's promise.
    let (parts, room) = match unsafe { parts_of(parts, count) } {
        Ok(found) => found,
        Err(errno) => return set_errno(errno) as ssize_t,
    };
    let taken = take(room);
    let mut left = usize::try_from(taken).unwrap_or(0);
    for part in parts {
        let bytes = left.min(part.iov_len);
        if !part.iov_base.is_null() {
            // SAFETY: at most `iov_len` bytes of the part are written.
            unsafe { part.iov_base.cast::<u8>().write_bytes(0, bytes) };
        }
        left -= bytes;
    }
    taken as ssize_t
}
