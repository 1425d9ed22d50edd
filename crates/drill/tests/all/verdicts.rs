//! Failures reported by the player, with position and message, and deviations that packetdrill
//! tolerates.

use retx_drill::{Difference, Options, PlayResult, Refusal, Verdict, play};

/// Opens a connection with a peer that uses segments of 1000 bytes, at 0.1 s; the script continues
/// at line 8.
const OPEN: &str = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
";

fn played(text: &str) -> PlayResult {
    play(text, &Options::default())
}

fn passes(text: &str) {
    assert_eq!(played(text).verdict, Verdict::Passed, "{text}");
}

/// Plays the rest of a script after [`OPEN`]; lines count from its first.
fn fails(rest: &str) -> Difference {
    match played(&format!("{OPEN}{rest}")).verdict {
        Verdict::Failed(mut difference) => {
            difference.line -= 7;
            difference
        }
        other => panic!("{rest} gave {other:?}"),
    }
}

fn refused(text: &str) -> Refusal {
    match played(text).verdict {
        Verdict::Refused(refusal) => refusal,
        other => panic!("{text} gave {other:?}"),
    }
}

#[test]
fn a_different_packet_is_shown_beside_the_expected_one() {
    let difference = fails("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 7 win 9\n");
    assert_eq!(
        difference,
        Difference {
            line: 2,
            message: "ack: expected 7, sent 1; win: expected 9, sent 65535".into(),
            expected: Some("+0 > P. 1:1001(1000) ack 7 win 9".into()),
            actual: Some("0.100000 > P. 1:1001(1000) ack 1 win 65535".into()),
        }
    );
}

#[test]
fn every_field_counts() {
    let after =
        |packet: &str| fails(&format!("+0 write(4, ..., 1000) = 1000\n+0 {packet}\n")).message;
    assert_eq!(after("> F. 1:1001(1000) ack 1"), "flags: expected F., sent .");
    assert_eq!(after("> . 2:1002(1000) ack 1"), "seq: expected 2, sent 1");
    assert_eq!(after("> . 1:1000(999) ack 1"), "payload: expected 999, sent 1000");
    assert_eq!(after("> . 1:1001(1000)"), "ack: expected 0, sent 1");
    assert_eq!(after("> . 1:1001(1000) ack 1 <nop,nop,nop,nop>"), "options");
    assert_eq!(after("> [ect0] . 1:1001(1000) ack 1"), "ecn: expected ect0, sent noecn");
    // PSH is ignored, `<...>` matches any options, and values that are not written are not checked.
    for packet in [
        "> P. 1:1001(1000) ack 1",
        "> . 1:1001(1000) ack 1 <...>",
        "> [noecn] . 1:1001(1000) ack 1",
    ] {
        passes(&format!("{OPEN}+0 write(4, ..., 1000) = 1000\n+0 {packet}\n"));
    }
}

#[test]
fn options_are_compared_in_order_and_with_their_padding() {
    let syn = |answer: &str| {
        played(&format!(
            "--retx-tcp=sack\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n\
             +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop>\n+0 > S. 0:0(0) ack 1 {answer}\n"
        ))
        .verdict
    };
    assert_eq!(syn("<mss 1460,nop,nop,sackOK>"), Verdict::Passed);
    assert_eq!(syn("<...>"), Verdict::Passed);
    for wrong in
        ["<nop,nop,sackOK,mss 1460>", "<mss 1460,sackOK,nop,nop>", "<mss 1459,nop,nop,sackOK>", ""]
    {
        assert!(matches!(syn(wrong), Verdict::Failed(_)), "{wrong}");
    }
}

#[test]
fn a_packet_that_never_comes() {
    let difference = fails("+0 > P. 1:1001(1000) ack 1\n");
    assert_eq!(difference.message, "the endpoint sent nothing up to 2.100000");
    assert_eq!(fails("* > P. 1:1001(1000) ack 1\n").message, "the endpoint sends nothing more");
}

