//! Socket options set before there is a connection.

use retx_tcp::{Buffers, Config, KeepAlive, Size};
use retx_units::Duration;

/// `SO_KEEPALIVE` and its times, with Linux's defaults.
#[derive(Debug, Clone, Copy)]
pub struct KeepAliveOption {
    /// `SO_KEEPALIVE`.
    pub enabled: bool,
    /// `TCP_KEEPIDLE`.
    pub idle: Duration,
    /// `TCP_KEEPINTVL`.
    pub interval: Duration,
    /// `TCP_KEEPCNT`.
    pub count: u32,
}

impl Default for KeepAliveOption {
    fn default() -> Self {
        let (idle, interval) = (Duration::from_secs(7_200), Duration::from_secs(75));
        Self { enabled: false, idle, interval, count: 9 }
    }
}

impl From<KeepAliveOption> for KeepAlive {
    fn from(option: KeepAliveOption) -> Self {
        let KeepAliveOption { idle, interval, count, .. } = option;
        Self { idle, interval, count }
    }
}

/// Size of a send buffer.
#[derive(Debug, Clone, Copy)]
pub struct SendBuffer {
    /// Bytes at first.
    pub bytes: u64,
    /// Bytes to which the buffer grows (autotuning); `None` if its size is fixed.
    pub most: Option<u64>,
}

/// Socket options that are applied to the configuration of a connection, or to its socket; `None`
/// for options that have not been set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `TCP_NODELAY`.
    pub no_delay: Option<bool>,
    /// `TCP_MAXSEG`.
    pub mss: Option<u32>,
    /// `SO_SNDBUF`, doubled as in Linux.
    pub send_buffer: Option<u64>,
    /// `SO_RCVBUF`.
    pub receive_buffer: Option<u64>,
    /// `TCP_CONGESTION`.
    pub congestion_control: Option<String>,
    /// `SO_LINGER` in seconds, if enabled.
    pub linger: Option<i64>,
    /// `TCP_CORK`.
    pub cork: bool,
    /// `TCP_USER_TIMEOUT`.
    pub user_timeout: Option<Duration>,
    /// `TCP_NOTSENT_LOWAT`; `None` for the machine's setting.
    pub unsent_low_water: Option<u64>,
    /// `SO_RCVLOWAT`.
    pub read_low_water: u64,
    /// `TCP_INQ`.
    pub reports_inq: bool,
    /// `SO_KEEPALIVE`.
    pub keepalive: KeepAliveOption,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            no_delay: None,
            mss: None,
            send_buffer: None,
            receive_buffer: None,
            congestion_control: None,
            linger: None,
            cork: false,
            user_timeout: None,
            unsent_low_water: None,
            read_low_water: 1,
            reports_inq: false,
            keepalive: KeepAliveOption::default(),
        }
    }
}

/// Send buffer of the connection: larger than any script fills. The socket itself limits writes,
/// because the size of its buffer may change while the connection runs.
const UNBOUNDED: Size = Size::Bytes(1 << 30);

impl Settings {
    /// Configuration of a connection of this socket, and its send buffer in bytes.
    ///
    /// # Errors
    /// An unknown congestion control, or an impossible size.
    pub fn configure(&self, base: &Config) -> Result<(Config, SendBuffer), String> {
        let mut config = base.clone();
        if let Some(name) = &self.congestion_control {
            // `true`: the name denotes a module of the kernel, as under a Linux preset.
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
                // As in Linux, `SO_RCVBUF` disables autotuning (`SOCK_RCVBUF_LOCK`).
                config.receive_autotuning = None;
            }
        }
        let first = config.send_buffer.bytes(config.mss);
        // As in Linux, `SO_SNDBUF` disables autotuning (`SOCK_SNDBUF_LOCK`).
        let most = config.send_autotuning.take().filter(|_| self.send_buffer.is_none());
        let send_buffer = SendBuffer {
            bytes: self.send_buffer.unwrap_or(first),
            most: most.map(|size| size.bytes(config.mss)),
        };
        config.send_buffer = UNBOUNDED;
        config.check().map_err(|error| format!("{}: {}", error.field, error.message))?;
        Ok((config, send_buffer))
    }
}
