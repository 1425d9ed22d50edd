//! The sockets of the flows' senders, to look at.
//!
//! A worker hands each over before anything is sent with it, so that it is there when the first
//! packet comes. A look waits for the program that has the socket, should it just be in the kernel
//! with it: for some microseconds, and rarely.

use crate::protocol::receive_sender;
use crate::socket_state::SocketState;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};

/// By the flow's index; `None` when its sender is not connected.
#[derive(Debug, Default)]
pub struct Senders {
    way: Option<OwnedFd>,
    /// Those that have come and could not be taken.
    pub lost: u64,
    sockets: Vec<Option<OwnedFd>>,
}

impl Senders {
    /// Those that come on this way.
    pub const fn coming(way: Option<OwnedFd>) -> Self {
        Self { way, lost: 0, sockets: Vec::new() }
    }

    /// Takes over the next socket that has come; whose it is.
    pub fn receive(&mut self) -> Option<u32> {
        let way = self.way.as_ref()?.as_fd();
        let (flow, socket) = loop {
            match receive_sender(way) {
                Ok(come) => break come,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::UnexpectedEof => return None,
                    _ => self.lost += 1,
                },
            }
        };
        let index = flow as usize;
        if index >= self.sockets.len() {
            self.sockets.resize_with(index + 1, || None);
        }
        self.sockets[index] = Some(socket);
        Some(flow)
    }

    /// True when there is one to look at.
    pub fn has(&self, flow: u32) -> bool {
        self.sockets.get(flow as usize).is_some_and(Option::is_some)
    }

    /// Lets go of a flow's socket: it is of an earlier connection.
    pub fn forget(&mut self, flow: u32) {
        if let Some(socket) = self.sockets.get_mut(flow as usize) {
            *socket = None;
        }
    }

    /// How a flow's sender is doing. When its connection is over it is let go of.
    pub fn look(&mut self, flow: u32) -> Option<SocketState> {
        let socket = self.sockets.get(flow as usize)?.as_ref()?;
        let state = SocketState::of(socket.as_fd()).ok()?;
        if state.is_closed() {
            self.forget(flow);
        }
        Some(state)
    }
}
