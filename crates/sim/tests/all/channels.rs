//! Channels under TCP: bursts of losses and an idle sender, duplicated packets, and rates that
//! change.

use retx_record::pcapng::{self, CaptureMetadata, SnapLength};
use retx_record::reason::SegmentFate;
use retx_scenario::{Source, parse};
use retx_sim::{CapturePoint, Control, Options, Outcome, run};
use std::collections::{BTreeMap, BTreeSet};

fn outcome(text: &str, replication: u64) -> Outcome {
    let source = Source { name: "test.toml", text, overrides: &[] };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        replication,
        record_segments: true,
        record_drops: true,
        record_episodes: true,
        capture_points: vec![],
        ..Options::default()
    };
    run(&scenario, &options, &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn download(duration: &str, links: &str, app: &str) -> String {
    format!(
        "duration = \"{duration}\"\n{links}\n[[flow]]\nname = \"download\"\nfrom = \"server\"\n\
         to = \"client\"\ntcp = \"newreno\"\napp = {app}\n"
    )
}

fn link(name: &str, ends: &str, rest: &str) -> String {
    format!("[[link]]\nname = \"{name}\"\nends = [{ends}]\nrate = \"10 Mbit/s\"\n{rest}\n")
}

/// Both channels lose 5 % of the frames, in bursts with a mean of 20 frames, or of the time that
/// the link takes for 20 frames. A sender that has lost its window waits for its timeout, a second
/// or more. A burst measured in time is over by then; one measured in frames has not moved on, and
/// hits the retransmission too, again and again.
#[test]
fn a_burst_of_frames_outlasts_a_timeout_and_a_burst_of_time_does_not() {
    let timeouts = |channel: &str| -> Vec<f64> {
        let delay = "delay = \"20 ms\"\nforward.channel = ";
        let link = link("air", "\"server\", \"client\"", &format!("{delay}{channel}"));
        let text = download("3000 s", &link, "{ kind = \"transfer\", bytes = 2_000_000 }");
        let flows = (0..150).map(|replication| outcome(&text, replication).flows.remove(0));
        flows.map(|flow| flow.rto_count as f64).collect()
    };
    let frames = timeouts("{ model = \"gilbert_elliott\", loss = 0.05, mean_burst = 20 }");
    let time =
        timeouts("{ model = \"gilbert_elliott_time\", loss = 0.05, mean_burst = \"24.6 ms\" }");
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let error = |values: &[f64]| {
        let squares: f64 = values.iter().map(|value| (value - mean(values)).powi(2)).sum();
        squares / (values.len() - 1) as f64 / values.len() as f64
    };
    let difference = mean(&frames) - mean(&time);
    let sigma = (error(&frames) + error(&time)).sqrt();
    assert!(
        difference > 4.0 * sigma,
        "timeouts: {} against {}, σ = {sigma}",
        mean(&frames),
        mean(&time)
    );
}

/// The first link duplicates every packet, the second loses the original or the copy of some. As
/// the other one arrives, no segment counts as lost, and no retransmission is necessary.
#[test]
fn a_packet_whose_copy_arrives_is_not_lost() {
    let double = "forward.channel = { model = \"duplicate\", p = 1, after = \"3 ms\" }";
    let every_seventh = "forward.channel = { model = \"periodic\", every = 7 }";
    let links = link("first", "\"server\", \"middle\"", double)
        // A copy follows its original by 3 ms, with other frames between them, so that both
        // originals and copies are lost.
        + &link("second", "\"middle\", \"client\"", every_seventh);
    let outcome = outcome(&download("60 s", &links, "{ kind = \"transfer\", bytes = 300_000 }"), 0);
    let first = &outcome.links[0];
    assert_eq!(first.packets_duplicated, first.packets_in);
    assert_eq!(outcome.links[2].packets_in, first.packets_delivered);
    let drops = outcome.tables.drops.as_ref().expect("asked for").rows().len() as u64;
    assert_eq!(drops, outcome.links[2].drops.channel);
    assert!(drops > 20);
    // The channel loses every seventh frame, and never both frames of a packet, which are closer
    // together than that.
    let segments = outcome.tables.segments.as_ref().expect("asked for");
    for (segment, fate) in segments.rows() {
        assert_eq!(fate, SegmentFate::Delivered, "{segment:?}");
    }
    let flow = &outcome.flows[0];
    assert_eq!(flow.bytes_delivered, 300_000);
    let retransmitted = flow.segments_retransmitted;
    // Duplicate packets cause duplicate acknowledgments, and these unnecessary retransmissions.
    assert_eq!(flow.retransmissions_unnecessary, retransmitted);
    assert_eq!(flow.episodes.fast_retransmit.wireless + flow.episodes.rto.wireless, 0);
}

/// The source port and IP identification, the sequence number, and the comment of each packet
/// captured.
fn seen(outcome: &Outcome) -> Vec<([u16; 2], u32, String)> {
    let about = CaptureMetadata::new("retx", "a test", SnapLength::default()).expect("short texts");
    let mut file = Vec::new();
    pcapng::write(outcome.capture.as_ref().expect("asked for"), &about, &mut file).expect("room");
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut seen) = (0, Vec::new());
    while at < file.len() {
        // Enhanced packet blocks are of type 6.
        if word(at) == 6 {
            let packet = &file[at + 28..at + 28 + word(at + 20) as usize];
            let number = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            let seq = u32::from_be_bytes(packet[24..28].try_into().expect("four bytes"));
            let rest = &file[at + 28 + packet.len()..at + word(at + 4) as usize];
            seen.push(([number(20), number(4)], seq, String::from_utf8_lossy(rest).into_owned()));
        }
        at += word(at + 4) as usize;
    }
    seen
}

