//! Error messages word for word: position, problem, and remedy.

mod channels;
mod keys;
mod overrides;
mod relays;
mod routes;
mod texts;
mod topologies;
mod traffic;
mod values;
mod wlans;

use retx_link::{channel, queue};
use retx_scenario::{App, Position, Relay, ScenarioError, Source, from_json, parse};
use retx_tcp::{congestion_control, presets};

const BASE: &str = r#"duration = "10 s"
warmup = "1 s"

[tcp.riverbed]
like = "riverbed_reno"

[[link]]
name = "cloud"
ends = ["server", "client"]
rate = "10 Mbit/s"
queue = "droptail"
channel = { model = "bernoulli", p = 0.01 }

[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "riverbed"
app = { kind = "transfer", bytes = 1000 }
"#;

const NEEDS: &str = "a scenario needs at least a `duration`, one [[link]] with `name` and `ends` \
                     or one [[wlan]] with `name` and `stations`, and one [[flow]] with `name`, \
                     `from`, `to`, `tcp` or `udp`, and `app`";

fn try_parse(text: &str, set: &[(&str, &str)]) -> Result<(), ScenarioError> {
    let overrides: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    parse(&Source { name: "s.toml", text, overrides: &overrides }).map(|_| ())
}

fn error(text: &str, set: &[(&str, &str)]) -> ScenarioError {
    try_parse(text, set).expect_err(&format!("accepted with {set:?}:\n{text}"))
}

/// Expands names in braces to the lists of the registries.
fn expand(message: &str) -> String {
    let presets: Vec<&str> = presets::PRESETS.iter().map(|preset| preset.name).collect();
    message
        .replace("{channels}", &channel::Config::NAMES.join(", "))
        .replace("{queues}", &queue::Config::NAMES.join(", "))
        .replace("{congestion_controls}", &congestion_control::Config::NAMES.join(", "))
        .replace("{apps}", &App::NAMES.join(", "))
        .replace("{presets}", &presets.join(", "))
        .replace("{relays}", &Relay::NAMES.join(", "))
        .replace("{needs}", NEEDS)
        .replace(
            "{top}",
            "title, duration, stop, warmup, seed, sample_interval, tcp, topology, link, \
             wlan, route, relay, flow, sweep",
        )
        .replace(
            "{link}",
            "name, ends, rate, delay, overhead, mtu, queue, channel, arq, fec, schedule, forward, \
             reverse",
        )
}

/// Asserts that the base scenario with `from` replaced by `to` is refused with exactly this
/// message.
fn refuse(from: &str, to: &str, message: &str) {
    assert!(BASE.contains(from), "{from} is not in the base");
    let error = error(&BASE.replacen(from, to, 1), &[]);
    assert_eq!(error.to_string(), expand(message), "{from} -> {to}");
}

fn refuse_set(key: &str, value: &str, message: &str) {
    assert_eq!(error(BASE, &[(key, value)]).to_string(), expand(message), "{key}={value}");
}

#[test]
fn the_base_is_sound() {
    try_parse(BASE, &[]).unwrap();
}
