//! Resolution of valid files.

use retx_link::{channel, queue};
use retx_scenario::{
    App, Direction, Files, Flow, Hop, Initiator, SampleInterval, Scenario, Source, Stop, from_json,
    parse,
};
use retx_tcp::{Size, presets};
use retx_units::{Duration, Rate};

const HEAD: &str = "duration = \"10 s\"\n";
const APP: &str = "{ kind = \"transfer\", bytes = 9 }";
const FLOW: &str = "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"c\"\ntcp = \"reno\"\n\
                    app = { kind = \"transfer\", bytes = 9 }\n";

fn read(text: &str) -> Scenario {
    read_with(text, &[])
}

fn read_with(text: &str, set: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    parse(&Source { name: "s.toml", text, overrides: &overrides })
        .unwrap_or_else(|error| panic!("{error}"))
}

fn link(name: &str, ends: [&str; 2]) -> String {
    format!("[[link]]\nname = \"{name}\"\nends = [\"{}\", \"{}\"]\n", ends[0], ends[1])
}

fn one_link(more: &str) -> Scenario {
    read(&format!("{HEAD}{}{more}\n{FLOW}", link("ac", ["a", "c"])))
}

fn path(scenario: &Scenario, hops: &[Hop]) -> Vec<String> {
    let name = |hop: &Hop| match *hop {
        Hop::Link { link, direction: way } => {
            format!("{} {}", scenario.links[link as usize].name, way.name())
        }
        Hop::Wlan { wlan, from, to } => {
            let wlan = &scenario.wlans[wlan as usize];
            let [from, to] = [from, to].map(|it| &wlan.config.stations[usize::from(it)]);
            format!("{} {from}-{to}", wlan.name)
        }
    };
    hops.iter().map(name).collect()
}

/// Index of the first flow's TCP.
fn tcp_of(scenario: &Scenario) -> usize {
    scenario.flows[0].tcp().expect("over TCP").0
}

#[test]
fn defaults() {
    let scenario = one_link("");
    assert_eq!(scenario.title, "");
    assert_eq!(scenario.duration, Duration::from_secs(10));
    assert_eq!(scenario.stop, Stop::Complete);
    assert_eq!(scenario.warmup, Duration::ZERO);
    assert_eq!(scenario.seed, 1);
    assert_eq!(scenario.sample_interval, None);
    let direction = &scenario.links[0].forward;
    assert_eq!(direction.rate, None);
    assert_eq!(direction.delay, Duration::ZERO);
    assert_eq!((direction.overhead, direction.mtu), (38, 1500));
    assert_eq!(direction.queue, queue::Config::droptail(Default::default()));
    assert_eq!(direction.channel, []);
    assert_eq!(scenario.links[0].reverse, *direction);
    let flow = &scenario.flows[0];
    assert_eq!(flow.tcp(), Some((0, Initiator::To)));
    assert_eq!((flow.count, flow.start, flow.stagger), (1, Duration::ZERO, Duration::ZERO));
    assert_eq!(scenario.nodes(), ["a", "c"]);
}

#[test]
fn times_of_nothing_are_sound() {
    let text = format!("duration = \"0 s\"\n{}{FLOW}", link("ac", ["a", "c"]));
    assert_eq!(read(&text).duration, Duration::ZERO);
    let empty = text.replace(APP, "{ kind = \"transfer\", bytes = 0 }");
    let App::Transfer(transfer) = &read(&empty).flows[0].app else { panic!("not a transfer") };
    assert_eq!(transfer.bytes, 0);
}

