//! Capture files read by tshark. If it is not installed (`apt-get install tshark`), the tests
//! report that and check nothing.

use crate::connections::{ACK, DATA, Hand, Part, download, reset, start};
use crate::skipping::skip;
use retx_record::capture::{CaptureBuffer, FlowNodes, Side};
use retx_record::pcapng::{CaptureMetadata, SnapLength, write};
use retx_record::write_atomically;
use retx_units::{SeqNr, Time};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

/// A capture file that is removed at the end of the test.
struct Capture(PathBuf);

impl Capture {
    fn new(name: &str, capture: &CaptureBuffer, snap: SnapLength) -> Self {
        let file = format!("retx-tshark-{}-{name}.pcapng", std::process::id());
        let path = std::env::temp_dir().join(file);
        let about = CaptureMetadata::new("retx 1.2.3", "a test", snap).unwrap();
        write_atomically(&path, |file| write(capture, &about, file)).unwrap();
        Self(path)
    }

    /// Output of tshark; without tshark, `None` after printing the reason.
    fn tshark(&self, arguments: &[&str]) -> Option<String> {
        let checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
        let run =
            Command::new("tshark").arg("-r").arg(&self.0).args(checks).args(arguments).output();
        match run {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                skip("tshark", "tshark is missing (apt-get install tshark)");
                None
            }
            Err(error) => panic!("tshark does not start: {error}"),
            Ok(output) => {
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "tshark {arguments:?}: {errors}");
                Some(String::from_utf8(output.stdout).unwrap())
            }
        }
    }

    /// One row per packet, one string per field; several values of a field are joined by commas.
    fn fields(&self, names: &[&str]) -> Option<Vec<Vec<String>>> {
        let mut arguments = vec!["-T", "fields", "-E", "separator=|", "-E", "aggregator=,"];
        for name in names {
            arguments.extend(["-e", name]);
        }
        let text = self.tshark(&arguments)?;
        Some(text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

fn captured(fill: impl FnOnce(&mut CaptureBuffer)) -> CaptureBuffer {
    let mut capture = CaptureBuffer::new();
    fill(&mut capture);
    capture
}

/// tshark interprets window scaling, timestamps, SACK, wrapping sequence numbers, losses and
/// retransmissions as intended. Its relative sequence numbers are positions.
#[test]
fn a_download_reads_as_it_was_meant() {
    let file = Capture::new("download", &captured(download), SnapLength::Full);
    let Some(rows) = file.fields(&[
        "tcp.srcport",
        "tcp.seq",
        "tcp.ack",
        "tcp.len",
        "tcp.flags.str",
        "tcp.window_size",
        "tcp.options.sack_le",
        "tcp.options.timestamp.tsval",
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.sack_perm",
    ]) else {
        return;
    };
    let numbers: Vec<_> = rows
        .iter()
        .map(|row| {
            let side = if row[0] == "49152" { "opener" } else { "listener" };
            let flags = row[4].replace(['·', '*'], "");
            format!("{side} {flags} seq {} ack {} len {}", row[1], row[2], row[3])
        })
        .collect();
    let data = |n: u64| format!("listener A seq {} ack 1 len {DATA}", start(n));
    let acknowledgment = |ack: u64| format!("opener A seq 1 ack {ack} len 0");
    let mut expected = vec![
        "opener S seq 0 ack 0 len 0".to_owned(),
        "listener AS seq 0 ack 1 len 0".to_owned(),
        acknowledgment(1),
    ];
    expected.extend((0..7).map(data));
    expected.extend((0..4).map(|_| acknowledgment(start(1))));
    expected.extend([1, 3, 5, 4].map(data));
    expected.extend((0..2).map(|_| acknowledgment(start(7))));
    expected.push(format!("listener AF seq {} ack 1 len 0", start(7)));
    expected.push(format!("opener AF seq 1 ack {} len 0", start(7) + 1));
    expected.push(format!("listener A seq {} ack 2 len 0", start(7) + 1));
    assert_eq!(numbers, expected);

    for (index, row) in rows.iter().enumerate() {
        let is_syn = index < 2;
        assert_eq!(row[5], if is_syn { "1000" } else { "128000" }, "window of packet {index}");
        assert_eq!(row[7], index.to_string(), "timestamp of packet {index}");
        let on_syn = if is_syn { ["1460", "7"] } else { ["", ""] };
        assert_eq!(row[8..10], on_syn, "options of packet {index}");
        assert_eq!(row[10].is_empty(), !is_syn, "SACK-permitted of packet {index}");
    }
    let edges: Vec<_> =
        rows.iter().map(|row| row[6].as_str()).filter(|le| !le.is_empty()).collect();
    let list = |segments: &[u64]| {
        segments.iter().map(|n| start(*n).to_string()).collect::<Vec<_>>().join(",")
    };
    assert_eq!(edges, [list(&[2]), list(&[4, 2]), list(&[6, 4, 2]), list(&[4])]);
}

/// tshark's own analysis finds the retransmissions and no other anomaly.
#[test]
fn tshark_finds_the_retransmissions() {
    let file = Capture::new("analysis", &captured(download), SnapLength::default());
    let Some(rows) = file.fields(&[
        "tcp.analysis.retransmission",
        "tcp.analysis.duplicate_ack",
        "tcp.analysis.lost_segment",
        "tcp.analysis.ack_lost_segment",
        "tcp.completeness",
        "tcp.payload",
    ]) else {
        return;
    };
    let packets = |field: usize| {
        let has = |row: &Vec<String>| !row[field].is_empty();
        rows.iter().enumerate().filter(|(_, row)| has(row)).map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(packets(0), [14, 15, 16, 17]);
    // A later ACK reports a duplicate segment (DSACK); tshark may count it as a duplicate ACK or
    // not.
    assert_eq!(packets(1)[..3], [11, 12, 13]);
    assert!(packets(2).is_empty() && packets(3).is_empty());
    // At the end tshark has seen SYN, SYN/ACK, ACK, data and FIN.
    assert_eq!(rows[rows.len() - 1][4], "31");
    for (original, again) in [(4, 14), (6, 15), (8, 16), (7, 17)] {
        assert!(!rows[again][5].is_empty());
        assert_eq!(rows[original][5], rows[again][5]);
    }
}

#[test]
fn times_places_and_comments_are_shown() {
    let both = captured(|capture| {
        download(capture);
        reset(capture);
    });
    let file = Capture::new("comments", &both, SnapLength::default());
    let names = ["frame.time_epoch", "frame.interface_name", "frame.len", "frame.cap_len"];
    let names = [names.as_slice(), &["tcp.flags.reset", "frame.comment"]].concat();
    let Some(rows) = file.fields(&names) else { return };
    assert_eq!(rows.len(), 28);
    assert_eq!(rows[0][0], "0.001000001");
    let dropped = ["0.005000005", "cloud forward in", "1500", "96", "0"];
    let dropped =
        [dropped.as_slice(), &["dropped by queue at wan forward; flow download"]].concat();
    assert!(rows.iter().any(|row| *row == dropped), "{rows:?}");
    let reset = ["0.005500005", "wan forward in", "40", "40", "1"];
    let reset = [reset.as_slice(), &["delivered at 0.015500005 s; flow refused"]].concat();
    assert!(rows.iter().any(|row| *row == reset), "{rows:?}");

    let section = file.tshark(&["-q", "-z", "expert,error"]).unwrap();
    assert!(!section.contains("Errors"), "{section}");
    let found = file.tshark(&["-Y", "frame.comment contains \"script\""]).unwrap();
    assert_eq!(found.lines().count(), 1);
}

/// The full dissection of every packet reports nothing malformed, and no checksum that is wrong or
/// unchecked.
#[test]
fn the_dissection_has_nothing_to_complain_about() {
    let both = captured(|capture| {
        download(capture);
        reset(capture);
    });
    let file = Capture::new("words", &both, SnapLength::Full);
    let Some(words) = file.tshark(&["-V"]) else { return };
    for complaint in ["Malformed", "malformed", "incorrect", "Bad", "unverified", "Unknown"] {
        let line = words.lines().find(|line| line.contains(complaint));
        assert_eq!(line, None, "{complaint}");
    }
    assert_eq!(words.matches("[Checksum Status: Good]").count(), 28);
    assert_eq!(words.matches("[Header checksum status: Good]").count(), 28);
    assert!(words.contains("Packet comments"));
    assert_eq!(words.matches("Encapsulation type: Raw IP (7)").count(), 28);
}

/// tshark finds a wrong checksum, which shows that the test above can fail.
#[test]
fn a_wrong_checksum_is_found() {
    let file = Capture::new("wrong", &captured(reset), SnapLength::Full);
    let mut bytes = std::fs::read(&file.0).unwrap();
    let text = b"00000000000000000000 abcdefghij";
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&file.0, bytes).unwrap();
    let Some(rows) = file.fields(&["tcp.checksum.status", "ip.checksum.status"]) else { return };
    assert_eq!(rows, [["1", "1"], ["1", "1"], ["1", "1"], ["0", "1"], ["1", "1"]]);
}

/// tshark takes no flow of a large run for another protocol because of its ports or payload.
#[test]
fn no_port_and_no_payload_is_taken_for_a_protocol() {
    let mut capture = CaptureBuffer::new();
    let place = capture.add_interface("a in").unwrap();
    let mut expected = BTreeSet::new();
    for n in 0..200_000u32 {
        let nodes = FlowNodes { opener: 1 + n % 300, listener: 0 };
        let flow = capture.add_flow(&format!("f.{n}"), nodes).unwrap();
        // The flows captured have every port of the openers, and every port of the listeners at
        // least once.
        if n >= 16_383 && n % 16_383 != 0 {
            continue;
        }
        let initial = [SeqNr(n), SeqNr(n)];
        let mut hand = Hand { capture: &mut capture, place, flow, initial, now: Time::ZERO };
        let part = Part {
            flags: ACK,
            position: 1 + u64::from(n * 37),
            ack: 1,
            payload_bytes: 1 + n % 70,
            ..Part::default()
        };
        let side = if n % 2 == 0 { Side::Opener } else { Side::Listener };
        hand.send(side, part);
        expected.insert(n);
    }
    let file = Capture::new("ports", &capture, SnapLength::Full);
    let Some(rows) = file.fields(&["tcp.stream", "frame.protocols", "frame.comment"]) else {
        return;
    };
    assert_eq!(rows.len(), expected.len());
    let streams: BTreeSet<_> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(streams.len(), expected.len(), "flows were mixed up");
    for row in &rows {
        assert_eq!(row[1], "raw:ip:tcp:data", "{row:?}");
    }
}
