//! Faults and habits with a name, each in a capture written packet by packet.

use crate::build::{Header, Order, pcap, tcp};
use crate::script::{SEGMENT, Script};
use retx_diagnose::answer::{Flow, Pattern};

const ECE: u8 = 64;
const CWR: u8 = 128;
/// MSS, window scale, SACK permitted, and timestamps of the value 1.
const OFFERS: [u8; 20] = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
/// MSS alone.
const PLAIN: [u8; 4] = [2, 4, 5, 180];

fn named<'a>(flow: &'a Flow, name: &str) -> Option<&'a Pattern> {
    flow.patterns.iter().find(|pattern| pattern.name == name)
}

/// A SYN, or the answer to it, with these options.
fn syn(script: &mut Script, ms: u64, is_opener: bool, flags: u8, options: &[u8]) {
    let header = Header { seq: 0, ack: u32::from(!is_opener), flags, ..Header::default() };
    let mut segment = tcp(header);
    segment.extend(options);
    segment[12] = ((segment.len() / 4) << 4) as u8;
    script.frame(ms, is_opener, &segment);
}

/// A connection whose SYN carries one list of options, and the answer another.
fn opened(offers: &[u8], accepts: &[u8], ecn: bool) -> Script {
    let mut script = Script::default();
    let (ask, accept) = if ecn { (ECE | CWR, ECE) } else { (0, 0) };
    syn(&mut script, 0, true, 2 | ask, offers);
    syn(&mut script, 40, false, 18 | accept, accepts);
    script.packet(40, true, (1, 1), (0, 16));
    script
}

/// Full segments vanish; a part of the data passes in a smaller one (RFC 4821).
fn black_hole(copies: u64, smaller: bool) -> Script {
    let mut script = Script::open(false);
    (0..3).for_each(|number| script.data(40, number));
    // The end of what was written is smaller, and arrives.
    script.packet(40, true, (1 + 3 * SEGMENT, 1), (100, 16));
    script.ack(80, 0);
    (1..copies).for_each(|copy| script.data(40 + 1_000 * copy, 0));
    let last = 40 + 1_000 * copies;
    if smaller {
        script.packet(last, true, (1, 1), (512, 16));
        script.packet(last + 40, false, (1, 513), (0, 16));
    } else {
        script.ack(last, 0);
    }
    script
}

#[test]
fn a_path_mtu_black_hole() {
    let flow = black_hole(4, true).flow();
    let found = named(&flow, "path_mtu_black_hole").expect("a smaller segment passes");
    assert!(found.confidence > 0.9 && found.evidence.contains("first 512"), "{found:?}");
    let flow = black_hole(5, false).flow();
    let found = named(&flow, "path_mtu_black_hole").expect("smaller packets arrive");
    assert!(found.confidence < 0.9, "{found:?}");
}

/// A full segment ends the silence.
#[test]
fn an_outage_is_no_black_hole() {
    let mut script = black_hole(5, false);
    script.data(9_040, 0);
    script.ack(9_080, 1);
    let flow = script.flow();
    assert!(named(&flow, "path_mtu_black_hole").is_none(), "{:?}", flow.patterns);
    let found = named(&flow, "outage").expect("five timeouts in a row");
    assert!(found.evidence.contains("5 timeouts in a row, 9.0 s"), "{found:?}");
}

/// Small segments are never too large for a path.
#[test]
fn small_segments_are_in_no_black_hole() {
    let mut script = Script::open(false);
    for copy in 0..6 {
        script.packet(40 + 1_000 * copy, true, (1, 1), (500, 16));
        script.ack(540 + 1_000 * copy, 0);
    }
    assert!(named(&script.flow(), "path_mtu_black_hole").is_none());
}

#[test]
fn a_window_that_closes() {
    let mut script = Script::open(false);
    script.data(40, 0);
    script.window = Some(0);
    script.ack(80, 1);
    script.window = None;
    script.ack(2_080, 1);
    script.data(2_080, 1);
    script.ack(2_120, 2);
    let flow = script.flow();
    let found = named(&flow, "zero_window").expect("a closed window");
    assert_eq!(found.packets, [5]);
    assert!(found.evidence.contains("once, 2.000 s in all"), "{found:?}");
    assert!(flow.limited_by.receive_window > 1.9, "{:?}", flow.limited_by);
}

/// A request every two seconds, whose answer takes 400 ms to compute.
#[test]
fn a_server_that_thinks() {
    let mut script = Script::open(false);
    for round in 0..3 {
        let (at, number) = (100 + 2_000 * u64::from(round), 2 * round);
        script.packet(at, false, (1 + 50 * round, 1 + number * SEGMENT), (50, 24));
        script.data(at + 400, number);
        script.data(at + 400, number + 1);
        script.ack(at + 440, number + 2);
    }
    let flow = script.flow();
    let found = named(&flow, "think_time").expect("a slow answer");
    assert!(found.evidence.contains("3 times, 1.200 s in all"), "{found:?}");
    let found = named(&flow, "no_request").expect("two pauses between requests");
    // A response arrives at the client 20 ms after it passes, and a request passes 20 ms after it
    // was sent.
    let pause = 2.0 * (2.0 - 0.4 - 0.04);
    assert!(found.evidence.contains(&format!("2 times, {pause:.3} s in all")), "{found:?}");
}

