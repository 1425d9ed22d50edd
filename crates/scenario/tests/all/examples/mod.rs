//! Example files: valid, valid again when resolved, and in accord with the JSON Schema.

mod schema_check;

use retx_scenario::{Scenario, Source, describe, json_schema, parse};
use serde_json::{Value, json};
use std::path::Path;

fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of examples")
        .map(|file| file.expect("a file").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    let read = |file: &std::path::PathBuf| {
        (
            file.file_name().expect("a name").to_string_lossy().into_owned(),
            std::fs::read_to_string(file).expect("a readable file"),
        )
    };
    files.iter().map(read).collect()
}

fn read(name: &str, text: &str) -> Scenario {
    parse(&Source { name, text, overrides: &[] }).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn resolved_files_parse_to_the_same_scenario() {
    for (name, text) in examples() {
        let scenario = read(&name, &text);
        let resolved = scenario.to_toml();
        assert_eq!(read(&name, &resolved), scenario, "{resolved}");
        assert_eq!(read(&name, &resolved).to_toml(), resolved);
    }
}

#[test]
fn examples_accord_with_the_schema() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    for (name, text) in examples() {
        for text in [read(&name, &text).to_toml(), text] {
            let value: Value = toml::from_str(&text).unwrap();
            schema_check::check(&schema, &value).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        }
    }
}

#[test]
fn the_schema_refuses_what_the_parser_refuses() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let (_, text) = examples().into_iter().find(|(name, _)| name == "noisy-download.toml").unwrap();
    let sound: Value = toml::from_str(&text).unwrap();
    let spoil: [(&str, Value); 9] = [
        ("/duration", json!(10)),
        ("/link/0/ends", json!(["a"])),
        ("/link/0/queue", json!("sfq")),
        ("/link/0/forward", json!({ "dely": "1 s" })),
        ("/link/0/forward/channel/p", json!(2)),
        ("/tcp/riverbed", json!({ "msss": 1 })),
        ("/tcp/riverbed", json!({ "like": "reno", "congestion_control": { "grwth": 1 } })),
        ("/flow/0/app", json!({ "kind": "transfer" })),
        ("/flow/0", json!({ "name": "f" })),
    ];
    for (place, value) in spoil {
        let mut spoilt = sound.clone();
        *spoilt.pointer_mut(place).unwrap() = value.clone();
        assert!(schema_check::check(&schema, &spoilt).is_err(), "{place} = {value}");
        let text = retx_scenario::from_json(&spoilt.to_string()).unwrap();
        parse(&Source { name: "", text: &text, overrides: &[] }).unwrap_err();
    }
}

#[test]
fn the_schema_refuses_shapes_that_the_parser_refuses() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let sound = json!({ "shape": "dumbbell", "n": 2, "access": { "mtu": 1600 } });
    let check = |topology: &Value| {
        let value = json!({ "duration": "1 s", "topology": topology });
        let text = retx_scenario::from_json(&value.to_string()).unwrap();
        let parsed = parse(&Source { name: "", text: &text, overrides: &[] });
        (schema_check::check(&schema, &value).is_ok(), parsed.is_ok())
    };
    assert_eq!(check(&sound), (true, true));
    assert_eq!(check(&json!("satellite")), (true, true));
    let spoil = [
        ("shape", json!("star")),
        ("n", json!(0)),
        ("n", json!("2")),
        ("hops", json!(2)),
        ("access", json!({ "name": "mine" })),
        ("access", json!({ "dely": "1 s" })),
        ("flow", json!({ "to": "r1" })),
        ("cross", json!({ "forwards": 1 })),
    ];
    for (key, value) in spoil {
        let mut spoilt = sound.clone();
        spoilt[key] = value.clone();
        assert_eq!(check(&spoilt), (false, false), "{key} = {value}");
    }
}

