//! Presets: named TCP configurations of algorithms and endpoint parameters.

mod congestion;
mod linux;

use crate::{
    AckPolicy, Buffers, Config, CwndValidation, DelayedAck, GiveUp, IdleRestart, InitialWindow,
    LostSyn, Push, RttSamples, Size, backoff, congestion_control, loss_cause, loss_detection, rto,
    spurious,
};
use retx_units::Duration;

pub use linux::linux_module;

/// Named TCP configuration.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Name in scenarios.
    pub name: &'static str,
    /// One-line description with its source.
    pub summary: &'static str,
    /// Function that returns the configuration.
    pub config: fn() -> Config,
}

/// Every preset, in listing order.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "tahoe",
        summary: "Fast retransmit, then slow start (Jacobson 1988)",
        config: tahoe,
    },
    Preset {
        name: "reno",
        summary: "Fast recovery (RFC 5681), once per window (RFC 6582), timers of RFC 6298",
        config: reno,
    },
    Preset {
        name: "newreno",
        summary: "Reno that repairs several losses in a window (RFC 6582)",
        config: newreno,
    },
    Preset {
        name: "sack",
        summary: "Recovery from selective acknowledgments, with the pipe of RFC 6675",
        config: sack,
    },
    Preset {
        name: "rack",
        summary: "Recovery by time: RACK-TLP (RFC 8985) with PRR (RFC 9937)",
        config: rack,
    },
    Preset {
        name: "vegas",
        summary: "Few segments in queues, fine-grained timeouts (Brakmo & Peterson 1995), on Reno",
        config: congestion::vegas,
    },
    Preset {
        name: "vegas_linux",
        summary: "Vegas as in Linux's tcp_vegas.c, on RACK-TLP",
        config: congestion::vegas_linux,
    },
    Preset {
        name: "veno",
        summary: "Reno that tells random loss by Vegas's backlog (Fu & Liew 2003)",
        config: congestion::veno,
    },
    Preset {
        name: "veno_linux",
        summary: "Veno as in Linux's tcp_veno.c, on RACK-TLP",
        config: congestion::veno_linux,
    },
    Preset {
        name: "westwood",
        summary: "Reno with its threshold at bandwidth × least RTT (Mascolo et al. 2001)",
        config: congestion::westwood,
    },
    Preset {
        name: "westwood_plus",
        summary: "Westwood with a bandwidth sample per RTT (Grieco & Mascolo 2004), on NewReno",
        config: congestion::westwood_plus,
    },
    Preset {
        name: "westwood_bulk_repeat_like",
        summary: "Westwood that repeats the window after error losses, after Yang et al. 2003",
        config: congestion::westwood_bulk_repeat_like,
    },
    Preset {
        name: "jtcp_like",
        summary: "NewReno that tells random loss by jitter, after Wu & Chen 2004",
        config: congestion::jtcp_like,
    },
    Preset {
        name: "prairie_like",
        summary: "NewReno with bandwidth from bursts of ACKs, after Parvez & Hossain 2005",
        config: congestion::prairie_like,
    },
    Preset {
        name: "dynamic",
        summary: "Window by bandwidth and loss rate (Park et al. 2012), on Reno",
        config: congestion::dynamic,
    },
    Preset {
        name: "hybla",
        summary: "Growth independent of the RTT (Caini & Firrincieli 2004), with SACK",
        config: congestion::hybla,
    },
    Preset {
        name: "cubic",
        summary: "CUBIC (RFC 9438) with HyStart++ (RFC 9406), on RACK-TLP",
        config: congestion::cubic,
    },
    Preset {
        name: "bbr",
        summary: "BBR version 1 as in Linux's tcp_bbr.c, paced, on RACK-TLP",
        config: congestion::bbr,
    },
    Preset {
        name: "threshold_reno",
        summary: "Reno that takes a loss at a low RTT for corruption (Teng & Chang)",
        config: threshold_reno,
    },
    Preset {
        name: "linux",
        summary: "Linux 6.18 with default settings, HZ = 250: CUBIC, RACK-TLP, PRR, its timers",
        config: linux::linux,
    },
    Preset {
        name: "linux_reno",
        summary: "Linux 6.18 with default settings, HZ = 250, sending by Reno",
        config: linux::linux_reno,
    },
    Preset {
        name: "linux_bbr",
        summary: "Linux 6.18 with its default settings, sending by BBR",
        config: linux::linux_bbr,
    },
    Preset {
        name: "linux24",
        summary: "The Linux of García, Agüero & Muñoz: keeps the backoff while losing",
        config: linux::linux24,
    },
    Preset {
        name: "riverbed_reno",
        summary: "Riverbed Modeler's default TCP, as in table 2 of Electronics 2022, 11(14), 2254",
        config: riverbed_reno,
    },
];

