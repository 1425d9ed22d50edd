//! The sockets of the flows' senders, to look at.
//!
//! A worker hands each over before anything is sent with it. A look waits for the program that has
//! the socket, should it just be in the kernel with it: for some microseconds, and rarely.

use crate::socket_state::SocketState;
use std::os::fd::{AsFd, OwnedFd};

/// By the flow's index; `None` when its sender is not connected.
#[derive(Debug, Default)]
pub struct Senders(Vec<Option<OwnedFd>>);

impl Senders {
    /// A flow's sender has a new connection.
    pub fn adopt(&mut self, flow: u32, socket: OwnedFd) {
        let flow = flow as usize;
        if flow >= self.0.len() {
            self.0.resize_with(flow + 1, || None);
        }
        self.0[flow] = Some(socket);
    }

    /// How a flow's sender is doing. When its connection is over it is let go of.
    pub fn look(&mut self, flow: u32) -> Option<SocketState> {
        let socket = self.0.get_mut(flow as usize)?;
        let state = SocketState::of(socket.as_ref()?.as_fd()).ok()?;
        if state.is_closed() {
            *socket = None;
        }
        Some(state)
    }
}
