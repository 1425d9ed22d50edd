//! What an application sets on a socket before there is a connection.

use retx_tcp::{Buffers, Config, Size};

/// Socket options that become part of a connection's configuration.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `TCP_NODELAY`.
    pub no_delay: Option<bool>,
    /// `TCP_MAXSEG`.
    pub mss: Option<u32>,
    /// `SO_SNDBUF`, doubled as Linux does.
    pub send_buffer: Option<u64>,
    /// `SO_RCVBUF`.
    pub receive_buffer: Option<u64>,
    /// `TCP_CONGESTION`.
    pub congestion_control: Option<String>,
    /// `SO_LINGER`, when it is on: seconds.
    pub linger: Option<i64>,
}

/// Larger than any script writes: the socket, not the connection, holds writes back, because its
/// buffer may change while the connection runs.
const UNBOUNDED: Size = Size::Bytes(1 << 30);

impl Settings {
    /// The configuration of a connection of this socket, and its send buffer in bytes.
    ///
    /// # Errors
    /// A congestion control that does not exist, a size that no connection can have.
    pub fn configure(&self, base: &Config) -> Result<(Config, u64), String> {
        let mut config = base.clone();
        if let Some(name) = &self.congestion_control {
            // The kernel's module of that name.
            let change = ("congestion_control".to_owned(), name.clone());
            config = retx_scenario::adjust_tcp(&config, true, &[change])
                .map_err(|error| format!("TCP_CONGESTION: {error}"))?;
        }
        if let Some(no_delay) = self.no_delay {
            config.nagle = !no_delay;
        }
        config.mss = self.mss.unwrap_or(config.mss);
        if let Some(bytes) = self.receive_buffer {
            config.receive_buffer = Size::Bytes(bytes);
            if config.buffers == Buffers::Linux {
                // `SOCK_RCVBUF_LOCK`.
                config.receive_autotuning = None;
            }
        }
        // A buffer that grows is as large as it may become.
        let largest = config.send_autotuning.take().unwrap_or(config.send_buffer);
        let send_buffer = self.send_buffer.unwrap_or(largest.bytes(config.mss));
        config.send_buffer = UNBOUNDED;
        config.check().map_err(|error| format!("{}: {}", error.field, error.message))?;
        Ok((config, send_buffer))
    }
}