/// The IP identifications count the packets of a side in the order of sending, wherever they are
/// captured: those of lost packets are missing. A copy made by the network has that of its
/// original, and a retransmission has one of its own.
#[test]
fn a_copy_has_the_identification_of_its_original() {
    let double = "forward.channel = [{ model = \"duplicate\", p = 1, after = \"3 ms\" }, \
                  { model = \"periodic\", every = 40 }]";
    let links = link("first", "\"server\", \"client\"", double);
    let text = download("60 s", &links, "{ kind = \"transfer\", bytes = 300_000 }");
    let source = Source { name: "test.toml", text: &text, overrides: &[] };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let [left, right] = [false, true].map(|right| CapturePoint::Link { link: 0, right });
    let mut sent_as = BTreeMap::new();
    for capture in [vec![left, right], vec![right]] {
        let everywhere = capture.len() == 2;
        let options = Options { capture_points: capture, ..Options::default() };
        let outcome = run(&scenario, &options, &Control::default()).expect("a sound run");
        assert!(outcome.flows[0].segments_retransmitted > 0);
        let packets = seen(&outcome);
        if everywhere {
            sent_as = packets.iter().map(|it| (it.0, it.1)).collect();
        }
        for (id, seq, comment) in &packets {
            assert_eq!(sent_as[id], *seq, "{comment}");
        }
        let seen: BTreeSet<_> = packets.iter().map(|it| it.0).collect();
        let sent = outcome.links[..2].iter().map(|link| link.packets_in).sum::<u64>() as usize;
        if everywhere {
            assert_eq!(seen.len(), sent);
            let ports: BTreeSet<_> = seen.iter().map(|it| it[0]).collect();
            for port in ports {
                let numbers: Vec<_> = seen.iter().filter(|it| it[0] == port).collect();
                assert_eq!(numbers.len(), usize::from(numbers[numbers.len() - 1][1]), "from 1 on");
            }
        } else {
            assert!(packets.len() > sent && seen.len() <= sent, "{} {}", packets.len(), seen.len());
        }
    }
}

