//! Checks of a `[[wlan]]`.

use super::{WlanChangeTable, WlanTable};
use crate::error::Problem;
use crate::suggest::{did_you_mean, join_names};
use crate::tables::Channels;
use crate::wording::{check_name, check_order};
use retx_link::channel::Model;
use retx_link::wlan::{self, Geometry, Parameters, STATIONS_MAX};
use retx_units::{Distance, Duration, Rate, Time};

/// Ratio of the carrier sense and interference ranges to the reception range, as in ns-2 with its
/// usual ranges of 250 m and 550 m.
const SENSE_OVER_RANGE: (u64, u64) = (11, 5);
/// Maximum distance. It exceeds any distance on earth, and is far from overflow.
const DISTANCE_MAX: u64 = 100_000_000_000;
/// Maximum of counts and sizes, which keeps computations far from overflow.
const NUMBER_MAX: u32 = 65_535;

fn refuse<T>(key: &str, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::new(message).within(key))
}

pub(super) fn check_stations(stations: &[String]) -> Result<(), Problem> {
    let count = stations.len();
    if count < 2 {
        let found =
            if count == 0 { "none is named".into() } else { format!("only {count} is named") };
        return refuse("stations", format!("a wlan needs two stations at least; {found}"));
    }
    if count > STATIONS_MAX {
        return refuse("stations", format!("{count} stations: at most {STATIONS_MAX} fit a wlan"));
    }
    let mut seen = std::collections::HashSet::new();
    for station in stations {
        check_name(station, "node").map_err(|problem| problem.within("stations"))?;
        if !seen.insert(station) {
            return refuse("stations", format!("\"{station}\" is named twice"));
        }
    }
    Ok(())
}

pub(super) fn parameters(table: &WlanTable) -> Result<Parameters, Problem> {
    let standard = table.standard;
    let mut parameters = standard.parameters();
    parameters.rate = known_rate(table, "rate", table.rate.unwrap_or(parameters.rate))?;
    if let Some(rates) = &table.basic_rates {
        for rate in rates {
            known_rate(table, "basic_rates", *rate)?;
        }
        if rates.is_empty() {
            return refuse("basic_rates", "no rate: control frames need one at least");
        }
        parameters.basic_rates.clone_from(rates);
    }
    let Some(plcp) = standard.plcp(table.preamble) else {
        let name = standard.name();
        return refuse("preamble", format!("{name} has no short preamble: leave it \"long\""));
    };
    parameters.plcp = plcp;
    // The standard derives some values from others. The derived values follow the values that the
    // table sets, if the table does not set the derived values, too.
    let set = |value: &mut Duration, given: Option<Duration>| *value = given.unwrap_or(*value);
    set(&mut parameters.slot, table.slot);
    set(&mut parameters.sifs, table.sifs);
    set(&mut parameters.propagation, table.propagation_delay);
    parameters.derive();
    set(&mut parameters.difs, table.difs);
    if table.difs.is_some() {
        parameters.derive_eifs();
    }
    set(&mut parameters.eifs, table.eifs);
    set(&mut parameters.ack_timeout, table.ack_timeout);
    parameters.cw_min = table.cw_min.unwrap_or(parameters.cw_min);
    parameters.cw_max = table.cw_max.unwrap_or(parameters.cw_max.max(parameters.cw_min));
    parameters.mac_overhead = table.mac_overhead.unwrap_or(parameters.mac_overhead);
    check_parameters(&parameters)?;
    Ok(parameters)
}

fn known_rate(table: &WlanTable, key: &str, rate: Rate) -> Result<Rate, Problem> {
    let rates = table.standard.rates();
    if rates.contains(&rate) {
        return Ok(rate);
    }
    let names: Vec<String> = rates.iter().map(Rate::to_string).collect();
    let names = join_names(names.iter().map(String::as_str));
    refuse(key, format!("{} has no {rate}: it has {names}", table.standard.name()))
}

fn check_parameters(parameters: &Parameters) -> Result<(), Problem> {
    let Parameters { slot, sifs, difs, eifs, ack_timeout, propagation, .. } = *parameters;
    let times = [("slot", slot), ("sifs", sifs), ("difs", difs), ("ack_timeout", ack_timeout)];
    for (key, time) in times.into_iter().chain([("eifs", eifs), ("propagation_delay", propagation)])
    {
        if time > Duration::from_secs(1) {
            return refuse(key, format!("{time} is longer than any station waits: at most 1 s"));
        }
    }
    if slot.is_zero() || sifs.is_zero() {
        let key = if slot.is_zero() { "slot" } else { "sifs" };
        return refuse(key, "0 s: stations need time to tell whose turn it is");
    }
    if difs <= sifs {
        return refuse("difs", format!("{difs} is not longer than SIFS, {sifs}: answers go first"));
    }
    if eifs < difs {
        return refuse("eifs", format!("{eifs} is shorter than DIFS, {difs}"));
    }
    // A response begins one SIFS after the frame, so the timeout has to be longer than SIFS.
    if ack_timeout <= sifs {
        let message = format!("{ack_timeout} is over before an answer begins, after SIFS, {sifs}");
        return refuse("ack_timeout", message);
    }
    let Parameters { cw_min, cw_max, mac_overhead, .. } = *parameters;
    if cw_max < cw_min {
        return refuse("cw_max", format!("{cw_max} is less than cw_min, {cw_min}"));
    }
    if cw_max > NUMBER_MAX {
        return refuse("cw_max", format!("{cw_max} lies outside 0 … {NUMBER_MAX}"));
    }
    if mac_overhead > NUMBER_MAX {
        return refuse("mac_overhead", format!("{mac_overhead} lies outside 0 … {NUMBER_MAX}"));
    }
    Ok(())
}