/// Times may deviate by 4 ms, or by an eighth of the step if that is more.
#[test]
fn times_have_packetdrills_tolerance() {
    // The retransmission is due 1 s after 0.1 s.
    let at = |time: &str| {
        format!(
            "+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n\
             {time} > . 1:1001(1000) ack 1\n"
        )
    };
    for good in ["+1", "+.89", "+1.14", "1.1", "*", "+.5~+1", "1~1.05", "+1~+3"] {
        passes(&format!("{OPEN}{}", at(good)));
    }
    for (bad, message) in [
        ("+.88", "too late: due at 0.980000, sent at 1.100000"),
        ("+1.15", "too early: due at 1.250000, sent at 1.100000"),
        ("+.2~+.8", "too late: due at 0.300000 … 0.900000, sent at 1.100000"),
    ] {
        assert_eq!(fails(&at(bad)).message, message);
    }
    let strict = format!("--tolerance_percent=0\n--tolerance_usecs=1000\n{OPEN}{}", at("+1.002"));
    assert!(matches!(played(&strict).verdict, Verdict::Failed(_)));
    passes(&format!("--tolerance_percent=0\n--tolerance_usecs=2000\n{OPEN}{}", at("+1.002")));
}

/// Events after a late packet are relative to its actual time, arrivals to the due time.
#[test]
fn relative_times_count_from_what_happened() {
    passes(&format!(
        "{OPEN}+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n\
         +1.1 > . 1:1001(1000) ack 1\n2.6 < . 1:1(0) ack 1 win 65535\n+.5 > . 1:1001(1000) ack 1\n"
    ));
    let late = fails(
        "+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n+1.1 > . 1:1001(1000) ack 1\n\
         1.05 < . 1:1(0) ack 1 win 65535\n",
    );
    assert_eq!(late.line, 4);
    assert!(late.message.contains("it is 1.100000 already"), "{late:?}");
}

#[test]
fn segments_are_joined_up_to_the_written_length() {
    let write = "+0 write(4, ..., 3000) = 3000\n";
    passes(&format!("{OPEN}{write}+0 > . 1:3001(3000) ack 1\n"));
    passes(&format!("{OPEN}{write}+0 > . 1:1001(1000) ack 1\n+0 > . 1001:3001(2000) ack 1\n"));
    let short = fails(&format!("{write}+0 > . 1:3501(3500) ack 1\n"));
    assert_eq!(short.message, "after 3000 of 3500 bytes");
    let long = fails(&format!("{write}+0 > . 1:2501(2500) ack 1\n"));
    assert_eq!(long.message, "payload: expected 2500, sent 3000");
    // Only continuous segments with equal acknowledgments are joined.
    let other = fails(
        "+0 write(4, ..., 1000) = 1000\n+0 < P. 1:101(100) ack 1 win 65535\n\
         +0 write(4, ..., 1000) = 1000\n+0 > . 1:2001(2000) ack 101\n",
    );
    assert_eq!(other.message, "after 1000 of 2000 bytes");
    let strict = played(&format!("--strict_segments\n{OPEN}{write}+0 > . 1:3001(3000) ack 1\n"));
    let Verdict::Failed(difference) = strict.verdict else { panic!("{strict:?}") };
    assert_eq!(difference.message, "payload: expected 3000, sent 1000");
}

/// packetdrill notices an extra packet only at the next one; an exact script does at once.
#[test]
fn packets_that_the_script_does_not_have() {
    let rest = "+0 write(4, ..., 1000) = 1000\n+.1 < . 1:1(0) ack 1001 win 65535\n";
    passes(&format!("{OPEN}{rest}"));
    let later = fails(&format!("{rest}+0 close(4) = 0\n+0 > F. 1001:1001(0) ack 1\n"));
    assert_eq!(later.line, 4);
    let exact = played(&format!("--retx-exact\n{OPEN}{rest}"));
    let Verdict::Failed(difference) = exact.verdict else { panic!("{exact:?}") };
    assert_eq!((difference.line, difference.expected), (10, None));
    assert_eq!(difference.actual.as_deref(), Some("0.100000 > P. 1:1001(1000) ack 1 win 65535"));
    // The same holds at the very end.
    let end = played(&format!("--retx-exact\n{OPEN}+0 write(4, ..., 1000) = 1000\n"));
    assert!(matches!(end.verdict, Verdict::Failed(_)));
}

