//! Maximisation of a smooth function of a few parameters, and its curvature at the maximum.

/// Square matrix, by rows.
pub type Matrix = Vec<Vec<f64>>;

/// Maximum of a function.
#[derive(Debug, Clone)]
pub struct Maximum {
    /// Parameters at the maximum.
    pub at: Vec<f64>,
    /// Value of the function at the maximum.
    pub value: f64,
    /// Inverse of the negative Hessian; `None` if that is not positive definite.
    pub covariance: Option<Matrix>,
}

/// Function to maximise; −∞ for impossible parameters.
pub type Function<'a> = dyn Fn(&[f64]) -> f64 + 'a;

/// Step of the finite differences. The parameters are logits or logarithms, so they are of the
/// order of 1. With this step, the rounding error of a second difference is smaller than its
/// truncation error.
const STEP: f64 = 1e-3;
/// Largest change of a parameter in one iteration.
const MOVE_MAX: f64 = 2.0;
/// Bound of logits and logarithms during the search. A probability whose logit reaches the bound
/// counts as 0 or 1.
pub const LOGIT_MAX: f64 = 18.0;
const ITERATIONS: usize = 60;
/// Gain below which the iteration stops. Newton's method then is within a thousandth of a standard
/// error of a regular maximum, and slow progress along a flat ridge is not worth its time.
const GAIN_LEAST: f64 = 1e-6;

/// Damped Newton iteration (Levenberg 1944) with numerical derivatives.
pub fn maximise(function: &Function<'_>, start: &[f64]) -> Maximum {
    let mut at = start.to_vec();
    let mut value = function(&at);
    let mut damping = 1e-3;
    let (mut slope, mut curve) = derivatives(function, &at, value);
    for _ in 0..ITERATIONS {
        let Some(step) = newton_step(&slope, &curve, damping) else { break };
        let next: Vec<f64> = at
            .iter()
            .zip(&step)
            .map(|(at, step)| (at + step).clamp(-LOGIT_MAX, LOGIT_MAX))
            .collect();
        let reached = function(&next);
        if reached > value {
            let gain = reached - value;
            (at, value) = (next, reached);
            damping = f64::max(damping * 0.1, 1e-9);
            (slope, curve) = derivatives(function, &at, value);
            if gain < GAIN_LEAST {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e8 {
                break;
            }
        }
    }
    let negative: Matrix = curve.iter().map(|row| row.iter().map(|it| -it).collect()).collect();
    Maximum { covariance: inverse(&negative), at, value }
}

/// Gradient and matrix of second derivatives, by central differences.
fn derivatives(function: &Function<'_>, at: &[f64], value: f64) -> (Vec<f64>, Matrix) {
    let count = at.len();
    let moved = |changes: &[(usize, f64)]| {
        let mut there = at.to_vec();
        for (index, sign) in changes {
            there[*index] += sign * STEP;
        }
        function(&there)
    };
    let (mut slope, mut curve) = (vec![0.0; count], vec![vec![0.0; count]; count]);
    for one in 0..count {
        let (up, down) = (moved(&[(one, 1.0)]), moved(&[(one, -1.0)]));
        slope[one] = (up - down) / (2.0 * STEP);
        curve[one][one] = (up - 2.0 * value + down) / (STEP * STEP);
    }
    for (one, other) in (0..count).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let corner = |a, b| moved(&[(one, a), (other, b)]);
        let mixed = corner(1.0, 1.0) - corner(1.0, -1.0) - corner(-1.0, 1.0);
        let mixed = (mixed + corner(-1.0, -1.0)) / (4.0 * STEP * STEP);
        (curve[one][other], curve[other][one]) = (mixed, mixed);
    }
    (slope, curve)
}

/// Solution of (−H + damping)·step = slope; `None` if a derivative is not finite. The damping is
/// increased until the matrix is positive definite.
fn newton_step(slope: &[f64], curve: &Matrix, damping: f64) -> Option<Vec<f64>> {
    let finite = slope.iter().chain(curve.iter().flatten()).all(|it| it.is_finite());
    if !finite {
        return None;
    }
    let mut damping = damping;
    for _ in 0..30 {
        let mut damped: Matrix =
            curve.iter().map(|row| row.iter().map(|it| -it).collect()).collect();
        for (index, row) in damped.iter_mut().enumerate() {
            row[index] += damping * (row[index].abs() + 1e-3);
        }
        if let Some(root) = cholesky(&damped) {
            let mut step = solve(&root, slope);
            let longest = step.iter().fold(0.0_f64, |most, it| most.max(it.abs()));
            if longest > MOVE_MAX {
                step.iter_mut().for_each(|it| *it *= MOVE_MAX / longest);
            }
            return Some(step);
        }
        damping = damping.max(1e-2) * 4.0;
    }
    None
}

/// Lower triangle L with L·Lᵀ = `matrix`; `None` if the matrix is not positive definite.
fn cholesky(matrix: &Matrix) -> Option<Matrix> {
    let count = matrix.len();
    let mut root = vec![vec![0.0; count]; count];
    for row in 0..count {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| root[row][k] * root[column][k]).sum();
            let rest = matrix[row][column] - known;
            if row != column {
                root[row][column] = rest / root[column][column];
            } else if rest > 1e-12 * matrix[row][row].abs() && rest.is_finite() && rest > 0.0 {
                root[row][row] = libm::sqrt(rest);
            } else {
                return None;
            }
        }
    }
    Some(root)
}

/// Solution of L·Lᵀ·x = b.
fn solve(root: &Matrix, right: &[f64]) -> Vec<f64> {
    let count = right.len();
    let mut found = right.to_vec();
    for row in 0..count {
        let known: f64 = (0..row).map(|k| root[row][k] * found[k]).sum();
        found[row] = (found[row] - known) / root[row][row];
    }
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count).map(|k| root[k][row] * found[k]).sum();
        found[row] = (found[row] - known) / root[row][row];
    }
    found
}

/// Inverse of a positive definite matrix; `None` for any other.
fn inverse(matrix: &Matrix) -> Option<Matrix> {
    let root = cholesky(matrix)?;
    let count = matrix.len();
    let unit = |one: usize| (0..count).map(|k| f64::from(u8::from(k == one))).collect::<Vec<_>>();
    Some((0..count).map(|one| solve(&root, &unit(one))).collect())
}

/// Logit: logarithm of the odds.
pub fn logit(probability: f64) -> f64 {
    libm::log(probability / (1.0 - probability)).clamp(-LOGIT_MAX, LOGIT_MAX)
}

/// Inverse of [`logit`].
pub fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_of_a_binomial_has_its_known_variance() {
        let function = |at: &[f64]| {
            let p = logistic(at[0]);
            30.0 * libm::log(p) + 970.0 * libm::log(1.0 - p)
        };
        let found = maximise(&function, &[0.0]);
        assert!((logistic(found.at[0]) - 0.03).abs() < 1e-8);
        let variance = found.covariance.expect("positive definite")[0][0];
        assert!((variance * 1000.0 * 0.03 * 0.97 - 1.0).abs() < 1e-4, "{variance}");
    }

    #[test]
    fn a_bent_valley_is_followed_to_its_end() {
        let banana = |at: &[f64]| -(1.0 - at[0]).powi(2) - 100.0 * (at[1] - at[0] * at[0]).powi(2);
        let found = maximise(&banana, &[-1.2, 1.0]);
        assert!((found.at[0] - 1.0).abs() < 1e-3 && (found.at[1] - 1.0).abs() < 1e-3);
    }
}