#[test]
fn a_direction_overrides_the_link() {
    let scenario = one_link(
        "rate = \"1 Mbit/s\"\ndelay = \"3 ms\"\nmtu = 9000\n\
         channel = { model = \"periodic\", every = 5 }\n\
         queue = { discipline = \"droptail\", packets = 7 }\n\
         reverse.rate = \"2 Mbit/s\"\nreverse.channel = []\nforward.overhead = 0\n",
    );
    let link = &scenario.links[0];
    assert_eq!(link.forward.rate, Some(Rate::from_bit_s(1_000_000)));
    assert_eq!(link.reverse.rate, Some(Rate::from_bit_s(2_000_000)));
    assert_eq!(link.forward.channel.len(), 1);
    assert_eq!(link.reverse.channel, []);
    assert_eq!((link.forward.overhead, link.reverse.overhead), (0, 38));
    for direction in [&link.forward, &link.reverse] {
        assert_eq!(direction.delay, Duration::from_millis(3));
        assert_eq!(direction.mtu, 9000);
        let queue::Config::droptail(queue) = &direction.queue else { panic!("{direction:?}") };
        assert_eq!(queue.packets, Some(7));
    }
}

#[test]
fn every_key_of_a_direction_overrides_the_link() {
    let scenario = one_link(
        "rate = \"1 Mbit/s\"\ndelay = \"3 ms\"\nmtu = 9000\noverhead = 1\n\
         queue = { discipline = \"droptail\", packets = 7 }\n\
         channel = { model = \"periodic\", every = 5 }\n\
         [link.reverse]\nrate = \"2 Mbit/s\"\ndelay = \"4 ms\"\nmtu = 8000\noverhead = 2\n\
         queue = { discipline = \"droptail\", packets = 8 }\n\
         channel = { model = \"periodic\", every = 6 }\n",
    );
    let values = |direction: &Direction| {
        let queue::Config::droptail(queue) = &direction.queue else { panic!("{direction:?}") };
        let [channel::Config::periodic(channel)] = direction.channel.as_slice() else {
            panic!("{direction:?}")
        };
        let rate = direction.rate.map(Rate::as_bit_s);
        let delay = direction.delay.as_nanos();
        (
            rate,
            delay,
            direction.mtu,
            direction.overhead,
            queue.packets,
            channel.frames_per_loss.get(),
        )
    };
    let link = &scenario.links[0];
    assert_eq!(values(&link.forward), (Some(1_000_000), 3_000_000, 9000, 1, Some(7), 5));
    assert_eq!(values(&link.reverse), (Some(2_000_000), 4_000_000, 8000, 2, Some(8), 6));
}

#[test]
fn a_list_of_channel_models_keeps_its_order() {
    let scenario = one_link(
        "channel = [{ model = \"periodic\", every = 5 }, { model = \"bernoulli\", p = 0.5 }]",
    );
    let names: Vec<&str> =
        scenario.links[0].reverse.channel.iter().map(channel::Config::name).collect();
    assert_eq!(names, ["periodic", "bernoulli"]);
}

#[test]
fn tcps_start_from_what_they_are_like() {
    let scenario = one_link(
        "[tcp.a]\nlike = \"b\"\ncongestion_control = \"tahoe\"\n\
         [tcp.b]\nlike = \"reno\"\nmss = 500\ndelayed_ack = { segments = 1 }\n\
         congestion_control = { name = \"reno\", growth = \"bytes_acked\" }\n\
         [tcp.c]\nlike = \"a\"\nreceive_buffer = \"6 mss\"\n",
    );
    let names: Vec<&str> = scenario.tcps.iter().map(|tcp| tcp.name.as_str()).collect();
    // TCPs of the file in its order, then the preset that the flow names.
    assert_eq!(names, ["a", "b", "c", "reno"]);
    let [a, b, c, reno] = [0, 1, 2, 3].map(|index| &scenario.tcps[index].config);
    assert_eq!(*reno, (presets::find("reno").unwrap().config)());
    assert_eq!(tcp_of(&scenario), 3);
    assert_eq!((a.mss, c.mss), (500, 500));
    // A plain table merges by key.
    assert_eq!(c.delayed_ack.segments, 1);
    assert_eq!(c.delayed_ack.timeout, reno.delayed_ack.timeout);
    // A choice is replaced as a whole.
    let name = |config: &retx_tcp::Config| config.congestion_control.name();
    assert_eq!((name(a), name(b), name(c)), ("tahoe", "reno", "tahoe"));
    assert_eq!(c.receive_buffer, Size::Mss(6));
}

