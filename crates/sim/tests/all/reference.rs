//! Fast paths change no result: a run with them equals a [reference run](Options::reference),
//! except for the number of events.

use crate::random;
use retx_record::tables::{LinkSamples, Tables};
use retx_scenario::{Source, parse};
use retx_sim::plan::{Plan, Sampling};
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

/// Link with a droptail queue, as text of a scenario; the delay is in nanoseconds, and `more` are
/// further lines.
fn link(
    name: &str,
    ends: [&str; 2],
    (rate, delay, packets): (u32, u32, u32),
    more: &str,
) -> String {
    format!(
        "[[link]]\nname = \"{name}\"\nends = {ends:?}\nrate = \"{rate} Mbit/s\"\n\
         delay = \"{delay} ns\"\noverhead = 2\n\
         queue = {{ discipline = \"droptail\", packets = {packets} }}\n{more}"
    )
}

/// Flow from one host to another, as text of a scenario.
fn flow(name: &str, [from, to]: [&str; 2], start_us: u32, app: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntcp = \"peer\"\n\
         app = {app}\nstart = \"{start_us} us\"\n"
    )
}

fn plan(text: &str) -> Plan {
    let source = Source { name: "flows.toml", text, overrides: &[] };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    build::plan_from_scenario(&scenario)
}

/// Hosts of this many flows often send in the same nanosecond.
#[test]
fn hundreds_of_flows_are_as_in_the_reference() {
    let flows = 200;
    let mut text =
        "duration = \"600 ms\"\n[tcp.peer]\nlike = \"sack\"\nreceive_buffer = 131_400\n".to_owned();
    text += &link("middle", ["left", "right"], (10 * flows, 10_000_000, 20 * flows), "");
    for number in 0..flows {
        let [from, to] = [format!("from{number}"), format!("to{number}")];
        text += &link(&from, [&from, "left"], (1000, 1_000_000, 2000), "");
        text += &link(&to, ["right", &to], (1000, 1_000_000, 2000), "");
        text += &flow(&format!("flow{number}"), [&from, &to], 1500 * number, "\"bulk\"");
    }
    check_recorded(&plan(&text), "flows", Recorded::Nothing);
}

/// Bursts that their hosts send at once: some fill the queue of the first link before they end.
#[test]
fn bursts_are_as_in_the_reference() {
    for (preset, queue) in [("linux", 1000), ("linux", 7), ("linux_bbr", 1000), ("linux_bbr", 5)] {
        let flows = 6;
        let mut text = format!("duration = \"500 ms\"\n[tcp.peer]\nlike = \"{preset}\"\n");
        text += &link("middle", ["left", "right"], (600, 9_000_000, 600), "");
        for number in 0..flows {
            let [from, to] = [format!("from{number}"), format!("to{number}")];
            text += &link(&from, [&from, "left"], (1000, 1_000_000, queue), "");
            text += &link(&to, ["right", &to], (1000, 1_000_000, 1000), "");
            text += &flow(&format!("flow{number}"), [&from, &to], 1500 * number, "\"bulk\"");
        }
        let plan = plan(&text);
        check(&plan, preset);
        let outcome = run_plan(&plan, &Options::default(), &Control::default()).expect("a run");
        let first = outcome.links.iter().find(|link| link.name == "from0").expect("a link");
        assert_eq!(first.drops.queue > 0, queue < 1000, "{preset}, {queue} packets");
    }
}

/// Several flows over one link, in both directions: without a rate, their packets often arrive in
/// the same nanosecond, also those of data and of acknowledgments.
#[test]
fn flows_that_share_a_link_are_as_in_the_reference() {
    let loss = "forward.channel = { model = \"bernoulli\", p = 0.01 }\n";
    for (preset, back, more) in [
        ("newreno", "", ""),
        ("sack", "", loss),
        ("linux", "reverse.rate = \"40 Mbit/s\"\n", ""),
        ("linux_bbr", "reverse.rate = \"40 Mbit/s\"\n", loss),
    ] {
        let mut text = format!("duration = \"2 s\"\n[tcp.peer]\nlike = \"{preset}\"\n");
        text += &format!(
            "[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\nforward.rate = \"40 Mbit/s\"\n\
             delay = \"5 ms\"\n\
             {back}forward.queue = {{ discipline = \"droptail\", packets = 30 }}\n{more}"
        );
        for number in 0..6 {
            let ends = if number == 5 { ["b", "a"] } else { ["a", "b"] };
            text += &flow(&format!("flow{number}"), ends, 50_000 * (number / 2), "\"bulk\"");
        }
        check(&plan(&text), &format!("{preset}{back}{more}"));
    }
}

/// A buffer of Linux lets an acknowledgment be followed at once by an update of the window.
#[test]
fn window_updates_after_acknowledgments_are_as_in_the_reference() {
    for (preset, buffer) in [("sack", 60_000), ("newreno", 60_000), ("sack", 40_000)] {
        let mut text = format!(
            "seed = 12\nduration = \"20 s\"\n[tcp.peer]\nlike = \"{preset}\"\n\
             buffers = \"linux\"\nreceive_buffer = {buffer}\n"
        );
        let loss = "channel = { model = \"bernoulli\", p = 0.01 }\n";
        text += &link("path", ["a", "b"], (5, 20_000_000, 30), loss);
        text += &flow("upload", ["a", "b"], 1_000_000, "\"bulk\"");
        check_recorded(&plan(&text), &format!("{preset} {buffer}"), Recorded::Nothing);
    }
}

