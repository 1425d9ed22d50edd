//! System calls that neither nix nor the standard library wraps. This is the only unsafe code of
//! the crate.

// The calls need unsafe code, because no safe wrapper exists.
#![allow(unsafe_code)]

use nix::sys::socket::{ControlMessageOwned, MsgFlags, UnixAddr, recvmsg};
use std::ffi::c_void;
use std::io::{Error, ErrorKind, IoSliceMut, Result};
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// `struct ifreq` of `<net/if.h>` on 64-bit Linux: an interface name and 24 bytes of arguments.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    argument: InterfaceArgument,
}

#[repr(C)]
union InterfaceArgument {
    flags: i16,
    data: *mut c_void,
    room: [u64; 3],
}

const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());

impl InterfaceRequest {
    fn new(name: &str) -> Self {
        assert!(name.len() < libc::IFNAMSIZ, "an interface's name has 15 characters at most");
        let mut bytes = [0; libc::IFNAMSIZ];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Self { name: bytes, argument: InterfaceArgument { room: [0; 3] } }
    }
}

/// Creates a TUN device in this thread's network namespace, for an open `/dev/net/tun`. The device
/// carries IP packets without another header.
///
/// # Errors
/// The error of `TUNSETIFF`.
pub fn make_tun(tun: BorrowedFd<'_>, name: &str) -> Result<()> {
    let mut request = InterfaceRequest::new(name);
    request.argument.flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    // SAFETY: `request` is a whole `struct ifreq` that outlives the call; the descriptor is open.
    let result = unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
    check(result)
}

/// Number of the ioctl that passes an ethtool command (`<linux/sockios.h>`).
const SIOCETHTOOL: u64 = 0x8946;

/// `struct ethtool_value` of `<linux/ethtool.h>`: a command with one value.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// Sends an ethtool command with one value for an interface in this thread's network namespace.
/// Returns the value that the kernel writes back.
///
/// # Errors
/// The driver does not support the command, or refuses the value.
pub fn ethtool(socket: BorrowedFd<'_>, name: &str, command: u32, value: u32) -> Result<u32> {
    let mut exchanged = EthtoolValue { command, value };
    let mut request = InterfaceRequest::new(name);
    request.argument.data = (&raw mut exchanged).cast();
    // SAFETY: `request` is a whole `struct ifreq`, it points to a whole `struct ethtool_value`, and
    // both outlive the call; the commands used here exchange no more than that.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    check(result)?;
    Ok(exchanged.value)
}

/// Gives this thread the lowest real-time priority, which is above all threads without one.
///
/// # Errors
/// The system does not allow it.
pub fn set_realtime_priority() -> Result<()> {
    let parameter = libc::sched_param { sched_priority: 1 };
    // SAFETY: `parameter` is a whole `struct sched_param`; 0 stands for this thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) })
}

/// Sets the nice value of this thread and of those that it starts: −20 is the highest priority, 0
/// the default.
///
/// # Errors
/// The system does not allow a higher priority.
pub fn set_nice(nice: i32) -> Result<()> {
    // SAFETY: no memory is passed; 0 stands for this thread.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) })
}

/// Reads `TCP_INFO` into `bytes`; returns the number of bytes that the kernel has filled.
///
/// # Errors
/// Not a TCP socket.
pub fn tcp_info(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<usize> {
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `bytes`, and sets `length`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    check(result)?;
    Ok(length as usize)
}

/// Resets a TCP connection, even if another process holds a descriptor of the socket.
///
/// # Errors
/// Not a TCP socket.
pub fn reset_connection(socket: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: all zeros are a `struct sockaddr`.
    let mut nobody: libc::sockaddr = unsafe { std::mem::zeroed() };
    nobody.sa_family = libc::AF_UNSPEC as libc::sa_family_t;
    // SAFETY: `nobody` is a whole `struct sockaddr`; connecting to nobody disconnects.
    check(unsafe {
        libc::connect(
            socket.as_raw_fd(),
            &raw const nobody,
            size_of::<libc::sockaddr>() as libc::socklen_t,
        )
    })
}

/// Number of bytes written to a TCP socket that have not been acknowledged; a FIN counts as one.
///
/// # Errors
/// Not a TCP socket.
pub fn unacknowledged_bytes(socket: BorrowedFd<'_>) -> Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: `SIOCOUTQ`, which is `TIOCOUTQ`, writes one int, which outlives the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(bytes.max(0) as u64)
}

/// Enables pacing of this socket at TCP's own rate, without an upper bound.
///
/// # Errors
/// Not a TCP socket.
pub fn enable_pacing(socket: BorrowedFd<'_>) -> Result<()> {
    // `sock_setsockopt`: any value but all ones switches pacing on.
    let rate = u64::MAX - 1;
    // SAFETY: the kernel reads the eight bytes of `rate`.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const rate).cast(),
            size_of::<u64>() as libc::socklen_t,
        )
    })
}

/// Binds a packet socket to the IPv4 packets of one interface.
///
/// # Errors
/// Not a packet socket, or no such interface.
pub fn bind_to_interface(socket: BorrowedFd<'_>, index: u32) -> Result<()> {
    // SAFETY: all zeros are a `struct sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
    address.sll_ifindex = i32::try_from(index).expect("the kernel counts interfaces in an int");
    // SAFETY: `address` is a whole `struct sockaddr_ll`.
    check(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    })
}

/// Receives a descriptor that the peer passes with this message.
///
/// # Errors
/// The peer is gone, has sent something else, or has sent nothing and the socket is non-blocking.
pub fn receive_descriptor(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    flags: MsgFlags,
) -> Result<OwnedFd> {
    let length = bytes.len();
    let mut bytes = [IoSliceMut::new(bytes)];
    let mut room = nix::cmsg_space!(RawFd);
    let flags = flags | MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<UnixAddr>(socket.as_raw_fd(), &mut bytes, Some(&mut room), flags)?;
    if message.bytes == 0 {
        return Err(Error::from(ErrorKind::UnexpectedEof));
    }
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(descriptors) = control
            && let [descriptor] = descriptors[..]
            && message.bytes == length
        {
            // SAFETY: the kernel has just made this descriptor for this process, and nobody else
            // in it knows of it.
            return Ok(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
    }
    Err(Error::from(ErrorKind::InvalidData))
}

fn check(result: i32) -> Result<()> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
