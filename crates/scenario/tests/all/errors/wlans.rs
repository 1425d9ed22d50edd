//! Errors of wlans.

use super::*;

const CELL: &str = r#"duration = "10 s"
[[wlan]]
name = "cell"
stations = ["a", "b", "c"]
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = "reno"
app = "bulk"
"#;

fn refuse_cell(line: &str, instead: &str, message: &str) {
    let text = CELL.replace(line, instead);
    assert_ne!(text, CELL);
    assert_eq!(error(&text, &[]).to_string(), message);
}

/// Asserts that the base scenario with another key of the wlan is refused.
fn refuse_key(line: &str, message: &str) {
    let place = "stations = [\"a\", \"b\", \"c\"]\n";
    refuse_cell(place, &format!("{place}{line}\n"), message);
}

#[test]
fn stations() {
    let stations = "[\"a\", \"b\", \"c\"]";
    let refuse_stations = |instead, message: &str| {
        refuse_cell(stations, instead, &format!("s.toml:4: wlan.cell.stations: {message}"));
    };
    refuse_stations("[]", "a wlan needs two stations at least; none is named");
    refuse_stations("[\"a\"]", "a wlan needs two stations at least; only 1 is named");
    refuse_stations("[\"a\", \"b\", \"a\"]", "\"a\" is named twice");
    refuse_stations("[\"a\", \"\"]", "the node's name \"\" is empty");
    refuse_cell(
        "[[flow]]",
        "[[link]]\nname = \"cell\"\nends = [\"a\", \"x\"]\n[[flow]]",
        "s.toml:3: wlan.cell.name: \"cell\" names a link already",
    );
    refuse_cell(
        "to = \"b\"",
        "to = \"d\"",
        "s.toml:8: flow.f.to: unknown node \"d\" (nodes are the ends of links and the stations of \
         wlans: a, b, c)",
    );
}

#[test]
fn standards_and_rates() {
    refuse_key(
        "standard = \"802.11g\"",
        "s.toml:5: wlan.cell.standard: unknown name \"802.11g\"; did you mean \"802.11b\"? \
         (expected one of 802.11b, 802.11-fhss)",
    );
    refuse_key(
        "rate = \"54 Mbit/s\"",
        "s.toml:5: wlan.cell.rate: 802.11b has no 54 Mbit/s: it has 1 Mbit/s, 2 Mbit/s, 5.5 \
         Mbit/s, 11 Mbit/s",
    );
    refuse_key(
        "standard = \"802.11-fhss\"\nbasic_rates = [\"1 Mbit/s\", \"11 Mbit/s\"]",
        "s.toml:6: wlan.cell.basic_rates: 802.11-fhss has no 11 Mbit/s: it has 1 Mbit/s, 2 Mbit/s",
    );
    refuse_key(
        "basic_rates = []",
        "s.toml:5: wlan.cell.basic_rates: no rate: control frames need one at least",
    );
    refuse_key(
        "standard = \"802.11-fhss\"\npreamble = \"short\"",
        "s.toml:6: wlan.cell.preamble: 802.11-fhss has no short preamble: leave it \"long\"",
    );
}

#[test]
fn numbers() {
    let refuse_value = |line: &str, message: &str| {
        let key = line.split(' ').next().unwrap();
        refuse_key(line, &format!("s.toml:5: wlan.cell.{key}: {message}"));
    };
    let attempts = "expected a whole number of attempts from 1, or \"unlimited\"; found";
    refuse_value("retry_limit = 0", &format!("{attempts} 0"));
    refuse_value("short_retry_limit = \"forever\"", &format!("{attempts} \"forever\""));
    refuse_value("slot = \"0 s\"", "0 s: stations need time to tell whose turn it is");
    refuse_value("slot = 20", "20 lacks a unit: write a duration like \"20 ms\" or \"2.5 s\"");
    refuse_value("difs = \"10 us\"", "10 us is not longer than SIFS, 10 us: answers go first");
    refuse_value("eifs = \"10 us\"", "10 us is shorter than DIFS, 50 us");
    refuse_value(
        "ack_timeout = \"10 us\"",
        "10 us is over before an answer begins, after SIFS, 10 us",
    );
    refuse_value(
        "propagation_delay = \"2 s\"",
        "2 s is longer than any station waits: at most 1 s",
    );
    refuse_value("cw_max = 15", "15 is less than cw_min, 31");
    refuse_value("cw_max = 70000", "70000 lies outside 0 … 65535");
    refuse_value("mac_overhead = 65536", "65536 lies outside 0 … 65535");
}

