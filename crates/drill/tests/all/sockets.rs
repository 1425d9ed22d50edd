//! Behaviour of socket options, messages, epoll and timestamps in the player.

use retx_drill::{Options, Verdict, play};

/// Opens a connection between a Linux socket and a peer with segments of 1000 bytes and a window of
/// 64 KB.
const OPEN: &str = "\
--retx-tcp=linux
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 512
+0 accept(3, ..., ...) = 4
";

fn verdict(rest: &str) -> Verdict {
    play(&format!("{OPEN}{rest}"), &Options::default()).verdict
}

fn passes(rest: &str) {
    assert_eq!(verdict(rest), Verdict::Passed, "{rest}");
}

fn fails(rest: &str, part: &str) {
    match verdict(rest) {
        Verdict::Failed(difference) => {
            assert!(difference.message.contains(part), "{rest}: {difference:?}");
        }
        other => panic!("{rest} gave {other:?}"),
    }
}

#[test]
fn a_message_is_a_transfer_of_its_parts() {
    passes(
        "+0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 400}, {..., 600}], msg_flags=0}, 0) \
         = 1000\n+0 > P. 1:1001(1000) ack 1\n",
    );
    let read = |left: i64, flags: &str| {
        format!(
            "+0 setsockopt(4, SOL_TCP, TCP_INQ, [1], 4) = 0\n\
             +0 < {flags}. 1:301(300) ack 1 win 512\n\
             +0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{..., 300}}], msg_flags=0, \
             msg_control=[{{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data={left}}}]}}, 0) \
             = 300\n"
        )
    };
    passes(&read(0, "P"));
    // The end of the stream counts as one byte.
    passes(&read(1, "F"));
    fails(&read(5, "P"), "0 bytes are left");
}

#[test]
fn a_buffer_at_address_0_is_a_fault() {
    passes("+0 write(4, NULL, 10) = -1 EFAULT (Bad address)\n+0 write(4, NULL, 0) = 0\n");
    fails("+0 recv(4, NULL, 10, 0) = 10\n", "returned -1 EFAULT");
}

#[test]
fn an_edge_is_reported_once_and_a_level_again() {
    let watch = |events: &str| {
        format!(
            "+0 epoll_create(1) = 5\n\
             +0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {{events={events}, fd=4}}) = 0\n\
             +0 epoll_wait(5, {{events=0, ptr=0}}, 1, 0) = 0\n+0 < P. 1:301(300) ack 1 win 512\n\
             +0 epoll_wait(5, {{events=EPOLLIN, fd=4}}, 1, 0) = 1\n"
        )
    };
    let (again, nothing) = (
        "+0 epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0) = 1\n",
        "+0 epoll_wait(5, {events=0, ptr=0}, 1, 0) = 0\n",
    );
    passes(&format!("{}{again}", watch("EPOLLIN")));
    passes(&format!("{}{nothing}", watch("EPOLLIN|EPOLLET")));
    passes(&format!("{}{nothing}", watch("EPOLLIN|EPOLLONESHOT")));
    fails(&format!("{}{again}", watch("EPOLLIN|EPOLLET")), "epoll_wait finds nothing");
    // Further data are a new edge; after a change the entry is checked again.
    passes(&format!("{}+0 < P. 301:401(100) ack 1 win 512\n{again}", watch("EPOLLIN|EPOLLET")));
    let change = "+0 epoll_ctl(5, EPOLL_CTL_MOD, 4, {events=EPOLLIN, fd=4}) = 0\n";
    passes(&format!("{}{change}{again}", watch("EPOLLIN|EPOLLONESHOT")));
    let removed = "+0 epoll_ctl(5, EPOLL_CTL_DEL, 4, {events=0, fd=4}) = 0\n";
    passes(&format!("{}{removed}{nothing}", watch("EPOLLIN")));
}

