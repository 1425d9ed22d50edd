//! The chains that are compared: Bernoulli, Gilbert, Gilbert–Elliott, three states, second order.
//!
//! *Equations.*
//! - `gilbert`: p = P(good → bad), r = P(bad → good). Every packet is lost in the bad state, and
//!   none in the good state.
//! - `gilbert_elliott_3` (Gilbert 1960): a packet survives the bad state with probability h.
//! - `gilbert_elliott_4` (Elliott 1963): in addition, a packet survives the good state with
//!   probability k.
//! - `second_order`: the loss probability depends on the fates of the two previous packets; p01 is
//!   the probability after an arrival followed by a loss.
//! - `three_states`: received in a gap (1), received in a burst (2), lost (3), with the transitions
//!   of netem's `loss state`.
//!
//! *Reference.* Yajnik, Moon, Kurose & Towsley 1999 for the order of chains; Salsano, Ludovici &
//! Ordine 2009 for the states of netem.

use super::{DiscreteChain, Parameter, probability, round_probability};
use crate::loss::chain::Chain;
use crate::loss::series::Series;
use serde_json::{Value, json};

/// Independent losses.
pub const BERNOULLI: DiscreteChain<1> = DiscreteChain {
    name: "bernoulli",
    title: "independent losses",
    is_hidden: false,
    parameters: &[probability("p")],
    chain: |values| Some(Chain { transitions: [[1.0]], loss: [values[0]] }),
    values: |chain| vec![chain.loss[0]],
    starting_points: |series| {
        vec![Chain { transitions: [[1.0]], loss: [clamp_interior(series.loss_rate)] }]
    },
    channel: |values| json!({ "model": "bernoulli", "p": round_probability(values[0]) }),
};

const P: Parameter = probability("p");
const R: Parameter = probability("r");
const K: Parameter = probability("k");
const H: Parameter = probability("h");

/// Two states. The bad state loses every packet, the good state none.
pub const GILBERT: DiscreteChain<2> = DiscreteChain {
    name: "gilbert",
    title: "Gilbert: bursts, everything lost in them",
    is_hidden: false,
    parameters: &[P, R],
    chain: |values| two_states([values[0], values[1], 1.0, 0.0]),
    values: |chain| {
        vec![clamp_interior(chain.transitions[0][1]), clamp_interior(chain.transitions[1][0])]
    },
    starting_points: |series| {
        let [p, r] = PairCounts::from_series(series).transitions();
        two_states([p, r, 1.0, 0.0]).into_iter().collect()
    },
    channel: |values| gilbert_elliott([values[0], values[1], 1.0, 0.0]),
};

/// Two states. Some packets survive the bad state; the good state loses none.
pub const GILBERT_ELLIOTT_3: DiscreteChain<2> = DiscreteChain {
    name: "gilbert_elliott_3",
    title: "Gilbert–Elliott, 3 parameters: nothing lost between bursts",
    is_hidden: true,
    parameters: &[P, R, H],
    chain: |values| two_states([values[0], values[1], 1.0, values[2]]),
    values: |chain| {
        let survives = clamp_interior(1.0 - chain.loss[1]);
        vec![
            clamp_interior(chain.transitions[0][1]),
            clamp_interior(chain.transitions[1][0]),
            survives,
        ]
    },
    starting_points: |series| {
        let [p, r] = PairCounts::from_series(series).transitions();
        let tries = [(1.0, 0.1), (0.5, 0.5), (0.1, 0.5), (0.03, 0.8), (0.3, 0.9)];
        let start = |(slower, h): (f64, f64)| {
            // Compared with `gilbert`, these starting points have fewer and longer bursts, in which
            // some packets arrive, and a loss rate of the same order.
            two_states([clamp_interior(p * slower.sqrt()), clamp_interior(r * slower), 1.0, h])
        };
        tries.into_iter().filter_map(start).collect()
    },
    channel: |values| gilbert_elliott([values[0], values[1], 1.0, values[2]]),
};

/// Two states, both of which lose some packets.
pub const GILBERT_ELLIOTT_4: DiscreteChain<2> = DiscreteChain {
    name: "gilbert_elliott_4",
    title: "Gilbert–Elliott, 4 parameters: losses in both states",
    is_hidden: true,
    parameters: &[P, R, K, H],
    chain: |values| {
        let [p, r, k, h] = [values[0], values[1], values[2], values[3]];
        if k < h { None } else { two_states([p, r, k, h]) }
    },
    values: |chain| {
        let survives = chain.loss.map(|loss| clamp_interior(1.0 - loss));
        vec![
            clamp_interior(chain.transitions[0][1]),
            clamp_interior(chain.transitions[1][0]),
            survives[0],
            survives[1],
        ]
    },
    starting_points: |series| {
        let loss = clamp_interior(series.loss_rate);
        let tries = [(3.0, 0.5), (10.0, 0.3), (30.0, 0.5), (100.0, 0.8), (300.0, 0.9)];
        let start = |(copies, h): (f64, f64)| {
            let bad = (0.7 * loss / (1.0 - h)).min(0.4);
            let r = 1.0 / copies;
            two_states([
                clamp_interior(r * bad / (1.0 - bad)),
                r,
                clamp_interior(1.0 - 0.3 * loss),
                h,
            ])
        };
        tries.into_iter().filter_map(start).collect()
    },
    channel: |values| gilbert_elliott([values[0], values[1], values[2], values[3]]),
};

