//! `--set key=value`.

use super::*;

#[test]
fn overrides() {
    refuse_set(
        "link.cloud.rate",
        "10",
        "s.toml: with link.cloud.rate = 10: 10 lacks a unit: write a rate like \
         \"10 Mbit/s\"",
    );
    refuse_set(
        "link.clod.rate",
        "1Gbit/s",
        "s.toml: with link.clod.rate = 1Gbit/s: no link \"clod\"; did you mean \"cloud\"? (here: \
         cloud)",
    );
    refuse_set(
        "link.cloud.dely",
        "1 s",
        "s.toml: with link.cloud.dely = 1 s: unknown key; did you mean \
         \"delay\"? (keys here: {link})",
    );
    refuse_set(
        "link.cloud.forward.channel.p",
        "2",
        "s.toml: with link.cloud.forward.channel.p = 2: 2 is not a \
         probability: it lies between 0 and 1",
    );
    refuse_set(
        "tcp.foo.mss",
        "536",
        "s.toml: with tcp.foo.mss = 536: no TCP \"foo\" (here: riverbed)",
    );
    refuse_set(
        "flow.0.tcp",
        "reno",
        "s.toml: with flow.0.tcp = reno: no flow \"0\" (here: download)",
    );
    refuse_set(
        "link.cloud.ends.5",
        "x",
        "s.toml: with link.cloud.ends.5 = x: ends is a list of 2: name an element by its number, \
         from 0",
    );
    refuse_set(
        "duration.x",
        "3",
        "s.toml: with duration.x = 3: duration is \"10 s\": it has no \"x\"",
    );
    refuse_set(
        "title",
        "{a=",
        "s.toml: with title = {a=: the value is not TOML: unclosed inline table, expected `}`",
    );
    refuse_set("", "1", "s.toml: with  = 1: \"\" is no key: write one like link.NAME.rate");
}

#[test]
fn an_override_is_blamed_for_what_it_breaks_elsewhere() {
    refuse_set(
        "duration",
        "500 ms",
        "s.toml: with duration = 500 ms: warmup: 1 s leaves nothing of the duration, 500 ms: \
         statistics start after the warm-up",
    );
    refuse_set(
        "link.cloud.mtu",
        "500",
        "s.toml: with link.cloud.mtu = 500: flow.download.tcp: its mss of 1460 and 40 bytes of \
         headers do not fit the mtu of link \"cloud\" (forward), 500",
    );
    // If there are several, the override that set the wrong value is named.
    let message = error(BASE, &[("seed", "2"), ("link.cloud.rate", "3"), ("seed", "4")]);
    assert_eq!(message.r#override.as_deref(), Some("with link.cloud.rate = 3"));
    // An error that exists without the override keeps its line.
    let text = BASE.replace("\"10 Mbit/s\"", "10");
    let message = error(&text, &[("seed", "2")]).to_string();
    assert!(message.starts_with("s.toml:10: link.cloud.rate: 10 lacks"), "{message}");
}