#[test]
fn a_choice_of_the_same_name_or_of_none_keeps_what_is_inherited() {
    let tables = "[tcp.a]\nlike = \"vegas\"\n\
         congestion_control = { name = \"vegas\", alpha = 2, beta = 5 }\n\
         [tcp.same]\nlike = \"a\"\ncongestion_control = { name = \"vegas\", beta = 6 }\n\
         [tcp.unnamed]\nlike = \"a\"\ncongestion_control = { beta = 6 }\n\
         [tcp.bare]\nlike = \"a\"\ncongestion_control = \"vegas\"\n\
         [tcp.other]\nlike = \"a\"\ncongestion_control = { name = \"veno\" }\n";
    let text = format!("{HEAD}{}{tables}{FLOW}", link("ac", ["a", "c"]));
    let scenario = read_with(&text, &[("tcp.a.congestion_control.gamma", "3")]);
    let control = |name: &str| {
        let tcp = scenario.tcps.iter().find(|tcp| tcp.name == name).expect("it is defined");
        serde_json::to_value(&tcp.config.congestion_control).expect("plain data")
    };
    for name in ["same", "unnamed"] {
        let control = control(name);
        let of = |key: &str| control[key].as_f64();
        assert_eq!((of("alpha"), of("beta"), of("gamma")), (Some(2.0), Some(6.0), Some(3.0)));
    }
    assert_eq!(control("bare")["beta"].as_f64(), Some(3.0));
    assert_eq!(control("other")["name"], "veno");
}

#[test]
fn a_parameter_of_an_inherited_choice_can_be_set_alone() {
    let text = format!("{HEAD}{}[tcp.x]\nlike = \"reno\"\n{FLOW}", link("ac", ["a", "c"]));
    let scenario = read_with(&text, &[("tcp.x.congestion_control.growth", "per_ack")]);
    let control = serde_json::to_value(&scenario.tcps[0].config.congestion_control);
    assert_eq!(control.expect("plain data")["growth"], "per_ack");
}

/// Under Linux presets, names of congestion controls are the kernel's, wherever they are set; a
/// parameter that only the RFC's model has selects that model. The resolved scenario names the one
/// selected.
#[test]
fn names_under_linux_are_the_kernels() {
    let tables = "[tcp.x]\nlike = \"linux\"\ncongestion_control = \"reno\"\n\
         [tcp.far]\nlike = \"x\"\ncongestion_control = \"westwood\"\n\
         [tcp.back]\nlike = \"linux_bbr\"\ncongestion_control = \"cubic\"\n\
         [tcp.kept]\nlike = \"x\"\nmss = 500\n\
         [tcp.rfc]\nlike = \"x\"\ncongestion_control = { name = \"reno\", growth = \"per_ack\" }\n\
         [tcp.old]\nlike = \"linux24\"\ncongestion_control = \"reno\"\n\
         [tcp.other]\nlike = \"sack\"\ncongestion_control = \"cubic\"\n";
    let text = format!("{HEAD}{}{tables}{FLOW}", link("ac", ["a", "c"]));
    let named = |scenario: &Scenario, name: &str| {
        let tcp = scenario.tcps.iter().find(|tcp| tcp.name == name).expect("it is defined");
        tcp.config.congestion_control.clone()
    };
    let linux = (presets::find("linux").unwrap().config)().congestion_control;
    let read_again = |scenario: &Scenario| {
        let json = serde_json::to_string(scenario).expect("plain data");
        read(&from_json(&json).expect("it was written"))
    };
    let scenario = read(&text);
    for scenario in [read_again(&scenario), scenario] {
        for (name, control) in [
            ("x", "reno_linux"),
            ("far", "westwood_linux"),
            ("kept", "reno_linux"),
            ("rfc", "reno"),
            ("old", "reno"),
        ] {
            assert_eq!(named(&scenario, name).name(), control, "{name}");
        }
        assert_eq!(named(&scenario, "back"), linux);
        assert_ne!(named(&scenario, "other"), linux);
    }
    let set = |value: &str| named(&read_with(&text, &[("tcp.x.congestion_control", value)]), "x");
    assert_eq!(set("hybla").name(), "hybla_linux");
    assert_eq!(set("{ name = \"vegas\", alpha = 3 }").name(), "vegas_linux");
    let growth = [("tcp.x.congestion_control.growth", "bytes_acked")];
    assert_eq!(named(&read_with(&text, &growth), "x").name(), "reno");
    // A preset that flows name, changed on the command line.
    let flow = FLOW.replace("\"reno\"", "\"linux\"");
    let text = format!("{HEAD}{}{flow}", link("ac", ["a", "c"]));
    let scenario = read_with(&text, &[("tcp.linux.congestion_control", "veno")]);
    assert_eq!(named(&scenario, "linux").name(), "veno_linux");
}

