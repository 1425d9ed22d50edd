//! Trace files: their contents become part of the scenario, which needs no other file afterwards.

use retx_link::channel;
use retx_scenario::{ExternalSources, Scenario, Source, parse, parse_with};
use retx_tcp::NoLoader;

fn read(link: &str, files: &[(&str, &str)]) -> Scenario {
    let text = format!(
        "duration = \"10 s\"\n[[link]]\nname = \"a\"\nends = [\"x\", \"y\"]\n{link}\n[[flow]]\n\
         name = \"f\"\nfrom = \"x\"\nto = \"y\"\ntcp = \"reno\"\napp = \"bulk\"\n"
    );
    let read = |name: &str| {
        let found = files.iter().find(|(file, _)| *file == name);
        found.map(|(_, content)| (*content).to_owned()).ok_or_else(|| format!("no file {name}"))
    };
    let source = Source { name: "s.toml", text: &text, overrides: &[] };
    parse_with(&source, ExternalSources { files: &read, code: &NoLoader })
        .unwrap_or_else(|error| panic!("{error}"))
}

fn again(scenario: &Scenario) -> Scenario {
    let text = scenario.to_toml();
    let source = Source { name: "again.toml", text: &text, overrides: &[] };
    parse(&source).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_table_takes_the_place_of_its_file() {
    let csv = "# recorded\ntime_s, loss, delay_s, rate_bit_s\n0, 0.1, 0.02, 1e6\n0.5,0,0,0\n";
    let scenario = read(
        "forward.channel = [{ model = \"trace\", file = \"d/t.csv\", every = \"2 s\" }]",
        &[("d/t.csv", csv)],
    );
    let inline = r#"forward.channel = { model = "trace", every = "2 s", points = [
        { at = "0 s", loss = 0.1, delay = "20 ms", rate = "1 Mbit/s" },
        { at = "500 ms", loss = 0, delay = "0 s", rate = "0 bit/s" },
    ] }"#;
    assert_eq!(scenario.links, read(inline, &[]).links);
    assert_eq!(again(&scenario), scenario);
}

#[test]
fn opportunities_take_the_place_of_their_file() {
    let link = "channel = { model = \"trace\", file = \"up\", format = \"mahimahi\" }";
    let scenario = read(link, &[("up", "1\n1\r\n5\n")]);
    let [channel::Config::trace(trace)] = scenario.links[0].reverse.channel.as_slice() else {
        panic!("one trace")
    };
    assert_eq!(trace.opportunities_ms, [1, 1, 5]);
    assert_eq!(again(&scenario), scenario);
}
