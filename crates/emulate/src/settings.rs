//! Kernel settings for a table `[tcp.NAME]`.
//!
//! Fields for which the kernel has no setting must have the value of the preset `linux`; otherwise
//! the kernel cannot run that TCP. *Sources:* `Documentation/networking/ip-sysctl.rst`,
//! `net/ipv4/tcp.c`, `ip-route(8)`, Linux 6.18.

use crate::protocol::SocketOptions;
use retx_tcp::loss_detection::Config as LossDetection;
use retx_tcp::{Config, Size, congestion_control, presets};
use serde_json::Value;
use std::collections::BTreeMap;

/// Settings of a kernel's TCP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelTcp {
    /// Values below `/proc/sys/net`, which apply to a whole host.
    pub sysctls: BTreeMap<String, String>,
    /// Attributes of routes, which apply to a whole host.
    pub route: BTreeMap<String, String>,
    /// Options of each socket.
    pub socket: SocketOptions,
    /// Window that is written into each segment on the path, because the kernel has no setting for
    /// a fixed window; `None` if the window is not fixed.
    pub advertised_window: Option<u32>,
}

/// Kernel names of the congestion controls that retx models.
const MODULES: [&str; 17] = [
    "reno",
    "cubic",
    "bbr",
    "vegas",
    "veno",
    "westwood",
    "hybla",
    "htcp",
    "illinois",
    "bic",
    "highspeed",
    "scalable",
    "yeah",
    "dctcp",
    "cdg",
    "lp",
    "nv",
];

/// Kernel settings for this TCP.
///
/// # Errors
/// Fields have values to which no kernel can be set; the message gives the kernel's values.
pub fn kernel_tcp(config: &Config) -> Result<KernelTcp, String> {
    let module = module_of(config)?;
    let socket = SocketOptions {
        congestion_control: module.to_owned(),
        no_delay: !config.nagle,
        pacing: config.pacing,
        send_buffer: send_buffer(config)?,
        receive_buffer: receive_buffer(config)?,
    };
    let kernel = linux();
    let possible =
        Config { loss_detection: loss_detection(config, &kernel), ..settable(config, kernel) };
    // If a field still differs, no kernel can be set to its value.
    compare(config, &possible)?;
    check_module(&config.congestion_control, module)?;
    let advertised = config.advertised_window.map(|window| window.bytes(config.mss) as u32);
    Ok(KernelTcp {
        sysctls: sysctls(config),
        route: route(config)?,
        socket,
        advertised_window: advertised,
    })
}

fn linux() -> Config {
    (presets::find("linux").expect("the preset of a kernel").config)()
}

/// Copy of the kernel's configuration, with the values of `config` in all fields that can be set.
fn settable(config: &Config, kernel: Config) -> Config {
    let requested = config.clone();
    Config {
        congestion_control: requested.congestion_control,
        mss: requested.mss,
        initial_window: requested.initial_window,
        slow_start_after_idle: requested.slow_start_after_idle,
        max_cwnd: requested.max_cwnd,
        pacing: requested.pacing,
        send_buffer: requested.send_buffer,
        send_autotuning: requested.send_autotuning,
        receive_buffer: requested.receive_buffer,
        receive_autotuning: requested.receive_autotuning,
        advertised_window: requested.advertised_window,
        window_scaling: requested.window_scaling,
        sack: requested.sack,
        timestamps: requested.timestamps,
        ecn: requested.ecn,
        nagle: requested.nagle,
        delayed_ack: if requested.delayed_ack.segments == 1 {
            requested.delayed_ack
        } else {
            kernel.delayed_ack
        },
        min_rto: requested.min_rto,
        max_rto: requested.max_rto,
        dupack_threshold: requested.dupack_threshold,
        max_retransmissions: Some(requested.max_retransmissions.unwrap_or(15)),
        max_syn_retransmissions: match requested.max_syn_retransmissions {
            // The sysctl counts only SYNs after the `SYN_LINEAR_TIMEOUTS` at constant intervals,
            // and must be at least 1.
            Some(times) if times > SYN_LINEAR_TIMEOUTS => requested.max_syn_retransmissions,
            _ => kernel.max_syn_retransmissions,
        },
        ..kernel
    }
}