#[test]
fn the_last_byte_of_a_write_is_stamped() {
    let all = "[SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE | \
               SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID]";
    let stamp = |what: &str, millis: u32, key: u32| {
        format!(
            "+0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{..., 0}}], \
             msg_flags=MSG_ERRQUEUE|MSG_TRUNC, msg_control=[{{cmsg_level=SOL_SOCKET, \
             cmsg_type=SCM_TIMESTAMPING, cmsg_data={{scm_sec=0, scm_nsec={millis}000000}}}}, \
             {{cmsg_level=SOL_IP, cmsg_type=IP_RECVERR, cmsg_data={{ee_errno=ENOMSG, \
             ee_origin=SO_EE_ORIGIN_TIMESTAMPING, ee_type=0, ee_code=0, ee_info={what}, \
             ee_data={key}}}}}]}}, MSG_ERRQUEUE) = 0\n"
        )
    };
    let write = format!(
        "+0 setsockopt(4, SOL_SOCKET, SO_TIMESTAMPING, {all}, 4) = 0\n\
         +0 write(4, ..., 2000) = 2000\n+.02 < . 1:1(0) ack 2001 win 512\n"
    );
    let sent = |key| stamp("SCM_TSTAMP_SCHED", 100, key) + &stamp("SCM_TSTAMP_SND", 100, key);
    passes(&format!("{write}{}{}", sent(1_999), stamp("SCM_TSTAMP_ACK", 120, 1_999)));
    fails(&format!("{write}{}", sent(2_000)), "it is Scheduled of byte 1999");
    fails(
        &format!("{write}{}{}", sent(1_999), stamp("SCM_TSTAMP_ACK", 110, 1_999)),
        "it is Acknowledged",
    );
    passes(
        "+0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 0}], msg_flags=0}, MSG_ERRQUEUE) \
         = -1 EAGAIN (Resource temporarily unavailable)\n",
    );
}

/// A buffer of 42,000 bytes of memory holds a block of 32 segments and one of 8, with 1,280 bytes
/// of overhead each.
#[test]
fn a_linux_send_buffer_counts_memory_and_wakes_late() {
    let write = "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [21000], 4) = 0\n\
                 +0...0.040 write(4, ..., 61000) = 61000\n+.02 < . 1:1(0) ack 10001 win 512\n";
    passes(&format!("{write}+.02 < . 1:1(0) ack 30001 win 512\n"));
    fails(
        &write.replace("0.040", "0.020").replace("+.02 <", "+.01 <"),
        "this call has not returned",
    );
}

#[test]
fn socket_options_are_kept() {
    for (level, name, value) in [
        ("SOL_TCP", "TCP_CORK", 1),
        ("SOL_TCP", "TCP_USER_TIMEOUT", 3_000),
        ("SOL_TCP", "TCP_NOTSENT_LOWAT", 4_000),
        ("SOL_SOCKET", "SO_KEEPALIVE", 1),
        ("SOL_TCP", "TCP_KEEPIDLE", 10),
        ("SOL_TCP", "TCP_KEEPINTVL", 3),
        ("SOL_TCP", "TCP_KEEPCNT", 2),
        ("SOL_SOCKET", "SO_RCVLOWAT", 500),
    ] {
        passes(&format!(
            "+0 setsockopt(4, {level}, {name}, [{value}], 4) = 0\n\
             +0 getsockopt(4, {level}, {name}, [{value}], [4]) = 0\n"
        ));
    }
    // Options without effect are accepted; they cannot be read.
    passes("+0 setsockopt(4, SOL_IP, IP_TOS, [4], 1) = 0\n");
    assert!(matches!(
        verdict("+0 getsockopt(4, SOL_IP, IP_TOS, [4], [1]) = 0\n"),
        Verdict::Refused(_)
    ));
}

/// With a linger time `close` waits for the acknowledgment of the FIN, at most that long.
#[test]
fn close_lingers() {
    let close = |seconds: u32, end: &str| {
        format!(
            "+0 setsockopt(4, SOL_SOCKET, SO_LINGER, {{onoff=1, linger={seconds}}}, 8) = 0\n\
             +0...{end} close(4) = 0\n+0 > F. 1:1(0) ack 1\n+.05 < . 1:1(0) ack 2 win 512\n"
        )
    };
    passes(&close(2, "0.05"));
    fails(&close(2, "0.01"), "close returned 0 at");
    let unanswered = close(1, "1");
    passes(unanswered.split("+.05").next().unwrap_or_default());
    passes(
        "+0 setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0\n+0 close(4) = 0\n\
         +0 > R. 1:1(0) ack 1\n",
    );
}

/// `SO_RCVLOWAT`: a read waits for this many bytes.
#[test]
fn a_read_waits_for_the_low_water_mark() {
    passes(
        "+0 setsockopt(4, SOL_SOCKET, SO_RCVLOWAT, [500], 4) = 0\n\
         +0 < P. 1:301(300) ack 1 win 512\n\
         +0 recv(4, ..., 900, MSG_DONTWAIT) = -1 EAGAIN (Resource temporarily unavailable)\n\
         +0 < P. 301:601(300) ack 1 win 512\n+0 recv(4, ..., 900, MSG_DONTWAIT) = 600\n",
    );
}
