//! `[[wlan]]`: cells of 802.11 stations, as users write them and as they are run.

mod check;

use crate::error::Problem;
use crate::tables::Channels;
use retx_link::queue;
use retx_link::wlan::{self, Geometry, Preamble, Standard};
use retx_units::{Distance, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// Default RTS threshold. It exceeds the length of every frame, which disables RTS (IEEE
/// 802.11-1999, aRTSThreshold).
const RTS_THRESHOLD_DEFAULT: u32 = 2347;

/// Stations that share the medium by the 802.11 distributed coordination function. Each station is
/// a node.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WlanTable {
    /// Name, unique among links and wlans.
    pub name: String,
    /// Nodes that are the stations of the wlan, at least two.
    #[schemars(length(min = 2, max = 1000))]
    pub stations: Vec<String>,
    /// Standard whose parameters are the defaults.
    #[serde(default)]
    pub standard: Standard,
    /// Rate of data frames; by default the standard's highest (FHSS: 1 Mbit/s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Rates of control frames: the highest one that does not exceed the data rate is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic_rates: Option<Vec<Rate>>,
    /// Preamble and PLCP header.
    #[serde(default)]
    pub preamble: Preamble,
    /// Largest number of attempts for a frame, or `"unlimited"`: sets both `short_retry_limit` and
    /// `long_retry_limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_limit: Option<Attempts>,
    /// Largest number of attempts for an RTS, or for a data frame without one; 7 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_retry_limit: Option<Attempts>,
    /// Largest number of attempts for a data frame announced by an RTS; 4 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_retry_limit: Option<Attempts>,
    /// Frame length in bytes, with MAC header and checksum, above which an RTS is sent; by default
    /// none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<u32>,
    /// Distance between neighbours, for stations in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Distance>,
    /// Position of each station: x and y. Without `positions` and `spacing` every station hears
    /// every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<Vec<[Distance; 2]>>,
    /// Reception range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Distance>,
    /// Carrier sense range; 2.2 times `range` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_sense_range: Option<Distance>,
    /// Interference range; 2.2 times `range` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interference_range: Option<Distance>,
    /// Queue of each station; by default drop-tail without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<queue::Config>,
    /// Channel model or list of models, separate for each ordered pair of stations; applied to data
    /// frames, their acknowledgments, RTS and CTS. A delayed frame is acknowledged in time and its
    /// packet forwarded later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
    /// Stations to whose frames the channel applies; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_senders: Option<Vec<String>>,
    /// True if both directions between two stations share one channel, as a radio path does;
    /// otherwise each has its own.
    #[serde(default)]
    pub channel_reciprocal: bool,
    /// Scheduled changes, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<WlanChangeTable>,
    /// Slot time (aSlotTime).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Duration>,
    /// Short interframe space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sifs: Option<Duration>,
    /// DCF interframe space; SIFS and two slots by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difs: Option<Duration>,
    /// Extended interframe space; SIFS, DIFS and an ACK at the lowest rate by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eifs: Option<Duration>,
    /// Time to wait for the start of an ACK or CTS after the end of a frame; SIFS, a slot and the
    /// preamble by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_timeout: Option<Duration>,
    /// Propagation delay between all stations; 1 µs by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation_delay: Option<Duration>,
    /// Smallest contention window; 31 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,
    /// Largest contention window; 1023 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,
    /// Bytes that the MAC adds to an IP packet; 36 in 802.11b: header, checksum, LLC and SNAP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_overhead: Option<u32>,
}

/// Changes of a wlan at an instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WlanChangeTable {
    /// Time of the change; later than that of the change before.
    pub at: Duration,
    /// Rate of data frames that begin at or after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Channel of all pairs of stations. A model that replaces another of the same kind takes over
    /// its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
}

/// Drop-tail without a limit.
fn droptail() -> queue::Config {
    queue::Config::droptail(queue::droptail::Config::default())
}

/// Limit of transmission attempts; `None` if unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempts(pub Option<u32>);

const UNLIMITED: &str = "unlimited";

impl<'de> Deserialize<'de> for Attempts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value == UNLIMITED {
            return Ok(Self(None));
        }
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number {
            Some(number) if number > 0 => Ok(Self(Some(number))),
            _ => Err(D::Error::custom(format!(
                "expected a whole number of attempts from 1, or \"{UNLIMITED}\"; found {value}"
            ))),
        }
    }
}

impl Serialize for Attempts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(number) => serializer.serialize_u32(number),
            None => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl JsonSchema for Attempts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Attempts".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": UNLIMITED }]
        })
    }
}

