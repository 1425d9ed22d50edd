//! Hidden Markov chains with one step per packet: likelihood, Baum–Welch, draws.
//!
//! *Equations.* The forward probabilities are α(t+1) = (α(t)·M)∘e(t+1), scaled at every step. M is
//! the transition matrix, and e(s) = P(evidence | state s). At the first packet the chain has its
//! stationary distribution π. Since π·M = π, the first step is like the others. A run of n packets
//! with equal evidence needs one product, with the n-th power of M·diag(e).
//!
//! *Reference.* Baum, Petrie, Soules & Weiss 1970; Rabiner 1989 for the scaling; Grassmann, Taksar
//! & Heyman 1985 for the stationary distribution.

use super::series::{Evidence, Series};
use retx_units::RandomStream;

/// Square matrix.
pub type SquareMatrix<const N: usize> = [[f64; N]; N];

/// Chain of N states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain<const N: usize> {
    /// Transition probabilities, by rows.
    pub transitions: SquareMatrix<N>,
    /// Loss probability in each state.
    pub loss: [f64; N],
}

impl<const N: usize> Chain<N> {
    /// Stationary distribution. The algorithm contains no subtractions, so small probabilities stay
    /// precise.
    pub fn stationary(&self) -> [f64; N] {
        let mut moves = self.transitions;
        // First of the states that the chain does not leave in the long run: earlier ones have
        // probability 0.
        let mut first = 0;
        for last in (1..N).rev() {
            let leaves: f64 = moves[last][..last].iter().sum();
            if leaves <= 0.0 {
                first = last;
                break;
            }
            for from in 0..last {
                moves[from][last] /= leaves;
                for to in 0..last {
                    moves[from][to] += moves[from][last] * moves[last][to];
                }
            }
        }
        let mut law = [0.0; N];
        law[first] = 1.0;
        for state in first + 1..N {
            law[state] = (first..state).map(|from| law[from] * moves[from][state]).sum();
        }
        let total: f64 = law.iter().sum();
        law.map(|it| it / total)
    }

    /// Long-run loss rate.
    pub fn mean_loss(&self) -> f64 {
        self.stationary().iter().zip(self.loss).map(|(share, loss)| share * loss).sum()
    }

    /// Mean number of consecutive losses; `None` if no packet or every packet is lost.
    pub fn mean_burst(&self) -> Option<f64> {
        let law = self.stationary();
        let ahead = |state: usize| -> f64 {
            self.transitions[state].iter().zip(self.loss).map(|(moves, loss)| moves * loss).sum()
        };
        let both: f64 = (0..N).map(|it| law[it] * self.loss[it] * ahead(it)).sum();
        let lost = self.mean_loss();
        (lost - both > 0.0).then(|| lost / (lost - both))
    }

    /// Expected number of times that the chain enters its rarest state in a series of `copies`
    /// packets.
    pub fn entries_of_rarest_state(&self, copies: usize) -> f64 {
        let law = self.stationary();
        let entries = (0..N).map(|state| law[state] * (1.0 - self.transitions[state][state]));
        entries.fold(f64::INFINITY, f64::min) * copies as f64
    }

    /// Logarithm of the likelihood of a series.
    pub fn log_likelihood(&self, series: &Series) -> f64 {
        let mut ladders: Vec<Option<Ladder<N>>> = vec![None; series.evidence_kinds.len()];
        let mut forward = self.stationary();
        let mut total = 0.0;
        for run in &series.runs {
            let weights = self.weights(series.evidence_kinds[run.evidence_index]);
            if run.count < 6 {
                for _ in 0..run.count {
                    forward = times(&forward, &self.transitions);
                    total += scale(&mut forward, &weights);
                }
            } else {
                let ladder = ladders[run.evidence_index]
                    .get_or_insert_with(|| Ladder::new(&self.transitions, &weights));
                total += ladder.climb(&mut forward, run.count);
            }
            if !total.is_finite() {
                return f64::NEG_INFINITY;
            }
        }
        total
    }

