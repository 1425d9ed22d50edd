//! Values that no run can use.

use super::*;

#[test]
fn quantities() {
    let example = "write a duration like \"20 ms\" or \"2.5 s\"";
    refuse("\"10 s\"", "10", &format!("s.toml:1: duration: 10 lacks a unit: {example}"));
    refuse("\"10 s\"", "2.5", &format!("s.toml:1: duration: 2.5 lacks a unit: {example}"));
    refuse("\"10 s\"", "\"10\"", &format!("s.toml:1: duration: \"10\" lacks a unit: {example}"));
    refuse(
        "\"10 s\"",
        "\"10 parsec\"",
        "s.toml:1: duration: unknown unit \"parsec\" in \"10 parsec\": a duration takes ns, us, \
         µs, ms, s, min, h",
    );
    refuse(
        "\"10 s\"",
        "\"soon\"",
        "s.toml:1: duration: \"soon\" is not a duration: write it like \"20 ms\" or \"2.5 s\"",
    );
    refuse(
        "\"10 Mbit/s\"",
        "10",
        "s.toml:10: link.cloud.rate: 10 lacks a unit: write a rate like \"10 Mbit/s\"",
    );
    refuse(
        "\"10 Mbit/s\"",
        "\"-1 Mbit/s\"",
        "s.toml:10: link.cloud.rate: \"-1 Mbit/s\" is negative: a rate cannot be",
    );
    let nothing = "0 bit/s sends nothing; without a rate frames take no time to send";
    refuse("\"10 Mbit/s\"", "\"0 kbit/s\"", &format!("s.toml:10: link.cloud.rate: {nothing}"));
    refuse(
        "rate = \"10 Mbit/s\"",
        "rate = \"1 bit/s\"\nreverse.rate = \"0 bit/s\"",
        &format!("s.toml:11: link.cloud.reverse.rate: {nothing}"),
    );
    refuse(
        "\"10 Mbit/s\"",
        "\"0.1 bit/s\"",
        "s.toml:10: link.cloud.rate: \"0.1 bit/s\" is too small for a rate, whose least is 1 bit/s",
    );
    refuse(
        "0.01",
        "1.5",
        "s.toml:12: link.cloud.channel.p: 1.5 is not a probability: it lies between 0 and 1",
    );
    refuse(
        "0.01",
        "-0.1",
        "s.toml:12: link.cloud.channel.p: -0.1 is not a probability: it lies between 0 and 1",
    );
    refuse("0.01", "nan", "s.toml:12: link.0.channel.p: nan is not a finite number");
    refuse(
        "bytes = 1000",
        "bytes = -1",
        "s.toml:19: flow.download.app.bytes: expected a whole number, 0 or more; found -1",
    );
    refuse(
        "warmup = \"1 s\"",
        "seed = 99999999999999999999",
        "s.toml:2: seed: 99999999999999999999 is too large: integers end at 2^63",
    );
    refuse(
        "warmup = \"1 s\"",
        "sample_interval = \"0 s\"",
        "s.toml:2: sample_interval: 0 s: samples need time between them; or write \"every_ack\"",
    );
    refuse(
        "warmup = \"1 s\"",
        "sample_interval = 1",
        &format!("s.toml:2: sample_interval: 1 lacks a unit: {example}; or write \"every_ack\""),
    );
}

#[test]
fn wrong_types() {
    refuse("0.01", "\"a\"", "s.toml:12: link.cloud.channel.p: expected a number; found \"a\"");
    let share = "s.toml:12: link.cloud.channel.p: expected a number; found \"57 %\": write 0.57";
    refuse("0.01", "\"57 %\"", share);
    let size = "expected a whole number, 0 or more; found \"1.5 MB\": write 1500000";
    refuse("warmup = \"1 s\"", "seed = \"1.5 MB\"", &format!("s.toml:2: seed: {size}"));
    refuse(
        "warmup = \"1 s\"",
        "seed = 1.5",
        "s.toml:2: seed: expected a whole number, 0 or more; found 1.5",
    );
    refuse("warmup = \"1 s\"", "sweep = 3", "s.toml:2: sweep: expected a table; found 3");
    refuse("warmup = \"1 s\"", "title = 3", "s.toml:2: title: expected text in quotes; found 3");
    refuse(
        "warmup = \"1 s\"",
        "title = 1979-05-27",
        "s.toml:2: title: 1979-05-27 is a date or a time of day: nothing in a scenario takes one",
    );
    refuse(
        "[[link]]",
        "[link]",
        "s.toml:7: link: expected a list of tables, each under a [[link]] of its own; found a \
         table",
    );
    refuse(
        "[tcp.riverbed]\nlike =",
        "tcp.riverbed =",
        "s.toml:4: tcp.riverbed: expected a table such as { like = \"reno\" }; found \
         \"riverbed_reno\"",
    );
    refuse(
        "\"droptail\"",
        "3",
        "s.toml:11: link.cloud.queue: 3 is neither a name nor a table with `discipline`; names \
         are {queues}",
    );
    refuse(
        "{ model = \"bernoulli\", p = 0.01 }",
        "{ model = \"script\", drop = [1, \"a\"] }",
        "s.toml:12: link.cloud.channel.drop.1: expected a whole number, 0 or more; found \"a\"",
    );
    refuse(
        "{ model = \"bernoulli\", p = 0.01 }",
        "[{ model = \"bernoulli\", p = 0.01 },\n{ model = \"periodic\", every = 0 }]",
        "s.toml:13: link.cloud.channel.1.every: expected a whole number from 1 to 4294967295; \
         found 0",
    );
    refuse(
        "\"client\"]",
        "\"client\", \"x\"]",
        "s.toml:9: link.cloud.ends: a link has two ends; found a list of 3",
    );
    refuse(
        "[\"server\", \"client\"]",
        "[\"server\"]",
        "s.toml:9: link.cloud.ends: a link has two ends; found a list of 1",
    );
}

