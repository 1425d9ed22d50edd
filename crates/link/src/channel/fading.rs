//! *What it does.* Loses frames like a fading radio link. The signal-to-noise ratio varies with
//! time, and each frame is lost with the error probability of its modulation at the present ratio.
//!
//! *Reference.* Xiao, Zheng & Beaulieu 2006 (sums of sinusoids for Clarke's model, Rayleigh and
//! Rician); Wang & Moayeri 1995 (finite-state Markov chains); errors from [`crate::modulation`].
//!
//! *Equations.* `sinusoids`: Y(t) = N^(−½) Σ exp(j(2π f_d t cos α_n + φ_n)), α_n = (2πn + θ_n)/N,
//! φ_n and θ_n uniform in [−π, π), N = 32. With a direct path, which has no Doppler shift, Z = (Y +
//! √K·exp(jφ₀))/√(1 + K). SNR = mean·|Z|². For Rayleigh fading (K = 0), a level of ρ² times the
//! mean is crossed √(2π) f_d ρ exp(−ρ²) times per second in each direction, and a fade below it
//! lasts (exp(ρ²) − 1)/(ρ f_d √(2π)) on average.
//!
//! `markov`: a chain in continuous time. Its states are 2 dB wide and lie between 30 dB below the
//! mean and 8 dB above it. The chain crosses each border as often as the Rayleigh process does.
//! Sojourns are drawn one after another, whether frames are sent or not. The error probability of a
//! state is the mean over its part of the exponential law.
//!
//! Loss rate for K = 0: ∫ FER(mean·x) p(x) dx, with p(x) = exp(−x) for the chain. For the sinusoids
//! p(x) = exp(−x)(1 − L₂(x)/(2N)) with L₂ = 1 − 2x + x²/2, because a sum of N equal phasors is not
//! exactly Gaussian (Rayleigh 1880; the next term is of order 1/N²).
//!
//! *Where we differ.* The ratio at the end of a transmission applies to the whole frame. As in
//! `ber`, the bits counted are those of the IP packet, or in a cell those of the frame. In a cell
//! each frame has the modulation of its rate, unless `rate` is given. The more robust modulation of
//! preamble and PLCP header is ignored.

use super::{Channel, DELIVER, Fate, Frame, Model, Reason, checked};
use crate::modulation::Modulation;
use retx_units::{RandomStream, Rate, StreamKey, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};

/// Losses of a radio link with a fading signal-to-noise ratio (Rayleigh, or Rician with a direct
/// path) and the error rates of 802.11b modulations. The ratio is constant over a frame; the bits
/// of a frame are counted as in `ber`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Config {
    /// Mean signal-to-noise ratio over 22 MHz, in dB.
    pub mean_snr_db: f64,
    /// Maximum Doppler shift in Hz: speed over wavelength.
    pub doppler_hz: f64,
    /// Power of the direct path over that of all others; 0 for Rayleigh fading.
    #[serde(default)]
    pub rician_k: f64,
    /// The modulation, given by its rate: 1, 2, 5.5 or 11 Mbit/s. By default 11 Mbit/s on a link,
    /// and the rate of each frame in a wlan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Random process of the signal-to-noise ratio.
    #[serde(default)]
    pub process: Process,
}

checked!(Config);

/// Random processes of the signal-to-noise ratio.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// Sum of 32 sinusoids (Clarke's model): the ratio varies continuously.
    #[default]
    Sinusoids,
    /// Markov chain with steps of 2 dB; Rayleigh only, and several times faster to simulate.
    Markov,
}

/// Number of sinusoids in the sum.
const SINUSOIDS: usize = 32;