    fn weights(&self, evidence: Evidence) -> [f64; N] {
        self.loss.map(|loss| loss * evidence.lost + (1.0 - loss) * evidence.arrived)
    }

    /// Chain after one iteration of Baum–Welch over the packets `from` … `to`. Probabilities of
    /// zero stay zero, so the chain keeps its structure.
    pub fn baum_welch_step(&self, series: &Series, (from, to): (usize, usize)) -> Self {
        let copies = to - from;
        let weights: Vec<[f64; N]> =
            series.evidence_kinds.iter().map(|it| self.weights(*it)).collect();
        let at = |index: usize| &weights[series.evidence_indices[from + index]];
        let mut forward = Vec::with_capacity(copies);
        let mut norms = Vec::with_capacity(copies);
        let mut current = self.stationary();
        for index in 0..copies {
            current = times(&current, &self.transitions);
            norms.push(weight_and_scale(&mut current, at(index)));
            forward.push(current);
        }
        let mut moved = [[0.0; N]; N];
        let (mut visits, mut losses) = ([0.0; N], [0.0; N]);
        let mut backward = [1.0; N];
        for index in (0..copies).rev() {
            let evidence = series.evidence(from + index);
            for state in 0..N {
                let here = forward[index][state] * backward[state];
                let weight = at(index)[state];
                visits[state] += here;
                if weight > 0.0 {
                    losses[state] += here * self.loss[state] * evidence.lost / weight;
                }
            }
            if index == 0 {
                break;
            }
            let mut before = [0.0; N];
            for one in 0..N {
                for other in 0..N {
                    let step = self.transitions[one][other] * at(index)[other] * backward[other];
                    let step = step / norms[index];
                    moved[one][other] += forward[index - 1][one] * step;
                    before[one] += step;
                }
            }
            backward = before;
        }
        self.normalised(&moved, &visits, &losses)
    }

    fn normalised(&self, moved: &SquareMatrix<N>, visits: &[f64; N], losses: &[f64; N]) -> Self {
        let mut next = *self;
        for state in 0..N {
            let out: f64 = moved[state].iter().sum();
            if out > 0.0 {
                next.transitions[state] = moved[state].map(|it| it / out);
            }
            let fixed = self.loss[state] <= 0.0 || self.loss[state] >= 1.0;
            if visits[state] > 0.0 && !fixed {
                next.loss[state] = (losses[state] / visits[state]).clamp(1e-9, 1.0 - 1e-9);
            }
        }
        next
    }

    /// Draws the fates of `copies` packets; true if a packet is lost.
    pub fn draw(&self, copies: usize, stream: &mut RandomStream) -> Vec<bool> {
        let mut state = pick(&self.stationary(), stream);
        let mut fates = Vec::with_capacity(copies);
        for _ in 0..copies {
            fates.push(stream.uniform() < self.loss[state]);
            if N > 1 {
                state = pick(&self.transitions[state], stream);
            }
        }
        fates
    }
}

/// Draws a state.
fn pick<const N: usize>(law: &[f64; N], stream: &mut RandomStream) -> usize {
    let mut left = stream.uniform();
    for (state, share) in law.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return state;
        }
    }
    N - 1
}

fn times<const N: usize>(row: &[f64; N], matrix: &SquareMatrix<N>) -> [f64; N] {
    let mut product = [0.0; N];
    for (one, line) in row.iter().zip(matrix) {
        for (sum, entry) in product.iter_mut().zip(line) {
            *sum += one * entry;
        }
    }
    product
}

/// Multiplies by the weights and scales the result to the sum 1; returns the sum before scaling.
pub fn weight_and_scale<const N: usize>(forward: &mut [f64; N], weights: &[f64; N]) -> f64 {
    let mut total = 0.0;
    for (one, weight) in forward.iter_mut().zip(weights) {
        *one *= weight;
        total += *one;
    }
    forward.iter_mut().for_each(|one| *one /= total);
    total
}

