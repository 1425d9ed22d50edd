//! `udp` of a flow: packets without connection, acknowledgment and repair.

use crate::App;
use crate::error::Problem;
use crate::spread::Spread;
use retx_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// IPv4 and UDP headers, bytes.
pub const HEADER_BYTES: u32 = 28;
/// Maximum mean number of on-times per packet; it bounds the time of the search for the next
/// packet.
const SPELLS_PER_PACKET_MAX: f64 = 1000.0;

/// UDP (RFC 768): packets at times that the flow's `app` determines, without acknowledgment or
/// repair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Udp {
    /// Length of the IP packet in bytes, headers included (IP 20, UDP 8); a link's `overhead` is
    /// added. A drawn length is rounded, and limited to what the flow's path can carry.
    pub packet: Spread<u64>,
    /// Rate of IP packets in bit/s: always for `cbr` and `poisson`, during on-times for `on_off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Packets that `bulk` keeps in the first link or wlan, including those in propagation. By
    /// default enough to keep the transmitter busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub backlog: Option<u32>,
    /// Number of packets after which the flow ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Bytes of payload after which the flow ends; the last packet may be smaller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Time from its start after which the flow ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

impl Udp {
    /// True if the flow ends by itself.
    pub const fn is_finite(&self) -> bool {
        self.packets.is_some() || self.bytes.is_some() || self.duration.is_some()
    }

    /// Checks the parameters together with the application.
    pub(crate) fn check(&self, app: &App) -> Result<(), Problem> {
        let refuse = |key: &str, message: String| Err(Problem::new(message).within(key));
        let paced = !matches!(app, App::Bulk(_));
        match self.rate {
            Some(rate) if paced && rate < Rate::from_bit_s(1) => {
                return refuse("rate", "0 bit/s sends nothing".into());
            }
            None if paced => return refuse("rate", format!("{} needs a `rate`", app.name())),
            Some(_) if !paced => {
                let message = "bulk sends as fast as the first link or wlan takes packets: leave \
                               `rate` out, or choose cbr, poisson or on_off";
                return refuse("rate", message.into());
            }
            _ => {}
        }
        match self.backlog {
            Some(_) if paced => {
                return refuse("backlog", format!("belongs to bulk, not to {}", app.name()));
            }
            Some(0) => return refuse("backlog", "0 packets: from 1 on".into()),
            _ => {}
        }
        for (key, limit) in [("packets", self.packets), ("bytes", self.bytes)] {
            if limit == Some(0) {
                return refuse(key, "0 sends nothing: from 1 on".into());
            }
        }
        if self.bytes.is_some() && self.packet.mean() <= f64::from(HEADER_BYTES) {
            let message = format!("packets of {HEADER_BYTES} bytes carry nothing");
            return refuse("bytes", message);
        }
        self.check_sizes().map_err(|problem| problem.within("packet"))
    }

    fn check_sizes(&self) -> Result<(), Problem> {
        let mean = self.packet.mean();
        if mean < f64::from(HEADER_BYTES) {
            let message =
                format!("{mean} bytes: the headers of IP and UDP alone take {HEADER_BYTES}");
            return Err(Problem::new(message));
        }
        Ok(())
    }

    /// Checks that `on_off` has at most [`SPELLS_PER_PACKET_MAX`] on-times per packet in the mean;
    /// `Ok` for other applications.
    pub(crate) fn check_on_off(&self, app: &App) -> Result<(), Problem> {
        let (App::OnOff(on_off), Some(rate)) = (app, self.rate) else { return Ok(()) };
        let gap = self.packet.mean() * 8.0 / rate.as_bit_s() as f64;
        if on_off.on.mean() * SPELLS_PER_PACKET_MAX < gap {
            let message = format!(
                "on for {} s in the mean, where a packet comes every {gap} s: at least a \
                 thousandth of that",
                on_off.on.mean()
            );
            return Err(Problem::new(message).within("on").within("app"));
        }
        Ok(())
    }
}
