//! Parameters that a running endpoint needs of its configuration, shared by all connections with
//! that configuration.

use super::abort::AbortLimits;
use crate::rto::Limits;
use crate::{Config, DelayedAck, IdleRestart, InitialWindow, LostSyn, Push, RttSamples};
use retx_units::Duration;
use std::sync::Arc;

/// Configuration for many connections, which share its parameters.
#[derive(Debug, Clone)]
pub struct SharedConfig {
    config: Config,
    parameters: Arc<Parameters>,
}

impl SharedConfig {
    pub(super) const fn config(&self) -> &Config {
        &self.config
    }

    /// Copy without fast paths: every segment takes the general path through the connection.
    /// Nothing else differs, as tests show.
    #[must_use]
    pub fn without_fast_paths(self) -> Self {
        let parameters = Arc::new(Parameters { use_fast_paths: false, ..*self.parameters });
        Self { parameters, ..self }
    }

    pub(super) fn parameters(&self) -> Arc<Parameters> {
        self.parameters.clone()
    }
}

impl From<&Config> for SharedConfig {
    fn from(config: &Config) -> Self {
        Self { config: config.clone(), parameters: Arc::new(Parameters::of(config)) }
    }
}

/// Parameters; see [`Config`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameters {
    pub mss: u32,
    pub window_scaling: bool,
    pub sack: bool,
    pub timestamps: bool,
    pub nagle: bool,
    pub minshall: bool,
    pub push: Push,
    pub tso: bool,
    pub limited_transmit: bool,
    pub slow_start_after_idle: bool,
    pub idle_restart: IdleRestart,
    pub dupack_threshold: u32,
    pub max_rto: Duration,
    pub timer_granularity: Duration,
    pub timer_wheel: bool,
    pub rtt_samples: RttSamples,
    pub rtt_granularity: Duration,
    pub persist_timeout: Duration,
    pub abort_limits: AbortLimits,
    pub time_wait: Duration,
    pub initial_window: InitialWindow,
    pub lost_syn: LostSyn,
    pub delayed_ack: DelayedAck,
    /// Size of the send buffer, in bytes.
    pub send_buffer: u64,
    /// Size of the receive buffer, in bytes.
    pub receive_buffer: u64,
    /// Largest window to advertise, bytes.
    pub largest_window: u64,
    /// True if every advertised window is `largest_window`.
    pub has_constant_window: bool,
    /// Limits of the retransmission timeout.
    pub limits: Limits,
    /// True if segments may take the fast paths through the connection (`fast_path`).
    pub use_fast_paths: bool,
}

impl Parameters {
    fn of(config: &Config) -> Self {
        Self {
            mss: config.mss,
            window_scaling: config.window_scaling,
            sack: config.sack,
            timestamps: config.timestamps,
            nagle: config.nagle,
            minshall: config.minshall,
            push: config.push,
            tso: config.tso,
            limited_transmit: config.limited_transmit,
            slow_start_after_idle: config.slow_start_after_idle,
            idle_restart: config.idle_restart,
            dupack_threshold: config.dupack_threshold,
            max_rto: config.max_rto,
            timer_granularity: config.timer_granularity,
            timer_wheel: config.timer_wheel,
            rtt_samples: config.rtt_samples,
            rtt_granularity: config.rtt_granularity,
            persist_timeout: config.persist_timeout,
            abort_limits: AbortLimits::from_config(config),
            time_wait: config.time_wait,
            initial_window: config.initial_window,
            lost_syn: config.lost_syn,
            delayed_ack: config.delayed_ack,
            send_buffer: config.send_buffer.bytes(config.mss),
            receive_buffer: config.receive_buffer.bytes(config.mss),
            largest_window: config
                .advertised_window
                .unwrap_or(config.receive_buffer)
                .bytes(config.mss),
            has_constant_window: config.advertised_window.is_some(),
            limits: Limits::from_config(config),
            use_fast_paths: true,
        }
    }
}