fn scale<const N: usize>(forward: &mut [f64; N], weights: &[f64; N]) -> f64 {
    libm::log(weight_and_scale(forward, weights))
}

/// Powers 1, 2, 4, … of M·diag(e), each with its largest entry scaled to 1.
#[derive(Debug, Clone)]
struct Ladder<const N: usize> {
    powers: Vec<(SquareMatrix<N>, f64)>,
}

impl<const N: usize> Ladder<N> {
    fn new(moves: &SquareMatrix<N>, weights: &[f64; N]) -> Self {
        let mut step = *moves;
        for row in &mut step {
            row.iter_mut().zip(weights).for_each(|(entry, weight)| *entry *= weight);
        }
        let mut ladder = Self { powers: Vec::with_capacity(24) };
        ladder.push(step, 0.0);
        ladder
    }

    fn push(&mut self, mut power: SquareMatrix<N>, log: f64) {
        let most = power.iter().flatten().fold(0.0_f64, |most, it| most.max(*it));
        if most > 0.0 {
            power.iter_mut().flatten().for_each(|entry| *entry /= most);
        }
        self.powers.push((power, log + libm::log(most)));
    }

    /// Multiplies `forward` by the matrix to the power `count` and scales it to the sum 1; returns
    /// the logarithm of the sum before scaling.
    fn climb(&mut self, forward: &mut [f64; N], count: u32) -> f64 {
        let (mut left, mut rung, mut total) = (count, 0, 0.0);
        while left > 0 {
            if rung == self.powers.len() {
                let (last, log) = self.powers[rung - 1];
                let mut square = [[0.0; N]; N];
                for (row, line) in square.iter_mut().zip(&last) {
                    *row = times(line, &last);
                }
                self.push(square, 2.0 * log);
            }
            if left & 1 == 1 {
                let (power, log) = &self.powers[rung];
                *forward = times(forward, power);
                total += log + scale(forward, &[1.0; N]);
            }
            (left, rung) = (left >> 1, rung + 1);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(transitions: SquareMatrix<3>) -> Chain<3> {
        Chain { transitions, loss: [0.0, 0.5, 1.0] }
    }

    /// One step does not change the stationary distribution, also where transitions are impossible.
    #[test]
    fn a_step_keeps_the_stationary_distribution() {
        for (transitions, expected) in [
            (
                [[0.9, 0.1, 0.0], [0.3, 0.5, 0.2], [0.0, 0.4, 0.6]],
                [6.0 / 9.0, 2.0 / 9.0, 1.0 / 9.0],
            ),
            ([[0.5, 0.5, 0.0], [0.0, 0.7, 0.3], [0.0, 0.6, 0.4]], [0.0, 2.0 / 3.0, 1.0 / 3.0]),
            ([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [0.1, 0.1, 0.8]], [2.0 / 7.0, 5.0 / 7.0, 0.0]),
            ([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]], [0.0, 0.0, 1.0]),
        ] {
            let law = chain(transitions).stationary();
            for state in 0..3 {
                let after: f64 = (0..3).map(|from| law[from] * transitions[from][state]).sum();
                assert!((after - law[state]).abs() < 1e-12, "{transitions:?}: {law:?}");
                assert!((law[state] - expected[state]).abs() < 1e-12, "{law:?}, not {expected:?}");
            }
        }
    }

    /// Losses with probability 1/2 in one state and 1 in the other, each left with probability 0.3
    /// and 0.6: the long-run loss rate is (2/3)·(1/2) + 1/3.
    #[test]
    fn states_that_are_left_for_ever_lose_nothing_in_the_long_run() {
        let chain = chain([[0.5, 0.5, 0.0], [0.0, 0.7, 0.3], [0.0, 0.6, 0.4]]);
        assert!((chain.mean_loss() - 2.0 / 3.0).abs() < 1e-12);
    }
}