#[test]
fn queues() {
    refuse_key(
        "queue = { discipline = \"red\", min_threshold = 5, max_threshold = 4 }",
        "s.toml:5: wlan.cell.queue.max_threshold: 4 is not above min_threshold, 5; often it is 3 \
         times that",
    );
    refuse_key(
        "queue = { discipline = \"red\", mean_packet = 65536 }",
        "s.toml:5: wlan.cell.queue.mean_packet: 65536 bytes: an IP packet has 1 to 65,535",
    );
    refuse_key(
        "queue = { discipline = \"codel\", bytes = 4 }",
        "s.toml:5: wlan.cell.queue.bytes: unknown key (keys here: target, interval, ecn, packets)",
    );
}

#[test]
fn channels() {
    let order = "delivers frames twice or out of order, and a station takes every frame once, in \
                 order: put it on a [[link]]";
    let refuse_model = |name: &str, rest: &str, why: &str| {
        let line = format!(
            "channel = [{{ model = \"ber\", ber = 1e-6 }}, {{ model = \"{name}\", {rest} }}]"
        );
        refuse_key(&line, &format!("s.toml:5: wlan.cell.channel: \"{name}\" here {why}"));
    };
    refuse_model("duplicate", "p = 0.1", order);
    refuse_model("reorder", "p = 0.1, packets = 3", order);
    refuse_model("jitter", "max = \"1 ms\", reorder = true", order);
    refuse_model("random_delay", "share = 0.1, delay = \"1 ms\", reorder = true", order);
    let rate = "says how the rate goes, and a wlan sends at its own `rate`: put it on a [[link]]";
    refuse_model("trace", "points = [{ at = \"0 s\", rate = \"1 Mbit/s\" }]", rate);
    refuse_model("trace", "opportunities_ms = [1, 2]", rate);
    refuse_key(
        "channel = { model = \"bernoulli\", p = 1.5 }",
        "s.toml:5: wlan.cell.channel.p: 1.5 is not a probability: it lies between 0 and 1",
    );
    refuse_key(
        "channel = { model = \"trace\", points = [{ at = \"1 s\", loss = 0.1 }] }",
        "s.toml:5: wlan.cell.channel.points.0.at: 1 s: the first point is at 0 s",
    );
    refuse_key(
        "channel = { model = \"trace\", points = [{ at = \"0 s\", loss = 0 }, { at = \"1 s\" }] }",
        "s.toml:5: wlan.cell.channel.points.1: `loss` stands in some points only: a gap in the \
         trace",
    );
    refuse_key(
        "channel = { model = \"trace\", file = \"nowhere.csv\" }",
        "s.toml:5: wlan.cell.channel.file: nowhere.csv: no files can be read here: write the \
         values into the scenario",
    );
    // What keeps the order has a meaning: packets are handed on later.
    for model in [
        "{ model = \"random_delay\", share = 0.1, delay = \"50 ms\" }",
        "{ model = \"jitter\", max = \"5 ms\" }",
        "{ model = \"gilbert_elliott_time\", loss = 0.1, mean_burst = \"50 ms\" }",
        "{ model = \"outage\", count = 1, within = \"10 s\", duration = \"1 s\" }",
        "{ model = \"fading\", mean_snr_db = 10, doppler_hz = 5 }",
        "{ model = \"trace\", points = [{ at = \"0 s\", loss = 0.1, delay = \"5 ms\" }] }",
    ] {
        let place = "stations = [\"a\", \"b\", \"c\"]\n";
        let text = CELL.replace(place, &format!("{place}channel = {model}\n"));
        try_parse(&text, &[]).unwrap();
    }
}

#[test]
fn senders_whose_frames_a_channel_spoils() {
    refuse_key(
        "channel_senders = [\"bb\"]",
        "s.toml:5: wlan.cell.channel_senders: no station \"bb\" (stations: a, b, c)",
    );
    refuse_key(
        "channel_senders = []",
        "s.toml:5: wlan.cell.channel_senders: none is named: leave out `channel` for no errors",
    );
}

