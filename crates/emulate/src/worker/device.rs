//! Devices of hosts.

use super::hosts::run_ip_commands;
use crate::boundary;
use crate::protocol::HARDWARE_ADDRESS;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, setsockopt, socket, sockopt,
};
use std::fs::{File, OpenOptions};
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Name of every host's device.
pub const INTERFACE: &str = "retx0";
/// Receive buffer of the emulator, in bytes.
const RECEIVE_BUFFER: usize = 64 << 20;

/// Device through which the emulator exchanges packets with a host.
#[derive(Debug)]
pub struct Device(pub OwnedFd);

/// Creates a TUN device in this thread's network namespace.
pub fn open_tun() -> Result<Device, String> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "there is no /dev/net/tun: load the module tun \
                (modprobe tun), or take --backend precise"
                .to_owned(),
            io::ErrorKind::PermissionDenied => "this machine does not let an ordinary user open \
                /dev/net/tun: let everybody (as root, chmod 666 /dev/net/tun), be root, or take \
                --backend precise"
                .to_owned(),
            _ => format!("/dev/net/tun cannot be opened: {error}"),
        })?;
    boundary::make_tun(file.as_fd(), INTERFACE)
        .map_err(|error| format!("a TUN device cannot be made: {error}"))?;
    Ok(Device(file.into()))
}

/// Creates a pair of Ethernet devices. One is in the host, which is this thread's namespace. The
/// other is in the namespace between all hosts, where a packet socket reads from it.
pub fn open_veth(
    (index, mtu): (usize, u32),
    between: &File,
    host: &File,
) -> Result<Device, String> {
    let outer = format!("between{index}");
    let enter = |namespace: &File| {
        setns(namespace, CloneFlags::CLONE_NEWNET)
            .map_err(|error| format!("a network namespace cannot be entered: {}", error.desc()))
    };
    let address = HARDWARE_ADDRESS.map(|byte| format!("{byte:02x}")).join(":");
    run_ip_commands(&format!(
        "link add {INTERFACE} address {address} type veth peer name {outer} address {address}\n\
         link set {INTERFACE} arp off\n"
    ))?;
    // With offloads enabled, the packet socket would read large segments that have not been split
    // into packets.
    disable_offloads(&outer)?;
    move_device(&outer, between)?;
    enter(between)?;
    run_ip_commands(&format!("link set {outer} mtu {mtu} arp off up\n"))?;
    // The socket is opened while the thread is in the namespace of the outer device.
    let device = packet_socket(&outer);
    enter(host)?;
    device.map_err(|error| format!("a packet socket cannot be made: {error}"))
}

/// Moves a device of this thread's namespace into another.
fn move_device(name: &str, namespace: &File) -> Result<(), String> {
    // `ip` needs a path to the namespace, and the only path is that of its descriptor. The copy of
    // the descriptor lacks the close-on-exec flag, so `ip` inherits it.
    let inherited = nix::unistd::dup(namespace)
        .map_err(|error| format!("a descriptor cannot be copied: {}", error.desc()))?;
    run_ip_commands(&format!("link set {name} netns /proc/self/fd/{}\n", inherited.as_raw_fd()))
}

fn packet_socket(name: &str) -> io::Result<Device> {
    // The socket is created without a protocol, so that it receives nothing before it is bound.
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let none = None::<SockProtocol>;
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, none)?;
    // Without privileges the machine limits the size of the buffer. Drops are counted in any case.
    setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER)
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER))?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    boundary::bind_to_interface(socket.as_fd(), if_nametoindex(name)?)?;
    Ok(Device(socket))
}

/// Offloads that let a device carry packets before segmentation or after aggregation: name, command
/// to read the state, command to set it (`<linux/ethtool.h>`).
const OFFLOADS: &[(&str, u32, u32)] = &[
    ("tx-checksumming", 0x16, 0x17),
    ("tcp-segmentation-offload", 0x1e, 0x1f),
    ("generic-segmentation-offload", 0x23, 0x24),
    ("generic-receive-offload", 0x2b, 0x2c),
];

/// Disables the offloads of a device in this thread's namespace, and verifies that they are off.
///
/// # Errors
/// An offload cannot be disabled.
pub fn disable_offloads(name: &str) -> Result<Vec<String>, String> {
    let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("0.0.0.0:0"));
    let socket = socket.map_err(|error| format!("no socket can be made: {error}"))?;
    let mut off = Vec::new();
    for (feature, get, set) in OFFLOADS {
        let ask = |command| boundary::ethtool(socket.as_fd(), name, command, 0);
        // The command also fails if the feature does not exist, so only the state that is read back
        // counts.
        let switched = ask(*set);
        match ask(*get) {
            Ok(0) => off.push((*feature).to_owned()),
            Ok(_) => {
                let reason = switched.err().map(|error| format!(": {error}")).unwrap_or_default();
                return Err(format!("{feature} of the device {name} stays on{reason}"));
            }
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(format!("{feature} of the device {name}: {error}")),
        }
    }
    Ok(off)
}
