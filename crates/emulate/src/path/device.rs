//! Reading packets from hosts, and writing packets to hosts.

use crate::protocol::{Backend, HARDWARE_ADDRESS};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::sys::time::TimeSpec;
use nix::unistd::{read, write};
use retx_units::Duration;
use std::io::IoSliceMut;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Length of an Ethernet header, bytes.
const LINK_HEADER: usize = 14;

/// Devices of the hosts.
#[derive(Debug)]
pub struct Devices {
    backend: Backend,
    open: Vec<OwnedFd>,
    /// Buffer for a frame written to a packet socket.
    frame: Vec<u8>,
    room: Vec<u8>,
    /// Number of packets that a device refused.
    pub failed_writes: u64,
}

/// Packet that was read.
#[derive(Debug)]
pub struct Received {
    /// Range in the buffer.
    pub bytes: Range<usize>,
    /// Time at which the kernel received the packet, on the real-time clock; `None` if not
    /// reported.
    pub timestamp: Option<std::time::Duration>,
}

impl Devices {
    /// Devices of the hosts, in their order.
    pub fn new(backend: Backend, open: Vec<OwnedFd>) -> Self {
        let mut frame = vec![0; LINK_HEADER];
        // Source and destination address are equal: each device is alone on its link, so all
        // devices can have the same address.
        frame[..6].copy_from_slice(&HARDWARE_ADDRESS);
        frame[6..12].copy_from_slice(&HARDWARE_ADDRESS);
        frame[12..].copy_from_slice(&(libc::ETH_P_IP as u16).to_be_bytes());
        let room = nix::cmsg_space!(TimeSpec);
        Self { backend, open, frame, room, failed_writes: 0 }
    }

    /// Number of devices.
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// Reads the next packet that a host has sent; `None` if no packet waits.
    #[inline]
    pub fn read(&mut self, host: usize, buffer: &mut [u8]) -> Option<Received> {
        match self.backend {
            Backend::Tun => {
                let length = read(&self.open[host], buffer).ok()?;
                Some(Received { bytes: 0..length, timestamp: None })
            }
            Backend::Precise => self.receive(host, buffer),
        }
    }

    fn receive(&mut self, host: usize, buffer: &mut [u8]) -> Option<Received> {
        let mut parts = [IoSliceMut::new(buffer)];
        let socket = self.open[host].as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = recvmsg::<()>(socket, &mut parts, Some(&mut self.room), flags).ok()?;
        let stamp = message.cmsgs().ok()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp.into()),
            _ => None,
        });
        Some(Received { bytes: LINK_HEADER..message.bytes.max(LINK_HEADER), timestamp: stamp })
    }

    /// Writes a packet to a host.
    #[inline]
    pub fn write(&mut self, host: usize, packet: &[u8]) {
        let written = match self.backend {
            Backend::Tun => write(&self.open[host], packet),
            Backend::Precise => {
                // The link header is the same for all packets, so it stays in the buffer.
                self.frame.truncate(LINK_HEADER);
                self.frame.extend_from_slice(packet);
                write(&self.open[host], &self.frame)
            }
        };
        // This drop is not the work of a model. It invalidates the result, but does not end the
        // run.
        self.failed_writes += u64::from(written.is_err());
    }

    /// Waits up to `most` for a packet; returns true if one can be read.
    pub fn wait_for_packet(&self, most: Duration) -> bool {
        let mut devices: Vec<PollFd<'_>> =
            self.open.iter().map(|open| PollFd::new(open.as_fd(), PollFlags::POLLIN)).collect();
        let most = std::time::Duration::from_nanos(most.as_nanos());
        // A signal also ends the wait.
        ppoll(&mut devices, Some(TimeSpec::from_duration(most)), None)
            .map_or(true, |ready| ready > 0)
    }
}