#[test]
fn results_of_calls_are_checked() {
    let message = |rest: &str| fails(rest).message;
    assert_eq!(message("+0 write(4, ..., 1000) = 900\n"), "write returned 1000");
    assert_eq!(message("+0 close(4) = -1 EBADF (Bad file descriptor)\n"), "close returned 0");
    assert!(message("+0 read(4, ..., 1000) = 0\n").contains("read waits"));
    passes(&format!("{OPEN}+0 write(4, ..., 1000) = ...\n"));
    let nonblocking = "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n";
    passes(&format!(
        "{OPEN}{nonblocking}+0 fcntl(4, F_GETFL) = 0x802 (flags O_RDWR|O_NONBLOCK)\n\
         +0 read(4, ..., 1000) = -1 EAGAIN (Resource temporarily unavailable)\n\
         +0 recv(4, ..., 1000, 0) = -1 EWOULDBLOCK (Operation would block)\n"
    ));
    assert_eq!(
        message(&format!("{nonblocking}+0 read(4, ..., 9) = -1 EPIPE\n")),
        "read returned -1 EAGAIN"
    );
}

#[test]
fn calls_that_wait_return_in_time() {
    let data = "+.2 < P. 1:501(500) ack 1 win 65535\n";
    passes(&format!("{OPEN}+0...0.2 read(4, ..., 1000) = 500\n{data}"));
    let late = fails(&format!("+0...0.1 read(4, ..., 1000) = 500\n{data}"));
    assert_eq!((late.line, late.message.as_str()), (1, "read returned 500 at 0.300000"));
    let wrong = fails(&format!("+0...0.2 read(4, ..., 1000) = 400\n{data}"));
    assert_eq!(wrong.message, "read returned 500");
    let never = fails("+0...0.2 read(4, ..., 1000) = 500\n+1 close(4) = 0\n");
    assert!(never.message.contains("has not returned"), "{never:?}");
    // A blocking write waits until all has been taken.
    passes(&format!(
        "--retx-set=send_buffer=2000\n{OPEN}+0...0.1 write(4, ..., 3000) = 3000\n\
         +0 > . 1:2001(2000) ack 1\n+.1 < . 1:1(0) ack 1001 win 65535\n\
         +0 > . 2001:3001(1000) ack 1\n"
    ));
    // poll times out by itself.
    passes(&format!("{OPEN}+0...0.3 poll([{{fd=4, events=POLLIN, revents=0}}], 1, 300) = 0\n"));
    passes(&format!(
        "{OPEN}+0...0.2 poll([{{fd=4, events=POLLIN, revents=POLLIN}}], 1, 300) = 1\n{data}"
    ));
}

#[test]
fn options_and_queues_of_sockets() {
    passes(&format!(
        "{OPEN}+0 < P. 1:301(300) ack 1 win 65535\n+0 recv(4, ..., 100, MSG_PEEK) = 100\n\
         +0 ioctl(4, SIOCINQ, [300]) = 0\n+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [5000], 4) = 0\n\
         +0 getsockopt(4, SOL_SOCKET, SO_SNDBUF, [10000], [4]) = 0\n\
         +0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0\n\
         +0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n\
         +0 getsockopt(4, SOL_TCP, TCP_NODELAY, [1], [4]) = 0\n\
         +0 write(4, ..., 300) = 300\n+0 ioctl(4, SIOCOUTQ, [300]) = 0\n"
    ));
    // As in Linux, data that arrive after SHUT_RD can still be read.
    passes(&format!(
        "{OPEN}+0 shutdown(4, SHUT_RD) = 0\n+0 read(4, ..., 9) = 0\n\
         +0 < P. 1:301(300) ack 1 win 65535\n+0 read(4, ..., 900) = 300\n\
         +0 read(4, ..., 9) = 0\n+0 shutdown(4, SHUT_WR) = 0\n\
         +0 write(4, ..., 9) = -1 EPIPE (Broken pipe)\n"
    ));
    let wrong = fails("+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [999], [4]) = 0\n");
    assert_eq!(wrong.message, "it is MaxSegment(1000)");
}