/// RACK-TLP of the kernel, whose tail loss probe can be disabled.
fn loss_detection(config: &Config, kernel: &Config) -> LossDetection {
    match (&config.loss_detection, &kernel.loss_detection) {
        (LossDetection::rack(requested), LossDetection::rack(kernel)) => {
            let mut possible = *kernel;
            possible.tlp = requested.tlp;
            LossDetection::rack(possible)
        }
        _ => kernel.loss_detection.clone(),
    }
}

/// Maximum number of fields that are listed with their values; further fields are listed by name
/// only.
const MOST_LISTED: usize = 3;

/// Error that lists every field in which the two configurations differ; `Ok` if they are equal.
fn compare(requested: &Config, possible: &Config) -> Result<(), String> {
    let [requested, possible] =
        [requested, possible].map(|tcp| serde_json::to_value(tcp).expect("a TCP is plain data"));
    let none = Value::String("none".into());
    let fields = possible.as_object().expect("a TCP is a table");
    let of_asked = requested.as_object().expect("a TCP is a table");
    let all = fields.keys().chain(of_asked.keys().filter(|key| !fields.contains_key(*key)));
    let mut differing: Vec<String> = Vec::new();
    for key in all {
        let [requested, kernel] = [of_asked, fields].map(|of| of.get(key).unwrap_or(&none));
        if requested != kernel {
            let shown = differing.len() < MOST_LISTED;
            differing.push(if shown { difference(key, requested, kernel) } else { key.clone() });
        }
    }
    if differing.is_empty() {
        return Ok(());
    }
    Err(format!("no kernel can be set to {}; like = \"linux\" can be run", differing.join(", ")))
}

/// First difference of two values, which may be tables; a table with a name is shown by its name.
fn difference(key: &str, requested: &Value, kernel: &Value) -> String {
    if let (Value::Object(requested), Value::Object(kernel)) = (requested, kernel) {
        let differs = |(part, value): &(&String, &Value)| {
            kernel.get(part.as_str()).is_some_and(|other| other != *value)
        };
        return requested.iter().find(differs).map_or_else(
            || key.to_owned(),
            |(part, value)| difference(&format!("{key}.{part}"), value, &kernel[part.as_str()]),
        );
    }
    let [requested, kernel] = [requested, kernel].map(|it| it.get("name").unwrap_or(it));
    format!("{key} = {requested} (a kernel has only {kernel})")
}

/// Kernel module of a congestion control.
fn module_of(config: &Config) -> Result<&'static str, String> {
    let name = config.congestion_control.name();
    let is_meant = |kernels: &&&str| **kernels == name || modelled(kernels).name() == name;
    MODULES.iter().find(is_meant).copied().ok_or_else(|| {
        let names: Vec<&str> = MODULES.iter().map(|kernels| modelled(kernels).name()).collect();
        format!(
            "no kernel has congestion_control = \"{name}\"; those that kernels may have: {}",
            names.join(", ")
        )
    })
}

/// Model of a kernel module in retx.
fn modelled(module: &str) -> congestion_control::Config {
    presets::linux_module(module).expect("one that is modelled")
}

/// Refuses changed parameters, because those of the kernel cannot be set. Also refuses the variants
/// of RFCs and papers, if the kernel implements a different one.
fn check_module(requested: &congestion_control::Config, module: &str) -> Result<(), String> {
    let kernels = modelled(module);
    if *requested == kernels {
        return Ok(());
    }
    if requested.name() != kernels.name() {
        return Err(format!(
            "no kernel has congestion_control = \"{}\" as RFC or paper have it; its module is \
             \"{}\", which the bare name \"{module}\" means in a TCP that is like \"linux\"",
            requested.name(),
            kernels.name()
        ));
    }
    let requested = serde_json::to_value(requested).expect("plain data");
    Err(format!(
        "no kernel can be set to congestion_control = {requested}: a kernel's parameters are its \
         own; those of the preset \"linux\" and its kin can be run"
    ))
}

/// Size of a buffer or window, in bytes, if it differs from that of the preset `linux`. Otherwise
/// `None`: the kernel's default applies.
fn own_size(
    config: &Config,
    of: impl Fn(&Config) -> Option<Size>,
) -> Result<Option<usize>, String> {
    let bytes = of(config).map(|size| size.bytes(config.mss));
    if of(config) == of(&linux()) {
        return Ok(None);
    }
    bytes.map(usize::try_from).transpose().map_err(|error| error.to_string())
}

