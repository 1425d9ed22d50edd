//! Times during which the peer's window or the send buffer limits a sender.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp.c` (`tcp_get_info_chrono_stats`) and `tcp_output.c`
//! (`tcp_chrono_start`, `tcp_write_xmit`). The clock of the peer's window runs while data wait for
//! this window, although the congestion window would allow them. The busy time is the total time
//! during which written data are not yet acknowledged.

use retx_tcp::Connection;
use retx_units::{Duration, Time};

/// Clocks of a connection: busy, and limited by the peer's window or the send buffer.
#[derive(Debug, Clone, Copy, Default)]
pub struct LimitClocks {
    busy_time: Clock,
    peer_window_limited_time: Clock,
    send_buffer_limited_time: Clock,
}

#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    total: Duration,
    since: Option<Time>,
}

impl Clock {
    fn run(&mut self, now: Time, runs: bool) {
        match (self.since, runs) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.total += now.since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    fn read(&self, now: Time) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

impl LimitClocks {
    /// Starts and stops the clocks; called after each input to the connection. `short` is true if a
    /// write waits for space in the send buffer.
    pub fn update(&mut self, now: Time, connection: &Connection, short: bool) {
        let unsent = unsent_bytes(connection);
        let smss = u64::from(connection.window().smss);
        let flight = connection.flight_size();
        let fits = flight + unsent.min(smss) <= connection.snd_wnd();
        let peer = unsent > 0 && !fits && flight + smss.min(unsent) <= connection.cwnd();
        self.peer_window_limited_time.run(now, peer);
        self.send_buffer_limited_time.run(now, short && unsent == 0);
        self.busy_time.run(now, connection.unacknowledged() > 0);
    }

    /// Time with unacknowledged data.
    pub fn busy_time(&self, now: Time) -> Duration {
        self.busy_time.read(now)
    }

    /// Part of the busy time limited by the peer's window.
    pub fn peer_window_limited_time(&self, now: Time) -> Duration {
        self.peer_window_limited_time.read(now)
    }

    /// Part of the busy time limited by the send buffer.
    pub fn send_buffer_limited_time(&self, now: Time) -> Duration {
        self.send_buffer_limited_time.read(now)
    }
}

/// Bytes written and not yet sent.
pub fn unsent_bytes(connection: &Connection) -> u64 {
    let sent = connection.snd_max().saturating_sub(connection.snd_una().max(1));
    connection.unacknowledged().saturating_sub(sent)
}
