//! Channels whose fates follow from the time or the count alone, frame by frame, and the limits of
//! parameters.

use retx_link::channel::{self, Channel, Fate, Frame, Model};
use retx_link::queue;
use retx_units::{Duration, StreamKey, Time};

fn model(text: &str) -> channel::Config {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Fates of frames at these milliseconds.
fn fates(text: &str, ms: impl Iterator<Item = u64>) -> Vec<Fate> {
    let mut state = model(text).build();
    let mut stream = StreamKey { seed: 3, replication: 0 }.stream("channel");
    let frame = Frame { bytes: 1500, flow: 0, position: 0, payload_bytes: 1460 };
    let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
    ms.map(|ms| state.fate(at(ms), &frame, &mut stream)).collect()
}

fn lost(text: &str, ms: impl Iterator<Item = u64>) -> Vec<bool> {
    fates(text, ms).into_iter().map(Fate::is_loss).collect()
}

/// A point holds from its instant to the next, and the last to the end of the period.
#[test]
fn a_trace_follows_the_time() {
    let points = r#"[{"at":"0 s","loss":0},{"at":"20 ms","loss":1},{"at":"30 ms","loss":0}]"#;
    let text = format!(r#"{{"model":"trace","points":{points},"every":"50 ms"}}"#);
    for (ms, lost) in lost(&text, 0..200).into_iter().enumerate() {
        assert_eq!(lost, (20..30).contains(&(ms % 50)), "{ms} ms");
    }
    let points = r#"[{"at":"0 s","delay":"1 ms"},{"at":"20 ms","delay":"7 ms"}]"#;
    for (ms, fate) in
        fates(&format!(r#"{{"model":"trace","points":{points}}}"#), 0..100).into_iter().enumerate()
    {
        let extra_delay = Duration::from_millis(if ms < 20 { 1 } else { 7 });
        assert_eq!(fate, Fate::Deliver { extra_delay }, "{ms} ms");
    }
}

/// Losses of every fourth frame after the first five.
#[test]
fn a_periodic_loss_follows_the_count() {
    let lost = lost(r#"{"model":"periodic","every":4,"after":5}"#, 0..100);
    for (index, lost) in lost.into_iter().enumerate() {
        assert_eq!(lost, index >= 5 && (index - 5) % 4 == 3, "frame {index}");
    }
}

/// An outage contains its start and not its end.
#[test]
fn listed_outages_follow_the_time() {
    let times = r#"[{"start":"3 ms","duration":"2 ms"},{"start":"10 ms","duration":"5 ms"}]"#;
    let once = lost(&format!(r#"{{"model":"outage","times":{times}}}"#), 0..100);
    let again = lost(&format!(r#"{{"model":"outage","times":{times},"every":"20 ms"}}"#), 0..100);
    for (ms, (once, again)) in once.into_iter().zip(again).enumerate() {
        let down = |at: usize| matches!(at, 3..5 | 10..15);
        assert_eq!((once, again), (down(ms), down(ms % 20)), "{ms} ms");
    }
}

/// One outage of 2 ns in each span of 3 ns starts at 0 or 1 ns, both with probability 1/2. An
/// outage as long as its span starts at 0.
#[test]
fn random_outages_start_at_any_instant_at_which_they_fit() {
    const SPANS: u64 = 4_000;
    let lost = |duration: u64| {
        let text =
            format!(r#"{{"model":"outage","count":1,"within":"3 ns","duration":"{duration} ns"}}"#);
        let mut state = model(&text).build();
        let mut stream = StreamKey { seed: 3, replication: 0 }.stream("channel");
        let frame = Frame { bytes: 1500, flow: 0, position: 0, payload_bytes: 1460 };
        let mut lost = |at| state.fate(Time::from_nanos(at), &frame, &mut stream).is_loss();
        (0..SPANS).map(|span| [0, 1, 2].map(|at| lost(3 * span + at))).collect::<Vec<_>>()
    };
    assert!(lost(3).iter().all(|span| *span == [true; 3]));
    let spans = lost(2);
    assert!(spans.iter().all(|span| matches!(span, [true, true, false] | [false, true, true])));
    let early = spans.iter().filter(|span| span[0]).count() as f64 / SPANS as f64;
    assert!((early - 0.5).abs() < 4.0 * 0.5 / (SPANS as f64).sqrt(), "{early}");
}

/// Two outages of 2 ns in a span of 5 ns leave 1 ns free: before, between or behind them. Each of
/// two independent draws falls before or behind the free time, so both are behind it with
/// probability 1/4, as are both before it.
#[test]
fn random_outages_do_not_overlap() {
    const SPANS: u64 = 4_000;
    let mut state =
        model(r#"{"model":"outage","count":2,"within":"5 ns","duration":"2 ns"}"#).build();
    let mut stream = StreamKey { seed: 3, replication: 0 }.stream("channel");
    let frame = Frame { bytes: 1500, flow: 0, position: 0, payload_bytes: 1460 };
    let mut free = [0.0; 5];
    for span in 0..SPANS {
        let up: Vec<usize> = (0..5)
            .filter(|at| {
                let now = Time::from_nanos(5 * span + *at as u64);
                !state.fate(now, &frame, &mut stream).is_loss()
            })
            .collect();
        assert_eq!(up.len(), 1, "span {span}: {up:?}");
        free[up[0]] += 1.0 / SPANS as f64;
    }
    for (share, expected) in free.into_iter().zip([0.25, 0.0, 0.5, 0.0, 0.25]) {
        let deviation = (expected * (1.0 - expected) / SPANS as f64).sqrt();
        assert!((share - expected).abs() <= 4.0 * deviation, "{free:?}");
    }
}

/// The next copy of a segment that carries a named byte is lost: a segment carries the bytes from
/// its position up to, but not including, the position after its payload.
#[test]
fn a_script_names_bytes() {
    // Three segments of 1460 bytes, and an ACK without payload, each of them sent three times.
    let segments = [(1, 1460), (1461, 1460), (2921, 1460), (2921, 0)];
    for (named, expected) in [
        ("[0]", [0, 0, 0, 0]),
        ("[1]", [1, 0, 0, 0]),
        ("[1460]", [1, 0, 0, 0]),
        ("[1461]", [0, 1, 0, 0]),
        ("[2920,2920]", [0, 2, 0, 0]),
        ("[2921,1]", [1, 0, 1, 0]),
        ("[4380,4380,4380,4380]", [0, 0, 3, 0]),
        ("[4381]", [0, 0, 0, 0]),
    ] {
        let mut state = model(&format!(r#"{{"model":"script","drop_seq":{named}}}"#)).build();
        let mut stream = StreamKey { seed: 3, replication: 0 }.stream("channel");
        let mut lost = [0; 4];
        for round in 0..3 {
            for (index, (position, payload_bytes)) in segments.into_iter().enumerate() {
                let frame = Frame { bytes: payload_bytes + 40, flow: 0, position, payload_bytes };
                let is_lost = state.fate(Time::ZERO, &frame, &mut stream).is_loss();
                // Copies are lost one after another, from the first on.
                assert_eq!(is_lost, round < expected[index], "{named}: copy {round} of {index}");
                lost[index] += usize::from(is_lost);
            }
        }
        assert_eq!(lost, expected, "{named}");
    }
}

/// A script adopted after three frames loses frames 3 and 5. Its entries for frames that have
/// passed have no effect.
#[test]
fn an_adopted_script_goes_on_with_the_count() {
    let script = |drop: &str| model(&format!(r#"{{"model":"script","drop":{drop}}}"#)).build();
    let mut stream = StreamKey { seed: 3, replication: 0 }.stream("channel");
    let frame = Frame { bytes: 1500, flow: 0, position: 0, payload_bytes: 1460 };
    let mut state = script("[1, 7]");
    let mut lost = |state: &mut channel::State, frames: usize| -> Vec<bool> {
        let fates = (0..frames).map(|_| state.fate(Time::ZERO, &frame, &mut stream));
        fates.map(Fate::is_loss).collect()
    };
    assert_eq!(lost(&mut state, 3), [false, true, false]);
    state.adopt(script("[0, 2, 3, 5]"));
    // Frames 3 to 7; the entry 7 of the first script is gone.
    assert_eq!(lost(&mut state, 5), [true, false, true, false, false]);
}

/// An error in a list of opportunities names the entry.
#[test]
fn an_opportunity_out_of_place_is_named() {
    for (list, index) in [
        ("[0]", 0),
        ("[0,0]", 1),
        ("[0,0,0]", 2),
        ("[3,4,2]", 2),
        ("[3,2,4]", 1),
        ("[31622400001]", 0),
        ("[5,31622400001]", 1),
    ] {
        let text = format!(r#"{{"model":"trace","opportunities_ms":{list}}}"#);
        let error = serde_json::from_str::<channel::Config>(&text).expect_err(list).to_string();
        let (path, _) = retx_units::choice::split_path(&error);
        assert_eq!(path, format!("opportunities_ms.{index}"), "{list}: {error:?}");
    }
    let year = r#"{"model":"trace","opportunities_ms":[31622400000]}"#;
    assert!(serde_json::from_str::<channel::Config>(year).is_ok(), "a leap year");
}

#[test]
fn limits_of_parameters() {
    let taken = |text: &str| serde_json::from_str::<channel::Config>(text).is_ok();
    for (model, good, bad) in [
        ("jitter", r#""min":"5 ms","max":"5 ms""#, r#""min":"6 ms","max":"5 ms""#),
        (
            "jitter",
            r#""law":"pareto","min":"1 ms","shape":0.1"#,
            r#""law":"pareto","min":"1 ms","shape":0"#,
        ),
        ("random_delay", r#""share":0.1,"delay":"1 s""#, r#""delay":"1 s""#),
        (
            "random_delay",
            r#""shares":[0.1,0.2],"every":"1 ns","delay":"1 s""#,
            r#""shares":[0.1,0.2],"every":"0 s","delay":"1 s""#,
        ),
        ("gilbert_elliott", r#""loss":0.5,"mean_burst":1"#, r#""loss":0.51,"mean_burst":1"#),
        ("gilbert_elliott", r#""loss":0.1,"mean_burst":1"#, r#""loss":0.1,"mean_burst":0.99"#),
        ("gilbert_elliott", r#""p":0.1,"r":0.1"#, r#""p":0.1,"r":0.1,"loss":0.1"#),
        (
            "gilbert_elliott_time",
            r#""mean_good":"1 s","mean_bad":"1 s""#,
            r#""mean_good":"1 s","mean_bad":"1 s","loss":0.1"#,
        ),
        ("markov", r#""transitions":[[1]],"loss":[0]"#, r#""transitions":[[1]],"loss":[0,0]"#),
        (
            "markov",
            r#""transitions":[[0.5,0.5],[1,0]],"loss":[0,1]"#,
            r#""transitions":[[0.5,0.4],[1,0]],"loss":[0,1]"#,
        ),
        (
            "policer",
            r#""rate":"1 kbit/s","bucket_bytes":1"#,
            r#""rate":"1 kbit/s","bucket_bytes":0"#,
        ),
        ("trace", r#""opportunities_ms":[1,1]"#, r#""opportunities_ms":[2,1]"#),
        ("trace", r#""opportunities_ms":[0,1]"#, r#""opportunities_ms":[0]"#),
        (
            "trace",
            r#""points":[{"at":"0 s","rate":"1 bit/s"}],"every":"1 s""#,
            r#""points":[{"at":"0 s","rate":"0 bit/s"}],"every":"1 s""#,
        ),
        (
            "outage",
            r#""count":4,"within":"100 ms","duration":"25 ms""#,
            r#""count":4,"within":"100 ms","duration":"25.1 ms""#,
        ),
        ("outage", r#""count":0,"within":"1 ns","duration":"0 s""#, r#""count":1,"within":"1 s""#),
    ] {
        for (rest, sound) in [(good, true), (bad, false)] {
            let text = format!(r#"{{"model":"{model}",{rest}}}"#);
            assert_eq!(taken(&text), sound, "{text}");
        }
    }
    let taken = |text: &str| serde_json::from_str::<queue::Config>(text).is_ok();
    for (discipline, good, bad) in [
        ("pie", r#""update_interval":"1 us""#, r#""update_interval":"0.9 us""#),
        ("pie", r#""target":"1 ns""#, r#""target":"0 s""#),
        ("pie", r#""alpha":0"#, r#""alpha":-0.1"#),
        ("red", r#""mean_packet":65535"#, r#""mean_packet":65536"#),
        ("red", r#""min_threshold":0"#, r#""min_threshold":-1"#),
        ("red", r#""weight":1"#, r#""weight":1.1"#),
        ("fq_codel", r#""flows":65536"#, r#""flows":65537"#),
    ] {
        for (rest, sound) in [(good, true), (bad, false)] {
            let text = format!(r#"{{"discipline":"{discipline}",{rest}}}"#);
            assert_eq!(taken(&text), sound, "{text}");
        }
    }
}