#[test]
fn assertions_that_do_not_hold() {
    let difference =
        fails("+0 %{\nassert tcpi_snd_cwnd == 4\nassert tcpi_snd_mss == 1, 'mss'\n}%\n");
    assert_eq!(
        difference,
        Difference {
            line: 3,
            message: "this does not hold".into(),
            expected: Some("assert tcpi_snd_mss == 1".into()),
            actual: Some("mss; tcpi_snd_mss = 1000".into()),
        }
    );
    // Variables persist from block to block, and output is reported.
    let text = format!("{OPEN}+0 %{{ cwnd = tcpi_snd_cwnd }}%\n+0 %{{ print(cwnd, 'x') }}%\n");
    assert_eq!(played(&text).printed, ["4 x"]);
}

#[test]
fn timestamps_are_translated_both_ways() {
    let script = |flags: &str, ecr: u32, val: u32| {
        let text = format!(
            "--retx-set=timestamps=true\n{flags}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
             +0 listen(3, 1) = 0\n+0 < S 0:0(0) win 9000 <mss 1000,nop,nop,TS val 7 ecr 0>\n\
             +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,TS val 500 ecr 7>\n\
             +.1 < . 1:1(0) ack 1 win 9000 <nop,nop,TS val 8 ecr {ecr}>\n\
             +0 accept(3, ..., ...) = 4\n+0 write(4, ..., 100) = 100\n\
             +0 > P. 1:101(100) ack 1 <nop,nop,TS val {val} ecr 8>\n\
             +0 %{{ assert tcpi_rtt == 100000, tcpi_rtt }}%\n"
        );
        played(&text).verdict
    };
    assert_eq!(script("", 500, 600), Verdict::Passed);
    // Values are compared only if there is a tick, echoes in exact scripts.
    assert_eq!(script("", 500, 999), Verdict::Passed);
    let Verdict::Failed(wrong) = script("--tcp_ts_tick_usecs=1000", 500, 999) else { panic!() };
    assert_eq!(wrong.message, "TS val: expected 999, sent 600");
    let echo = script("--retx-exact", 500, 600);
    assert_eq!(echo, Verdict::Passed);
    assert!(matches!(script("", 555, 600), Verdict::Refused(_)), "never sent");
    assert_eq!(script("--tcp_ts_ecr_scaled", 500, 600), Verdict::Passed);
}

/// Exact scripts also compare echoed timestamps.
#[test]
fn echoed_timestamps_are_compared_in_exact_scripts() {
    let script = |flags: &str, ecr: u32| {
        let text = format!(
            "--retx-set=timestamps=true\n{flags}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
             +0 listen(3, 1) = 0\n+0 < S 0:0(0) win 9000 <mss 1000,nop,nop,TS val 7 ecr 0>\n\
             +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,TS val 500 ecr {ecr}>\n"
        );
        played(&text).verdict
    };
    assert_eq!(script("", 8), Verdict::Passed);
    assert_eq!(script("--retx-exact", 7), Verdict::Passed);
    let Verdict::Failed(wrong) = script("--retx-exact", 8) else { panic!() };
    assert_eq!(wrong.message, "TS ecr: expected 8, sent 7");
}

/// A script may give the SYNs any numbers; all others are relative to them.
#[test]
fn scripts_number_their_syns() {
    passes(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n\
         +0 < S 5000:5000(0) win 9000 <mss 1000>\n+0 > S. 700:700(0) ack 5001 <...>\n\
         +0 < . 1:1(0) ack 1 win 9000\n+0 accept(3, ..., ...) = 4\n\
         +0 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 1\n",
    );
}