impl Preset {
    /// True for the presets of current Linux. With them, the name of a congestion control means the
    /// kernel's module ([`linux_module`]).
    pub fn is_linux(&self) -> bool {
        matches!(self.name, "linux" | "linux_reno" | "linux_bbr")
    }
}

/// Preset with this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

fn reno() -> Config {
    Config {
        congestion_control: congestion_control::Config::reno(Default::default()),
        loss_detection: loss_detection::Config::reno(Default::default()),
        loss_cause: loss_cause::Config::none(Default::default()),
        rto: rto::Config::rfc6298(Default::default()),
        backoff: backoff::Config::rfc6298(Default::default()),
        spurious: spurious::Config::none(Default::default()),
        limited_transmit: true,
        mss: 1460,
        initial_window: InitialWindow::Rfc5681,
        initial_ssthresh: None,
        slow_start_after_idle: true,
        idle_restart: IdleRestart::InitialWindow,
        cwnd_validation: CwndValidation::Rfc7661,
        max_cwnd: None,
        pacing: false,
        buffers: Buffers::Payload,
        send_buffer: Size::Bytes(4 << 20),
        send_autotuning: None,
        receive_buffer: Size::Bytes(4 << 20),
        receive_autotuning: None,
        advertised_window: None,
        window_scaling: true,
        sack: false,
        timestamps: false,
        ecn: false,
        nagle: true,
        minshall: false,
        lost_syn: LostSyn::First,
        push: Push::End,
        delayed_ack: DelayedAck {
            segments: 2,
            timeout: Duration::from_millis(200),
            policy: AckPolicy::Fixed,
        },
        initial_rto: Duration::from_secs(1),
        min_rto: Duration::from_secs(1),
        max_rto: Duration::from_secs(60),
        timer_granularity: Duration::ZERO,
        timer_wheel: false,
        tso: false,
        rtt_samples: RttSamples::Timed,
        rtt_granularity: Duration::ZERO,
        dupack_threshold: 3,
        persist_timeout: Duration::from_secs(1),
        max_retransmissions: None,
        max_syn_retransmissions: None,
        give_up: GiveUp::Count,
        time_wait: Duration::from_secs(60),
    }
}

fn tahoe() -> Config {
    Config {
        congestion_control: congestion_control::Config::tahoe(Default::default()),
        loss_detection: loss_detection::Config::tahoe(Default::default()),
        ..reno()
    }
}

fn newreno() -> Config {
    Config { loss_detection: loss_detection::Config::newreno(Default::default()), ..reno() }
}

fn sack() -> Config {
    Config {
        loss_detection: loss_detection::Config::sack(Default::default()),
        sack: true,
        ..reno()
    }
}

fn rack() -> Config {
    Config {
        loss_detection: loss_detection::Config::rack(Default::default()),
        sack: true,
        ..reno()
    }
}

/// Reno with the loss-cause rule of Teng & Chang. The threshold is 4 ticks of 10 ms above the base
/// RTT, as in their figure 2. The paper does not state the other settings of its simulations.
fn threshold_reno() -> Config {
    Config { loss_cause: loss_cause::Config::threshold(Default::default()), ..reno() }
}

