//! Round trip: a resolved scenario, written as a file and read again, is unchanged.

use proptest::prelude::*;
use retx_link::queue;
use retx_scenario::{Source, from_json, parse};
use retx_units::{Duration, Probability, Rate};
use serde_json::{Map, Value, json};

fn text_of(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("plain data")
}

fn duration() -> impl Strategy<Value = Value> {
    prop_oneof![0..10_000_000_000_u64, 0..1_u64 << 60]
        .prop_map(|n| text_of(Duration::from_nanos(n)))
}

fn rate() -> impl Strategy<Value = Value> {
    prop_oneof![1..1000_u64, 1..1_u64 << 60].prop_map(|n| text_of(Rate::from_bit_s(n)))
}

fn integer() -> impl Strategy<Value = u64> {
    0..=i64::MAX as u64
}

fn probability() -> impl Strategy<Value = Probability> {
    (0.0..=1.0).prop_map(|p| Probability::new(p).expect("a probability"))
}

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Zäß日#=/:-]([a-zA-Z0-9 ,_\\\\{}\\[\\]-]{0,8}[a-z])?"
}

/// A model of each kind without arithmetic among its parameters, and one of those with it.
fn channels() -> impl Strategy<Value = Value> {
    let model = prop_oneof![
        probability().prop_map(|p| json!({ "model": "bernoulli", "p": p })),
        (probability(), prop::sample::select(vec!["exact", "linear"]))
            .prop_map(|(ber, form)| json!({ "model": "ber", "ber": ber, "form": form })),
        (1..u32::MAX, integer()).prop_map(
            |(every, after)| json!({ "model": "periodic", "every": every, "after": after })
        ),
        (prop::collection::vec(integer(), 0..4), prop::collection::vec(integer(), 0..4))
            .prop_map(|(drop, seq)| json!({ "model": "script", "drop": drop, "drop_seq": seq })),
        (probability(), 0.001..=1.0, maybe(probability().prop_map(text_of)))
            .prop_map(|(p, r, h)| json!({ "model": "gilbert_elliott", "p": p, "r": r, "h": h })),
        (0.0..0.5, 1.0..50.0).prop_map(
            |(loss, burst)| json!({ "model": "gilbert_elliott", "loss": loss, "mean_burst": burst })
        ),
        (probability(), duration())
            .prop_map(|(p, after)| { json!({ "model": "duplicate", "p": p, "after": after }) }),
        (probability(), 1..u32::MAX, maybe(duration())).prop_map(|(p, packets, at_most)| {
            json!({ "model": "reorder", "p": p, "packets": packets, "at_most": at_most })
        }),
        (probability(), duration(), any::<bool>()).prop_map(|(share, delay, reorder)| {
            json!({ "model": "random_delay", "share": share, "delay": delay, "reorder": reorder })
        }),
        (duration(), any::<bool>()).prop_map(|(delay, reorder)| {
            json!({ "model": "jitter", "law": "constant", "delay": delay, "reorder": reorder })
        }),
        (-100.0..100.0, 0.0..1e6, 0.0..1e6).prop_map(|(snr, doppler, k)| {
            json!({ "model": "fading", "mean_snr_db": snr, "doppler_hz": doppler, "rician_k": k })
        }),
        prop::collection::vec((1..1_u64 << 40, probability(), duration()), 1..4).prop_map(|rows| {
            let mut at = 0;
            let points = rows.into_iter().map(|(gap, loss, delay)| {
                let point = json!({
                    "at": Duration::from_nanos(at), "loss": loss, "delay": delay
                });
                at += gap;
                point
            });
            json!({ "model": "trace", "points": points.collect::<Vec<_>>() })
        }),
    ];
    prop_oneof![model.clone(), prop::collection::vec(model, 0..3).prop_map(text_of)]
}