#[test]
fn everything_to_choose_from_is_described() {
    let kinds = describe();
    let names: Vec<&String> = kinds.as_object().unwrap().keys().collect();
    let expected = [
        "tcp",
        "congestion_control",
        "loss_detection",
        "loss_cause",
        "rto",
        "backoff",
        "spurious",
        "channel",
        "queue",
        "repair",
        "wlan",
        "relay",
        "application",
        "topology",
    ];
    assert_eq!(names, expected);
    for (kind, choices) in kinds.as_object().unwrap() {
        for choice in choices.as_array().unwrap() {
            assert_ne!(choice["summary"], "", "{kind} {}", choice["name"]);
            for parameter in choice["parameters"].as_array().unwrap() {
                assert_ne!(parameter["doc"], "", "{kind} {}: {parameter}", choice["name"]);
                assert_ne!(parameter["type"], "", "{kind} {}: {parameter}", choice["name"]);
            }
        }
    }
}

#[test]
fn parameters_have_types_defaults_and_values() {
    let kinds = describe();
    let find = |kind: &str, name: &str, parameter: &str| -> Value {
        let named = |list: &Value, name: &str| {
            let mut list = list.as_array().unwrap().iter();
            list.find(|entry| entry["name"] == name).unwrap().clone()
        };
        named(&named(&kinds[kind], name)["parameters"], parameter)
    };
    assert_eq!(
        find("channel", "bernoulli", "p"),
        json!({
            "name": "p",
            "type": "probability",
            "required": true,
            "doc": "Probability of losing a frame.",
        })
    );
    let form = find("channel", "ber", "form");
    assert_eq!((&form["type"], &form["default"]), (&json!("name"), &json!("exact")));
    assert_eq!(form["values"][1]["name"], "linear");
    assert_eq!(find("channel", "script", "drop")["type"], "list of integer");
    assert_eq!(find("queue", "droptail", "packets")["type"], "integer");
    assert_eq!(find("application", "ftp", "pause")["type"], "duration");
    let buffer = find("tcp", "riverbed_reno", "receive_buffer");
    assert_eq!((&buffer["type"], &buffer["default"]), (&json!("size"), &json!(8760)));
    assert_eq!(find("tcp", "reno", "min_rto")["type"], "duration");
    let control = find("tcp", "reno", "congestion_control");
    assert_eq!(control["type"], "choice");
    assert_eq!(control["values"][0]["name"], "reno");
    // Both standards, with what the table of the how-to page says of them.
    for (key, b, fhss) in [
        ("slot", json!("20 us"), json!("50 us")),
        ("sifs", json!("10 us"), json!("28 us")),
        ("difs", json!("50 us"), json!("128 us")),
        ("eifs", json!("364 us"), json!("396 us")),
        ("ack_timeout", json!("222 us"), json!("206 us")),
        ("cw_min", json!(31), json!(31)),
        ("cw_max", json!(1023), json!(1023)),
        ("rate", json!("11 Mbit/s"), json!("1 Mbit/s")),
        ("basic_rates", json!(["1 Mbit/s", "2 Mbit/s"]), json!(["1 Mbit/s"])),
        ("mac_overhead", json!(36), json!(34)),
        ("short_retry_limit", json!(7), json!(7)),
        ("long_retry_limit", json!(4), json!(4)),
    ] {
        let found = ["802.11b", "802.11-fhss"].map(|name| find("wlan", name, key));
        assert_eq!([&found[0]["default"], &found[1]["default"]], [&b, &fhss], "{key}");
        assert_eq!(found[0]["required"], false);
    }
    let rates = |name| find("wlan", name, "rate")["values"].as_array().unwrap().len();
    assert_eq!((rates("802.11b"), rates("802.11-fhss")), (4, 2));
    assert_eq!(find("wlan", "802.11b", "stations")["required"], true);
    assert_eq!(find("wlan", "802.11b", "spacing")["type"], "distance");
    assert_eq!(find("wlan", "802.11b", "slot")["type"], "duration");
}
