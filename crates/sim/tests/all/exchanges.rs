//! Requests and responses over TCP, from scenario files.

use retx_record::tables::Exchange;
use retx_scenario::{Source, parse};
use retx_sim::{Control, Options, Outcome, run};

const CLIENT: &str = r#"
duration = "1000 s"

[[link]]
name = "wire"
ends = ["server", "client"]
delay = "10 ms"

[[flow]]
name = "web"
from = "server"
to = "client"
tcp = "newreno"
app = { kind = "request_response", request = 200, response = 1000, think = "100 ms", exchanges = 3 }
"#;

fn outcome(set: &[(&str, &str)]) -> Outcome {
    let overrides: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let source = Source { name: "web.toml", text: CLIENT, overrides: &overrides };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { record_episodes: true, ..Options::default() };
    run(&scenario, &options, &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn rows(outcome: &Outcome) -> &[Exchange] {
    outcome.tables.exchanges.as_ref().expect("asked for").rows()
}

fn millis(outcome: &Outcome) -> Vec<[u64; 2]> {
    let ms = |time: retx_units::Time| time.as_nanos() / 1_000_000;
    rows(outcome).iter().map(|row| [ms(row.start), ms(row.finish)]).collect()
}

/// The first exchange includes the handshake; all others take one round trip of 20 ms.
#[test]
fn an_exchange_on_an_open_connection_takes_a_round_trip() {
    let outcome = outcome(&[]);
    assert_eq!(millis(&outcome), [[0, 40], [140, 160], [260, 280]]);
    let web = &outcome.flows[0];
    assert_eq!((web.bytes_delivered, web.finish_s), (3000, Some(0.28)));
    assert_eq!(web.exchanges.count, Some(3));
    let times = web.exchanges.times;
    assert_eq!((times.min_s, times.max_s), (Some(0.02), Some(0.04)));
    assert!((times.mean_s.expect("three") - 0.08 / 3.0).abs() < 1e-12);
    assert_eq!(web.segments_retransmitted, 0);
}

/// Exchanges that each open a connection take two round trips. The client's think time begins with
/// the end of a response, however long the connection takes to close.
#[test]
fn connections_of_their_own_take_two_round_trips() {
    let outcome = outcome(&[("flow.web.app.connection", "each")]);
    let times = millis(&outcome);
    assert!(times.iter().all(|[start, finish]| finish - start == 40), "{times:?}");
    let pauses: Vec<u64> = times.windows(2).map(|pair| pair[1][0] - pair[0][1]).collect();
    assert_eq!(pauses, [100, 100]);
    assert_eq!(outcome.flows[0].bytes_delivered, 3000);
}

/// Requests and responses of many segments are lost in part, but all requests are answered in the
/// end.
#[test]
fn losses_delay_and_nothing_is_lost() {
    let app = "{ kind = \"request_response\", exchanges = 200, \
                request = { law = \"exponential\", mean = 3000 }, \
                response = { law = \"pareto\", mean = 20_000, shape = 1.5 }, \
                think = { law = \"exponential\", mean = \"50 ms\" }";
    for reuse in ["one", "each"] {
        let app = format!("{app}, connection = \"{reuse}\" }}");
        let lossy = outcome(&[
            ("flow.web.app", app.as_str()),
            ("link.wire.channel", "{ model = \"bernoulli\", p = 0.03 }"),
            ("link.wire.rate", "5 Mbit/s"),
        ]);
        let (web, all) = (&lossy.flows[0], rows(&lossy));
        assert_eq!((web.exchanges.count, all.len()), (Some(200), 200));
        assert_eq!(web.finish_s, Some(all[199].finish.as_secs_f64()));
        assert_eq!(web.bytes_delivered, all.iter().map(|row| row.response_bytes).sum::<u64>());
        assert!(web.segments_retransmitted > 0);
        assert!(all.windows(2).all(|pair| pair[0].finish <= pair[1].start));
        assert!(all.iter().map(|row| row.number).eq(1..=200));
        // The sizes drawn do not depend on what the network does to the segments.
        let app = [("flow.web.app", app.as_str())];
        let sizes = |row: &Exchange| [row.request_bytes, row.response_bytes];
        let clean = outcome(&app);
        assert!(rows(&clean).iter().map(sizes).eq(all.iter().map(sizes)), "{reuse}");
    }
}

/// Listed responses and service times are used in turn, and again from the start of the list.
#[test]
fn listed_amounts_are_used_in_turn() {
    let outcome = outcome(&[
        ("flow.web.app.response", "[1000, 1200]"),
        ("flow.web.app.service", "[\"0 s\", \"30 ms\", \"70 ms\"]"),
        ("flow.web.app.exchanges", "4"),
    ]);
    assert_eq!(millis(&outcome), [[0, 40], [140, 190], [290, 380], [480, 500]]);
    let sizes = rows(&outcome).iter().map(|row| row.response_bytes);
    assert!(sizes.eq([1000, 1200, 1000, 1200]));
}

/// Means of the sizes and think times drawn in 2000 exchanges agree with their distributions within
/// four standard errors.
#[test]
fn sizes_and_thoughts_follow_their_laws() {
    let outcome = outcome(&[
        ("flow.web.app.exchanges", "2000"),
        ("flow.web.app.request", "{ law = \"exponential\", mean = 500 }"),
        ("flow.web.app.response", "{ law = \"uniform\", min = 100, max = 1300 }"),
        ("flow.web.app.think", "{ law = \"exponential\", mean = \"80 ms\" }"),
    ]);
    let all = rows(&outcome);
    let count = all.len() as f64;
    let mean = |of: &dyn Fn(&Exchange) -> u64| all.iter().map(of).sum::<u64>() as f64 / count;
    // Sizes are rounded to whole bytes, and are at least 1, which may shift the mean by half a
    // byte.
    let requests = mean(&|row| row.request_bytes);
    assert!((requests - 500.0).abs() < 4.0 * 500.0 / count.sqrt() + 0.5, "{requests}");
    let responses = mean(&|row| row.response_bytes);
    assert!((responses - 700.0).abs() < 4.0 * 346.5 / count.sqrt() + 0.5, "{responses}");
    let thoughts = all.windows(2).map(|pair| pair[1].start.since(pair[0].finish).as_secs_f64());
    let thought = thoughts.sum::<f64>() / (count - 1.0);
    assert!((thought - 0.08).abs() < 4.0 * 0.08 / count.sqrt(), "{thought}");
}

#[test]
fn statistics_start_after_the_warm_up_and_other_flows_have_none() {
    let warm = outcome(&[("warmup", "200 ms")]);
    assert_eq!(warm.flows[0].exchanges.count, Some(1));
    let bulk = outcome(&[("flow.web.app", "bulk"), ("duration", "1 s")]);
    assert_eq!(bulk.flows[0].exchanges, Default::default());
    assert!(bulk.tables.exchanges.is_none());
}
