//! Calls with invalid arguments: null pointers, and negative counts. Each is refused before a slice
//! is made, so that none of them needs a filled table.

use super::interface::TABLE;
use libc::{c_int, c_void, iovec, socklen_t};
use std::io::Error;
use std::ptr::{null, null_mut};

/// Error of a call that returned −1.
fn errno(result: impl Into<i64>) -> c_int {
    assert_eq!(result.into(), -1);
    Error::last_os_error().raw_os_error().expect("a number")
}

#[test]
fn null_parts_and_negative_counts_are_refused() {
    let parts = [iovec { iov_base: null_mut(), iov_len: usize::MAX }; 2];
    let (readv, writev) = (TABLE.readv, TABLE.writev);
    // SAFETY: null pointers with their counts, and an array of two.
    unsafe {
        for count in [-1, c_int::MIN] {
            assert_eq!(errno(readv(null_mut(), 3, null(), count) as i64), libc::EINVAL);
            assert_eq!(errno(writev(null_mut(), 3, null(), count) as i64), libc::EINVAL);
            assert_eq!(errno(readv(null_mut(), 3, parts.as_ptr(), count) as i64), libc::EINVAL);
        }
        assert_eq!(errno(readv(null_mut(), 3, null(), 1) as i64), libc::EFAULT);
        assert_eq!(errno(writev(null_mut(), 3, null(), 1) as i64), libc::EFAULT);
        // The lengths of the parts exceed in total what a call can return.
        assert_eq!(errno(readv(null_mut(), 3, parts.as_ptr(), 2) as i64), libc::EINVAL);
        assert_eq!(errno(writev(null_mut(), 3, parts.as_ptr(), 1) as i64), libc::EINVAL);
    }
}

#[test]
fn null_messages_buffers_and_lengths_are_refused() {
    let mut value = 0u32;
    let at: *mut c_void = (&raw mut value).cast();
    let [mut four, mut negative]: [socklen_t; 2] = [4, -1 as c_int as socklen_t];
    // SAFETY: null pointers, or `at`, which points to four bytes.
    unsafe {
        assert_eq!(errno((TABLE.recvmsg)(null_mut(), 3, null_mut(), 0) as i64), libc::EFAULT);
        assert_eq!(errno((TABLE.sendmsg)(null_mut(), 3, null(), 0) as i64), libc::EFAULT);
        let get = |value, length| errno((TABLE.getsockopt)(null_mut(), 3, 6, 1, value, length));
        assert_eq!(get(at, null_mut()), libc::EFAULT);
        assert_eq!(get(null_mut(), &raw mut four), libc::EFAULT);
        assert_eq!(get(at, &raw mut negative), libc::EINVAL);
        let set = |value, length| errno((TABLE.setsockopt)(null_mut(), 3, 6, 1, value, length));
        assert_eq!(set(null(), 4), libc::EFAULT);
        assert_eq!(set(at, negative), libc::EINVAL);
        // A null pointer with length 0 is a valid empty value, which is too short for any option.
        assert_eq!(set(null(), 0), libc::EINVAL);
    }
}

#[test]
fn null_entries_packets_and_times_are_refused() {
    let mut bytes = 1;
    // SAFETY: null pointers with their counts.
    unsafe {
        assert_eq!(errno((TABLE.poll)(null_mut(), null_mut(), 1, 0)), libc::EFAULT);
        assert_eq!(errno((TABLE.poll)(null_mut(), null_mut(), u64::MAX, 0)), libc::EINVAL);
        assert_eq!(errno((TABLE.netdev_send)(null_mut(), null(), 40)), libc::EFAULT);
        assert_eq!(errno((TABLE.netdev_send)(null_mut(), null(), usize::MAX)), libc::EINVAL);
        let receive = TABLE.netdev_receive;
        let at = &raw mut bytes;
        assert_eq!(errno(receive(null_mut(), null_mut(), at, null_mut())), libc::EFAULT);
        assert_eq!(errno(receive(null_mut(), null_mut(), null_mut(), null_mut())), libc::EFAULT);
        assert_eq!(errno((TABLE.gettimeofday)(null_mut(), null_mut(), null_mut())), libc::EFAULT);
        assert_eq!(errno((TABLE.ioctl)(null_mut(), 3, libc::FIONREAD, null_mut())), libc::EFAULT);
        assert_eq!(errno((TABLE.bind)(null_mut(), 3, null(), 16)), libc::EAFNOSUPPORT);
        assert_eq!(errno((TABLE.connect)(null_mut(), 3, null(), 16)), libc::EAFNOSUPPORT);
    }
}
