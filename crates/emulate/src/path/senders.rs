//! Sockets of the flows' senders, which the emulator queries.
//!
//! The worker passes each socket to the emulator before the first packet is sent with it, so that
//! the socket is available when this packet arrives. A query waits for some microseconds if the
//! program that owns the socket is inside a system call on it; this is rare.

use crate::protocol::receive_sender_socket;
use crate::socket_state::SocketState;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};

/// Sockets by flow index; `None` if the sender is not connected.
#[derive(Debug, Default)]
pub struct Senders {
    channel: Option<OwnedFd>,
    /// Number of passed sockets that could not be received.
    pub receive_failures: u64,
    sockets: Vec<Option<OwnedFd>>,
}

impl Senders {
    /// Creates an empty set of sockets. The worker will pass the sockets through `channel`.
    pub const fn from_channel(channel: Option<OwnedFd>) -> Self {
        Self { channel, receive_failures: 0, sockets: Vec::new() }
    }

    /// Receives the next socket, and returns the index of its flow; `None` if there is none.
    pub fn receive(&mut self) -> Option<u32> {
        let channel = self.channel.as_ref()?.as_fd();
        let (flow, socket) = loop {
            match receive_sender_socket(channel) {
                Ok(received) => break received,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::UnexpectedEof => return None,
                    _ => self.receive_failures += 1,
                },
            }
        };
        let index = flow as usize;
        if index >= self.sockets.len() {
            self.sockets.resize_with(index + 1, || None);
        }
        // The assignment closes an earlier socket of the flow, whose connection is over.
        self.sockets[index] = Some(socket);
        Some(flow)
    }

    /// True if the flow's socket is available.
    pub fn has_socket(&self, flow: u32) -> bool {
        self.sockets.get(flow as usize).is_some_and(Option::is_some)
    }

    /// Closes the socket of a flow's earlier connection.
    pub fn close_socket(&mut self, flow: u32) {
        if let Some(socket) = self.sockets.get_mut(flow as usize) {
            *socket = None;
        }
    }

    /// Queries the state of a flow's sender. If its connection is over, the socket is closed.
    pub fn query(&mut self, flow: u32) -> Option<SocketState> {
        let socket = self.sockets.get(flow as usize)?.as_ref()?;
        let state = SocketState::from_socket(socket.as_fd()).ok()?;
        if state.is_closed() {
            self.close_socket(flow);
        }
        Some(state)
    }
}
