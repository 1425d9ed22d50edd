use super::*;

/// Probabilities that sum to less than 1 because of rounding leave the rest to the last state.
#[test]
fn rounding_selects_the_last_state() {
    for (number, state) in [(0.0, 0), (0.24, 0), (0.25, 1), (0.49, 1), (0.5, 1), (0.99, 1)] {
        assert_eq!(drawn(&[0.25, 0.25], number), state, "{number}");
    }
    assert_eq!(drawn(&[0.0, 0.0, 0.5], 0.7), 2);
    assert_eq!(drawn(&[0.0, 0.3, 0.7], 0.0), 1, "a state of probability 0 is never selected");
}
