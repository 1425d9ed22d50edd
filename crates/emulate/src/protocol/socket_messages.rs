//! Passing of messages and descriptors between processes.

use crate::boundary;
use nix::sys::socket::{ControlMessage, MsgFlags, UnixAddr, sendmsg};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Writes a message.
///
/// # Errors
/// The peer is gone.
pub fn send<M: Serialize>(mut socket: &UnixStream, message: &M) -> io::Result<()> {
    let body = serde_json::to_vec(message).expect("messages are plain data");
    let length = u32::try_from(body.len()).expect("a message of less than 4 GB");
    // Length and body are written by one call, so that messages of several threads are not
    // interleaved.
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(body);
    socket.write_all(&bytes)
}

/// Reads a message.
///
/// # Errors
/// The peer is gone, or has sent an invalid message.
pub fn receive<M: DeserializeOwned>(mut socket: &UnixStream) -> io::Result<M> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    socket.read_exact(&mut body)?;
    serde_json::from_slice(&body).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Passes an open descriptor.
///
/// # Errors
/// The peer is gone.
pub fn send_descriptor(socket: &UnixStream, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    send_with(socket.as_fd(), descriptor, &[0])
}

/// Receives a descriptor.
///
/// # Errors
/// The peer is gone, or has sent something else.
pub fn receive_descriptor(socket: &UnixStream) -> io::Result<OwnedFd> {
    boundary::receive_descriptor(socket.as_fd(), &mut [0], MsgFlags::empty())
}

/// Passes the socket of a flow's data sender, before anything is sent with it.
///
/// # Errors
/// The peer is gone.
pub fn send_sender_socket(
    channel: BorrowedFd<'_>,
    flow: u32,
    socket: BorrowedFd<'_>,
) -> io::Result<()> {
    send_with(channel, socket, &flow.to_be_bytes())
}

/// Receives the next passed socket, without waiting.
///
/// # Errors
/// `WouldBlock` if there is none, `UnexpectedEof` if the peer is gone. Any other error means that a
/// socket was passed but could not be received.
pub fn receive_sender_socket(channel: BorrowedFd<'_>) -> io::Result<(u32, OwnedFd)> {
    let mut flow = [0; 4];
    let socket = boundary::receive_descriptor(channel, &mut flow, MsgFlags::MSG_DONTWAIT)?;
    Ok((u32::from_be_bytes(flow), socket))
}

fn send_with(channel: BorrowedFd<'_>, descriptor: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    let descriptors = [descriptor.as_raw_fd()];
    let control = [ControlMessage::ScmRights(&descriptors)];
    let bytes = [IoSlice::new(bytes)];
    sendmsg::<UnixAddr>(channel.as_raw_fd(), &bytes, &control, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}