/// Send buffer to set by a socket option; `None` with autotuning, which `tcp_wmem` sets.
fn send_buffer(config: &Config) -> Result<Option<usize>, String> {
    let bytes = config.send_buffer.bytes(config.mss);
    let fixed = config.send_autotuning.is_none().then_some(bytes);
    fixed.map(usize::try_from).transpose().map_err(|error| error.to_string())
}

/// Receive buffer to set by a socket option; `None` with autotuning, which `tcp_rmem` sets. It must
/// not be smaller than a window that is fixed on the path.
fn receive_buffer(config: &Config) -> Result<Option<usize>, String> {
    if config.receive_autotuning.is_some() || config.advertised_window.is_some() {
        return Ok(None);
    }
    own_size(config, |tcp| (tcp.receive_autotuning.is_none()).then_some(tcp.receive_buffer))
}

/// Value of `tcp_syn_linear_timeouts`: number of SYN retransmissions at constant intervals, which
/// `tcp_syn_retries` does not count.
const SYN_LINEAR_TIMEOUTS: u32 = 4;

fn syn_retries(config: &Config) -> u32 {
    let times = config.max_syn_retransmissions.or(linux().max_syn_retransmissions);
    times.unwrap_or_default().saturating_sub(SYN_LINEAR_TIMEOUTS)
}

fn sysctls(config: &Config) -> BTreeMap<String, String> {
    let flag = |on: bool| u32::from(on).to_string();
    let mut all: BTreeMap<&str, String> = BTreeMap::from([
        ("tcp_sack", flag(config.sack)),
        ("tcp_timestamps", flag(config.timestamps)),
        ("tcp_window_scaling", flag(config.window_scaling)),
        // The value 1 requests and accepts ECN.
        ("tcp_ecn", flag(config.ecn)),
        ("tcp_slow_start_after_idle", flag(config.slow_start_after_idle)),
        ("tcp_reordering", config.dupack_threshold.to_string()),
        ("tcp_retries2", config.max_retransmissions.unwrap_or(15).to_string()),
        ("tcp_syn_retries", syn_retries(config).to_string()),
        ("tcp_rto_min_us", (config.min_rto.as_nanos() / 1000).to_string()),
        ("tcp_rto_max_ms", (config.max_rto.as_nanos() / 1_000_000).to_string()),
        // A connection must not use cached metrics of earlier connections.
        ("tcp_no_metrics_save", "1".to_owned()),
        // Many connections of a run must not be treated as an attack.
        ("tcp_syncookies", "0".to_owned()),
    ]);
    let tlp = !matches!(&config.loss_detection, LossDetection::rack(rack) if !rack.tlp);
    // 3 is the default and enables the probe, 0 disables it (`tcp_schedule_loss_probe`).
    all.insert("tcp_early_retrans", if tlp { "3" } else { "0" }.to_owned());
    if let Some(largest) = config.receive_autotuning {
        let [start, largest] = [config.receive_buffer, largest].map(|it| it.bytes(config.mss));
        // The minimum of 4096 is the kernel's default; it matters only under memory pressure.
        all.insert("tcp_rmem", format!("4096 {start} {}", largest.max(start)));
    }
    if let Some(largest) = config.send_autotuning {
        let [start, largest] = [config.send_buffer, largest].map(|it| it.bytes(config.mss));
        all.insert("tcp_wmem", format!("4096 {start} {}", largest.max(start)));
    }
    all.into_iter().map(|(name, value)| (format!("ipv4/{name}"), value)).collect()
}

