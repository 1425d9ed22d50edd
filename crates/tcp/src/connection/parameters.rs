//! What a running endpoint still needs of its configuration: the connections of one configuration
//! have it in common.

use crate::{Config, IdleRestart, Push, RttSamples};
use retx_units::Duration;
use std::sync::Arc;

/// A configuration for many connections, which share what they need of it.
#[derive(Debug, Clone)]
pub struct Prepared {
    config: Config,
    parameters: Arc<Parameters>,
}

impl Prepared {
    pub(super) const fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn parameters(&self) -> Arc<Parameters> {
        self.parameters.clone()
    }
}

impl From<&Config> for Prepared {
    fn from(config: &Config) -> Self {
        Self { config: config.clone(), parameters: Arc::new(Parameters::of(config)) }
    }
}

/// See [`Config`].
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
    pub max_retransmissions: u32,
    pub time_wait: Duration,
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
            max_retransmissions: config.max_retransmissions.unwrap_or(u32::MAX),
            time_wait: config.time_wait,
        }
    }
}
