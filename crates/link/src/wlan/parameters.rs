//! Parameters of 802.11 standards, and airtimes of frames.
//!
//! *Reference.* IEEE 802.11-1999 §9.2 (DCF), §15.3 (DSSS); IEEE 802.11b-1999 §18.3.3 (slot 20 µs,
//! SIFS 10 µs, CWmin 31, CWmax 1023), §18.3.4 (TXTIME, rounded up to whole microseconds);
//! Bianchi 2000, Table II (the FHSS set).

use retx_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// 802.11 standard: a named set of parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Standard {
    /// High-rate DSSS: 1, 2, 5.5 and 11 Mbit/s.
    #[default]
    #[serde(rename = "802.11b")]
    B,
    /// Frequency hopping at 1 and 2 Mbit/s, with the values of Bianchi 2000, Table II.
    #[serde(rename = "802.11-fhss")]
    Fhss,
}

/// The physical layer's preamble and header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preamble {
    /// 192 µs in 802.11b.
    #[default]
    Long,
    /// 96 µs in 802.11b; frames at 1 Mbit/s have the long preamble nevertheless.
    Short,
}

/// Timing parameters of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// Slot time (aSlotTime).
    pub slot: Duration,
    /// Short interframe space.
    pub sifs: Duration,
    /// DCF interframe space.
    pub difs: Duration,
    /// Extended interframe space, after a frame that was not received correctly.
    pub eifs: Duration,
    /// Time to wait for the start of an ACK or CTS after the end of a frame.
    pub ack_timeout: Duration,
    /// Propagation delay, the same between all stations.
    pub propagation: Duration,
    /// Duration of preamble and PLCP header of frames at the lowest rate.
    pub plcp_long: Duration,
    /// Duration of preamble and PLCP header of frames at higher rates.
    pub plcp: Duration,
    /// Minimum contention window, in slots.
    pub cw_min: u32,
    /// Maximum contention window, in slots.
    pub cw_max: u32,
    /// Overhead added to an IP packet, bytes: MAC header, checksum, LLC and SNAP.
    pub mac_overhead: u32,
    /// Rate of data frames.
    pub rate: Rate,
    /// Basic rates, used for control frames.
    pub basic_rates: Vec<Rate>,
    /// The standard's lowest rate.
    pub lowest: Rate,
}

/// Bytes of an ACK frame.
pub const ACK_BYTES: u32 = 14;
/// Bytes of a CTS frame.
pub const CTS_BYTES: u32 = 14;
/// Bytes of an RTS frame.
pub const RTS_BYTES: u32 = 20;
/// Maximum length of an IP packet, bytes: the largest MSDU (IEEE 802.11-1999 §6.2.1.1.2) without
/// LLC and SNAP.
pub const MTU: u32 = 2304 - 8;

impl Standard {
    /// All standards.
    pub const ALL: [Self; 2] = [Self::B, Self::Fhss];

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::B => "802.11b",
            Self::Fhss => "802.11-fhss",
        }
    }

    /// Rates of data frames, from the lowest.
    pub fn rates(self) -> Vec<Rate> {
        let kbit: &[u64] = match self {
            Self::B => &[1_000, 2_000, 5_500, 11_000],
            Self::Fhss => &[1_000, 2_000],
        };
        kbit.iter().map(|kbit| Rate::from_bit_s(kbit * 1000)).collect()
    }

    /// Default rate of data frames.
    pub fn default_rate(self) -> Rate {
        match self {
            Self::B => Rate::from_bit_s(11_000_000),
            Self::Fhss => Rate::from_bit_s(1_000_000),
        }
    }

    /// Duration of preamble and PLCP header; `None` if the standard has no such preamble.
    pub const fn plcp(self, preamble: Preamble) -> Option<Duration> {
        match (self, preamble) {
            (Self::B, Preamble::Long) => Some(Duration::from_micros(192)),
            (Self::B, Preamble::Short) => Some(Duration::from_micros(96)),
            (Self::Fhss, Preamble::Long) => Some(Duration::from_micros(128)),
            (Self::Fhss, Preamble::Short) => None,
        }
    }

    /// Parameters of the standard with the default rate and the long preamble.
    pub fn parameters(self) -> Parameters {
        let lowest = Rate::from_bit_s(1_000_000);
        let plcp = self.plcp(Preamble::Long).expect("every standard has a long preamble");
        let (slot, sifs, mac_overhead, basic_rates) = match self {
            // MAC header 24, checksum 4, LLC and SNAP 8 bytes.
            Self::B => (20, 10, 36, vec![lowest, Rate::from_bit_s(2_000_000)]),
            // A MAC header of 272 bits is the only overhead.
            Self::Fhss => (50, 28, 34, vec![lowest]),
        };
        let [slot, sifs] = [slot, sifs].map(Duration::from_micros);
        let mut parameters = Parameters {
            slot,
            sifs,
            difs: Duration::ZERO,
            eifs: Duration::ZERO,
            ack_timeout: Duration::ZERO,
            propagation: Duration::from_micros(1),
            plcp_long: plcp,
            plcp,
            cw_min: 31,
            cw_max: 1023,
            mac_overhead,
            rate: self.default_rate(),
            basic_rates,
            lowest,
        };
        parameters.derive();
        parameters
    }
}

