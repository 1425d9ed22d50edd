//! Addresses in the C library's layout.

use libc::{c_int, sockaddr, sockaddr_in, socklen_t};
use retx_wire::Endpoint;
use std::net::Ipv4Addr;

/// Reads an IPv4 address and a port; `None` if the memory holds no such address.
///
/// # Safety
/// `at` points to an address of `length` bytes, or is null.
pub unsafe fn endpoint_at(at: *const sockaddr, length: socklen_t) -> Option<Endpoint> {
    if at.is_null() || (length as usize) < size_of::<sockaddr_in>() {
        return None;
    }
    // SAFETY: `length` covers a whole `sockaddr_in`, for which every bit pattern is valid.
    let address = unsafe { at.cast::<sockaddr_in>().read_unaligned() };
    (c_int::from(address.sin_family) == libc::AF_INET).then(|| Endpoint {
        address: Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)),
        port: u16::from_be(address.sin_port),
    })
}

/// Writes an address, cut to the length of the buffer.
///
/// # Safety
/// `at` points to `*length` bytes, or either is null.
pub unsafe fn write_endpoint(endpoint: Endpoint, at: *mut sockaddr, length: *mut socklen_t) {
    let address = sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: endpoint.port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(endpoint.address).to_be() },
        sin_zero: [0; 8],
    };
    if at.is_null() || length.is_null() {
        return;
    }
    // SAFETY: the caller's promise; at most `*length` bytes are written.
    unsafe {
        let count = size_of::<sockaddr_in>().min(*length as usize);
        at.cast::<u8>().copy_from((&raw const address).cast::<u8>(), count);
        *length = size_of::<sockaddr_in>() as socklen_t;
    }
}