#[test]
fn none_unsets_what_may_be_absent() {
    let scenario = one_link(
        "[tcp.limited]\nlike = \"reno\"\ninitial_ssthresh = 10_000\nmax_cwnd = 20_000\n\
         advertised_window = 30_000\nmax_retransmissions = 5\n\
         [tcp.free]\nlike = \"limited\"\ninitial_ssthresh = \"none\"\nmax_cwnd = \"none\"\n\
         advertised_window = \"none\"\nmax_retransmissions = \"none\"\n",
    );
    assert_eq!(scenario.tcps[0].config.max_retransmissions, Some(5));
    assert_eq!(scenario.tcps[1].config, (presets::find("reno").expect("a preset").config)());
}

#[test]
fn a_table_may_be_named_like_the_preset_that_it_starts_from() {
    let scenario =
        one_link("[tcp.reno]\nlike = \"reno\"\nmss = 100\n[tcp.other]\nlike = \"reno\"\n");
    assert_eq!(scenario.tcps[tcp_of(&scenario)].config.mss, 100);
    assert_eq!(scenario.tcps[1].config.mss, 100);
}

#[test]
fn fewest_hops_and_then_the_order_of_definition() {
    let links = |order: [&str; 5]| -> String {
        let ends = |name: &str| {
            let (from, to) = name.split_at(1);
            link(name, [from, to])
        };
        order.into_iter().map(ends).collect()
    };
    let laid = |order| {
        let scenario = read(&format!("{HEAD}{}{FLOW}", links(order)));
        (
            path(&scenario, &scenario.flows[0].forward_path),
            path(&scenario, &scenario.flows[0].reverse_path),
        )
    };
    // a-b-c and a-d-c tie; a-b-e-c would be longer.
    let (there, back) = laid(["ab", "bc", "ad", "dc", "be"]);
    assert_eq!(there, ["ab forward", "bc forward"]);
    assert_eq!(back, ["bc reverse", "ab reverse"]);
    let (there, _) = laid(["ad", "be", "bc", "dc", "ab"]);
    assert_eq!(there, ["ad forward", "dc forward"]);
    let (there, _) = laid(["dc", "ac", "bc", "ab", "ad"]);
    assert_eq!(there, ["ac forward"]);
}

#[test]
fn links_are_passed_in_either_direction() {
    let text = format!("{HEAD}{}{}{FLOW}", link("ba", ["b", "a"]), link("bc", ["b", "c"]));
    let scenario = read(&text);
    let flow = &scenario.flows[0];
    assert_eq!(path(&scenario, &flow.forward_path), ["ba reverse", "bc forward"]);
    assert_eq!(path(&scenario, &flow.reverse_path), ["bc reverse", "ba forward"]);
}

