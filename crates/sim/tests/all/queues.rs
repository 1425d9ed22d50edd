//! TCP over queues that drop packets early, mark them, or separate flows, from scenario files.

use retx_record::capture::DropReason;
use retx_record::reason::{Cause, EpisodeKind};
use retx_scenario::{Source, parse};
use retx_sim::{CapturePoint, Control, Options, Outcome, run};

const BASE: &str = r#"
duration = "60 s"
warmup = "5 s"

[tcp.plain]
like = "sack"
receive_buffer = 1_000_000
send_buffer = 1_000_000

[[link]]
name = "bottleneck"
ends = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { discipline = "droptail", packets = 300 }

[[flow]]
name = "bulk"
from = "a"
to = "b"
tcp = "plain"
app = "bulk"
count = 4
stagger = "0.5 s"
"#;

/// A flow of small files, one every 50 ms at most.
const SPARSE: &str = r#"
[[flow]]
name = "sparse"
from = "a"
to = "b"
tcp = "plain"
app = { kind = "ftp", files = 500, bytes = 1000, pause = "50 ms" }
"#;

fn outcome(text: &str, set: &[(&str, &str)]) -> Outcome {
    let overrides: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let source = Source { name: "queues.toml", text, overrides: &overrides };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let capture = vec![CapturePoint::Link { link: 0, right: true }];
    let options = Options {
        replication: 0,
        record_segments: true,
        record_drops: true,
        record_episodes: true,
        capture_points: capture,
        ..Options::default()
    };
    run(&scenario, &options, &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

const QUEUE: &str = "link.bottleneck.queue";
const AQMS: [&str; 4] = [
    r#"{ discipline = "red", ecn = ECN, packets = 300 }"#,
    r#"{ discipline = "codel", ecn = ECN }"#,
    r#"{ discipline = "fq_codel", ecn = ECN }"#,
    r#"{ discipline = "pie", ecn = ECN }"#,
];

fn sum(outcome: &Outcome, of: fn(&retx_record::summary::FlowSummary) -> u64) -> u64 {
    outcome.flows.iter().map(of).sum()
}

/// Every discipline keeps the queue much shorter than droptail does. The link is busy for at least
/// 3/4 of the time, which a link without any queue would reach too, because a window that is halved
/// and grows back is 3/4 of its maximum on average. All drops are recorded as drops by a queue, and
/// no retransmission episode has the cause wireless.
#[test]
fn queues_stay_short_and_drops_are_congestion() {
    let droptail = outcome(BASE, &[]);
    for queue in AQMS {
        let outcome = outcome(BASE, &[(QUEUE, &queue.replace("ECN", "false"))]);
        let [link, full] = [&outcome, &droptail].map(|outcome| &outcome.links[0]);
        let most = full.queue_mean_packets.map(|mean| mean / 2.0);
        assert!(link.queue_mean_packets < most, "{queue}: {link:?}");
        assert!(link.utilisation > Some(0.75), "{queue}: {link:?}");
        assert!(link.drops.queue > 0 && link.packets_marked == 0, "{queue}: {link:?}");
        assert_eq!(sum(&outcome, |flow| flow.ecn_reductions), 0);
        let drops = outcome.tables.drops.as_ref().expect("asked for").rows();
        assert!(drops.iter().all(|drop| drop.reason == DropReason::Queue));
        let episodes = outcome.tables.episodes.as_ref().expect("asked for").rows();
        assert!(episodes.iter().any(|it| it.kind == EpisodeKind::FastRetransmit));
        assert!(episodes.iter().all(|it| it.cause != Cause::Wireless), "{queue}");
    }
}

/// With ECN at both ends queues mark packets instead of dropping them, senders react as to losses,
/// and almost nothing is retransmitted. If the ends do not use ECN, a queue configured to mark
/// drops instead.
#[test]
fn marks_take_the_place_of_drops() {
    for queue in AQMS {
        let queue = queue.replace("ECN", "true");
        let marks = outcome(BASE, &[(QUEUE, &queue), ("tcp.plain.ecn", "true")]);
        let link = &marks.links[0];
        assert!(link.packets_marked > 20, "{queue}: {link:?}");
        assert!(link.utilisation > Some(0.75), "{queue}: {link:?}");
        let reductions = sum(&marks, |flow| flow.ecn_reductions);
        assert!((10..=link.packets_marked).contains(&reductions), "{queue}: {reductions}");
        assert_eq!(marks.links[1].packets_marked, 0, "acknowledgments cannot be marked");

        let drops = outcome(BASE, &[(QUEUE, &queue)]);
        assert!(drops.links[0].packets_marked == 0 && drops.links[0].drops.queue > 0);
        let again = |outcome: &Outcome| sum(outcome, |flow| flow.segments_retransmitted);
        assert!(again(&marks) * 5 < again(&drops), "{queue}: {} {}", again(&marks), again(&drops));
    }
}

/// Beside four bulk flows a sparse flow under FQ-CoDel (RFC 8290) has nearly the round-trip time of
/// an idle link; behind a droptail queue that time includes the queue.
#[test]
fn fq_codel_keeps_a_sparse_flow_fast() {
    let text = format!("{BASE}{SPARSE}");
    let rtt = |set: &[(&str, &str)]| {
        // Every segment is acknowledged without delay, so that the RTT contains no delayed ACK.
        let set: Vec<_> =
            set.iter().copied().chain([("tcp.plain.delayed_ack.segments", "1")]).collect();
        let outcome = outcome(&text, &set);
        let flow = outcome.flows.iter().find(|flow| flow.name == "sparse").expect("it is there");
        flow.rtt_mean_s.expect("it has sent")
    };
    // The path takes 40 ms, the segment itself 1.1 ms, and the packet in transmission up to 1.2 ms.
    let parted = rtt(&[(QUEUE, r#"{ discipline = "fq_codel" }"#)]);
    assert!(parted < 0.0443, "{parted}");
    assert!(rtt(&[]) > 0.1);
}

/// Repeating a run gives the same results.
#[test]
fn runs_repeat() {
    for queue in AQMS {
        let set = [(QUEUE, queue.replace("ECN", "true"))];
        let set: Vec<_> = set.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let [one, other] = [(); 2].map(|()| outcome(BASE, &set));
        assert_eq!((&one.flows, &one.links), (&other.flows, &other.links), "{queue}");
    }
}
