//! A capture of a run with loss, judged by tshark: it counts the same segments, bytes and
//! retransmissions as the record. Where tshark is not installed (`apt-get install tshark`), the
//! test says so and checks nothing.

use crate::plans::{bernoulli, high_ber};
use crate::skipping::skip;
use retx_record::pcapng::{self, CaptureMetadata, SnapLength};
use retx_record::summary::FlowSummary;
use retx_sim::{CapturePoint, Control, Options, run_plan};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file that is removed at the end of the test.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // A failure to remove the file does no harm, as it is in the temporary directory.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs one flow at 1 % loss in each direction, captured at the server; returns the capture file
/// and the flow's summary.
fn captured(seed: u64) -> (Temporary, FlowSummary) {
    let mut plan = high_ber(0.01);
    plan.pipes[1].config.channel = vec![bernoulli(0.01)];
    plan.seed = seed;
    let capture = vec![CapturePoint::Link { link: 0, right: false }];
    let options = Options { capture_points: capture, ..Options::default() };
    let outcome = run_plan(&plan, &options, &Control::default()).expect("a sound run");
    let name = format!("retx-sim-{}-{seed}.pcapng", std::process::id());
    let file = Temporary(std::env::temp_dir().join(name));
    let about = CaptureMetadata::new("retx", "a test", SnapLength::default()).expect("short texts");
    let buffer = outcome.capture.expect("asked for");
    retx_record::write_atomically(&file.0, |writer| pcapng::write(&buffer, &about, writer))
        .expect("it can be written");
    (file, outcome.flows.into_iter().next().expect("one flow"))
}

/// The length of the payload and the comment that tshark reads from each frame matching `filter`;
/// `None` if tshark is not installed.
fn tshark(file: &Path, filter: &str) -> Option<Vec<(u64, String)>> {
    let fields = ["-T", "fields", "-e", "tcp.len", "-e", "frame.comment"];
    let run = Command::new("tshark").arg("-r").arg(file).args(["-Y", filter]).args(fields).output();
    let output = match run {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skip("tshark", "tshark is missing (apt-get install tshark)");
            return None;
        }
        run => run.expect("tshark starts"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("tshark writes UTF-8");
    let row = |line: &str| {
        let (length, comment) = line.split_once('\t').expect("two fields");
        (length.parse().expect("a length"), comment.to_owned())
    };
    Some(text.lines().map(row).collect())
}

#[test]
fn tshark_counts_what_the_record_counts() {
    for seed in 1..4 {
        let (file, flow) = captured(seed);
        let Some(data) = tshark(&file.0, "tcp.len > 0") else { return };
        assert_eq!(data.len() as u64, flow.segments_sent);
        // The total counts every byte once, and retransmitted bytes once more.
        let bytes: u64 = data.iter().map(|(length, _)| length).sum();
        let again: u64 =
            data.iter().filter(|(_, text)| text.contains("retransmission")).map(|row| row.0).sum();
        assert_eq!(bytes - again, 10_000_000);
        let comments = |part: &str| data.iter().filter(|(_, text)| text.contains(part)).count();
        assert_eq!(comments("retransmission") as u64, flow.segments_retransmitted);
        let unnecessary = comments("retransmission, unnecessary") as u64;
        assert_eq!(unnecessary, flow.retransmissions_unnecessary);
        let marks = "tcp.len > 0 && (tcp.analysis.retransmission \
            || tcp.analysis.fast_retransmission || tcp.analysis.spurious_retransmission \
            || tcp.analysis.out_of_order)";
        let marked = tshark(&file.0, marks).expect("it was there a moment ago");
        assert_eq!(marked.len() as u64, flow.segments_retransmitted);
        assert!(marked.iter().all(|(_, text)| text.contains("retransmission")));
        let malformed = tshark(&file.0, "_ws.malformed || tcp.checksum.status == \"Bad\"");
        assert_eq!(malformed.expect("it was there a moment ago"), []);
    }
}