#[test]
fn written_routes_hold_for_their_direction() {
    let links = link("ac", ["a", "c"]) + &link("ab", ["a", "b"]) + &link("bc", ["b", "c"]);
    let route = |from: &str, to: &str, via: &str| {
        format!("[[route]]\nfrom = \"{from}\"\nto = \"{to}\"\nvia = {via}\n")
    };
    let laid = |routes: &str| {
        let scenario = read(&format!("{HEAD}{links}{routes}{FLOW}"));
        (
            path(&scenario, &scenario.flows[0].forward_path),
            path(&scenario, &scenario.flows[0].reverse_path),
        )
    };
    let long = ["ab forward", "bc forward"].map(str::to_owned).to_vec();
    let long_back = ["bc reverse", "ab reverse"].map(str::to_owned).to_vec();
    let there = route("a", "c", "[\"ab\", \"bc\"]");
    let back = route("c", "a", "[\"bc\", \"ab\"]");
    assert_eq!(laid(&there), (long.clone(), long_back.clone()));
    assert_eq!(laid(&back), (vec!["ac forward".to_owned()], long_back.clone()));
    let direct_back = route("c", "a", "[\"ac\"]");
    assert_eq!(laid(&(there + &direct_back)), (long, vec!["ac reverse".to_owned()]));
}

#[test]
fn counted_flows_expand() {
    let text = format!(
        "{HEAD}{}{FLOW}count = 3\nstart = \"1 s\"\nstagger = \"100 ms\"\n",
        link("ac", ["a", "c"])
    );
    let scenario = read(&(text.clone() + &FLOW.replace("\"f\"", "\"g\"")));
    let expanded: Vec<(String, u64)> = scenario
        .flows
        .iter()
        .flat_map(Flow::expanded)
        .map(|flow| (flow.name(), flow.start.as_nanos() / 1_000_000))
        .collect();
    let expected = [("f.0", 1000), ("f.1", 1100), ("f.2", 1200), ("g", 0)];
    assert_eq!(expanded, expected.map(|(name, start)| (name.to_owned(), start)));
    assert_eq!(scenario.flow_count(), 4);
}

#[test]
fn ftp_lists_or_counts_its_files() {
    let app = |app: &str| {
        let text = format!("{HEAD}{}{}", link("ac", ["a", "c"]), FLOW.replace(APP, app));
        let App::Ftp(ftp) = read(&text).flows[0].app.clone() else { panic!("not ftp") };
        ftp
    };
    let counted = app("{ kind = \"ftp\", files = 2, bytes = 9, pause = \"1 s\" }");
    assert_eq!((&counted.files, counted.pause), (&Files::Count(2), Duration::from_secs(1)));
    assert_eq!([0, 1, 2].map(|number| counted.file_bytes(number)), [Some(9), Some(9), None]);
    let listed = app("{ kind = \"ftp\", files = [5, 0] }");
    assert_eq!(listed.files, Files::Sizes(vec![5, 0]));
    assert_eq!([0, 1, 2].map(|number| listed.file_bytes(number)), [Some(5), Some(0), None]);
}