#[test]
fn schedules() {
    let refuse_schedule = |list: &str, place: &str, message: &str| {
        let line = format!("schedule = [{list}]");
        refuse_key(&line, &format!("s.toml:5: wlan.cell.schedule.{place}: {message}"));
    };
    refuse_schedule("{ at = \"1 s\" }", "0", "changes nothing: give it `rate` or `channel`");
    refuse_schedule(
        "{ at = \"2 s\", rate = \"1 Mbit/s\" }, { at = \"2 s\", channel = [] }",
        "1.at",
        "2 s does not come after 2 s, the change before: write changes in order of time",
    );
    refuse_schedule(
        "{ at = \"1 s\", rate = \"54 Mbit/s\" }",
        "0.rate",
        "802.11b has no 54 Mbit/s: it has 1 Mbit/s, 2 Mbit/s, 5.5 Mbit/s, 11 Mbit/s",
    );
    refuse_schedule(
        "{ at = \"1 s\", channel = { model = \"duplicate\", p = 0.1 } }",
        "0.channel",
        "\"duplicate\" here delivers frames twice or out of order, and a station takes every frame \
         once, in order: put it on a [[link]]",
    );
}

#[test]
fn places() {
    refuse_key(
        "range = \"100 m\"",
        "s.toml:5: wlan.cell.range: means nothing without `positions` or `spacing`",
    );
    refuse_key(
        "spacing = \"100 m\"",
        "s.toml:5: wlan.cell.spacing: says who is where, but not how far a frame reaches: add \
         `range`",
    );
    refuse_key(
        "range = \"100 m\"\npositions = [[\"0 m\", \"0 m\"]]",
        "s.toml:6: wlan.cell.positions: 1 positions for 3 stations: write one for each",
    );
    refuse_key(
        "range = \"100 m\"\npositions = [[\"0 m\", \"0 m\", \"0 m\"]]",
        "s.toml:6: wlan.cell.positions.0: a position has two coordinates; found a list of 3",
    );
    refuse_key(
        "spacing = \"1 m\"\nrange = \"100 m\"\npositions = []",
        "s.toml:5: wlan.cell.spacing: say either this or `positions`",
    );
    refuse_key(
        "range = \"100 m\"\nspacing = \"90 m\"\ncarrier_sense_range = \"80 m\"",
        "s.toml:7: wlan.cell.carrier_sense_range: 80 m is less than the range, 100 m: what can be \
         received can be sensed and spoilt",
    );
    refuse_key(
        "range = \"100 m\"\nspacing = \"101 m\"",
        "s.toml:10: flow.f.to: no way from \"a\" to \"b\": no link and no wlan leads \
         away from there",
    );
}

#[test]
fn two_cells() {
    let second = "[[wlan]]\nname = \"other\"\nstations = [\"a\", \"b\"]\n[[flow]]";
    refuse_cell(
        "[[flow]]",
        second,
        "s.toml:8: flow.f: both \"a\" and \"b\" are stations of cell, other: say with a [[route]] \
         which of them packets pass",
    );
    let text = CELL.replace("[[flow]]", second);
    let via = |via: &str| {
        let routes = [("a", "b"), ("b", "a")].map(|(from, to)| {
            format!("[[route]]\nfrom = \"{from}\"\nto = \"{to}\"\nvia = {via}\n")
        });
        routes.concat()
    };
    let with = |via_text: &str| text.replace("[[flow]]", &format!("{}[[flow]]", via(via_text)));
    try_parse(&with("[\"other\"]"), &[]).unwrap();
    try_parse(&with("[\"cell\"]"), &[]).unwrap();
    let refuse_via = |via_text: &str, message: &str| {
        let found = error(&with(via_text), &[]).to_string();
        assert_eq!(found, format!("s.toml:11: route.0.via: {message}"));
    };
    refuse_via(
        "[\"b\"]",
        "both \"cell\" and \"other\" lead from \"a\" to \"b\": name one of them before the station",
    );
    refuse_via(
        "[\"other\", \"c\", \"b\"]",
        "after wlan \"other\" comes \"c\": name the station of the wlan to which it leads",
    );
    refuse_via("[\"wlan\"]", "unknown link \"wlan\" (links and wlans here: cell, other)");
}
