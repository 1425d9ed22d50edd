//! `[[wlan]]`: a cell of 802.11 stations, as users write it and as it is run.

mod check;

use crate::error::Problem;
use crate::file::Channels;
use retx_link::queue;
use retx_link::wlan::{self, Geometry, Preamble, Standard};
use retx_units::{Distance, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// No frame is longer (IEEE 802.11-1999, aRTSThreshold takes it for "never").
const RTS_THRESHOLD_DEFAULT: u32 = 2347;

/// Stations that share the air by the 802.11 distributed coordination function. Each station is a
/// node.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WlanTable {
    /// Unique among links and wlans.
    pub name: String,
    /// The nodes that are its stations, two at least.
    #[schemars(length(min = 2, max = 1000))]
    pub stations: Vec<String>,
    /// Which parameters it starts from.
    #[serde(default)]
    pub standard: Standard,
    /// Rate of data frames; the standard's highest without it (FHSS: 1 Mbit/s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Rates of control frames: the highest that is not above the data rate is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic_rates: Option<Vec<Rate>>,
    /// Preamble and PLCP header.
    #[serde(default)]
    pub preamble: Preamble,
    /// Attempts at a frame, or `"unlimited"`: both of the following limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_limit: Option<Attempts>,
    /// Attempts at an RTS, or at a data frame that needs none; 7 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_retry_limit: Option<Attempts>,
    /// Attempts at a data frame that an RTS announces; 4 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_retry_limit: Option<Attempts>,
    /// Longer frames, in bytes with MAC header and checksum, are announced by an RTS; without it
    /// none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<u32>,
    /// The stations stand in a row, so far apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Distance>,
    /// Where each station stands: x and y. Without `positions` and `spacing` everyone hears
    /// everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<Vec<[Distance; 2]>>,
    /// Frames are received up to this distance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Distance>,
    /// The medium is busy up to this distance; 2.2 times the range without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_sense_range: Option<Distance>,
    /// Other frames are spoilt up to this distance; 2.2 times the range without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interference_range: Option<Distance>,
    /// Queue of each station; drop-tail without a limit when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<queue::Config>,
    /// One channel model or a list of them, for each ordered pair of stations its own; it is asked
    /// for data frames, their acknowledgments, RTS and CTS. What it delays is acknowledged in time,
    /// and handed on later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
    /// The stations whose frames the channel is asked about; all without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_senders: Option<Vec<String>>,
    /// Both directions between two stations share one channel, as the radio path does; else each
    /// has its own.
    #[serde(default)]
    pub channel_reciprocal: bool,
    /// What changes as time goes, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<WlanChangeTable>,
    /// aSlotTime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Duration>,
    /// Short interframe space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sifs: Option<Duration>,
    /// DCF interframe space; SIFS and two slots without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difs: Option<Duration>,
    /// Extended interframe space; SIFS, DIFS and an ACK at the lowest rate without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eifs: Option<Duration>,
    /// From the end of a frame, how long to wait for the beginning of its ACK or CTS; SIFS, a slot
    /// and the preamble without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_timeout: Option<Duration>,
    /// Between all stations; 1 µs without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation_delay: Option<Duration>,
    /// Smallest contention window; 31 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,
    /// Largest contention window; 1023 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,
    /// Bytes that the MAC adds to an IP packet; 36 in 802.11b: header, checksum, LLC and SNAP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_overhead: Option<u32>,
}

/// What changes in a wlan at an instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WlanChangeTable {
    /// When; after the instant of the change before.
    pub at: Duration,
    /// Rate of data frames that begin then or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Channel of all pairs of stations. A model in the place of another of its kind takes over
    /// what it remembers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
}

/// Drop-tail without a limit.
fn droptail() -> queue::Config {
    queue::Config::droptail(queue::droptail::Config::default())
}

/// How often a frame is tried.
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

/// A cell of stations.
#[derive(Debug, Clone, PartialEq)]
pub struct Wlan {
    /// Unique among links and wlans.
    pub name: String,
    /// Whose numbers those of `config` are, as far as none was changed.
    pub standard: Standard,
    /// Of which length.
    pub preamble: Preamble,
    /// Everything else; its stations are nodes.
    pub config: wlan::Config,
}

impl Wlan {
    /// From a table whose name has been checked.
    ///
    /// # Errors
    /// Too few stations, a rate that the standard lacks, ranges without places, and so on.
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

    /// Two stations with nothing but the numbers of a standard.
    pub fn plain(standard: Standard) -> Self {
        let text = json!({ "name": "cell", "stations": ["a", "b"], "standard": standard });
        let table = serde_json::from_value(text).expect("all that a wlan needs");
        Self::new(table).expect("a standard holds together")
    }

    /// True when a station receives what another sends.
    pub fn joins(&self, from: usize, to: usize) -> bool {
        let bond = |geometry: &Geometry| geometry.bond(from, to).is(wlan::reach::Bond::RECEIVES);
        from != to && self.config.geometry.as_ref().is_none_or(bond)
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