/// Changes in order of time, each of something.
fn schedule() -> impl Strategy<Value = Value> {
    let values = || (maybe(rate()), maybe(duration()), maybe(channels()));
    let change = (1..1_u64 << 50, duration(), values(), values(), values());
    let written = |values: (Value, Value, Value)| {
        let (rate, delay, channel) = values;
        json!({ "rate": rate, "delay": delay, "channel": channel })
    };
    prop::collection::vec(change, 0..4).prop_map(move |changes| {
        let mut at = 0;
        let tables = changes.into_iter().map(|(gap, some, both, forward, reverse)| {
            at += gap;
            let mut table = written(both);
            table["at"] = text_of(Duration::from_nanos(at));
            table["forward"] = written(forward);
            table["reverse"] = written(reverse);
            table["reverse"]["delay"] = some;
            table
        });
        Value::Array(tables.collect())
    })
}

fn queues() -> impl Strategy<Value = Value> {
    let droptail =
        (prop::option::of(integer()), prop::option::of(integer())).prop_map(|(packets, bytes)| {
            text_of(queue::Config::droptail(queue::droptail::Config { packets, bytes }))
        });
    let others = prop::sample::select(vec![
        json!("red"),
        json!({ "discipline": "red", "min_threshold": 2.5, "gentle": false, "packets": 40 }),
        json!({ "discipline": "codel", "target": "3 ms", "ecn": true }),
        json!({ "discipline": "fq_codel", "flows": 16, "quantum": 300 }),
        json!({ "discipline": "pie", "alpha": 0.2, "ecn_threshold": 0.3 }),
    ]);
    prop_oneof![Just(json!("droptail")), droptail, others]
}

