//! Models that are Markov chains with one step per packet.

use super::{Law, ModelProperties, Parameter};
use crate::loss::chain::Chain;
use crate::loss::series::Series;
use retx_units::RandomStream;
use serde_json::Value;

/// Number of packets on which Baum–Welch improves the starting points.
const IMPROVED_ON: usize = 20_000;
/// Number of Baum–Welch iterations for each starting point; Newton's method continues from the
/// result.
const IMPROVEMENTS: usize = 30;

/// Chain of N states and the meaning of its parameters.
pub struct DiscreteChain<const N: usize> {
    /// Name of the model.
    pub name: &'static str,
    /// Name in readable form.
    pub title: &'static str,
    /// True if the fates do not determine the state.
    pub is_hidden: bool,
    /// Parameters of the model.
    pub parameters: &'static [Parameter],
    /// Chain with these parameter values; `None` if the values are impossible.
    pub chain: fn(&[f64]) -> Option<Chain<N>>,
    /// Parameter values of a chain.
    pub values: fn(&Chain<N>) -> Vec<f64>,
    /// Starting points of the search.
    pub starting_points: fn(&Series) -> Vec<Chain<N>>,
    /// Channel of a scenario that follows the model with these parameter values.
    pub channel: fn(&[f64]) -> Value,
}

impl<const N: usize> DiscreteChain<N> {
    fn checked(&self, values: &[f64]) -> Chain<N> {
        (self.chain)(values).expect("values that the search has found possible")
    }
}

impl<const N: usize> Law for DiscreteChain<N> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    fn log_likelihood(&self, values: &[f64], series: &Series) -> f64 {
        (self.chain)(values).map_or(f64::NEG_INFINITY, |chain| chain.log_likelihood(series))
    }

    fn starts(&self, series: &Series) -> Vec<Vec<f64>> {
        let from = series.copies().saturating_sub(IMPROVED_ON) / 2;
        let part = (from, series.copies().min(from + IMPROVED_ON));
        let improved = |mut chain: Chain<N>| {
            // The models with at most two parameters have no hidden states, so one iteration yields
            // the maximum if all fates are certain.
            let passes = if self.parameters.len() > 2 { IMPROVEMENTS } else { 1 };
            for _ in 0..passes {
                let next = chain.baum_welch_step(series, part);
                if (self.chain)(&(self.values)(&next)).is_none() {
                    break;
                }
                chain = next;
            }
            (self.values)(&chain)
        };
        (self.starting_points)(series).into_iter().map(improved).collect()
    }

    fn draw(&self, values: &[f64], series: &Series, stream: &mut RandomStream) -> Vec<bool> {
        self.checked(values).draw(series.copies(), stream)
    }

    fn consequences(&self, values: &[f64], series: &Series) -> ModelProperties {
        let chain = self.checked(values);
        ModelProperties {
            mean_loss: chain.mean_loss(),
            mean_burst: chain.mean_burst(),
            visits: if self.is_hidden {
                chain.entries_of_rarest_state(series.copies())
            } else {
                f64::INFINITY
            },
        }
    }

    fn channel(&self, values: &[f64]) -> Value {
        (self.channel)(values)
    }
}