/// Loss probability that depends on the fates of the two previous packets.
pub const SECOND_ORDER: DiscreteChain<4> = DiscreteChain {
    name: "second_order",
    title: "second-order Markov chain",
    is_hidden: false,
    parameters: &[probability("p00"), probability("p01"), probability("p10"), probability("p11")],
    // State 2a + b stands for the fate a of the previous packet and the fate b of the current one.
    chain: |values| {
        let mut moves = [[0.0; 4]; 4];
        for (state, p) in values.iter().enumerate() {
            let next = 2 * (state % 2);
            (moves[state][next], moves[state][next + 1]) = (1.0 - p, *p);
        }
        Some(Chain { transitions: moves, loss: [0.0, 1.0, 0.0, 1.0] })
    },
    values: |chain| {
        (0..4).map(|state| clamp_interior(chain.transitions[state][2 * (state % 2) + 1])).collect()
    },
    starting_points: |series| {
        let [p, r] = PairCounts::from_series(series).transitions();
        (SECOND_ORDER.chain)(&[p, 1.0 - r, p, 1.0 - r]).into_iter().collect()
    },
    channel: |values| {
        let chain = (SECOND_ORDER.chain)(values).expect("four probabilities");
        markov(&chain)
    },
};

/// Received in a gap, received in a burst, lost.
pub const THREE_STATES: DiscreteChain<3> = DiscreteChain {
    name: "three_states",
    title: "three states: received in gaps, received in bursts, lost",
    is_hidden: true,
    parameters: &[probability("p13"), probability("p31"), probability("p32"), probability("p23")],
    chain: |values| {
        let [p13, p31, p32, p23] = [values[0], values[1], values[2], values[3]];
        // State 2 is defined as the one from which a loss is more likely to follow. Without this
        // condition, states 1 and 2 could be exchanged without changing the likelihood.
        let possible = p31 + p32 <= 1.0 && p13 <= p23;
        possible.then_some(Chain {
            transitions: [
                [1.0 - p13, 0.0, p13],
                [0.0, 1.0 - p23, p23],
                [p31, p32, 1.0 - p31 - p32],
            ],
            loss: [0.0, 0.0, 1.0],
        })
    },
    values: |chain| {
        let moves = &chain.transitions;
        [moves[0][2], moves[2][0], moves[2][1], moves[1][2]].map(clamp_interior).to_vec()
    },
    starting_points: |series| {
        let [p, r] = PairCounts::from_series(series).transitions();
        let tries = [(0.5, 0.5), (0.2, 0.1), (0.7, 0.03)];
        let start = |(far, near): (f64, f64)| {
            (THREE_STATES.chain)(&[clamp_interior(p * far), r * far, r * (1.0 - far), p.max(near)])
        };
        tries.into_iter().filter_map(start).collect()
    },
    channel: |values| {
        let chain = (THREE_STATES.chain)(values).expect("values that the search found possible");
        markov(&chain)
    },
};

fn two_states([p, r, k, h]: [f64; 4]) -> Option<Chain<2>> {
    Some(Chain { transitions: [[1.0 - p, p], [r, 1.0 - r]], loss: [1.0 - k, 1.0 - h] })
}

fn gilbert_elliott([p, r, k, h]: [f64; 4]) -> Value {
    let mut table =
        json!({ "model": "gilbert_elliott", "p": round_probability(p), "r": round_probability(r) });
    if k < 1.0 {
        table["k"] = json!(round_probability(k));
    }
    if h > 0.0 {
        table["h"] = json!(round_probability(h));
    }
    table
}

fn markov<const N: usize>(chain: &Chain<N>) -> Value {
    let rows: Vec<Vec<f64>> = chain
        .transitions
        .iter()
        .map(|row| row.iter().map(|it| round_probability(*it)).collect())
        .collect();
    json!({ "model": "markov", "transitions": rows, "loss": chain.loss.to_vec() })
}

/// Restricts a probability to a range without 0 and 1, so that a search can start from it.
pub fn clamp_interior(value: f64) -> f64 {
    value.clamp(1e-7, 1.0 - 1e-7)
}

/// Expected numbers of pairs of successive packets, by their fates.
pub struct PairCounts {
    kept_kept: f64,
    kept_lost: f64,
    lost_kept: f64,
    lost_lost: f64,
}

impl PairCounts {
    /// Counts the pairs of a series; uncertain fates are treated as independent.
    pub fn from_series(series: &Series) -> Self {
        let mut pairs = Self { kept_kept: 0.0, kept_lost: 0.0, lost_kept: 0.0, lost_lost: 0.0 };
        for pair in series.lost.windows(2) {
            let [one, next] = [pair[0], pair[1]];
            if one.is_nan() || next.is_nan() {
                continue;
            }
            pairs.kept_kept += (1.0 - one) * (1.0 - next);
            pairs.kept_lost += (1.0 - one) * next;
            pairs.lost_kept += one * (1.0 - next);
            pairs.lost_lost += one * next;
        }
        pairs
    }

    /// P(arrived → lost) and P(lost → arrived), neither 0 nor 1.
    pub fn transitions(&self) -> [f64; 2] {
        [
            clamp_interior((self.kept_lost + 0.01) / (self.kept_kept + self.kept_lost + 0.02)),
            clamp_interior((self.lost_kept + 0.01) / (self.lost_kept + self.lost_lost + 0.02)),
        ]
    }
}