/// Requests every 100 ms, whose responses of one segment pass at once. The client, 20 ms away,
/// sends its acknowledgment with this delay, or with the next request.
fn paused(ack_delay_ms: Option<u64>) -> Flow {
    let mut script = Script::open(false);
    for number in 0..10 {
        let at = 100 + 100 * u64::from(number);
        script.packet(at, false, (1 + 50 * number, 1 + number * SEGMENT), (50, 24));
        script.data(at, number);
        if let Some(delay_ms) = ack_delay_ms {
            script.ack(at + 40 + delay_ms, number + 1);
        }
    }
    script.flow()
}

#[test]
fn a_delayed_ack_does_not_shorten_the_pause_of_the_client() {
    for ack_delay_ms in [Some(0), Some(40), None] {
        let flow = paused(ack_delay_ms);
        let found = named(&flow, "no_request").expect("nine pauses");
        assert!(found.evidence.contains("9 times, 0.540 s in all"), "{found:?}");
    }
}

/// The connection stays open for 10 s after the only response; then the client sends data that get
/// no response. The pause is not part of the flow's life.
#[test]
fn a_pause_after_the_last_response_is_none() {
    let mut script = Script::open(false);
    script.packet(100, false, (1, 1), (50, 24));
    script.data(140, 0);
    script.data(140, 1);
    script.ack(180, 2);
    script.packet(10_180, false, (51, 1 + 2 * SEGMENT), (50, 24));
    script.packet(10_220, true, (1 + 2 * SEGMENT, 101), (0, 16));
    let flow = script.flow();
    assert!(named(&flow, "no_request").is_none(), "{:?}", flow.patterns);
}

/// The queue marks, the receiver echoes, and the sender says that it has reduced its window.
fn marked(ecn: bool) -> Flow {
    let mut script = opened(&PLAIN, &PLAIN, ecn);
    for round in 0..6 {
        let at = 40 + 40 * u64::from(round);
        let flags = 16 | if round == 3 { CWR } else { 0 };
        (0..4).for_each(|index| {
            let seq = 1 + (4 * round + index) * SEGMENT;
            script.packet(at, true, (seq, 1), (SEGMENT, if index == 0 { flags } else { 16 }));
        });
        let echo = if round == 2 { ECE } else { 0 };
        script.packet(at + 40, false, (1, 1 + (4 * round + 4) * SEGMENT), (0, 16 | echo));
    }
    script.flow()
}

#[test]
fn a_reduction_by_ecn() {
    let flow = marked(true);
    let found = named(&flow, "ecn").expect("a reduction");
    assert!(found.evidence.contains("once, the first time after frame 18"), "{found:?}");
    assert!(flow.limited_by.window.congestion > 0.05, "{:?}", flow.limited_by);
    let flow = marked(false);
    assert!(named(&flow, "ecn").is_none(), "the ends have not agreed on ECN");
    assert!(flow.limited_by.window.congestion < 1e-9);
}

#[test]
fn options_that_are_not_accepted() {
    let refused = |offers: &[u8], accepts: &[u8]| {
        let flow = opened(offers, accepts, false).flow();
        named(&flow, "options_refused").map(|it| it.evidence.clone())
    };
    let found = refused(&OFFERS, &PLAIN).expect("nothing is accepted");
    assert!(found.contains("window scaling, SACK and timestamps"), "{found}");
    assert_eq!(refused(&OFFERS, &OFFERS), None);
    assert_eq!(refused(&PLAIN, &OFFERS), None);
    // Window scale and SACK, but no timestamps: a common choice.
    assert_eq!(refused(&OFFERS, &[2, 4, 5, 180, 4, 2, 1, 3, 3, 7, 1, 1]), None);
}

/// Timestamps are agreed upon, but only one end's segments carry them.
#[test]
fn options_that_a_device_removes() {
    let mut script = opened(&OFFERS, &OFFERS, false);
    for number in 0..4 {
        let at = 50 + 50 * u64::from(number);
        script.timestamps = true;
        script.data(at, number);
        script.timestamps = false;
        script.ack(at + 40, number + 1);
    }
    let flow = script.flow();
    let found = named(&flow, "options_removed").expect("ACKs without timestamps");
    assert!(found.evidence.contains("4 segments of one end"), "{found:?}");
}

/// Two captures around a device that removes options of the SYN.
#[test]
fn options_that_differ_between_captures() {
    let file = |offers: &[u8], late: u64| {
        let mut script = opened(offers, &PLAIN, false);
        for number in 0..4 {
            script.data(50 + 50 * u64::from(number), number);
            script.ack(90 + 50 * u64::from(number), number + 1);
        }
        for frame in &mut script.frames {
            frame.time_ns += late * 1_000_000;
        }
        pcap(Order::Little, 0xa1b2_3c4d, 1, &script.frames)
    };
    let answer = |offers: &[u8]| {
        let sources = [file(&OFFERS, 0), file(offers, 10)];
        let [one, other] = sources.each_ref().map(Vec::as_slice);
        let mut answer = retx_diagnose::diagnose_pair([one, other], ["a", "b"], None).expect("two");
        answer.flows.remove(0)
    };
    let flow = answer(&PLAIN);
    let found = named(&flow, "options_removed").expect("a device between the captures");
    assert!(found.evidence.contains("window scaling, SACK and timestamps"), "{found:?}");
    assert!(named(&answer(&OFFERS), "options_removed").is_none());
}