#[test]
fn counts() {
    let outside = |line: &str, count: &str| format!("s.toml:{line}: flow.download.count: {count}");
    refuse("tcp = \"r", "count = 0\ntcp = \"r", &outside("18", "0 lies outside 1 … 1000000"));
    refuse(
        "tcp = \"r",
        "count = 1000001\ntcp = \"r",
        &outside("18", "1000001 lies outside 1 … 1000000"),
    );
    refuse(
        "tcp = \"r",
        "count = 10_000_000_000\ntcp = \"r",
        &outside("18", "expected a whole number from 0 to 4294967295; found 10000000000"),
    );
    refuse(
        "[[flow]]",
        "[[flow]]\nname = \"a\"\nfrom = \"client\"\nto = \"server\"\ntcp = \"reno\"\n\
         app = \"bulk\"\ncount = 1000000\n[[flow]]",
        "s.toml:21: flow.download.count: 1000001 flows up to here: at most 1000000 can be run",
    );
    refuse(
        "tcp = \"r",
        "count = 1000000\nstagger = \"9000 h\"\ntcp = \"r",
        "s.toml:19: flow.download.stagger: the last of these flows would start too late to count",
    );
}

#[test]
fn ftp() {
    let app = "{ kind = \"transfer\", bytes = 1000 }";
    let at = |rest: &str| format!("s.toml:19: flow.download.app.{rest}");
    refuse(
        app,
        "{ kind = \"ftp\", files = 3 }",
        &at("files: a number of files needs their size, `bytes`"),
    );
    refuse(
        app,
        "{ kind = \"ftp\", files = [3], bytes = 3 }",
        &at("bytes: contradicts `files`, which lists the sizes already"),
    );
    refuse(
        app,
        "{ kind = \"ftp\", files = 0, bytes = 3 }",
        &at("files: 0 files: from 1 to 1000000 are allowed"),
    );
    refuse(
        app,
        "{ kind = \"ftp\", files = [1, -1] }",
        &at("files: expected a number of files, or a list of their sizes in bytes"),
    );
}

#[test]
fn contradictions() {
    refuse(
        "\"1 s\"",
        "\"10 s\"",
        "s.toml:2: warmup: 10 s leaves nothing of the duration, 10 s: statistics start after the \
         warm-up",
    );
    refuse(
        "like =",
        "mss = 1461\nlike =",
        "s.toml:19: flow.download.tcp: its mss of 1461 and 40 bytes of headers do not fit the mtu \
         of link \"cloud\" (forward), 1500",
    );
    refuse(
        "like =",
        "mss = 0\nlike =",
        "s.toml:5: tcp.riverbed.mss: 0 lies outside 1 … 65495 bytes",
    );
    refuse(
        "like =",
        "delayed_ack.segments = 0\nlike =",
        "s.toml:5: tcp.riverbed.delayed_ack.segments: 0: write 1 to acknowledge every segment",
    );
    refuse(
        "like = \"riverbed_reno\"",
        "like = \"b\"\n[tcp.b]\nlike = \"c\"\n[tcp.c]\nlike = \"riverbed\"",
        "s.toml:9: tcp.c.like: \"riverbed\" goes round in a circle: riverbed, b, c, riverbed",
    );
    refuse(
        "\"riverbed_reno\"",
        "\"riverbed\"",
        "s.toml:5: tcp.riverbed.like: \"riverbed\" goes round in a circle: riverbed, riverbed",
    );
    refuse(
        "rate = \"10 Mbit/s\"",
        "mtu = 60",
        "s.toml:10: link.cloud.mtu: 60 lies outside 80 … 65535 bytes",
    );
    refuse(
        "rate = \"10 Mbit/s\"",
        "forward.overhead = 70000",
        "s.toml:10: link.cloud.forward.overhead: 70000 lies outside 0 … 65535 bytes",
    );
}
