//! Errors of relays.

use super::*;

/// Scenario of a server, a base station with a relay, and a client.
fn with(relay: &str) -> String {
    format!(
        r#"duration = "10 s"
[[link]]
name = "wired"
ends = ["server", "base"]
[[link]]
name = "air"
ends = ["base", "client"]
[[relay]]
{relay}
[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "reno"
app = {{ kind = "transfer", bytes = 9 }}
"#
    )
}

fn refused(relay: &str, message: &str) {
    assert_eq!(error(&with(relay), &[]).to_string(), expand(message), "{relay}");
}

const SPLIT: &str = "kind = \"split\"\nname = \"proxy\"";

#[test]
fn relays() {
    try_parse(&with(&format!("{SPLIT}\nnode = \"base\"")), &[]).unwrap();
    let split = |rest: &str, message: &str| refused(&format!("{SPLIT}\n{rest}"), message);
    split(
        "node = \"bas\"",
        "s.toml:11: relay.proxy.node: unknown node \"bas\"; did you mean \"base\"? (nodes are the \
         ends of links and the stations of wlans: server, base, client)",
    );
    split(
        "node = \"client\"",
        "s.toml:11: relay.proxy.node: no flow passes \"client\" between its ends: nothing to do \
         there",
    );
    split(
        "node = \"base\"\nflows = [\"upload\"]",
        "s.toml:12: relay.proxy.flows.0: no flow \"upload\" (flows \
         here: download)",
    );
    split(
        "node = \"base\"\nbuffer = 0",
        "s.toml:12: relay.proxy.buffer: 0 bytes: a proxy that holds nothing passes nothing on",
    );
    split(
        "node = \"base\"\nbufer = 10",
        "s.toml:12: relay.proxy.bufer: unknown key; did you mean \"buffer\"? (keys here: name, \
         node, flows, tcp, buffer)",
    );
    split("", "s.toml:8: relay.proxy: lacks `node`");
    refused("name = \"proxy\"", "s.toml:8: relay.proxy: lacks `kind`: one of {relays}");
    refused(
        "kind = \"splt\"",
        "s.toml:9: relay.0.kind: unknown name \"splt\"; did you mean \"split\"? (expected one of \
         {relays})",
    );
    let snoop = |rest: &str, message: &str| {
        let relay = format!("kind = \"snoop\"\nname = \"agent\"\nnode = \"base\"\n{rest}");
        refused(&relay, message);
    };
    snoop(
        "link = \"radio\"",
        "s.toml:12: relay.agent.link: unknown link \"radio\" (links and wlans here: wired, air)",
    );
    snoop("", "s.toml:8: relay.agent: lacks `link`");
    snoop(
        "link = \"air\"\npackets = 0",
        "s.toml:13: relay.agent.packets: 0 lies outside 1 … 1000000",
    );
    refused(
        "kind = \"eln\"\nname = \"teller\"\nnode = \"client\"\nlink = \"wired\"",
        "s.toml:12: relay.teller.link: \"wired\" does not begin or end at \"client\"",
    );
    let one = format!("{SPLIT}\nnode = \"base\"");
    split(
        &format!("node = \"base\"\n[[relay]]\n{one}"),
        "s.toml:14: relay.proxy.name: \"proxy\" names two relays",
    );
    split(
        &format!("node = \"base\"\n[[relay]]\n{}", one.replace("proxy", "other")),
        "s.toml:16: flow.download: passes two relays at one node, \"proxy\" and \"other\": say \
         with `flows` which of them serves it",
    );
    let text = with(&one).replace("\"download\"", "\"download@proxy\"");
    let another = "[[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"client\"\n\
                   tcp = \"reno\"\napp = { kind = \"transfer\", bytes = 9 }\n";
    assert_eq!(
        error(&format!("{text}{another}"), &[]).to_string(),
        "s.toml:19: flow.download.name: results call its part behind a relay \"download@proxy\", \
         which is another flow's name"
    );
}

/// The acknowledgments have to pass the relays too, in reverse order.
#[test]
fn ways_back() {
    let text = r#"duration = "10 s"
[[link]]
name = "wired"
ends = ["server", "base"]
[[link]]
name = "air"
ends = ["base", "client"]
[[link]]
name = "back"
ends = ["client", "server"]
[[route]]
from = "server"
to = "client"
via = ["wired", "air"]
[[route]]
from = "client"
to = "server"
via = ["back"]
[[relay]]
kind = "split"
name = "proxy"
node = "base"
[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "reno"
app = { kind = "transfer", bytes = 9 }
"#;
    assert_eq!(
        error(text, &[]).to_string(),
        "s.toml:22: relay.proxy.node: the data of \"download\" pass \"base\", their \
         acknowledgments go another way: both have to pass a relay"
    );
}
