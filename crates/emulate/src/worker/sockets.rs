//! TCP sockets with the options of their flow.

use crate::boundary;
use crate::protocol::SocketOptions;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockProtocol, SockType, SockaddrIn, bind, getsockopt,
    setsockopt, socket, sockopt,
};
use std::ffi::OsString;
use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Opens a socket with these options.
///
/// # Errors
/// The error of the kernel.
pub fn open_socket(options: &SocketOptions) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Stream, flags, SockProtocol::Tcp)?;
    let algorithm = OsString::from(&options.congestion_control);
    setsockopt(&socket, sockopt::TcpCongestion, &algorithm)?;
    setsockopt(&socket, sockopt::TcpNoDelay, &options.no_delay)?;
    // With privileges, the machine's `wmem_max` and `rmem_max` do not limit the buffer.
    if let Some(bytes) = options.send_buffer {
        setsockopt(&socket, sockopt::SndBufForce, &bytes)
            .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &bytes))?;
        check_buffer("wmem_max", getsockopt(&socket, sockopt::SndBuf)?, bytes)?;
    }
    if let Some(bytes) = options.receive_buffer {
        setsockopt(&socket, sockopt::RcvBufForce, &bytes)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &bytes))?;
        check_buffer("rmem_max", getsockopt(&socket, sockopt::RcvBuf)?, bytes)?;
    }
    // BBR enables pacing by itself; this is for other congestion controls.
    if options.pacing {
        boundary::enable_pacing(socket.as_fd())?;
    }
    Ok(socket)
}

/// Checks the size of a buffer. The kernel doubles the requested size, unless a sysctl limits it.
fn check_buffer(sysctl: &str, has: usize, requested: usize) -> io::Result<()> {
    // `getsockopt` returns the doubled size, as `socket(7)` says.
    if has >= 2 * requested {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "a buffer of {requested} bytes needs root, or net.core.{sysctl} of as much"
    )))
}

/// Message that a socket cannot use this congestion control.
pub fn congestion_control_error(congestion_control: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT) => format!(
            "this kernel has no congestion control \"{congestion_control}\"; it has {}; load the \
             module tcp_{congestion_control} if there is one",
            available()
        ),
        Some(libc::EPERM) => format!(
            "this kernel lets only root have the congestion control \"{congestion_control}\" \
             (sysctl net.ipv4.tcp_allowed_congestion_control)"
        ),
        _ => format!("a socket cannot be set up: {error}"),
    }
}

/// Opens a listening socket.
///
/// # Errors
/// This kernel lacks the congestion control, or the port is in use.
pub fn listen(address: SocketAddrV4, options: &SocketOptions) -> Result<TcpListener, String> {
    let socket = open_socket(options)
        .map_err(|error| congestion_control_error(&options.congestion_control, &error))?;
    let bound = bind(socket.as_raw_fd(), &SockaddrIn::from(address))
        .and_then(|()| nix::sys::socket::listen(&socket, Backlog::MAXCONN));
    bound.map_err(|error| format!("{address} cannot be listened at: {}", error.desc()))?;
    Ok(TcpListener::from(socket))
}

/// Connects a socket.
///
/// # Errors
/// No listener, or no response.
pub fn connect(socket: OwnedFd, address: SocketAddrV4) -> io::Result<TcpStream> {
    nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrIn::from(address))?;
    Ok(TcpStream::from(socket))
}

fn available() -> String {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(", ")
}