#[test]
fn linux_settings_become_the_endpoints() {
    let syn = |commands: &str, options: &str| {
        let text = format!(
            "--retx-tcp=sack\n{commands}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
             +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
             +0 connect(3, ..., ...) = -1 EINPROGRESS\n\
             +0 > S 0:0(0) {options}\n`/tmp/sysctl_restore_${{PPID}}.sh`\n"
        );
        assert_eq!(played(&text).verdict, Verdict::Passed, "{commands}");
    };
    syn("", "<mss 1460,nop,nop,sackOK,nop,wscale 7>");
    syn("`sysctl -q net.ipv4.tcp_sack=0`", "<mss 1460,nop,wscale 7>");
    syn(
        "`sysctl -q net.ipv4.tcp_timestamps=1 net.ipv4.tcp_window_scaling=0 > /dev/null 2>&1`",
        "<mss 1460,sackOK,TS val 1 ecr 0>",
    );
    syn(
        "`sysctl -q net.ipv4.tcp_rmem=\"4096 540000 15728640\"`",
        "<mss 1460,nop,nop,sackOK,nop,wscale 8>",
    );
    syn(
        "`ethtool -K tun0 tso off gso off\n\
         ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_sack=0 \\\n\
         /proc/sys/net/ipv4/tcp_min_tso_segs=10`",
        "<mss 1460,nop,wscale 7>",
    );
    // The script's own setting takes precedence.
    syn(
        "--retx-set=sack=true\n`sysctl net.ipv4.tcp_sack=0`",
        "<mss 1460,nop,nop,sackOK,nop,wscale 7>",
    );
    syn("--mtu=1000", "<mss 960,nop,nop,sackOK,nop,wscale 7>");
}

#[test]
fn options_of_the_caller_come_before_those_of_the_script() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n\
                +0 < S 0:0(0) win 9000\n+0 > S. 0:0(0) ack 1 <mss 700>\n";
    let options = |tcp: &str, mss: &str| Options {
        tcp: tcp.into(),
        settings: vec![("mss".into(), mss.into())],
        ..Options::default()
    };
    assert_eq!(play(text, &options("sack", "700")).verdict, Verdict::Passed);
    let own = format!("--retx-set=mss=700\n{text}");
    assert_eq!(play(&own, &options("reno", "800")).verdict, Verdict::Passed);
    let Verdict::Refused(refusal) = play(text, &options("renno", "1")).verdict else { panic!() };
    assert_eq!(refusal.line, 0);
    assert!(
        refusal.message.contains("no TCP \"renno\"; did you mean \"reno\"? (presets are tahoe"),
        "{refusal:?}"
    );
}

#[test]
fn what_is_not_supported_is_refused_with_its_line() {
    for (text, line, part) in [
        ("// nothing\n", 2, "no event"),
        ("0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 3", 1, "only SOCK_STREAM"),
        ("\n0 pipe([3, 4]) = 0", 2, "the call pipe is not supported"),
        ("0 < udp (100)", 1, "udp packets are not supported"),
        ("0 < [tos 0x4] . 1:1(0) ack 1", 1, "tos is not supported"),
        ("0 < S 0:0(0) <FO abcd>", 1, "option FO is not supported"),
        ("0 < S 0:0(0) <mss 1000,nop>", 1, "5 bytes of options"),
        ("0 < . 1:9(7) ack 1", 1, "1 + 7 is not 9"),
        ("0 < X 0:0(0)", 1, "no control bit"),
        ("0 < . 1:1(0) ack 99999999999", 1, "within 0 … 4294967295"),
        ("1 < . 1:1(0)", 1, "first event happens at time 0"),
        ("0 < . 0:0(0) ack 1 win 1\n.2 < . 0:0(0) ack 1 win 1\n.1 < . 1:1(0)", 3, "lies before"),
        ("0 < . 1:1(0) <...>", 1, "written out"),
        ("--so_filename=x.so\n0 < . 1:1(0)", 1, "flag --so_filename is not supported"),
        ("--ip_version=ipv9\n0 < . 1:1(0)", 1, "only ipv4 and ipv6"),
        ("\n--retx-set=mss\n0 < . 1:1(0)", 2, "write --retx-set=key=value"),
        ("--retx-set=mss=800\n--retx-set=msss=1\n0 < . 1:1(0)", 2, "did you mean \"mss\"?"),
        ("`touch x`\n0 < . 1:1(0)", 1, "`touch x` is not supported"),
        ("`sysctl -q net.ipv4.tcp_x=1`\n0 < . 1:1(0)", 1, "net.ipv4.tcp_x is not supported"),
        ("`sysctl net.ipv4.tcp_early_retrans=1`\n0 < . 1:1(0)", 1, "only 0, 3, 4 can be played"),
        ("0 %{ assert tcpi_snd_cwnd == 1 }%", 1, "there is no connection yet"),
        ("0 < S 0:0(0)\n+0 %{ assert tcpi_fackets == 1 }%", 2, "there is no tcpi_fackets"),
        (
            "0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [1], 4) = 0",
            1,
            "option TCP_FASTOPEN is not supported",
        ),
        ("0 listen(3, 1) = 0", 1, "there is no descriptor 3"),
        ("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = -1", 1, "the name of an error"),
        ("0 > . 1:1(0) ack 1", 1, "no connection yet"),
        ("0 soket()", 1, "the call soket is not supported"),
        ("0", 1, "found the end of the script"),
    ] {
        let refusal = refused(text);
        assert_eq!(refusal.line, line, "{text}: {refusal:?}");
        assert!(refusal.message.contains(part), "{text}: {refusal:?}");
    }
    let socket = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";
    for (rest, part) in [
        ("+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", "descriptor 3 is in use"),
        ("+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, [\"nosuch\"], 6) = 0", "TCP_CONGESTION"),
        ("+0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [0], 4) = 0", "outside 1"),
    ] {
        let refusal = refused(&format!("{socket}{rest}"));
        assert_eq!(refusal.line, 2);
        assert!(refusal.message.contains(part), "{rest}: {refusal:?}");
    }
}

