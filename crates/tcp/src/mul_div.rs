//! Exact a·b/divisor, even if the product exceeds 64 bits. Most products fit into 64 bits; the
//! division is then many times faster than one of 128 bits.

/// ⌊a·b/divisor⌋, at most [`u64::MAX`].
#[inline]
pub(crate) fn mul_div(a: u64, b: u64, divisor: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / divisor,
        None => mul_div_wide(a, b, divisor),
    }
}

#[cold]
#[inline(never)]
fn mul_div_wide(a: u64, b: u64, divisor: u64) -> u64 {
    let quotient = u128::from(a) * u128::from(b) / u128::from(divisor);
    u64::try_from(quotient).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a division in 128 bits, for products below and above 2^64.
        #[test]
        fn is_exact(a: u64, b: u64, divisor in 1_u64.., shift in 0..64_u32) {
            let b = b >> shift;
            let exact = u128::from(a) * u128::from(b) / u128::from(divisor);
            prop_assert_eq!(mul_div(a, b, divisor), u64::try_from(exact).unwrap_or(u64::MAX));
        }
    }
}
