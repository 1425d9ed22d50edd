//! Linux's settings of TCP, and the corresponding fields of `[tcp.NAME]`.

use super::Change;
use crate::token::clip;

/// Values that packetdrill's `defaults.sh` sets (google/packetdrill, `gtests/net/common`), as far
/// as they concern TCP.
pub const DEFAULTS: [(&str, &str); 20] = [
    ("net.ipv4.tcp_rmem", "4096 540000 15728640"),
    ("net.ipv4.tcp_wmem", "4096 262144 4194304"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_syn_retries", "5"),
    ("net.ipv4.tcp_synack_retries", "5"),
    ("net.ipv4.tcp_frto", "2"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_dsack", "1"),
    ("net.ipv4.tcp_fack", "0"),
    ("net.ipv4.tcp_reordering", "3"),
    ("net.ipv4.tcp_congestion_control", "cubic"),
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_early_retrans", "4"),
    ("net.ipv4.tcp_recovery", "1"),
    ("net.ipv4.tcp_tso_win_divisor", "3"),
    ("net.ipv4.tcp_ecn", "0"),
    ("net.ipv4.tcp_ecn_option", "2"),
    ("net.ipv4.tcp_pacing_ss_ratio", "200"),
    ("net.ipv4.tcp_pacing_ca_ratio", "120"),
    ("net.ipv4.tcp_syncookies", "1"),
];

/// Interpretation of a setting.
enum Meaning {
    /// Boolean field with this name.
    Switch(&'static str),
    /// Numeric field with this name.
    Field(&'static str),
    /// 0 switches this field off, 1 switches it on, and 2 (accept only) leaves it unchanged.
    Offer(&'static str),
    /// Name of a congestion control in Linux.
    CongestionControl,
    /// Number of SYN retransmissions, in addition to those at constant intervals.
    SynRetries,
    /// Numeric field with this name, in this unit.
    Number(&'static str, &'static str),
    /// `min default max` in bytes of the buffer with this name, see [`LARGEST`].
    Memory(&'static str),
    /// The preset determines the behaviour, so only the values with which Linux behaves like the
    /// preset `linux` are accepted.
    Only(&'static [&'static str]),
    /// The value 0 disables the tail loss probe; 3 and 4 change nothing.
    TailProbe,
    /// No counterpart: offload sizes, caches and protections against attacks.
    Nothing,
}

use Meaning::{
    CongestionControl, Field, Memory, Nothing, Number, Offer, Only, Switch, SynRetries, TailProbe,
};

const MEANINGS: &[(&str, Meaning)] = &[
    ("tcp_sack", Switch("sack")),
    ("tcp_timestamps", Switch("timestamps")),
    ("tcp_window_scaling", Switch("window_scaling")),
    ("tcp_slow_start_after_idle", Switch("slow_start_after_idle")),
    ("tcp_congestion_control", CongestionControl),
    ("tcp_reordering", Field("dupack_threshold")),
    ("tcp_rto_min_us", Number("us", "min_rto")),
    ("tcp_rto_max_ms", Number("ms", "max_rto")),
    ("tcp_rmem", Memory("receive")),
    ("tcp_wmem", Memory("send")),
    ("tcp_syn_retries", SynRetries),
    ("tcp_retries2", Field("max_retransmissions")),
    ("tcp_synack_retries", Only(&["5"])),
    ("tcp_frto", Only(&["1", "2"])),
    ("tcp_dsack", Only(&["1"])),
    ("tcp_fack", Only(&["0"])),
    ("tcp_early_retrans", TailProbe),
    ("tcp_recovery", Only(&["1"])),
    ("tcp_ecn", Offer("ecn")),
    // Both values are handled in `command.rs`; all others are refused here.
    ("tcp_mtu_probing", Only(&["0", "2"])),
    ("tcp_ecn_option", Nothing),
    ("tcp_tso_win_divisor", Nothing),
    ("tcp_min_tso_segs", Nothing),
    ("tcp_pacing_ss_ratio", Nothing),
    ("tcp_pacing_ca_ratio", Nothing),
    ("tcp_fastopen", Nothing),
    ("tcp_fastopen_key", Nothing),
    ("tcp_syncookies", Nothing),
    ("tcp_no_metrics_save", Nothing),
    ("tcp_no_ssthresh_metrics_save", Nothing),
];

/// End of a placeholder such as `send, largest`. It denotes the field `send_autotuning` if the TCP
/// has it, and otherwise `send_buffer`: a fixed buffer gets the largest size.
pub const LARGEST: &str = ", largest";

/// Changes that correspond to a setting.
///
/// # Errors
/// An unknown setting, or a value that the endpoint cannot run with.
pub fn changes_for_sysctl(name: &str, value: &str) -> Result<Vec<Change>, String> {
    let known = name.strip_prefix("net.ipv4.").and_then(|short| {
        MEANINGS.iter().find(|(candidate, _)| *candidate == short).map(|(_, meaning)| meaning)
    });
    let Some(meaning) = known else {
        return Err(format!("the setting {} is not supported", clip(name)));
    };
    let refuse = |what: &str| Err(format!("{name}={}: {what}", clip(value)));
    let one = |field: &str, value: String| Ok(vec![(field.to_owned(), value)]);
    match meaning {
        Switch(field) => match value.parse::<u32>() {
            Ok(number) => one(field, (number != 0).to_string()),
            Err(_) => refuse("expected a whole number"),
        },
        Offer(field) => match value {
            "0" | "1" => one(field, (value == "1").to_string()),
            "2" => Ok(Vec::new()),
            _ => refuse("only 0, 1, 2 can be played"),
        },
        Field(field) => one(field, value.to_owned()),
        SynRetries => match value.parse::<u32>() {
            // The field also counts the retransmissions at constant intervals
            // (`tcp_syn_linear_timeouts`).
            Ok(number) => one("max_syn_retransmissions", number.saturating_add(4).to_string()),
            Err(_) => refuse("expected a whole number"),
        },
        CongestionControl => Ok(vec![("congestion_control".to_owned(), value.to_owned())]),
        Number(unit, field) => match value.parse::<u64>() {
            Ok(number) => one(field, format!("{number} {unit}")),
            Err(_) => refuse("expected a whole number"),
        },
        Memory(direction) => {
            let numbers: Result<Vec<u64>, _> = value.split_whitespace().map(str::parse).collect();
            match numbers.as_deref() {
                Ok([_, first, most]) => Ok(vec![
                    (format!("{direction}_buffer"), first.to_string()),
                    (format!("{direction}{LARGEST}"), most.to_string()),
                ]),
                _ => refuse("expected three numbers: min default max"),
            }
        }
        Only(values) if values.contains(&value) => Ok(Vec::new()),
        Only(values) => refuse(&format!("only {} can be played", values.join(", "))),
        TailProbe => match value {
            "0" => one("loss_detection.tlp", "false".into()),
            "3" | "4" => Ok(Vec::new()),
            _ => refuse("only 0, 3, 4 can be played"),
        },
        Nothing => Ok(Vec::new()),
    }
}
