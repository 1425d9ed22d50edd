//! Presets that behave as a Linux kernel does.

use super::{rack, sack};
use crate::congestion_control::{Config as Control, cubic};
use crate::memory::LARGEST_RECEIVE_BUFFER;
use crate::{
    AckPolicy, Buffers, Config, CwndValidation, DelayedAck, GiveUp, IdleRestart, LostSyn, Push,
    RttSamples, Size, backoff, loss_detection, rto, spurious,
};
use retx_units::Duration;

/// Linux's module with this name, if it exists and is modelled here.
pub fn linux_module(name: &str) -> Option<Control> {
    Some(match name {
        "reno" => Control::reno_linux(Default::default()),
        "vegas" => Control::vegas_linux(Default::default()),
        "veno" => Control::veno_linux(Default::default()),
        "westwood" => Control::westwood_linux(Default::default()),
        "hybla" => Control::hybla_linux(Default::default()),
        "cubic" => Control::cubic(cubic::Config {
            variant: cubic::Variant::Linux,
            slow_start: cubic::SlowStart::Hystart,
            ..cubic::Config::default()
        }),
        "bbr" => Control::bbr(Default::default()),
        "htcp" => Control::htcp(Default::default()),
        "illinois" => Control::illinois(Default::default()),
        "bic" => Control::bic(Default::default()),
        "highspeed" => Control::highspeed(Default::default()),
        "scalable" => Control::scalable(Default::default()),
        "yeah" => Control::yeah(Default::default()),
        "dctcp" => Control::dctcp(Default::default()),
        "cdg" => Control::cdg(Default::default()),
        "lp" => Control::lp(Default::default()),
        "nv" => Control::nv(Default::default()),
        _ => return None,
    })
}

fn module(name: &str) -> Control {
    linux_module(name).expect("a module that is modelled here")
}

/// Linux 6.18 with its default sysctls and HZ = 250, using CUBIC.
pub(super) fn linux() -> Config {
    let rack_of_linux = loss_detection::rack::Config {
        variant: loss_detection::rack::Variant::Linux,
        ..Default::default()
    };
    Config {
        congestion_control: module("cubic"),
        loss_detection: loss_detection::Config::rack(rack_of_linux),
        rto: rto::Config::linux(Default::default()),
        backoff: backoff::Config::linux(Default::default()),
        spurious: spurious::Config::linux(Default::default()),
        initial_window: Size::Mss(10).into(),
        lost_syn: LostSyn::Second,
        cwnd_validation: CwndValidation::Linux,
        timestamps: true,
        idle_restart: IdleRestart::HalvePerRto,
        minshall: true,
        push: Push::HalfWindow,
        tso: true,
        buffers: Buffers::Linux,
        // `tcp_rmem`: 4096 131072 33554432.
        receive_buffer: Size::Bytes(131_072),
        receive_autotuning: Some(Size::Bytes(LARGEST_RECEIVE_BUFFER)),
        // `tcp_wmem`: 4096 16384 4194304.
        send_buffer: Size::Bytes(16_384),
        send_autotuning: Some(Size::Bytes(4 << 20)),
        delayed_ack: DelayedAck {
            segments: 2,
            timeout: Duration::from_millis(200),
            policy: AckPolicy::Linux,
        },
        rtt_samples: RttSamples::EveryAck,
        // TCP_TIMEOUT_INIT, TCP_RTO_MIN, tcp_rto_max_ms.
        initial_rto: Duration::from_secs(1),
        min_rto: Duration::from_millis(200),
        max_rto: Duration::from_secs(120),
        // One tick at HZ = 250.
        timer_granularity: Duration::from_millis(4),
        timer_wheel: true,
        // `tcp_probe0_base`: the RTO, at least TCP_RTO_MIN.
        persist_timeout: Duration::from_millis(200),
        // `tcp_retries2`.
        max_retransmissions: Some(15),
        // `tcp_syn_retries` and `tcp_syn_linear_timeouts`.
        max_syn_retransmissions: Some(6 + 4),
        give_up: GiveUp::Linux,
        ..rack()
    }
}

/// Linux 6.18, with Reno.
pub(super) fn linux_reno() -> Config {
    Config { congestion_control: module("reno"), ..linux() }
}

/// Linux 6.18, with BBR.
pub(super) fn linux_bbr() -> Config {
    Config { congestion_control: module("bbr"), ..linux() }
}

/// The Linux that García, Agüero & Muñoz measured (2002): its timer, and the loss state that keeps
/// the backoff and delays new data. RFC 6675 is closest to the recovery of that Linux. Timers and
/// RTTs have the resolution of HZ = 100. Expiries are not rounded to ticks, so that waits equal the
/// paper's equation.
pub(super) fn linux24() -> Config {
    Config {
        rto: rto::Config::linux24(Default::default()),
        backoff: backoff::Config::keep(Default::default()),
        limited_transmit: false,
        cwnd_validation: CwndValidation::None,
        timestamps: true,
        // Linux 2.2: TCP_TIMEOUT_INIT, TCP_RTO_MIN, TCP_RTO_MAX.
        initial_rto: Duration::from_secs(3),
        min_rto: Duration::from_millis(200),
        max_rto: Duration::from_secs(120),
        rtt_granularity: Duration::from_millis(10),
        ..sack()
    }
}