/// Two ways in which a script could send without end.
#[test]
fn an_endless_endpoint_is_stopped() {
    let text = format!("{OPEN}+0 write(4, ..., 100000) = 100000\n* > . 9:9(0) ack 1\n");
    let options = Options { packets_max: 2, ..Options::default() };
    let Verdict::Failed(difference) = play(&text, &options).verdict else { panic!() };
    assert!(difference.message.contains("without end"), "{difference:?}");
}

/// The trace is valid script notation, with the time at which each packet was sent or arrived.
#[test]
fn a_trace_tells_what_happened() {
    let text = format!("{OPEN}+0 write(4, ..., 2000) = 2000\n+.2 close(4) = 0\n");
    let options = Options { trace: true, ..Options::default() };
    assert_eq!(
        play(&text, &options).trace[3..],
        [
            "0.000000 < S 0:0(0) win 65535 <mss 1000>",
            "0.000000 > S. 0:0(0) ack 1 win 65535 <mss 1460>",
            "0.100000 < . 1:1(0) ack 1 win 65535",
            "0.100000 # accept",
            "0.100000 # write",
            "0.100000 > . 1:1001(1000) ack 1 win 65535",
            "0.100000 > P. 1001:2001(1000) ack 1 win 65535",
            "0.300000 # close",
            "0.300000 > F. 2001:2001(0) ack 1 win 65535",
        ]
    );
}

/// Linux counts whole segments: 717/1024 of 11 are 7 for CUBIC, half of 11 are 5 for Reno. RFC 9438
/// and RFC 5681 would keep 7,700 and 5,500 bytes.
#[test]
fn a_congestion_control_that_linux_is_told_is_linuxs() {
    let loses = "\
+0 write(4, ..., 11000) = 11000
+0 > . 1:11001(11000) ack 1
+.1 < . 1:1(0) ack 1 win 257 <sack 1001:4001,nop,nop>
+0 > . 1:1001(1000) ack 1
+0 %{ assert retx_ssthresh_bytes ==";
    let tcp = "--retx-tcp=rack\n--retx-set=initial_window=11000\n";
    let open = OPEN.replace("<mss 1000>", "<mss 1000,nop,nop,sackOK>");
    let command = "`sysctl -q net.ipv4.tcp_congestion_control=cubic`\n";
    passes(&format!("{tcp}{command}{open}{loses} 7000 }}%\n"));
    let listen = "+0 listen(3, 1) = 0\n";
    let option = "+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, [\"reno\"], 4) = 0\n";
    let open = open.replace(listen, &format!("{listen}{option}"));
    passes(&format!("{tcp}{open}{loses} 5000 }}%\n"));
}
