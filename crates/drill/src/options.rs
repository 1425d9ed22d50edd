//! Options of the player, which the setup of a script also reads.

/// Options for playing scripts.
#[derive(Debug, Clone)]
pub struct Options {
    /// Preset for scripts without `--retx-tcp`.
    pub tcp: String,
    /// Changes to the TCP configuration, in the notation of `--set`. The script's own changes are
    /// applied after them.
    pub settings: Vec<(String, String)>,
    /// True to record events in the notation of scripts.
    pub trace: bool,
    /// Maximum number of packets; an endpoint that sends more is assumed never to stop.
    pub packets_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { tcp: "reno".into(), settings: Vec::new(), trace: false, packets_max: 1_000_000 }
    }
}
