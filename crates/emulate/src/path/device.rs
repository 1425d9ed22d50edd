//! Reading hosts' packets and writing to hosts.

use crate::protocol::Backend;
use crate::worker::HARDWARE_ADDRESS;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::sys::time::TimeSpec;
use nix::unistd::{read, write};
use retx_units::Duration;
use std::io::IoSliceMut;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// An Ethernet header.
const LINK_HEADER: usize = 14;

/// The hosts' devices.
#[derive(Debug)]
pub struct Devices {
    backend: Backend,
    open: Vec<OwnedFd>,
    /// A frame as it is written to a packet socket.
    frame: Vec<u8>,
    room: Vec<u8>,
    /// Packets that a device did not take.
    pub refused: u64,
}

/// A packet that has been read.
#[derive(Debug)]
pub struct Received {
    /// Where it is in the buffer.
    pub bytes: Range<usize>,
    /// When the kernel got it, on the clock of the day, where it says so.
    pub stamp: Option<std::time::Duration>,
}

impl Devices {
    /// Those of the hosts, in their order.
    pub fn new(backend: Backend, open: Vec<OwnedFd>) -> Self {
        let mut frame = vec![0; LINK_HEADER];
        frame[..6].copy_from_slice(&HARDWARE_ADDRESS);
        frame[6..12].copy_from_slice(&HARDWARE_ADDRESS);
        frame[12..].copy_from_slice(&(libc::ETH_P_IP as u16).to_be_bytes());
        let room = nix::cmsg_space!(TimeSpec);
        Self { backend, open, frame, room, refused: 0 }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// The next packet that a host has sent, if any waits.
    #[inline]
    pub fn read(&mut self, host: usize, buffer: &mut [u8]) -> Option<Received> {
        match self.backend {
            Backend::Tun => {
                let length = read(&self.open[host], buffer).ok()?;
                Some(Received { bytes: 0..length, stamp: None })
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
        Some(Received { bytes: LINK_HEADER..message.bytes.max(LINK_HEADER), stamp })
    }

    /// Gives a packet to a host.
    #[inline]
    pub fn write(&mut self, host: usize, packet: &[u8]) {
        let written = match self.backend {
            Backend::Tun => write(&self.open[host], packet),
            Backend::Precise => {
                self.frame.truncate(LINK_HEADER);
                self.frame.extend_from_slice(packet);
                write(&self.open[host], &self.frame)
            }
        };
        self.refused += u64::from(written.is_err());
    }

    /// Waits until a packet can be read, at most so long; true when one can.
    pub fn wait(&self, most: Duration) -> bool {
        let mut devices: Vec<PollFd<'_>> =
            self.open.iter().map(|open| PollFd::new(open.as_fd(), PollFlags::POLLIN)).collect();
        let most = std::time::Duration::from_nanos(most.as_nanos());
        // A signal is as good a reason to look around as a packet.
        ppoll(&mut devices, Some(TimeSpec::from_duration(most)), None)
            .map_or(true, |ready| ready > 0)
    }
}