/// Cell of stations.
#[derive(Debug, Clone, PartialEq)]
pub struct Wlan {
    /// Name, unique among links and wlans.
    pub name: String,
    /// Standard whose parameters were the defaults of `config`.
    pub standard: Standard,
    /// Preamble length.
    pub preamble: Preamble,
    /// Parameters of the cell; its stations are nodes.
    pub config: wlan::Config,
}

impl Wlan {
    /// Converts a table whose name has been checked.
    ///
    /// # Errors
    /// Too few stations, a rate that the standard lacks, or ranges without positions, among others.
    pub fn new(table: WlanTable) -> Result<Self, Problem> {
        check::check_stations(&table.stations)?;
        let parameters = check::parameters(&table)?;
        let geometry = check::geometry(&table)?;
        let limit = |own: Option<Attempts>, default: u32| {
            own.or(table.retry_limit).unwrap_or(Attempts(Some(default))).0
        };
        check::check_channel(&table)?;
        let changes = check::changes(&table)?;
        let Channels(channel) = table.channel.unwrap_or(Channels(Vec::new()));
        Ok(Self {
            name: table.name,
            standard: table.standard,
            preamble: table.preamble,
            config: wlan::Config {
                short_retry_limit: limit(table.short_retry_limit, 7),
                long_retry_limit: limit(table.long_retry_limit, 4),
                rts_threshold: table.rts_threshold.unwrap_or(RTS_THRESHOLD_DEFAULT),
                stations: table.stations,
                parameters,
                geometry,
                queue: table.queue.unwrap_or_else(droptail),
                channel,
                channel_senders: table.channel_senders,
                channel_reciprocal: table.channel_reciprocal,
                changes,
            },
        })
    }

    /// Wlan of two stations, with the standard's parameters.
    pub fn two_stations(standard: Standard) -> Self {
        let text = json!({ "name": "cell", "stations": ["a", "b"], "standard": standard });
        let table = serde_json::from_value(text).expect("all that a wlan needs");
        Self::new(table).expect("a standard holds together")
    }

    /// True if station `to` can receive frames of station `from`.
    pub fn can_receive(&self, from: usize, to: usize) -> bool {
        let effect = |geometry: &Geometry| {
            geometry.effect(from, to).intersects(wlan::reach::StationEffect::RECEIVES)
        };
        from != to && self.config.geometry.as_ref().is_none_or(effect)
    }
}

impl From<&wlan::Change> for WlanChangeTable {
    fn from(change: &wlan::Change) -> Self {
        let at = change.at.since(Time::ZERO);
        Self { at, rate: change.rate, channel: change.channel.clone().map(Channels) }
    }
}

impl From<&Wlan> for WlanTable {
    fn from(wlan: &Wlan) -> Self {
        let config = &wlan.config;
        let parameters = &config.parameters;
        let geometry = config.geometry.as_ref();
        let distance = |of: fn(&Geometry) -> u64| geometry.map(|it| Distance::from_mm(of(it)));
        let place = |place: &[i64; 2]| place.map(|mm| Distance::from_mm(mm as u64));
        Self {
            name: wlan.name.clone(),
            stations: config.stations.clone(),
            standard: wlan.standard,
            rate: Some(parameters.rate),
            basic_rates: Some(parameters.basic_rates.clone()),
            preamble: wlan.preamble,
            retry_limit: None,
            short_retry_limit: Some(Attempts(config.short_retry_limit)),
            long_retry_limit: Some(Attempts(config.long_retry_limit)),
            rts_threshold: Some(config.rts_threshold),
            spacing: None,
            positions: geometry.map(|it| it.positions.iter().map(place).collect()),
            range: distance(|it| it.range),
            carrier_sense_range: distance(|it| it.carrier_sense_range),
            interference_range: distance(|it| it.interference_range),
            queue: Some(config.queue.clone()),
            channel: Some(Channels(config.channel.clone())),
            channel_senders: config.channel_senders.clone(),
            channel_reciprocal: config.channel_reciprocal,
            schedule: config.changes.iter().map(WlanChangeTable::from).collect(),
            slot: Some(parameters.slot),
            sifs: Some(parameters.sifs),
            difs: Some(parameters.difs),
            eifs: Some(parameters.eifs),
            ack_timeout: Some(parameters.ack_timeout),
            propagation_delay: Some(parameters.propagation),
            cw_min: Some(parameters.cw_min),
            cw_max: Some(parameters.cw_max),
            mac_overhead: Some(parameters.mac_overhead),
        }
    }
}