impl Config {
    fn check(&self) -> Result<(), String> {
        let within = |key: &str, value: f64, (least, most): (f64, f64), unit: &str| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(choice::error_at(key, &format!("{value} lies outside {least} … {most}{unit}")))
        };
        within("mean_snr_db", self.mean_snr_db, (-100.0, 100.0), " dB")?;
        within("doppler_hz", self.doppler_hz, (0.0, 1e6), " Hz")?;
        within("rician_k", self.rician_k, (0.0, 1e6), "")?;
        if let Some(rate) = self.rate
            && Modulation::from_rate(rate.as_bit_s()).is_none()
        {
            let message = format!("{rate} is none of 802.11b: 1, 2, 5.5 or 11 Mbit/s");
            return Err(choice::error_at("rate", &message));
        }
        if self.process == Process::Markov && self.rician_k > 0.0 {
            let message = "a Markov chain has no direct path here: use process = \"sinusoids\"";
            return Err(choice::error_at("rician_k", message));
        }
        Ok(())
    }

    fn modulation(&self) -> Modulation {
        let of = |rate: Rate| Modulation::from_rate(rate.as_bit_s()).expect("checked when read");
        self.rate.map_or(Modulation::Cck11, of)
    }

    fn mean_snr(&self) -> f64 {
        libm::pow(10.0, self.mean_snr_db / 10.0)
    }

    /// ∫ FER(mean·x) p(x) dx between the two `ends`; x is the power relative to its mean.
    fn error_integral(
        &self,
        (modulation, bytes): (Modulation, u32),
        density: impl Fn(f64) -> f64,
        ends: (f64, f64),
    ) -> f64 {
        const STEPS: usize = 4000;
        let mean = self.mean_snr();
        // The integration variable is √x, which resolves deep fades better: most errors occur
        // there.
        let (from, to) = (libm::sqrt(ends.0), libm::sqrt(ends.1));
        let width = (to - from) / STEPS as f64;
        let at = |index: usize| {
            let root = from + width * (index as f64 + 0.5);
            let x = root * root;
            2.0 * root * density(x) * modulation.frame_error_rate(mean * x, bytes)
        };
        (0..STEPS).map(at).sum::<f64>() * width
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State {
            config: *self,
            mean_snr: self.mean_snr(),
            modulation: self.modulation(),
            source: match self.process {
                Process::Sinusoids => Source::Sinusoids(Box::default()),
                Process::Markov => Source::Markov(Box::new(Chain::new(self.doppler_hz))),
            },
        }
    }

    fn loss_rate(&self, bytes: u32) -> Option<f64> {
        // Limits of the integral over all powers, relative to the mean: a power above 60 times the
        // mean has a probability of only e^−60.
        const ALL: (f64, f64) = (0.0, 60.0);
        let uneven = match self.process {
            _ if self.rician_k > 0.0 => return None,
            Process::Sinusoids => 0.5 / SINUSOIDS as f64,
            Process::Markov => 0.0,
        };
        let density = |x: f64| libm::exp(-x) * (1.0 - uneven * (1.0 - 2.0 * x + 0.5 * x * x));
        Some(self.error_integral((self.modulation(), bytes), density, ALL))
    }
}

/// Running channel: its parameters, and the random process of the received power.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    mean_snr: f64,
    modulation: Modulation,
    source: Source,
}

/// Random process of the received power, relative to its mean.
#[derive(Debug, Clone)]
enum Source {
    Sinusoids(Box<Sinusoids>),
    Markov(Box<Chain>),
}

/// Directions and phases of all sinusoids; drawn when the first frame is sent.
#[derive(Debug, Clone, Copy, Default)]
struct Sinusoids {
    drawn: bool,
    /// Cosine of the angle of arrival α_n of each sinusoid.
    direction: [f64; SINUSOIDS],
    /// Phase φ_n of each sinusoid, in turns.
    phase: [f64; SINUSOIDS],
    /// Phase φ₀ of the direct path, in turns.
    direct: f64,
}

impl Sinusoids {
    #[cold]
    fn draw(&mut self, stream: &mut RandomStream) {
        self.drawn = true;
        self.direct = stream.uniform();
        for index in 0..SINUSOIDS {
            let theta = PI * (2.0 * stream.uniform() - 1.0);
            let alpha = (TAU * (index + 1) as f64 + theta) / SINUSOIDS as f64;
            self.direction[index] = libm::cos(alpha);
            self.phase[index] = stream.uniform();
        }
    }