/// A link with repair has a compatible queue and channel.
#[test]
fn repairs() {
    let link = |repairs: &str| {
        format!(
            r#"duration = "1 s"
            [[link]]
            name = "air"
            ends = ["a", "b"]
            delay = "7 ms"
            channel = {{ model = "bernoulli", p = 0.1 }}
            {repairs}
            [[flow]]
            name = "f"
            from = "a"
            to = "b"
            tcp = "reno"
            app = "bulk""#
        )
    };
    let read = |text: &str| {
        parse(&Source { name: "r.toml", text, overrides: &[] }).unwrap_or_else(|e| panic!("{e}"))
    };
    for repairs in [
        "",
        "arq = { mode = \"stop_and_wait\", retries = 0 }",
        "fec = { k = 3, n = 5, block_time = \"2 ms\", in_order = false }",
        "forward.arq = { mode = \"selective_repeat\", retries = 3 }\nreverse.delay = \"1 ms\"",
        "arq = { mode = \"selective_repeat\", retries = 3 }\nreverse.delay = \"1 ms\"",
        "arq = { mode = \"selective_repeat\", retries = 3 }\n\
         reverse.fec = { k = 1, n = 2, block_time = \"0 s\" }",
    ] {
        let scenario = read(&link(repairs));
        assert_eq!(read(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
        assert_eq!(scenario.links[0].forward.repair.is_some(), !repairs.is_empty());
    }
    let scenario = read(&link("arq = { mode = \"selective_repeat\", retries = 3 }"));
    let toml = scenario.to_toml();
    let feedback = "arq = { mode = \"selective_repeat\", retries = 3, feedback = \"14 ms\"";
    assert!(toml.contains(feedback), "{toml}");
}

/// Relays, each at a node of its own.
#[test]
fn relays() {
    for relay in [
        "kind = \"split\"",
        "kind = \"eln\"\nlink = \"air\"",
        "kind = \"snoop\"\nlink = \"wired\"",
        "kind = \"snoop\"\nlink = \"air\"\npackets = 7\ndupacks = 1\nretransmissions = 0\n\
         min_timeout = \"20 ms\"",
        "kind = \"split\"\nbuffer = \"20 mss\"\nflows = [\"f\"]\ntcp = \"sack\"",
    ] {
        let text = format!(
            r#"duration = "1 s"
            [[link]]
            name = "wired"
            ends = ["a", "b"]
            [[link]]
            name = "air"
            ends = ["b", "c"]
            [[relay]]
            name = "agent"
            node = "b"
            {relay}
            [[flow]]
            name = "f"
            from = "a"
            to = "c"
            tcp = "reno"
            app = {{ kind = "transfer", bytes = 9 }}"#
        );
        let read = |text: &str| {
            parse(&Source { name: "r.toml", text, overrides: &[] })
                .unwrap_or_else(|e| panic!("{e}"))
        };
        let scenario = read(&text);
        assert_eq!(read(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
        assert_eq!(scenario.relays.len(), 1);
        let passages = scenario.relay_positions(&scenario.flows[0]);
        assert_eq!((passages[0].data_hops, passages[0].ack_hops), (1, 1));
    }
}

fn maybe(strategy: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    // A key whose value is null is left out.
    prop_oneof![Just(Value::Null), strategy]
}

fn direction() -> impl Strategy<Value = Map<String, Value>> {
    let overhead = (0..=65_535_u32).prop_map(Value::from);
    let mtu = (1500..=65_535_u32).prop_map(Value::from);
    let values = (
        maybe(rate()),
        maybe(duration()),
        maybe(overhead),
        maybe(mtu),
        maybe(queues()),
        maybe(channels()),
    );
    values.prop_map(|(rate, delay, overhead, mtu, queue, channel)| {
        let table = json!({
            "rate": rate, "delay": delay, "overhead": overhead, "mtu": mtu,
            "queue": queue, "channel": channel
        });
        let Value::Object(table) = table else { unreachable!() };
        table
    })
}

fn link() -> impl Strategy<Value = Map<String, Value>> {
    (
        name(),
        direction(),
        schedule(),
        maybe(direction().prop_map(Value::Object)),
        maybe(direction().prop_map(Value::Object)),
    )
        .prop_map(|(name, mut link, mut schedule, forward, reverse)| {
            // A rate changes only if the link has one.
            let has = |table: &Value| table.get("rate").is_some_and(|rate| !rate.is_null());
            if link["rate"].is_null() && !(has(&forward) && has(&reverse)) {
                for change in schedule.as_array_mut().into_iter().flatten() {
                    change["rate"] = Value::Null;
                    change["forward"]["rate"] = Value::Null;
                    change["reverse"]["rate"] = Value::Null;
                }
            }
            link.insert("name".into(), name.into());
            link.insert("schedule".into(), schedule);
            link.insert("forward".into(), forward);
            link.insert("reverse".into(), reverse);
            link
        })
}

fn app() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("bulk")),
        integer().prop_map(|bytes| json!({ "kind": "transfer", "bytes": bytes })),
        (1..10_u32, integer(), duration()).prop_map(|(files, bytes, pause)| {
            json!({ "kind": "ftp", "files": files, "bytes": bytes, "pause": pause })
        }),
        prop::collection::vec(integer(), 1..4)
            .prop_map(|files| json!({ "kind": "ftp", "files": files })),
        exchanges(),
    ]
}

/// Bytes from 100 to 1000, or a law of them.
fn bytes() -> impl Strategy<Value = Value> {
    prop_oneof![
        (100..1000_u32).prop_map(|bytes| json!(bytes)),
        (100..1000_u32).prop_map(|mean| json!({ "law": "exponential", "mean": mean })),
        (100..500_u32, 500..1000_u32)
            .prop_map(|(min, max)| json!({ "law": "uniform", "min": min, "max": max })),
        (100..1000_u32, 1.001..5.0_f64)
            .prop_map(|(mean, shape)| json!({ "law": "pareto", "mean": mean, "shape": shape })),
    ]
}

/// Times of a second and more, or a law of them.
fn spells() -> impl Strategy<Value = Value> {
    let time = || (1_000_000_000..1_u64 << 40).prop_map(|n| text_of(Duration::from_nanos(n)));
    prop_oneof![
        time(),
        time().prop_map(|mean| json!({ "law": "exponential", "mean": mean })),
        (time(), 1.001..5.0_f64)
            .prop_map(|(mean, shape)| json!({ "law": "pareto", "mean": mean, "shape": shape })),
    ]
}

/// Requests over TCP.
fn exchanges() -> impl Strategy<Value = Value> {
    let reuse = prop::sample::select(vec!["one", "each"]);
    (bytes(), bytes(), spells(), maybe((1..9_u32).prop_map(|n| json!(n))), reuse).prop_map(
        |(request, response, think, exchanges, connection)| {
            json!({
                "kind": "request_response", "request": request, "response": response,
                "think": think, "exchanges": exchanges, "connection": connection
            })
        },
    )
}

/// `udp` and `app` of a flow.
fn datagrams() -> impl Strategy<Value = [Value; 2]> {
    let app = prop_oneof![
        Just(json!("cbr")),
        Just(json!("poisson")),
        (spells(), spells())
            .prop_map(|(on, off)| json!({ "kind": "on_off", "on": on, "off": off })),
        Just(json!("bulk")),
    ];
    let limit = || maybe((1..1_u64 << 40).prop_map(|n| json!(n)));
    let rate = (1_000_000..1_u64 << 40).prop_map(|n| text_of(Rate::from_bit_s(n)));
    (app, bytes(), rate, limit(), limit(), maybe(duration()), 1..99_u32).prop_map(
        |(app, packet, rate, packets, bytes, duration, backlog)| {
            let bulk = app == json!("bulk");
            let [rate, backlog] =
                if bulk { [Value::Null, json!(backlog)] } else { [rate, Value::Null] };
            let udp = json!({
                "packet": packet, "rate": rate, "backlog": backlog, "packets": packets,
                "bytes": bytes, "duration": duration
            });
            [udp, app]
        },
    )
}

/// Tables after their names; a table may be like any before it.
fn tcps() -> impl Strategy<Value = Vec<(String, Value)>> {
    let preset = prop::sample::select(retx_tcp::presets::PRESETS).prop_map(|preset| preset.name);
    let table =
        (name(), preset, any::<prop::sample::Index>(), any::<bool>(), 1..1460_u32, 1..9_u32);
    prop::collection::vec(table, 0..5).prop_map(|rows| {
        let mut tables: Vec<(String, Value)> = Vec::new();
        for (number, (name, preset, other, of_table, mss, segments)) in rows.into_iter().enumerate()
        {
            let like = if of_table && !tables.is_empty() {
                tables[other.index(tables.len())].0.clone()
            } else {
                preset.to_owned()
            };
            let table = json!({
                "like": like, "mss": mss, "receive_buffer": format!("{segments} mss"),
                "delayed_ack": { "segments": segments }
            });
            tables.push((format!("{number}{name}"), table));
        }
        tables
    })
}

fn flow() -> impl Strategy<Value = (Map<String, Value>, [prop::sample::Index; 3])> {
    let initiator = prop::sample::select(vec!["from", "to"]);
    let start = (0..1_u64 << 40).prop_map(|n| text_of(Duration::from_nanos(n)));
    let what = (app(), initiator, prop::option::weighted(0.4, datagrams()));
    (name(), what, start.clone(), start, 1..1000_u32, any::<[prop::sample::Index; 3]>()).prop_map(
        |(name, (app, initiator, udp), start, stagger, count, choices)| {
            // The client of exchanges opens.
            let initiator = if app["kind"] == "request_response" { "to" } else { initiator };
            let [udp, app, initiator] = match udp {
                Some([udp, app]) => [udp, app, Value::Null],
                None => [Value::Null, app, json!(initiator)],
            };
            let table = json!({
                "name": name, "app": app, "start": start, "stagger": stagger, "count": count,
                "initiator": initiator, "udp": udp
            });
            let Value::Object(table) = table else { unreachable!() };
            (table, choices)
        },
    )
}

/// A chain of links, some of them double, with flows between any two nodes.
fn scenario() -> impl Strategy<Value = Value> {
    let links = prop::collection::vec((link(), any::<bool>()), 1..5);
    let flows = prop::collection::vec(flow(), 1..5);
    let head = (any::<String>(), duration(), integer(), maybe(duration()), prop::bool::ANY);
    (head, tcps(), links, flows).prop_map(|(head, tcps, links, flows)| {
        let (title, duration, seed, sample_interval, complete) = head;
        let is_endless = |flow: &Map<String, Value>| {
            let kind = flow["app"]["kind"].as_str().or(flow["app"].as_str());
            !flow["udp"]["backlog"].is_null() || matches!(kind, Some("bulk" | "request_response"))
        };
        let saturated = flows.iter().any(|(flow, _)| is_endless(flow));
        let mut nodes = vec!["node 0".to_owned()];
        let mut tables = Vec::new();
        for (number, (mut link, double)) in links.into_iter().enumerate() {
            let name = format!("{number}{}", link["name"].as_str().expect("a name"));
            if !double || nodes.len() < 2 {
                nodes.push(format!("node \"{number}\"."));
            }
            link.insert("name".into(), name.into());
            link.insert("ends".into(), json!(nodes[nodes.len() - 2..]));
            // Endless flows are refused where links take no time.
            if saturated && link["delay"].is_null() {
                link.insert("delay".into(), json!("1 us"));
            }
            tables.push(link);
        }
        let mut flow_tables = Vec::new();
        for (number, (mut flow, [from, to, tcp])) in flows.into_iter().enumerate() {
            let from = from.index(nodes.len());
            // Any node but the first one chosen.
            let to = (from + 1 + to.index(nodes.len() - 1)) % nodes.len();
            let names = tcps.iter().map(|(name, _)| name.as_str());
            let names: Vec<&str> = names.chain(["reno", "newreno"]).collect();
            let name = format!("{number}{}", flow["name"].as_str().expect("a name"));
            flow.insert("name".into(), name.into());
            flow.insert("from".into(), nodes[from].clone().into());
            flow.insert("to".into(), nodes[to].clone().into());
            if flow["udp"].is_null() {
                flow.insert("tcp".into(), names[tcp.index(names.len())].into());
            }
            flow_tables.push(flow);
        }
        let sample_interval =
            if sample_interval == json!("0 s") { json!("every_ack") } else { sample_interval };
        let tcps: Map<String, Value> = tcps.into_iter().collect();
        json!({
            "title": title, "duration": duration, "seed": seed, "sample_interval": sample_interval,
            "stop": if complete { "complete" } else { "duration" },
            "tcp": tcps, "link": tables, "flow": flow_tables
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn resolved_scenarios_survive_text(value in scenario()) {
        let read = |text: &str| {
            parse(&Source { name: "p.toml", text, overrides: &[] })
                .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))
        };
        let scenario = read(&from_json(&value.to_string()).unwrap())?;
        prop_assert_eq!(&read(&scenario.to_toml())?, &scenario);
        let json = scenario.to_json().to_string();
        prop_assert_eq!(&read(&from_json(&json).unwrap())?, &scenario);
    }
}

/// A wlan with every key, and what its tables take over from the standard.
#[test]
fn wlans_survive_text() {
    let text = r#"
        duration = "10 s"
        [[wlan]]
        name = "cell"
        stations = ["a", "b", "c"]
        standard = "802.11b"
        rate = "5.5 Mbit/s"
        basic_rates = ["1 Mbit/s", "11 Mbit/s"]
        preamble = "short"
        short_retry_limit = "unlimited"
        long_retry_limit = 3
        rts_threshold = 300
        positions = [["0 m", "0 m"], ["90 m", "10 m"], ["180 m", "0 m"]]
        range = "100 m"
        carrier_sense_range = "150 m"
        queue = { discipline = "fq_codel", flows = 16 }
        channel = [
            { model = "fading", mean_snr_db = 12, doppler_hz = 5 },
            { model = "random_delay", share = 0.1, delay = "20 ms" },
        ]
        schedule = [
            { at = "2 s", rate = "1 Mbit/s" },
            { at = "3 s", rate = "11 Mbit/s", channel = { model = "bernoulli", p = 0.1 } },
            { at = "4 s", channel = [] },
        ]
        slot = "9 us"
        difs = "40 us"
        cw_min = 15
        [[flow]]
        name = "f"
        from = "a"
        to = "c"
        tcp = "reno"
        app = "bulk"
    "#;
    let read = |text: &str| parse(&Source { name: "w.toml", text, overrides: &[] }).unwrap();
    let scenario = read(text);
    assert_eq!(scenario.wlans[0].config.changes.len(), 3);
    assert_eq!(read(&scenario.to_toml()), scenario);
    assert_eq!(read(&from_json(&scenario.to_json().to_string()).unwrap()), scenario);
}