/// Schedule in order of time.
pub(super) fn changes(table: &WlanTable) -> Result<Vec<wlan::Change>, Problem> {
    let mut before = None;
    let mut changes = Vec::with_capacity(table.schedule.len());
    for (index, change) in table.schedule.iter().enumerate() {
        let at = |problem: Problem| problem.within_element("schedule", index);
        check_change(table, change, before).map_err(at)?;
        before = Some(change.at);
        changes.push(wlan::Change {
            at: Time::ZERO + change.at,
            rate: change.rate,
            channel: change.channel.as_ref().map(|models| models.0.clone()),
        });
    }
    Ok(changes)
}

fn check_change(
    table: &WlanTable,
    change: &WlanChangeTable,
    before: Option<Duration>,
) -> Result<(), Problem> {
    let WlanChangeTable { at, rate, channel } = change;
    check_order(*at, before)?;
    if rate.is_none() && channel.is_none() {
        return Err(Problem::new("changes nothing: give it `rate` or `channel`"));
    }
    if let Some(rate) = rate {
        known_rate(table, "rate", *rate)?;
    }
    check_models(channel.as_ref())
}

/// Checks that the channel models only lose frames or delay them in order, and that the stations in
/// `channel_senders` exist.
pub(super) fn check_channel(table: &WlanTable) -> Result<(), Problem> {
    check_senders(table)?;
    check_models(table.channel.as_ref())
}

fn check_models(channel: Option<&Channels>) -> Result<(), Problem> {
    let models = channel.map_or(&[][..], |Channels(models)| models);
    let Some(model) = models.iter().find(|model| !wlan::supports(model)) else { return Ok(()) };
    let name = model.name();
    let why = if model.rates().is_some() {
        "says how the rate goes, and a wlan sends at its own `rate`"
    } else {
        "delivers frames twice or out of order, and a station takes every frame once, in order"
    };
    refuse("channel", format!("\"{name}\" here {why}: put it on a [[link]]"))
}

fn check_senders(table: &WlanTable) -> Result<(), Problem> {
    let Some(senders) = &table.channel_senders else { return Ok(()) };
    if senders.is_empty() {
        return refuse("channel_senders", "none is named: leave out `channel` for no errors");
    }
    let stations = || table.stations.iter().map(String::as_str);
    match senders.iter().find(|sender| !table.stations.contains(sender)) {
        None => Ok(()),
        Some(unknown) => {
            let (hint, all) = (did_you_mean(unknown, stations()), join_names(stations()));
            refuse("channel_senders", format!("no station \"{unknown}\"{hint} (stations: {all})"))
        }
    }
}

pub(super) fn geometry(table: &WlanTable) -> Result<Option<Geometry>, Problem> {
    let count = table.stations.len();
    let positions: Vec<[u64; 2]> = match (&table.spacing, &table.positions) {
        (Some(_), Some(_)) => return refuse("spacing", "say either this or `positions`"),
        (Some(spacing), None) => {
            (0..count as u64).map(|place| [spacing.as_mm().saturating_mul(place), 0]).collect()
        }
        (None, Some(positions)) => {
            if positions.len() != count {
                let found = positions.len();
                let message = format!("{found} positions for {count} stations: write one for each");
                return refuse("positions", message);
            }
            positions.iter().map(|position| position.map(Distance::as_mm)).collect()
        }
        (None, None) => {
            let ranges = [
                ("range", table.range),
                ("carrier_sense_range", table.carrier_sense_range),
                ("interference_range", table.interference_range),
            ];
            return match ranges.iter().find(|(_, range)| range.is_some()) {
                Some((key, _)) => refuse(key, "means nothing without `positions` or `spacing`"),
                None => Ok(None),
            };
        }
    };
    ranges(table, &positions).map(Some)
}

fn ranges(table: &WlanTable, positions: &[[u64; 2]]) -> Result<Geometry, Problem> {
    let key = if table.spacing.is_some() { "spacing" } else { "positions" };
    let Some(range) = table.range else {
        return refuse(key, "says who is where, but not how far a frame reaches: add `range`");
    };
    let (times, over) = SENSE_OVER_RANGE;
    let further = |given: Option<Distance>| {
        given.map_or(range.as_mm().saturating_mul(times) / over, Distance::as_mm)
    };
    let geometry = Geometry {
        positions: positions.iter().map(|place| place.map(|mm| mm as i64)).collect(),
        range: range.as_mm(),
        carrier_sense_range: further(table.carrier_sense_range),
        interference_range: further(table.interference_range),
    };
    let Geometry { range, carrier_sense_range, interference_range, .. } = geometry;
    let far = [range, carrier_sense_range, interference_range].into_iter();
    if positions.iter().flatten().copied().chain(far).any(|mm| mm > DISTANCE_MAX) {
        return refuse(key, format!("distances go up to {}", Distance::from_mm(DISTANCE_MAX)));
    }
    for (key, reach) in
        [("carrier_sense_range", carrier_sense_range), ("interference_range", interference_range)]
    {
        if reach < range {
            let message = format!(
                "{} is less than the range, {}: what can be received can be sensed and spoilt",
                Distance::from_mm(reach),
                Distance::from_mm(range)
            );
            return refuse(key, message);
        }
    }
    Ok(geometry)
}
