//! Presets of congestion controls other than Reno, each with the loss detection of its paper.

use super::{newreno, rack, reno, sack};
use crate::congestion_control::Config as Control;
use crate::{Config, CwndValidation, InitialWindow, Size, backoff};

/// Preset with Reno's recovery, which the paper on Vegas refines.
pub(super) fn vegas() -> Config {
    Config { congestion_control: Control::vegas(Default::default()), ..reno() }
}

/// Preset of a congestion control of Linux: the kernel's recovery, which is RACK-TLP, and an
/// initial window of ten segments (RFC 6928).
fn kernel(congestion_control: Control) -> Config {
    Config {
        congestion_control,
        initial_window: Size::Mss(10).into(),
        cwnd_validation: CwndValidation::Linux,
        ..rack()
    }
}

pub(super) fn vegas_linux() -> Config {
    kernel(Control::vegas_linux(Default::default()))
}

/// Preset with Reno's recovery: the abstract says "refines the multiplicative decrease of Reno".
pub(super) fn veno() -> Config {
    Config { congestion_control: Control::veno(Default::default()), ..reno() }
}

pub(super) fn veno_linux() -> Config {
    kernel(Control::veno_linux(Default::default()))
}

/// Preset with Reno's recovery, since the paper modifies Reno.
pub(super) fn westwood() -> Config {
    Config { congestion_control: Control::westwood(Default::default()), ..reno() }
}

/// Preset with NewReno's recovery, since the paper compares Westwood+ with NewReno.
pub(super) fn westwood_plus() -> Config {
    Config { congestion_control: Control::westwood_plus(Default::default()), ..newreno() }
}

/// Preset with Reno's recovery, which ends with the first ACK of new data. The bulk retransmission
/// fills all holes; NewReno would retransmit each of them once more.
pub(super) fn westwood_bulk_repeat_like() -> Config {
    Config { congestion_control: Control::westwood_bulk_repeat_like(Default::default()), ..reno() }
}

/// Preset with NewReno's recovery, since that of the paper is unknown. Timestamps show when a
/// segment arrived at the receiver.
pub(super) fn jtcp_like() -> Config {
    Config {
        congestion_control: Control::jtcp_like(Default::default()),
        timestamps: true,
        ..newreno()
    }
}

/// Preset with NewReno's recovery, since the abstract compares Prairie with NewReno.
pub(super) fn prairie_like() -> Config {
    Config { congestion_control: Control::prairie_like(Default::default()), ..newreno() }
}

/// Table 1 of the paper: TCP Reno with a congestion window of at most 50 packets, and the paper's
/// second algorithm for the backoff. The window is bounded because thresholds are far above the
/// capacity of the path.
pub(super) fn dynamic() -> Config {
    Config {
        congestion_control: Control::dynamic(Default::default()),
        backoff: backoff::Config::reset_if_bdp(Default::default()),
        max_cwnd: Some(Size::Mss(50)),
        ..reno()
    }
}

/// Preset with the recovery of RFC 6675, since the paper requires SACK.
pub(super) fn hybla() -> Config {
    Config { congestion_control: Control::hybla(Default::default()), ..sack() }
}

/// Preset with RACK-TLP: RFC 9438 works with any recovery, and this is the most recent one.
pub(super) fn cubic() -> Config {
    Config {
        congestion_control: Control::cubic(Default::default()),
        initial_window: InitialWindow::Rfc6928,
        ..rack()
    }
}

pub(super) fn bbr() -> Config {
    kernel(Control::bbr(Default::default()))
}
