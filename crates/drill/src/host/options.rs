//! Setting and reading socket options.

use super::calls::{Fault, bad_descriptor};
use super::settings::SendBuffer;
use super::stamps::TransmitTimestamps;
use super::{Errno, Host, Kind, Return};
use crate::script::SocketOption;
use retx_units::{Duration, Time};

/// Linux's maximum of `TCP_KEEPIDLE` and `TCP_KEEPINTVL`, seconds.
const KEEP_SECONDS_MAX: i64 = 32_767;
/// Linux's maximum of `TCP_KEEPCNT`.
const KEEP_COUNT_MAX: i64 = 127;

impl Host {
    pub(super) fn set_option(
        &mut self,
        now: Time,
        fd: i32,
        option: &SocketOption,
    ) -> Result<Return, Fault> {
        let socket = self.sockets.get(&fd).ok_or_else(|| bad_descriptor(fd))?;
        if let Kind::End(end) = socket.kind
            && let Some(answer) = self.set_while_open(now, end, option)?
        {
            return Ok(answer);
        }
        let socket = self.sockets.get_mut(&fd).ok_or_else(|| bad_descriptor(fd))?;
        let opens_later = !matches!(socket.kind, Kind::End(_));
        let settings = &mut socket.settings;
        match option {
            SocketOption::Reuse(_) | SocketOption::Ignored => {}
            SocketOption::Linger(linger) => settings.linger = *linger,
            // Linux doubles the value, and enforces a minimum.
            SocketOption::SendBuffer(bytes) => {
                settings.send_buffer = Some(2 * within(*bytes, 2_304, 1 << 29)?);
            }
            SocketOption::NoDelay(on) => settings.no_delay = Some(*on != 0),
            SocketOption::Cork(on) => settings.cork = *on != 0,
            SocketOption::UserTimeout(millis) => settings.user_timeout = millis_of(*millis)?,
            SocketOption::UnsentLowWater(bytes) => settings.unsent_low_water = low_water(*bytes),
            SocketOption::ReadLowWater(bytes) => {
                settings.read_low_water = within(*bytes, 1, 1 << 30)?
            }
            SocketOption::TellInQueue(on) => settings.reports_inq = *on != 0,
            SocketOption::KeepAlive(on) => settings.keepalive.enabled = *on != 0,
            SocketOption::KeepIdle(seconds) => settings.keepalive.idle = keep_seconds(*seconds)?,
            SocketOption::KeepInterval(seconds) => {
                settings.keepalive.interval = keep_seconds(*seconds)?;
            }
            SocketOption::KeepCount(count) => {
                settings.keepalive.count = upto(*count, KEEP_COUNT_MAX)? as u32;
            }
            SocketOption::ReceiveBuffer(bytes) if opens_later => {
                settings.receive_buffer = Some(within(*bytes, 1, 1 << 30)?);
            }
            SocketOption::MaxSegment(bytes) if opens_later => {
                settings.mss = Some(within(*bytes, 1, 65_495)? as u32);
            }
            SocketOption::Congestion(name) if opens_later => {
                settings.congestion_control = Some(name.clone());
            }
            SocketOption::ReceiveBuffer(_)
            | SocketOption::MaxSegment(_)
            | SocketOption::Congestion(_) => {
                return Err("this option can be set only before there is a connection".into());
            }
            SocketOption::Error(_) => return Ok(Return::Error("ENOPROTOOPT")),
            SocketOption::Timestamping(_) => {
                return Err("timestamps are played of connections only".into());
            }
        }
        // Impossible values are refused here already, not only when a connection is opened.
        settings.configure(&self.config)?;
        Ok(Return::Done(0))
    }

    /// Applies an option to a running connection; returns `None` if the socket must also store the
    /// option.
    fn set_while_open(
        &mut self,
        now: Time,
        end: usize,
        option: &SocketOption,
    ) -> Result<Option<Return>, Fault> {
        let target = &mut self.ends[end];
        match option {
            SocketOption::SendBuffer(bytes) => {
                let bytes = 2 * within(*bytes, 2_304, 1 << 29)?;
                target.send_buffer = SendBuffer { bytes, most: None };
            }
            SocketOption::NoDelay(on) => {
                target.connection.set_nagle(*on == 0);
                if *on != 0 {
                    target.connection.push();
                }
            }
            SocketOption::Cork(on) => target.connection.set_cork(*on != 0),
            SocketOption::UserTimeout(millis) => {
                target.connection.set_user_timeout(millis_of(*millis)?);
            }
            SocketOption::UnsentLowWater(bytes) => target.unsent_low_water = low_water(*bytes),
            SocketOption::ReadLowWater(bytes) => {
                target.read_low_water = within(*bytes, 1, 1 << 30)?
            }
            SocketOption::KeepAlive(_)
            | SocketOption::KeepIdle(_)
            | SocketOption::KeepInterval(_)
            | SocketOption::KeepCount(_) => return self.set_keepalive(now, end, option).map(Some),
            SocketOption::Timestamping(on) => {
                let base = target.connection.snd_una().max(1);
                target.timestamps = on.then(|| Box::new(TransmitTimestamps::new(base)));
                return Ok(Some(Return::Done(0)));
            }
            _ => return Ok(None),
        }
        self.serve(now, end, super::ActionCause::Call);
        Ok(None)
    }

