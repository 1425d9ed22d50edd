//! Flows of UDP and applications that do not fit together.

use super::{BASE, error, try_parse};

/// Asserts that the base scenario with this `tcp` and `app` is refused.
fn refuse(flow: &str, message: &str) {
    let app = "tcp = \"riverbed\"\napp = { kind = \"transfer\", bytes = 1000 }\n";
    assert!(BASE.ends_with(app));
    let text = BASE.replace(app, flow);
    assert_eq!(error(&text, &[]).to_string(), message);
}

#[test]
fn one_transport_that_suits_the_application() {
    refuse(
        "app = \"bulk\"\n",
        "s.toml:14: flow.download: lacks `tcp` or `udp`: a [tcp.NAME] or a preset, or packets of \
         UDP",
    );
    refuse(
        "tcp = \"reno\"\nudp = { packet = 512 }\napp = \"bulk\"\n",
        "s.toml:19: flow.download.udp: contradicts `tcp`: a flow is carried by one or the other",
    );
    refuse(
        "tcp = \"reno\"\napp = \"cbr\"\n",
        "s.toml:19: flow.download.app: cbr goes by UDP: write `udp` in place of `tcp`",
    );
    refuse(
        "udp = { packet = 512 }\napp = { kind = \"transfer\", bytes = 1 }\n",
        "s.toml:19: flow.download.app: transfer needs a connection: write `tcp` in place of `udp`",
    );
    refuse(
        "udp = { packet = 512, rate = \"1 Mbit/s\" }\napp = \"cbr\"\ninitiator = \"to\"\n",
        "s.toml:20: flow.download.initiator: UDP opens no connection",
    );
    refuse(
        "udp = { packet = 512, rate = \"1 Mbit/s\" }\napp = \"cbr\"\nread_rate = \"1 Mbit/s\"\n",
        "s.toml:20: flow.download.read_rate: UDP has no window: a slow reader would not slow its \
         sender",
    );
    refuse(
        "tcp = \"reno\"\napp = \"bulk\"\nread_rate = \"0 bit/s\"\n",
        "s.toml:20: flow.download.read_rate: 0 bit/s: the receiver would never read; leave it out \
         to read at once",
    );
}

#[test]
fn packets_and_their_pace() {
    let udp = |udp: &str, app: &str, message: &str| {
        refuse(&format!("udp = {{ {udp} }}\napp = {app}\n"), message);
    };
    udp("packet = 512", "\"cbr\"", "s.toml:18: flow.download.udp.rate: cbr needs a `rate`");
    udp(
        "packet = 512, rate = \"0 bit/s\"",
        "\"poisson\"",
        "s.toml:18: flow.download.udp.rate: 0 bit/s sends nothing",
    );
    udp(
        "packet = 512, rate = \"1 Mbit/s\"",
        "\"bulk\"",
        "s.toml:18: flow.download.udp.rate: bulk sends as fast as the first link or wlan takes \
         packets: leave `rate` out, or choose cbr, poisson or on_off",
    );
    udp(
        "packet = 512, rate = \"1 Mbit/s\", backlog = 3",
        "\"cbr\"",
        "s.toml:18: flow.download.udp.backlog: belongs to bulk, not to cbr",
    );
    udp(
        "packet = 512, backlog = 0",
        "\"bulk\"",
        "s.toml:18: flow.download.udp.backlog: 0 packets: from 1 on",
    );
    udp(
        "packet = 27, rate = \"1 Mbit/s\"",
        "\"cbr\"",
        "s.toml:18: flow.download.udp.packet: 27 bytes: the headers of IP and UDP alone take 28",
    );
    udp(
        "packet = 1501, rate = \"1 Mbit/s\"",
        "\"cbr\"",
        "s.toml:18: flow.download.udp: its packets of 1501 bytes do not fit the mtu of link \
         \"cloud\" (forward), 1500",
    );
    udp(
        "packet = 512, packets = 0",
        "\"bulk\"",
        "s.toml:18: flow.download.udp.packets: 0 sends nothing: from 1 on",
    );
    udp(
        "packet = 28, bytes = 5",
        "\"bulk\"",
        "s.toml:18: flow.download.udp.bytes: packets of 28 bytes carry nothing",
    );
    let without = |rate: &str| {
        BASE.replace("rate = \"10 Mbit/s\"\n", rate).replace(
            "tcp = \"riverbed\"\napp = { kind = \"transfer\", bytes = 1000 }",
            "udp = { packet = 512 }\napp = \"bulk\"",
        )
    };
    assert_eq!(
        error(&without(""), &[("flow.download.udp.backlog", "3")]).to_string(),
        "s.toml:17: flow.download.udp: link \"cloud\" takes no time: bulk would send without end \
         at once; give it a rate"
    );
    assert_eq!(
        error(&without("delay = \"1 ms\"\n"), &[]).to_string(),
        "s.toml:18: flow.download.udp: link \"cloud\" has no fixed rate that bulk could keep up \
         with: say how many packets it keeps there, `backlog`"
    );
}

