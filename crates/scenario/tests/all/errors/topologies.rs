//! Topologies with invalid parameters, and errors in the links and flows that they generate.

use super::*;

fn with(topology: &str) -> String {
    format!("duration = \"10 s\"\n[topology]\n{topology}\n")
}

fn refused(topology: &str, message: &str) {
    assert_eq!(error(&with(topology), &[]).to_string(), expand(message), "{topology}");
}

fn refused_set(topology: &str, set: (&str, &str), message: &str) {
    assert_eq!(error(&with(topology), &[set]).to_string(), message, "{topology} {set:?}");
}

const DUMBBELL: &str = "shape = \"dumbbell\"\nn = 2\n";

#[test]
fn shapes() {
    try_parse(&with(DUMBBELL), &[]).unwrap();
    refused(
        "n = 2",
        "s.toml:2: topology: lacks `shape`: one of chain, dumbbell, parking_lot, satellite",
    );
    refused(
        "shape = \"dumbell\"",
        "s.toml:3: topology.shape: unknown name \"dumbell\"; did you mean \"dumbbell\"? (expected \
         one of chain, dumbbell, parking_lot, satellite)",
    );
    refused("shape = \"chain\"", "s.toml:2: topology: lacks `hops`");
    refused(
        "shape = \"chain\"\nn = 2",
        "s.toml:4: topology.n: unknown key (keys here: hops, link, flow, cross)",
    );
    let message = "s.toml:4: topology.hops: 256 lies outside 1 … 255";
    refused("shape = \"chain\"\nhops = 256", message);
    let message = "s.toml:4: topology.n: 10001 lies outside 1 … 10000";
    refused("shape = \"dumbbell\"\nn = 10001", message);
    let message = "s.toml:5: topology.reverse: 3 lies outside 0 … 2";
    refused(&format!("{DUMBBELL}reverse = 3"), message);
    refused(
        &format!("{DUMBBELL}cross = {{ forward = 10_001 }}"),
        "s.toml:5: topology.cross.forward: 10001 lies outside 0 … 10000",
    );
    let text = "duration = \"10 s\"\n[[topology]]\nshape = \"satellite\"\n";
    assert!(error(text, &[]).to_string().starts_with("s.toml:2: topology: "));
}

#[test]
fn keys_of_all_links_or_flows() {
    refused(
        &format!("{DUMBBELL}[topology.access]\ndely = \"1 s\""),
        "s.toml:6: topology.access.dely: unknown key; did you mean \"delay\"? (keys here: {link})",
    );
    refused(
        &format!("{DUMBBELL}bottleneck.name = \"b\""),
        "s.toml:5: topology.bottleneck.name: the shape itself gives name, ends: leave this out",
    );
    refused(
        &format!("{DUMBBELL}cross.flow = {{ from = \"r1\" }}"),
        "s.toml:5: topology.cross.flow.from: the shape itself gives name, from, to: leave this out",
    );
    let presets: Vec<&str> = presets::PRESETS.iter().map(|preset| preset.name).collect();
    let message = error(&with(&format!("{DUMBBELL}flow.tcp = \"renu\"")), &[]).to_string();
    assert!(message.starts_with("s.toml:5: topology.flow.tcp: "), "{message}");
    assert!(message.ends_with(&format!("{})", presets.join(", "))), "{message}");
    refused(
        &format!("{DUMBBELL}access.rate = \"0 bit/s\""),
        "s.toml:5: topology.access.rate: 0 bit/s sends nothing; without a rate frames take no \
         time to send",
    );
}

#[test]
fn beside_what_the_file_holds() {
    let link = "[[link]]\nname = \"spur\"\nends = [\"r1\", \"x\"]\n";
    let spur = format!("{DUMBBELL}{link}");
    try_parse(&with(&spur), &[]).unwrap();
    refused(
        &spur.replace("spur", "left1"),
        "s.toml:6: link.left1.name: \"left1\" names a link of the [topology]: take another name",
    );
    // Lines and names are those of the file, though other links stand before this one.
    let message = "s.toml:8: link.spur.mtu: 3 lies outside 80 … 65535 bytes";
    refused(&format!("{spur}mtu = 3"), message);
    let flow = "[[flow]]\nname = \"own\"\nfrom = \"x\"\nto = \"y\"\ntcp = \"reno\"\napp = \"bulk\"";
    let message = error(&with(&format!("{spur}{flow}")), &[]).to_string();
    assert!(message.starts_with("s.toml:11: flow.own.to: unknown node \"y\""), "{message}");
    let message = error(&with(&format!("{DUMBBELL}[link]\nname = \"a\"")), &[]).to_string();
    assert!(message.contains("under a [[link]] of its own"), "{message}");
}

#[test]
fn overrides_reach_the_shape_and_what_it_stands_for() {
    refused_set(
        DUMBBELL,
        ("topology.n", "0"),
        "s.toml: with topology.n = 0: 0 lies outside 1 … 10000",
    );
    refused_set(
        DUMBBELL,
        ("topology.access.mtu", "3"),
        "s.toml: with topology.access.mtu = 3: 3 lies outside 80 … 65535 bytes",
    );
    refused_set(
        DUMBBELL,
        ("link.left1.mtu", "3"),
        "s.toml: with link.left1.mtu = 3: 3 lies outside 80 … 65535 bytes",
    );
    refused_set(
        DUMBBELL,
        ("link.left2.mtu", "3"),
        "s.toml: with link.left2.mtu = 3: no link \"left2\"; did you mean \"left0\"? (here: \
         bottleneck, left0, left1, right0, right1)",
    );
    // The order of overrides does not matter here: a link is there as soon as its pair is.
    let set = [("link.left2.mtu", "1600"), ("topology.n", "3")];
    try_parse(&with(DUMBBELL), &set).unwrap();
    let set = [("topology.bottleneck.queue.packets", "0"), ("topology", "chain")];
    assert!(try_parse(&with(DUMBBELL), &set).is_err());
    try_parse("duration = \"1 s\"", &[("topology", "satellite")]).unwrap();
}
