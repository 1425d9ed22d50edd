//! Keys and names.

use super::*;

#[test]
fn unknown_keys() {
    refuse(
        "rate =",
        "dely =",
        "s.toml:10: link.cloud.dely: unknown key; did you mean \"delay\"? (keys here: {link})",
    );
    refuse(
        "rate =",
        "forward.dely =",
        "s.toml:10: link.cloud.forward.dely: unknown key; did you mean \"delay\"? (keys here: \
         rate, delay, overhead, mtu, queue, channel, arq, fec)",
    );
    refuse(
        "rate =",
        "bandwidth =",
        "s.toml:10: link.cloud.bandwidth: unknown key; did you mean \"rate\"? (keys here: {link})",
    );
    refuse(
        "warmup",
        "warmpu",
        "s.toml:2: warmpu: unknown key; did you mean \"warmup\"? (keys here: {top})",
    );
    refuse("[[flow]]", "[[wifi]]\n[[flow]]", "s.toml:14: wifi: unknown key (keys here: {top})");
    refuse(
        "tcp = \"riverbed\"",
        "sctp = 512",
        "s.toml:18: flow.download.sctp: unknown key (keys here: name, from, \
         to, tcp, udp, app, start, count, stagger, initiator, read_rate)",
    );
    refuse("p = 0.01", "pp = 0.01", "s.toml:12: link.cloud.channel.pp: unknown key (keys here: p)");
    refuse(
        "bytes =",
        "byts =",
        "s.toml:19: flow.download.app.byts: unknown key; did you mean \"bytes\"? (keys here: \
         bytes, write)",
    );
    refuse(
        "like =",
        "delayed_ack.segment = 1\nlike =",
        "s.toml:5: tcp.riverbed.delayed_ack.segment: unknown key; did you mean \"segments\"? \
         (keys here: segments, timeout, policy)",
    );
    let error = error(&BASE.replace("like =", "msss = 1\nlike ="), &[]).to_string();
    let start =
        "s.toml:5: tcp.riverbed.msss: unknown key; did you mean \"mss\"? (keys here: like, ";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn unknown_names() {
    refuse(
        "bernoulli",
        "bernouli",
        "s.toml:12: link.cloud.channel.model: unknown name \"bernouli\"; did you mean \
         \"bernoulli\"? (expected one of {channels})",
    );
    refuse(
        "\"droptail\"",
        "\"sfq\"",
        "s.toml:11: link.cloud.queue: unknown name \"sfq\" (expected one of {queues})",
    );
    refuse(
        "\"transfer\"",
        "\"http\"",
        "s.toml:19: flow.download.app.kind: unknown name \"http\" (expected one of {apps})",
    );
    refuse(
        "warmup = \"1 s\"",
        "stop = \"never\"",
        "s.toml:2: stop: unknown name \"never\" (expected one of complete, duration)",
    );
    refuse(
        "to = \"client\"",
        "to = \"clint\"",
        "s.toml:17: flow.download.to: unknown node \"clint\"; did you mean \"client\"? (nodes are \
         the ends of links and the stations of wlans: server, client)",
    );
    refuse(
        "tcp = \"riverbed\"",
        "tcp = \"rivrbed\"",
        "s.toml:18: flow.download.tcp: unknown TCP \"rivrbed\"; did you mean \"riverbed\"? ([tcp] \
         tables here: riverbed; presets: {presets})",
    );
    refuse(
        "\"riverbed_reno\"",
        "\"rino\"",
        "s.toml:5: tcp.riverbed.like: unknown TCP \"rino\"; did you mean \"reno\"? ([tcp] tables \
         here: none; presets: {presets})",
    );
    refuse(
        "[[flow]]",
        "[[route]]\nfrom = \"server\"\nto = \"client\"\nvia = [\"clod\"]\n[[flow]]",
        "s.toml:17: route.0.via: unknown link \"clod\"; did you mean \"cloud\"? \
         (links and wlans here: cloud)",
    );
}

#[test]
fn names_that_clash() {
    refuse(
        "[[flow]]",
        "[[link]]\nname = \"cloud\"\nends = [\"a\", \"b\"]\n[[flow]]",
        "s.toml:15: link.cloud.name: \"cloud\" names two links, the 1st and the 2nd of the file: \
         give each its own name",
    );
    let flow = "[[flow]]\nname = \"download\"\nfrom = \"client\"\nto = \"server\"\ntcp = \"reno\"\n\
                app = \"bulk\"\n";
    refuse(
        "[[flow]]",
        &format!("{flow}\n[[flow]]"),
        "s.toml:22: flow.download.name: \"download\" names two flows, the 1st and the 2nd of the \
         file: give each its own name",
    );
    refuse(
        "\"client\"]",
        "\"server\"]",
        "s.toml:9: link.cloud.ends: joins \"server\" to itself: name two different nodes",
    );
    refuse(
        "name = \"download\"",
        "name = \"down.load\"",
        "s.toml:15: flow.down.load.name: the flow's name \"down.load\" holds a dot or a quote, \
         which keys like link.NAME.rate could not be told from",
    );
    refuse(
        "name = \"download\"",
        "name = \"\"",
        "s.toml:15: flow..name: the flow's name \"\" is empty",
    );
    let route = "[[route]]\nfrom = \"server\"\nto = \"client\"\nvia = [\"cloud\"]\n";
    refuse(
        "[[flow]]",
        &format!("{route}{route}[[flow]]"),
        "s.toml:18: route.1: a second route from \"server\" to \"client\"",
    );
}

#[test]
fn what_is_missing() {
    refuse("duration = \"10 s\"", "", "s.toml: lacks `duration`: {needs}");
    refuse(
        "{ model = \"bernoulli\", p = 0.01 }",
        "{ p = 0.01 }",
        "s.toml:12: link.cloud.channel: lacks `model`: one of {channels}",
    );
    refuse(", bytes = 1000", "", "s.toml:19: flow.download.app: lacks `bytes`");
    refuse("name = \"download\"", "", "s.toml:14: flow.0: lacks `name`");
    refuse(
        "like = \"riverbed_reno\"",
        "mss = 3",
        "s.toml:4: tcp.riverbed: lacks `congestion_control`; start from a preset with `like`, or \
         write every field",
    );
    refuse(
        "like = \"riverbed_reno\"",
        "congestion_control = { growth = \"per_ack\" }",
        "s.toml:5: tcp.riverbed.congestion_control: lacks `name`: one of {congestion_controls}",
    );
    let (head, _) = BASE.split_once("[[link]]").unwrap();
    assert_eq!(
        error(head, &[]).to_string(),
        "s.toml: no link: write at least one [[link]] with `name` and `ends`, or one \
         [[wlan]] with `name` and `stations`"
    );
    let (head, _) = BASE.split_once("[[flow]]").unwrap();
    assert_eq!(
        error(head, &[]).to_string(),
        "s.toml: no flow: write at least one [[flow]] with `name`, `from`, `to`, `tcp` or `udp`, \
         and `app`"
    );
}

#[test]
fn sizes_of_writes() {
    let refused = "from 1 to 16777216 are allowed";
    for bytes in ["0", "16777217"] {
        refuse(
            "bytes =",
            &format!("write = {bytes}, bytes ="),
            &format!("s.toml:19: flow.download.app.write: {bytes} bytes: {refused}"),
        );
    }
}