/// An endless flow needs a round trip that takes time; finite ones and slow readers end.
#[test]
fn endless_flows_over_links_that_take_no_time() {
    let base = BASE.replace("rate = \"10 Mbit/s\"\n", "");
    let bulk = base.replace("{ kind = \"transfer\", bytes = 1000 }", "\"bulk\"");
    let refused = |text: &str, app: &str| {
        assert_eq!(
            error(text, &[]).to_string(),
            format!(
                "s.toml:18: flow.download.app: {app} never ends over links that take no time: \
                 give one of them a `rate` or a `delay`"
            )
        );
    };
    refused(&bulk, "bulk");
    let requests = "{ kind = \"request_response\", request = 1, response = 9 }";
    refused(&bulk.replace("\"bulk\"", requests), "request_response");
    assert_eq!(try_parse(&base, &[]), Ok(()));
    for (key, value) in [
        ("link.cloud.delay", "1 us"),
        ("link.cloud.reverse.rate", "1 Gbit/s"),
        ("link.cloud.channel", "{ model = \"jitter\", max = \"1 ms\" }"),
        ("flow.download.read_rate", "1 Mbit/s"),
    ] {
        assert_eq!(try_parse(&bulk, &[(key, value)]), Ok(()), "{key}");
    }
}

#[test]
fn laws() {
    let on = |on: &str, message: &str| {
        refuse(
            &format!(
                "udp = {{ packet = 512, rate = \"1 Mbit/s\" }}\n\
                 app = {{ kind = \"on_off\", on = {on}, off = \"1 s\" }}\n"
            ),
            message,
        );
    };
    on("\"0 s\"", "s.toml:19: flow.download.app.on: 0 s: it would never send");
    on(
        "{ law = \"pareto\", mean = \"1 s\", shape = 1.0 }",
        "s.toml:19: flow.download.app.on: a shape of 1 has no mean: write a number above 1",
    );
    on(
        "{ law = \"uniform\", min = \"2 s\", max = \"1 s\" }",
        "s.toml:19: flow.download.app.on: min lies above max: write the smaller one as min",
    );
    on(
        "{ law = \"normal\", mean = \"1 s\" }",
        "s.toml:19: flow.download.app.on: unknown name \"normal\" (expected one of exponential, \
         uniform, pareto)",
    );
    on("{ law = \"exponential\" }", "s.toml:19: flow.download.app.on: lacks `mean`");
    on(
        "1.5",
        "s.toml:19: flow.download.app.on: 1.5 lacks a unit: write a duration like \"20 ms\" or \
         \"2.5 s\"",
    );
    on(
        "\"1 us\"",
        "s.toml:19: flow.download.app.on: on for 0.000001 s in the mean, where a packet comes \
         every 0.004096 s: at least a thousandth of that",
    );
}

#[test]
fn exchanges() {
    let app = |keys: &str, message: &str| {
        let app = format!("app = {{ kind = \"request_response\", {keys} }}");
        refuse(&format!("tcp = \"reno\"\n{app}\n"), message);
    };
    app("request = 0, response = 1", "s.toml:19: flow.download.app.request: 0 bytes: at least 1");
    app(
        "request = 1, response = [9, 0]",
        "s.toml:19: flow.download.app.response: 0 bytes: at least 1",
    );
    app(
        "request = 1, response = []",
        "s.toml:19: flow.download.app.response: the list is empty: write at least one value",
    );
    app(
        "request = 1, response = 1, exchanges = 0",
        "s.toml:19: flow.download.app.exchanges: 0 is refused: from 1 on",
    );
    refuse(
        "tcp = \"reno\"\ninitiator = \"from\"\n\
         app = { kind = \"request_response\", request = 1, response = 1 }\n",
        "s.toml:19: flow.download.initiator: with request_response the client, `to`, opens the \
         connections",
    );
}