    /// Power |Z|² at `now`, relative to its mean.
    fn power(&self, now: Time, doppler_hz: f64, k: f64) -> f64 {
        let turns = now.as_secs_f64() * doppler_hz;
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (direction, phase) in self.direction.iter().zip(&self.phase) {
            let angle = turns * direction + phase;
            let (sin, cos) = libm::sincos(TAU * (angle - libm::floor(angle)));
            real += cos;
            imaginary += sin;
        }
        let scale = 1.0 / libm::sqrt(SINUSOIDS as f64);
        let (sin, cos) = libm::sincos(TAU * self.direct);
        let direct = libm::sqrt(k);
        let (real, imaginary) = (real * scale + direct * cos, imaginary * scale + direct * sin);
        (real * real + imaginary * imaginary) / (1.0 + k)
    }
}

/// Modulation and length in bytes of a frame.
type Kind = (Modulation, u32);
/// Maximum number of kinds of frames whose error probabilities are cached; beyond this number, the
/// oldest entry is removed.
const KNOWN_MAX: usize = 16;

/// Number of states of the Markov chain.
const STATES: usize = 21;
/// Lowest border between states, in dB relative to the mean; the others follow in steps of 2 dB.
const FIRST_BORDER_DB: f64 = -30.0;

/// Trajectory of the chain. It draws sojourns one after another from a stream of its own, however
/// many frames are sent. Two TCPs with the same seed and replication therefore meet the same fades.
#[derive(Debug, Clone)]
struct Path {
    stream: RandomStream,
    state: usize,
    /// End of the current sojourn, in nanoseconds.
    until: u64,
}

/// Rayleigh process as a Markov chain: in state k the power lies between borders k and k + 1.
#[derive(Debug, Clone)]
struct Chain {
    borders: [f64; STATES + 1],
    /// Stationary probability of each state.
    share: [f64; STATES],
    /// Transition rates down and up, per second.
    rates: [(f64, f64); STATES],
    /// Seed of the trajectory; drawn when the first frame is sent.
    key: Option<u64>,
    /// Trajectory up to the present; `None` before the first frame.
    path: Option<Path>,
    /// Error probabilities in all states, for the kinds of frames used most recently.
    known: Vec<(Kind, [f64; STATES])>,
}

impl Chain {
    fn new(doppler_hz: f64) -> Self {
        let mut borders = [0.0; STATES + 1];
        for (index, border) in borders.iter_mut().enumerate().take(STATES).skip(1) {
            let db = FIRST_BORDER_DB + 2.0 * (index - 1) as f64;
            *border = libm::pow(10.0, db / 10.0);
        }
        borders[STATES] = 60.0;
        let crossings = |border: f64| libm::sqrt(TAU * border) * doppler_hz * libm::exp(-border);
        let mut share = [0.0; STATES];
        let mut rates = [(0.0, 0.0); STATES];
        for state in 0..STATES {
            let above = if state + 1 == STATES { 0.0 } else { libm::exp(-borders[state + 1]) };
            share[state] = libm::exp(-borders[state]) - above;
            let up = if state + 1 == STATES { 0.0 } else { crossings(borders[state + 1]) };
            rates[state] = (crossings(borders[state]) / share[state], up / share[state]);
        }
        Self { borders, share, rates, key: None, path: None, known: Vec::new() }
    }

    fn stationary(&self, stream: &mut RandomStream) -> usize {
        let mut left = stream.uniform();
        self.share
            .iter()
            .position(|share| {
                left -= share;
                left < 0.0
            })
            .unwrap_or(STATES - 1)
    }