/// Packets that reach a cell at the start or end of a slot, as the first hop, and over links whose
/// events precede those of the cell.
#[test]
fn cells_with_simultaneous_events_are_as_in_the_reference() {
    for offset_us in (0..120).step_by(10) {
        let mut text =
            "duration = \"200 ms\"\nwarmup = \"33 ms\"\nsample_interval = \"130 us\"\n".to_owned();
        for name in ["one", "two"] {
            text += &format!(
                "[[wlan]]\nname = \"{name}\"\nstations = [\"{name}-a\", \"{name}-b\", \
                 \"{name}-c\"]\nrate = \"11 Mbit/s\"\n"
            );
        }
        text += &link("over", ["one-c", "two-a"], (1000, 10_000, 50), "");
        text += &link("into", ["host", "one-a"], (0, 50_000, 50), "")
            .replace("rate = \"0 Mbit/s\"\n", "");
        for (name, ends, start) in [
            ("first", ["one-a", "one-b"], 0),
            ("second", ["one-b", "one-c"], offset_us),
            ("third", ["host", "one-c"], 2 * offset_us),
            ("fourth", ["one-a", "two-b"], 3 * offset_us),
            ("fifth", ["two-c", "two-a"], offset_us),
        ] {
            text += &format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"{}\"\nto = \"{}\"\n\
                 udp = {{ packet = 500, rate = \"2 Mbit/s\" }}\napp = \"cbr\"\n\
                 start = \"{start} us\"\n",
                ends[0], ends[1]
            );
        }
        check(&plan(&text), &format!("cells, {offset_us} us"));
    }
}

/// A network of more than a thousand shared pipes. In the order of events, the state of the next
/// ones is prefetched; if no pipe loses or duplicates packets, arrivals are handled by epochs. If
/// the delays are alike, many packets reach shared pipes in the same nanosecond.
#[test]
fn networks_of_many_shared_pipes_are_as_in_the_reference() {
    for impaired in [true, false] {
        let mut links = 0;
        let text = leaves_and_spines(impaired, || {
            links += 1;
            1000 + links * links % 3989 * 7919 % 3989
        });
        check(&plan(&text), "many pipes");
        let mut alike = plan(&leaves_and_spines(impaired, || 1000));
        check(&alike, "many pipes with equal delays");
        // Counters are read while packets are between two hops.
        alike.warmup = Time::from_nanos(1_234_567);
        alike.sampling = Sampling::Every(Duration::from_nanos(777_777));
        alike.runs_to_end = true;
        alike.end = Time::from_nanos(23_456_789);
        check(&alike, "many pipes with samples");
    }
}

fn leaves_and_spines(impaired: bool, mut delay: impl FnMut() -> u32) -> String {
    const LEAVES: u32 = 24;
    const SPINES: u32 = 40;
    let mut text =
        "duration = \"1 s\"\n[tcp.peer]\nlike = \"sack\"\nmin_rto = \"10 ms\"\n".to_owned();
    for leaf in 0..LEAVES {
        for host in ["a", "b"] {
            let name = format!("{host}{leaf}");
            text += &link(&name, [&name, &format!("leaf{leaf}")], (1000, delay(), 20), "");
        }
        for spine in 0..SPINES {
            let more = match (leaf + spine) % 9 {
                _ if !impaired => "",
                0 => "channel = [{ model = \"bernoulli\", p = 0.02 }]\n",
                1 => "channel = [{ model = \"duplicate\", p = 0.02, after = \"3 us\" }]\n",
                _ => "",
            };
            let ends = [format!("leaf{leaf}"), format!("spine{spine}")];
            let name = format!("{leaf}-{spine}");
            text += &link(&name, [&ends[0], &ends[1]], (1000, delay(), 20), more);
        }
    }
    for number in 0..10 * LEAVES {
        let (leaf, other, spine) =
            (number % LEAVES, (7 * number + number / LEAVES + 5) % LEAVES, (number / 2) % SPINES);
        if leaf == other {
            continue;
        }
        let ends = [format!("b{leaf}"), format!("a{other}")];
        let via = [&ends[0], &format!("{leaf}-{spine}"), &format!("{other}-{spine}"), &ends[1]];
        let [from, to] = [&ends[0], &ends[1]];
        text += &format!("[[route]]\nfrom = {from:?}\nto = {to:?}\nvia = {via:?}\n");
        let back: Vec<_> = via.iter().rev().collect();
        text += &format!("[[route]]\nfrom = {to:?}\nto = {from:?}\nvia = {back:?}\n");
        let app = "{ kind = \"transfer\", bytes = 50_000 }";
        text += &flow(&format!("flow{number}"), [from, to], number % 50, app);
    }
    text
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