    fn set_keepalive(
        &mut self,
        now: Time,
        end: usize,
        option: &SocketOption,
    ) -> Result<Return, Fault> {
        let target = &mut self.ends[end];
        let mut keepalive = target.keepalive;
        match option {
            SocketOption::KeepAlive(on) => keepalive.enabled = *on != 0,
            SocketOption::KeepIdle(seconds) => keepalive.idle = keep_seconds(*seconds)?,
            SocketOption::KeepInterval(seconds) => keepalive.interval = keep_seconds(*seconds)?,
            SocketOption::KeepCount(count) => {
                keepalive.count = upto(*count, KEEP_COUNT_MAX)? as u32
            }
            _ => {}
        }
        target.keepalive = keepalive;
        target.connection.set_keepalive(now, keepalive.enabled.then(|| keepalive.into()));
        Ok(Return::Done(0))
    }

    /// Value of a socket option.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn option(&mut self, fd: i32, option: &SocketOption) -> Result<SocketOption, Fault> {
        let running = self.end_for_fd(fd)?;
        let settings = &self.sockets[&fd].settings;
        let (config, send_buffer) = settings.configure(&self.config)?;
        let keepalive = running.map_or(settings.keepalive, |end| self.ends[end].keepalive);
        let seconds = |wait: Duration| (wait.as_nanos() / 1_000_000_000) as i64;
        let end = running.map(|end| &mut self.ends[end]);
        Ok(match option {
            SocketOption::Error(_) => {
                let error: Option<Errno> = end.and_then(|end| end.error.take());
                SocketOption::Error(error.unwrap_or_default().to_owned())
            }
            SocketOption::SendBuffer(_) => {
                let buffer = end.map_or(send_buffer, |end| end.send_buffer);
                SocketOption::SendBuffer(buffer.bytes as i64)
            }
            SocketOption::ReceiveBuffer(_) => {
                // Linux reports twice the value that was set.
                let set = settings.receive_buffer.map(|bytes| 2 * bytes);
                let bytes = set.unwrap_or(config.receive_buffer.bytes(config.mss));
                SocketOption::ReceiveBuffer(bytes as i64)
            }
            SocketOption::NoDelay(_) => SocketOption::NoDelay((!config.nagle).into()),
            SocketOption::MaxSegment(_) => {
                let connected = end.filter(|end| end.connected);
                // RFC 9293 §3.7.1: 536 until the peer's MSS is known.
                let default = settings.mss.unwrap_or(536);
                let mss = connected.map_or(default, |end| end.connection.window().smss);
                SocketOption::MaxSegment(mss.into())
            }
            SocketOption::Cork(_) => SocketOption::Cork(settings.cork.into()),
            SocketOption::UserTimeout(_) => {
                let millis = settings.user_timeout.map_or(0, |wait| wait.as_nanos() / 1_000_000);
                SocketOption::UserTimeout(millis as i64)
            }
            SocketOption::UnsentLowWater(_) => {
                SocketOption::UnsentLowWater(settings.unsent_low_water.unwrap_or(0) as i64)
            }
            SocketOption::ReadLowWater(_) => {
                SocketOption::ReadLowWater(settings.read_low_water as i64)
            }
            SocketOption::TellInQueue(_) => SocketOption::TellInQueue(settings.reports_inq.into()),
            SocketOption::KeepAlive(_) => SocketOption::KeepAlive(keepalive.enabled.into()),
            SocketOption::KeepIdle(_) => SocketOption::KeepIdle(seconds(keepalive.idle)),
            SocketOption::KeepInterval(_) => {
                SocketOption::KeepInterval(seconds(keepalive.interval))
            }
            SocketOption::KeepCount(_) => SocketOption::KeepCount(keepalive.count.into()),
            SocketOption::Reuse(_)
            | SocketOption::Linger(_)
            | SocketOption::Congestion(_)
            | SocketOption::Timestamping(_)
            | SocketOption::Ignored => return Err("the value of this option is not kept".into()),
        })
    }
}

/// `TCP_NOTSENT_LOWAT`; 0 means the setting of the machine.
fn low_water(bytes: i64) -> Option<u64> {
    Some(bytes as u64 & u64::from(u32::MAX)).filter(|bytes| *bytes > 0)
}

fn millis_of(millis: i64) -> Result<Option<Duration>, Fault> {
    let millis = upto(millis, i64::from(i32::MAX) + 1)?;
    Ok(Some(Duration::from_millis(millis)).filter(|wait| !wait.is_zero()))
}

fn keep_seconds(seconds: i64) -> Result<Duration, Fault> {
    within(seconds, 1, KEEP_SECONDS_MAX).map(Duration::from_secs)
}

fn upto(number: i64, high: i64) -> Result<u64, Fault> {
    if number == 0 { Ok(0) } else { within(number, 1, high) }
}

fn within(number: i64, low: i64, high: i64) -> Result<u64, Fault> {
    if number > high || number < 1 {
        return Err(format!("{number} lies outside 1 … {high}"));
    }
    Ok(number.max(low) as u64)
}
