//! Fast paths change no result: a run with them equals a [reference run](Options::reference),
//! except for the number of events.

use crate::random;
use retx_record::tables::{LinkSamples, Tables};
use retx_scenario::{Source, parse};
use retx_sim::plan::Plan;
use retx_sim::{CapturePoint, Control, Options, Outcome, build, run_plan};
use retx_units::{Duration, Time};
use std::path::Path;

/// Records that a run keeps besides its summary.
#[derive(Debug, Clone, Copy)]
enum Recorded {
    Nothing,
    Tables,
    TablesAndCapture,
}

fn options(recorded: Recorded, reference: bool) -> Options {
    let tables = !matches!(recorded, Recorded::Nothing);
    let capture = match recorded {
        Recorded::TablesAndCapture => vec![CapturePoint::Link { link: 0, right: true }],
        Recorded::Nothing | Recorded::Tables => vec![],
    };
    let (segments, drops, episodes) = (tables, tables, tables);
    Options {
        record_segments: segments,
        record_drops: drops,
        record_episodes: episodes,
        capture_points: capture,
        is_reference_run: reference,
        ..Options::default()
    }
}

/// All results of a run as text, except the number of events; `in_lines` puts them in lines, which
/// takes several times as long but shows where two runs differ.
fn rendered(outcome: &Outcome, in_lines: bool) -> String {
    let queues = outcome.tables.link_samples.as_ref().map(LinkSamples::rows);
    let tables = Tables { link_samples: None, ..outcome.tables.clone() };
    let Outcome { flows, datagrams, links, wlans, relays, capture, .. } = outcome;
    let results = (flows, datagrams, links, wlans, relays, queues, tables);
    let results = if in_lines { format!("{results:#?}") } else { format!("{results:?}") };
    results + &format!("{capture:?}")
}

/// Fails at the first difference between a run and its reference run.
fn check(plan: &Plan, name: &str) {
    for recorded in [Recorded::Nothing, Recorded::Tables, Recorded::TablesAndCapture] {
        if matches!(recorded, Recorded::TablesAndCapture) && plan.pipes.is_empty() {
            // Captures are taken at links, and this plan has none.
            continue;
        }
        check_recorded(plan, name, recorded);
    }
}

fn check_recorded(plan: &Plan, name: &str, recorded: Recorded) {
    let [fast, reference] = [false, true].map(|reference| {
        run_plan(plan, &options(recorded, reference), &Control::default()).expect("a sound run")
    });
    if rendered(&fast, false) != rendered(&reference, false) {
        let [fast, plain] = [&fast, &reference].map(|it| rendered(it, true));
        let differs = fast.lines().zip(plain.lines()).position(|(fast, plain)| fast != plain);
        let from = differs.unwrap_or_default().saturating_sub(12);
        let part = |text: &str| text.lines().skip(from).take(15).collect::<Vec<_>>().join("\n");
        panic!("{name}, {recorded:?}: {}\nreference:\n{}", part(&fast), part(&plain));
    }
    assert!(fast.engine.events <= reference.engine.events, "{name}, {recorded:?}");
}

fn check_random(seed: u64) {
    check(&random::plan(seed), &format!("random plan {seed}"));
}

#[test]
fn random_networks_are_as_in_the_reference() {
    (0..80).for_each(check_random);
}

/// `cargo test --release -p retx-sim --test all thousands -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn thousands_of_random_networks_are_as_in_the_reference() {
    (0..2_000).for_each(check_random);
}

/// Hosts of this many flows often send in the same nanosecond.
#[test]
fn hundreds_of_flows_are_as_in_the_reference() {
    let flows = 200;
    let link = |name: &str, ends: [&str; 2], rate: u32, delay: u32, packets: u32| {
        format!(
            "[[link]]\nname = \"{name}\"\nends = {ends:?}\nrate = \"{rate} Mbit/s\"\n\
             delay = \"{delay} ms\"\noverhead = 2\n\
             queue = {{ discipline = \"droptail\", packets = {packets} }}\n"
        )
    };
    let mut text =
        "duration = \"600 ms\"\n[tcp.peer]\nlike = \"sack\"\nreceive_buffer = 131_400\n".to_owned();
    text += &link("middle", ["left", "right"], 10 * flows, 10, 20 * flows);
    for flow in 0..flows {
        let [from, to] = [format!("from{flow}"), format!("to{flow}")];
        text += &link(&from, [&from, "left"], 1000, 1, 2000);
        text += &link(&to, ["right", &to], 1000, 1, 2000);
        text += &format!(
            "[[flow]]\nname = \"flow{flow}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntcp = \"peer\"\n\
             app = \"bulk\"\nstart = \"{} us\"\n",
            1500 * flow
        );
    }
    let source = Source { name: "flows.toml", text: &text, overrides: &[] };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    check_recorded(&build::plan_from_scenario(&scenario), "flows", Recorded::Nothing);
}

#[test]
fn shipped_scenarios_are_as_in_the_reference() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for file in std::fs::read_dir(root.join("scenarios")).expect("there are some") {
        let path = file.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(&path).expect("it can be read");
            let source = Source { name: &name, text: &text, overrides: &[] };
            let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
            let mut plan = build::plan_from_scenario(&scenario);
            plan.end = plan.end.min(Time::ZERO + Duration::from_secs(20));
            check(&plan, &name);
            count += 1;
        }
    }
    assert!(count >= 10, "{count} scenarios");
}