    /// State of the chain at `now`.
    fn state(&mut self, now: Time, stream: &mut RandomStream) -> usize {
        let mut path = self.path.take().unwrap_or_else(|| {
            let seed = *self.key.get_or_insert_with(|| stream.next_u64());
            let mut stream = StreamKey { seed, replication: 0 }.stream("path");
            let state = self.stationary(&mut stream);
            Path { until: self.sojourn(state, &mut stream), state, stream }
        });
        while path.until <= now.as_nanos() {
            let (down, up) = self.rates[path.state];
            let falls = path.stream.uniform() * (down + up) < down;
            path.state = if falls { path.state - 1 } else { path.state + 1 };
            let stays = self.sojourn(path.state, &mut path.stream);
            path.until = path.until.saturating_add(stays);
        }
        let state = path.state;
        self.path = Some(path);
        state
    }

    /// Draws the length of a sojourn in a state, in nanoseconds.
    fn sojourn(&self, state: usize, stream: &mut RandomStream) -> u64 {
        let (down, up) = self.rates[state];
        if down + up > 0.0 { (stream.exponential() / (down + up) * 1e9) as u64 } else { u64::MAX }
    }

    fn error_rate(&mut self, state: usize, kind: Kind, config: &Config) -> f64 {
        if let Some((_, rates)) = self.known.iter().find(|(known, _)| *known == kind) {
            return rates[state];
        }
        let mut rates = [0.0; STATES];
        for (state, rate) in rates.iter_mut().enumerate() {
            let ends = (self.borders[state], self.borders[state + 1]);
            *rate = config.error_integral(kind, |x| libm::exp(-x), ends) / self.share[state];
        }
        if self.known.len() == KNOWN_MAX {
            self.known.remove(0);
        }
        self.known.push((kind, rates));
        rates[state]
    }
}

impl State {
    /// Signal-to-noise ratio at `now`, in dB; for a chain, the middle of the 2 dB of its current
    /// state.
    pub fn snr_db(&mut self, now: Time, stream: &mut RandomStream) -> f64 {
        let power = match &mut self.source {
            Source::Sinusoids(sinusoids) => {
                if !sinusoids.drawn {
                    sinusoids.draw(stream);
                }
                sinusoids.power(now, self.config.doppler_hz, self.config.rician_k)
            }
            Source::Markov(chain) => {
                let state = chain.state(now, stream);
                libm::pow(10.0, (FIRST_BORDER_DB - 1.0 + 2.0 * state as f64) / 10.0)
            }
        };
        10.0 * libm::log10(self.mean_snr * power)
    }
}

impl Channel for State {
    fn fate(&mut self, now: Time, frame: &Frame, stream: &mut RandomStream) -> Fate {
        let error_rate = match &mut self.source {
            Source::Sinusoids(sinusoids) => {
                if !sinusoids.drawn {
                    sinusoids.draw(stream);
                }
                let Config { doppler_hz, rician_k, .. } = self.config;
                let power = sinusoids.power(now, doppler_hz, rician_k);
                self.modulation.frame_error_rate(self.mean_snr * power, frame.bytes)
            }
            Source::Markov(chain) => {
                let state = chain.state(now, stream);
                chain.error_rate(state, (self.modulation, frame.bytes), &self.config)
            }
        };
        if stream.uniform() < error_rate { Fate::Lose(Reason::Channel) } else { DELIVER }
    }

    fn tune(&mut self, rate: Rate) {
        if self.config.rate.is_none()
            && let Some(modulation) = Modulation::from_rate(rate.as_bit_s())
        {
            self.modulation = modulation;
        }
    }

    /// Takes over the parameters of `new`, but keeps this channel's trajectory. If the Doppler
    /// shift changes, the phases of the sinusoids jump.
    fn adopt(&mut self, new: Self) {
        let old = std::mem::replace(self, new);
        let same_pace = self.config.doppler_hz.to_bits() == old.config.doppler_hz.to_bits();
        match (&mut self.source, old.source) {
            (Source::Sinusoids(own), Source::Sinusoids(old)) => *own = old,
            (Source::Markov(own), Source::Markov(old)) => {
                own.key = old.key;
                // A trajectory is valid only for its transition rates; with other rates a new one
                // is started.
                own.path = old.path.filter(|_| same_pace);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod chain_tests;
#[cfg(test)]
mod sinusoids_tests;
#[cfg(test)]
mod tests;
