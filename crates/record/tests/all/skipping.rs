//! Skipping of tests whose tools or permissions are missing; the crates `sim` and `emulate` include
//! this file, too.

use std::io::Write;

/// Reports on standard error that a test checks nothing, and why. `missing` is one of the names in
/// `python/tests/required.py`.
///
/// # Panics
/// The environment variable `RETX_REQUIRE_ALL` requires what is missing.
pub fn skip(missing: &str, reason: &str) {
    let required = std::env::var("RETX_REQUIRE_ALL").unwrap_or_default();
    assert!(!requires(&required, missing), "{reason}; RETX_REQUIRE_ALL requires {missing}");
    // `eprintln!` would show the text only for failed tests.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// True if `required`, the variable's value, includes `name`: it is `1` for everything, or a list
/// of names separated by commas.
fn requires(required: &str, name: &str) -> bool {
    required == "1" || required.split(',').any(|it| it == name)
}

#[test]
fn a_name_is_required_alone_among_others_and_by_1() {
    for required in ["1", "tshark", "emulation,tshark"] {
        assert!(requires(required, "tshark"), "{required}");
    }
    for required in ["", "emulation", "tshark2", "11"] {
        assert!(!requires(required, "tshark"), "{required}");
    }
}