/// Every packet is duplicated, and every copy is lost on the next link. Timeouts during an outage
/// of the acknowledgments are spurious nevertheless, because the original of each segment has
/// arrived before its copy is lost.
#[test]
fn a_copy_that_is_lost_is_no_loss() {
    let deaf = "reverse.channel = { model = \"outage\", times = [{ start = \"300 ms\", duration = \
                \"3 s\" }] }";
    let double =
        format!("delay = \"20 ms\"\nforward.channel = {{ model = \"duplicate\", p = 1 }}\n{deaf}");
    let links = link("first", "\"server\", \"middle\"", &double)
        + &link(
            "second",
            "\"middle\", \"client\"",
            "forward.channel = { model = \"periodic\", every = 2 }",
        );
    let outcome =
        outcome(&download("60 s", &links, "{ kind = \"transfer\", bytes = 1_000_000 }"), 0);
    let second = &outcome.links[2];
    assert!(second.packets_delivered - second.drops.channel <= 1, "all copies are lost");
    let flow = &outcome.flows[0];
    assert!(flow.segments_retransmitted > 0 && flow.episodes.rto.spurious > 0);
    assert_eq!(flow.retransmissions_unnecessary, flow.segments_retransmitted);
    assert_eq!(flow.episodes.rto.wireless + flow.episodes.fast_retransmit.wireless, 0);
}

/// Data arrive while all ACKs are lost for three seconds. The first ACK after the outage
/// acknowledges segments that were sent twice, and echoes a timestamp from before it. Linux uses
/// this sample of several seconds for the RTO, but the recorded round-trip times, of 40 ms and at
/// most 30 packets of queue, must not include it.
#[test]
fn an_echo_after_an_outage_is_no_round_trip() {
    let deaf = "delay = \"20 ms\"\nqueue = { discipline = \"droptail\", packets = 30 }\n\
                reverse.channel = { model = \"outage\", times = [{ start = \"1 s\", duration = \
                \"3 s\" }] }";
    let text = download(
        "12 s",
        &link("path", "\"server\", \"client\"", deaf),
        "{ kind = \"transfer\", bytes = 4_000_000 }",
    );
    let text = text.replace("newreno", "linux");
    let flow = &outcome(&text, 0).flows[0];
    let [mean, deviation] = [flow.rtt_mean_s, flow.rtt_sd_s].map(|it| it.expect("samples"));
    assert!(flow.rto_count > 0 && flow.idle_max_s > 1.0);
    let longest = 0.040 + 31.0 * 0.001_25;
    assert!(mean > 0.04 && mean < longest && deviation < (longest - 0.04) / 2.0, "{deviation}");
}

/// A link with one transmission opportunity of 1500 bytes per millisecond carries 12 Mbit/s of full
/// packets.
#[test]
fn opportunities_set_the_rate() {
    let link = "[[link]]\nname = \"lte\"\nends = [\"server\", \"client\"]\ndelay = \"5 ms\"\n\
                forward.channel = { model = \"trace\", opportunities_ms = [1] }\n";
    let outcome = outcome(&download("20 s", link, "\"bulk\""), 0);
    let goodput = outcome.flows[0].goodput_bit_s.expect("time");
    // Payload is 1460 of 1500 bytes; slow start, some 15 round trips of 10 ms, costs a little.
    let full = 12e6 * 1460.0 / 1500.0;
    assert!(goodput < full && goodput > full * (1.0 - 0.15 / 20.0), "{goodput} of {full}");
}

/// The rate falls to a tenth for part of the run, and rises again.
#[test]
fn a_schedule_sets_the_rate() {
    let schedule = "delay = \"5 ms\"\nqueue = { discipline = \"droptail\", packets = 20 }\n\
                    schedule = [{ at = \"20 s\", forward.rate = \"1 Mbit/s\" }, { at = \"40 s\", \
                    rate = \"10 Mbit/s\" }]";
    let text = download("60 s", &link("a", "\"server\", \"client\"", schedule), "\"bulk\"");
    let outcome = outcome(&text, 0);
    let segments = outcome.tables.segments.as_ref().expect("asked for");
    let sent = |from: f64, to: f64| {
        let within = |at: f64| (from..to).contains(&at);
        segments.rows().filter(|(segment, _)| within(segment.sent.as_secs_f64())).count() as f64
            / (to - from)
    };
    // Frames of 1538 bytes on the wire; the window oscillates, and seldom empties the queue.
    let full = 10e6 / (8.0 * 1538.0);
    for (from, to, rate) in [(5.0, 20.0, full), (25.0, 40.0, full / 10.0), (45.0, 60.0, full)] {
        let measured = sent(from, to);
        assert!(
            measured < 1.02 * rate && measured > 0.8 * rate,
            "{measured} segments per second from {from} s to {to} s instead of {rate}"
        );
    }
}