fn route(config: &Config) -> Result<BTreeMap<String, String>, String> {
    let segments = |name: &str, size: Size| match size {
        Size::Mss(count) => Ok(count),
        Size::Bytes(bytes) if bytes % u64::from(config.mss) == 0 => {
            Ok(bytes / u64::from(config.mss))
        }
        Size::Bytes(bytes) => Err(format!(
            "{name} = {bytes}: a kernel counts it in segments; write a multiple of the mss, {}",
            config.mss
        )),
    };
    let initial = segments("initial_window", config.initial_window.size(config.mss))?;
    let mut all = BTreeMap::from([
        ("initcwnd".to_owned(), initial.to_string()),
        ("advmss".to_owned(), config.mss.to_string()),
    ]);
    if let Some(largest) = config.max_cwnd {
        let largest = segments("max_cwnd", largest)?;
        // Without `lock` the kernel ignores the value.
        all.insert("cwnd".to_owned(), format!("lock {largest}"));
    }
    if config.delayed_ack.segments == 1 {
        all.insert("quickack".to_owned(), "1".to_owned());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preset(name: &str) -> Config {
        (presets::find(name).expect("a preset").config)()
    }

    #[test]
    fn the_presets_of_linux_can_be_set() {
        for (name, kernels) in [("linux", "cubic"), ("linux_reno", "reno"), ("linux_bbr", "bbr")] {
            let tcp = kernel_tcp(&preset(name)).expect(name);
            assert_eq!(tcp.socket.congestion_control, kernels);
            assert_eq!(tcp.socket.send_buffer, None);
            assert_eq!(tcp.route["initcwnd"], "10");
            assert_eq!(tcp.sysctls["ipv4/tcp_rmem"], "4096 131072 33554432");
            assert_eq!(tcp.sysctls["ipv4/tcp_wmem"], "4096 16384 4194304");
            assert_eq!(tcp.sysctls["ipv4/tcp_ecn"], "0");
            assert_eq!(tcp.sysctls["ipv4/tcp_syn_retries"], "6");
        }
    }

    #[test]
    fn each_modelled_module_can_be_asked_for() {
        for module in MODULES {
            let tcp = Config { congestion_control: modelled(module), ..linux() };
            assert_eq!(kernel_tcp(&tcp).expect(module).socket.congestion_control, module);
        }
    }

    #[test]
    fn what_a_kernel_cannot_do_is_named() {
        let message = |tcp: &Config| kernel_tcp(tcp).expect_err("no kernel can");
        let sack = message(&preset("sack"));
        for field in ["loss_detection", "rto", "backoff", "spurious", "cwnd_validation"] {
            assert!(sack.contains(field), "{sack}");
        }
        assert_eq!(sack.matches("a kernel has only").count(), MOST_LISTED, "{sack}");
        assert!(!sack.contains('{'), "{sack}");
        assert!(message(&preset("prairie_like")).contains("congestion_control = \"prairie_like\""));
        let initial_rto = Config { initial_rto: retx_units::Duration::from_secs(3), ..linux() };
        assert!(
            message(&initial_rto).starts_with(
                "no kernel can be set to initial_rto = \"3 s\" (a kernel has only \"1 s\")"
            ),
            "{}",
            message(&initial_rto)
        );
        let literal = Config { congestion_control: preset("reno").congestion_control, ..linux() };
        assert!(message(&literal).contains("its module is \"reno_linux\""));
        // Four retransmissions would all be at constant intervals, and a sysctl of 0 means the
        // default.
        let few = Config { max_syn_retransmissions: Some(4), ..linux() };
        assert!(message(&few).contains("max_syn_retransmissions = 4"));
        let odd = Config { initial_window: Size::Bytes(2000).into(), ..linux() };
        assert!(message(&odd).contains("initial_window = 2000"));
    }

    #[test]
    fn what_can_be_set_is_set() {
        let tcp = Config {
            sack: false,
            timestamps: false,
            window_scaling: false,
            ecn: true,
            nagle: false,
            initial_window: Size::Mss(2).into(),
            max_cwnd: Some(Size::Mss(20)),
            advertised_window: Some(Size::Mss(6)),
            max_syn_retransmissions: Some(5),
            receive_autotuning: None,
            receive_buffer: Size::Bytes(50_000),
            send_buffer: Size::Bytes(60_000),
            send_autotuning: None,
            ..preset("linux_reno")
        };
        let set = kernel_tcp(&tcp).expect("a kernel can");
        assert_eq!(set.advertised_window, Some(8760));
        assert_eq!(set.socket.receive_buffer, None);
        assert_eq!(set.socket.send_buffer, Some(60_000));
        assert!(set.socket.no_delay);
        assert_eq!(set.route["cwnd"], "lock 20");
        assert_eq!(set.sysctls["ipv4/tcp_sack"], "0");
        assert_eq!(set.sysctls["ipv4/tcp_ecn"], "1");
        assert_eq!(set.sysctls["ipv4/tcp_syn_retries"], "1");
        let held = Config { advertised_window: None, ..tcp };
        assert_eq!(kernel_tcp(&held).expect("a kernel can").socket.receive_buffer, Some(50_000));
    }
}