#[test]
fn overrides_reach_everything() {
    let text = format!(
        "{HEAD}{}queue = \"droptail\"\nchannel = {{ model = \"bernoulli\", p = 0.1 }}\n{FLOW}\
         [tcp.x]\nlike = \"reno\"\n",
        link("the link", ["a", "c"])
    );
    let scenario = read_with(
        &text,
        &[
            ("duration", "5s"),
            ("title", "what it is"),
            ("sample_interval", "every_ack"),
            ("link.the link.rate", "3 Mbit/s"),
            ("link.\"the link\".forward.channel.p", "0.5"),
            ("link.the link.queue.packets", "9"),
            ("flow.f.tcp", "x"),
            ("flow.f.count", "2"),
            ("tcp.x.mss", "700"),
            ("tcp.x.delayed_ack.segments", "1"),
            ("tcp.newreno.mss", "800"),
        ],
    );
    assert_eq!(scenario.duration, Duration::from_secs(5));
    assert_eq!(scenario.title, "what it is");
    assert_eq!(scenario.sample_interval, Some(SampleInterval::EveryAck));
    let link = &scenario.links[0];
    assert_eq!(link.reverse.rate, Some(Rate::from_bit_s(3_000_000)));
    // Setting one direction of a shared channel leaves the other as it was.
    let p = |channel: &channel::Config| match channel {
        channel::Config::bernoulli(config) => config.p.value(),
        other => panic!("{other:?}"),
    };
    assert_eq!((p(&link.forward.channel[0]), p(&link.reverse.channel[0])), (0.5, 0.1));
    let queue::Config::droptail(queue) = &link.forward.queue else { panic!("{link:?}") };
    assert_eq!(queue.packets, Some(9));
    assert_eq!(scenario.flow_count(), 2);
    let tcp = &scenario.tcps[tcp_of(&scenario)];
    assert_eq!((tcp.name.as_str(), tcp.config.mss, tcp.config.delayed_ack.segments), ("x", 700, 1));
    // A preset that is changed gets a table of its own.
    assert_eq!(scenario.tcps[1].name, "newreno");
    assert_eq!(scenario.tcps[1].config.mss, 800);
}

#[test]
fn a_sweep_is_kept_as_written() {
    let sweep = "[sweep]\nreplications = 30\n\"link.ac.forward.channel.p\" = [0, 1e-4, 0.1]\n";
    let scenario = one_link(sweep);
    let sweep = scenario.sweep.as_ref().unwrap();
    assert_eq!(sweep["replications"], 30);
    assert_eq!(sweep["link.ac.forward.channel.p"], serde_json::json!([0, 1e-4, 0.1]));
}

#[test]
fn json_and_toml_are_the_same_scenario() {
    let scenario = one_link("[tcp.x]\nlike = \"reno\"\n[sweep]\nreplications = 3\n");
    let text = from_json(&scenario.to_json().to_string()).unwrap();
    assert_eq!(read(&text), scenario);
    assert_eq!(text, scenario.to_toml());
}

#[test]
fn any_character_survives_text() {
    let odd: String = (0..=0x2ff).filter_map(char::from_u32).collect();
    let json =
        serde_json::json!({ "title": odd, "sweep": { odd.as_str(): [{ odd.as_str(): odd }] } });
    let text = from_json(&json.to_string()).unwrap();
    assert_eq!(toml::from_str::<serde_json::Value>(&text).unwrap(), json);
}

/// A TCP can be adjusted like `--set` does without a scenario around it, with the same errors.
#[test]
fn a_tcp_can_be_adjusted_alone() {
    let reno = (retx_tcp::presets::find("reno").unwrap().config)();
    let change = |key: &str, value: &str| {
        retx_scenario::adjust_tcp(&reno, false, &[(key.to_owned(), value.to_owned())])
    };
    let adjusted = change("delayed_ack.segments", "1").unwrap();
    assert_eq!(adjusted.delayed_ack.segments, 1);
    assert_eq!(retx_tcp::Config { delayed_ack: reno.delayed_ack, ..adjusted }, reno);
    let growth = change("congestion_control.growth", "bytes_acked").unwrap();
    assert_ne!(growth.congestion_control, reno.congestion_control);
    let linux = (retx_tcp::presets::find("linux").unwrap().config)();
    let change_name = |is_linux| {
        let change = ("congestion_control".to_owned(), "vegas".to_owned());
        retx_scenario::adjust_tcp(&linux, is_linux, &[change]).unwrap().congestion_control.name()
    };
    assert_eq!((change_name(true), change_name(false)), ("vegas_linux", "vegas"));
    let error = change("minimum_rto", "1 s").unwrap_err().to_string();
    assert!(error.contains("minimum_rto: unknown key"), "{error}");
    let error = change("min_rto", "90 s").unwrap_err().to_string();
    assert!(error.contains("min_rto: 90 s is more than max_rto"), "{error}");
}