fn riverbed_reno() -> Config {
    Config {
        limited_transmit: false,
        initial_window: Size::Mss(2).into(),
        // The paper's table does not state the initial threshold. Its figure 2 (135,000 bytes after
        // 3,425 delayed ACKs without a loss) fits congestion avoidance (RFC 5681 eq. 3) from 64 KB
        // on, but not slow start without limit.
        initial_ssthresh: Some(Size::Bytes(65_535)),
        // In the paper's figure 2 the window grows far beyond the receiver's limit of 8760 bytes.
        cwnd_validation: CwndValidation::None,
        receive_buffer: Size::Bytes(8760),
        window_scaling: false,
        nagle: false,
        initial_rto: Duration::from_secs(3),
        max_rto: Duration::from_secs(64),
        timer_granularity: Duration::from_millis(500),
        ..reno()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_sound_and_survive_text() {
        for preset in PRESETS {
            let config = (preset.config)();
            config.check().unwrap();
            let text = toml::to_string(&config).unwrap();
            assert_eq!(
                toml::from_str::<Config>(&text).unwrap(),
                config,
                "{}:\n{text}",
                preset.name
            );
        }
    }

    fn config(name: &str) -> Config {
        (find(name).expect("a preset").config)()
    }

    /// A preset named like a congestion control uses this congestion control.
    #[test]
    fn presets_use_the_congestion_control_of_their_name() {
        for name in congestion_control::Config::NAMES {
            if let Some(preset) = find(name) {
                assert_eq!((preset.config)().congestion_control.name(), *name);
            }
        }
        assert!(find("prairie_like").is_some() && find("cubic").is_some());
        assert_eq!(config("cubic").initial_window, InitialWindow::Rfc6928);
    }

    /// Names of the kernel's modules. If a congestion control here follows the paper, the kernel's
    /// form of it has a name of its own.
    #[test]
    fn modules_of_linux_have_names() {
        let own = ["cubic", "bbr", "htcp", "illinois", "bic", "highspeed", "scalable"];
        for name in own.into_iter().chain(["yeah", "dctcp", "cdg", "lp", "nv"]) {
            assert_eq!(linux_module(name).map(|it| it.name()), Some(name));
        }
        for name in ["reno", "vegas", "veno", "westwood", "hybla"] {
            let found = linux_module(name).map(|it| it.name().to_owned());
            assert_eq!(found, Some(format!("{name}_linux")));
        }
        assert_eq!(linux_module("tahoe"), None);
    }

    /// Linux 6.18 with its default sysctls: the constants of `include/net/tcp.h` and the defaults
    /// of `ip-sysctl`.
    #[test]
    fn linux_has_the_kernels_defaults() {
        let linux = config("linux");
        assert_eq!(linux.congestion_control, linux_module("cubic").expect("a module"));
        assert_eq!((linux.backoff.name(), linux.rto.name()), ("linux", "linux"));
        assert_eq!((linux.lost_syn, linux.push), (LostSyn::Second, Push::HalfWindow));
        assert_eq!(linux.rtt_samples, RttSamples::EveryAck);
        let ms = Duration::from_millis;
        // TCP_TIMEOUT_INIT, TCP_RTO_MIN, TCP_RTO_MAX; a probe of a closed window waits for the RTO,
        // at least TCP_RTO_MIN.
        let times = [linux.initial_rto, linux.min_rto, linux.max_rto, linux.persist_timeout];
        assert_eq!(times, [1_000, 200, 120_000, 200].map(ms));
        // `tcp_syn_retries` 6, after 4 of `tcp_syn_linear_timeouts`; `tcp_retries2` 15.
        assert_eq!(
            (linux.max_syn_retransmissions, linux.max_retransmissions),
            (Some(10), Some(15))
        );
    }

    /// Limits of Linux 2.2 (TCP_RTO_MAX), and its loss state, which keeps the backoff.
    #[test]
    fn linux24_has_the_old_kernels_limits() {
        let linux = config("linux24");
        assert_eq!((linux.rto.name(), linux.backoff.name()), ("linux24", "keep"));
        let times = [linux.initial_rto, linux.min_rto, linux.max_rto];
        assert_eq!(times, [3_000, 200, 120_000].map(Duration::from_millis));
        assert_eq!(linux.cwnd_validation, CwndValidation::None);
    }

    /// Values of table 2 of the paper (Electronics 2022), and windows as in its figure 2.
    #[test]
    fn riverbed_has_the_papers_values() {
        let riverbed = config("riverbed_reno");
        assert_eq!(riverbed.initial_ssthresh, Some(Size::Bytes(65_535)));
        assert_eq!(riverbed.cwnd_validation, CwndValidation::None);
        assert_eq!(riverbed.receive_buffer, Size::Bytes(8_760));
        let times = [riverbed.initial_rto, riverbed.max_rto, riverbed.timer_granularity];
        assert_eq!(times, [3_000, 64_000, 500].map(Duration::from_millis));
    }
}
