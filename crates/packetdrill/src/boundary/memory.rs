//! Checks of memory passed by C, before it becomes a slice: a null pointer is valid only with
//! length 0, and a negative count arrives as a huge one.

use libc::c_int;
use std::slice;

/// Largest number of buffers in one read or write (Linux's `UIO_MAXIOV`).
pub const IOVECS_MAX: usize = 1024;

/// Slice of `count` values at `at`; `EINVAL` for an impossible count, `EFAULT` for an invalid
/// pointer.
///
/// # Safety
/// `at` is null, or points to `count` values that nobody changes while the slice is used.
pub unsafe fn values<'a, T>(at: *const T, count: impl TryInto<usize>) -> Result<&'a [T], c_int> {
    match checked(at, count)? {
        0 => Ok(&[]),
        // SAFETY: `checked` excludes null and misaligned pointers and excessive sizes; the caller
        // promises the rest.
        count => Ok(unsafe { slice::from_raw_parts(at, count) }),
    }
}

/// Mutable variant of [`values`].
///
/// # Safety
/// `at` is null, or points to `count` values that nobody else uses at the same time.
pub unsafe fn values_mut<'a, T>(
    at: *mut T,
    count: impl TryInto<usize>,
) -> Result<&'a mut [T], c_int> {
    match checked(at, count)? {
        0 => Ok(&mut []),
        // SAFETY: `checked` excludes null and misaligned pointers and excessive sizes; the caller
        // promises the rest.
        count => Ok(unsafe { slice::from_raw_parts_mut(at, count) }),
    }
}

/// Mutable value at `at`; `EFAULT` for an invalid pointer.
///
/// # Safety
/// `at` is null, or points to a value that nobody else uses at the same time.
pub unsafe fn value_mut<'a, T>(at: *mut T) -> Result<&'a mut T, c_int> {
    checked(at, 1usize)?;
    // SAFETY: neither null nor misaligned, and the caller's promise.
    Ok(unsafe { &mut *at })
}

fn checked<T>(at: *const T, count: impl TryInto<usize>) -> Result<usize, c_int> {
    let count = count.try_into().map_err(|_| libc::EINVAL)?;
    let bytes = count.checked_mul(size_of::<T>());
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(libc::EINVAL);
    }
    if count > 0 && (at.is_null() || !at.is_aligned()) {
        return Err(libc::EFAULT);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null, null_mut};

    #[test]
    fn null_is_a_slice_only_where_its_length_is_zero() {
        // SAFETY: all pointers are null, except one to an array of three elements.
        unsafe {
            assert_eq!(values(null::<u64>(), 0), Ok(&[][..]));
            assert_eq!(values_mut(null_mut::<u64>(), 0), Ok(&mut [][..]));
            assert_eq!(values(null::<u64>(), 1), Err(libc::EFAULT));
            assert_eq!(values_mut(null_mut::<u64>(), 7), Err(libc::EFAULT));
            assert_eq!(value_mut(null_mut::<u64>()), Err(libc::EFAULT));
            assert_eq!(values([1, 2, 3].as_ptr(), 3), Ok(&[1, 2, 3][..]));
        }
    }

    #[test]
    fn counts_that_cannot_be_are_refused_whatever_the_pointer() {
        let mut word = 1u64;
        // SAFETY: nothing is read: each count is refused.
        unsafe {
            for at in [null_mut(), &raw mut word] {
                assert_eq!(values(at, -1), Err(libc::EINVAL));
                assert_eq!(values(at, c_int::MIN), Err(libc::EINVAL));
                assert_eq!(values(at, usize::MAX), Err(libc::EINVAL));
                assert_eq!(values_mut(at, isize::MAX as usize / 8 + 1), Err(libc::EINVAL));
            }
            assert_eq!(values((&raw const word).byte_add(1), 1), Err(libc::EFAULT));
        }
    }
}