impl Parameters {
    /// Computes the values that follow from slot, SIFS and preamble. The 1999 standard does not
    /// specify the ACK timeout, so that of IEEE 802.11-2007 §9.2.8 is used.
    pub fn derive(&mut self) {
        // IEEE 802.11-1999 §9.2.10.
        self.difs = self.sifs + self.slot * 2;
        self.derive_eifs();
        // The start of a response is detected only when its preamble has been received.
        self.ack_timeout = self.sifs + self.slot + self.airtime(0, self.control_rate());
    }

    /// Computes EIFS: SIFS, an ACK at the lowest rate, and DIFS.
    pub fn derive_eifs(&mut self) {
        self.eifs = self.sifs + self.difs + self.plcp_long + bits_time(ACK_BYTES, self.lowest);
    }

    /// Airtime of a frame of `bytes`, including preamble and PLCP header.
    pub fn airtime(&self, bytes: u32, rate: Rate) -> Duration {
        let plcp = if rate <= self.lowest { self.plcp_long } else { self.plcp };
        plcp + bits_time(bytes, rate)
    }

    /// Time that a packet takes in addition to its bits if it is undisturbed: DIFS, mean backoff,
    /// preamble, SIFS and ACK.
    pub fn time_around_data(&self) -> Duration {
        let backoff = Duration::from_nanos(self.slot.as_nanos() * u64::from(self.cw_min) / 2);
        let ack = self.airtime(ACK_BYTES, self.control_rate());
        self.difs + backoff + self.plcp + self.sifs + ack
    }

    /// Rate of responses to frames at the data rate: the highest basic rate that does not exceed
    /// the data rate (IEEE 802.11-1999 §9.6).
    pub fn control_rate(&self) -> Rate {
        let fit = self.basic_rates.iter().copied().filter(|rate| *rate <= self.rate);
        fit.max().unwrap_or(self.lowest)
    }
}

/// Transmission time of `bytes`, rounded up to microseconds (IEEE 802.11b-1999 §18.3.4).
fn bits_time(bytes: u32, rate: Rate) -> Duration {
    let bit_micros = u64::from(bytes) * 8_000_000;
    Duration::from_micros(bit_micros.div_ceil(rate.as_bit_s()))
}

/// Durations of frames and intervals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub ack: Duration,
    pub cts: Duration,
    pub rts: Duration,
    /// Time after the end of an RTS within which a frame must begin for the reservation to hold.
    pub rts_in_vain: Duration,
    /// Airtimes of the two most recent sizes of packets, cached to avoid a division.
    pub data: [(u32, Duration); 2],
}

impl Times {
    pub fn new(parameters: &Parameters) -> Self {
        let time = |bytes| parameters.airtime(bytes, parameters.control_rate());
        Self {
            ack: time(ACK_BYTES),
            cts: time(CTS_BYTES),
            rts: time(RTS_BYTES),
            rts_in_vain: (parameters.sifs + parameters.slot) * 2 + time(CTS_BYTES),
            data: [(0, Duration::ZERO); 2],
        }
    }
}
