//! Tests that skip for want of something; the crates `sim` and `emulate` include this file, too.

use std::io::Write;

/// Reports on standard error that a test checks nothing, and why. `missing` is one of the names in
/// `python/tests/required.py`.
///
/// # Panics
/// The environment variable `RETX_REQUIRE_ALL` requires what is missing.
pub fn skip(missing: &str, reason: &str) {
    let required = std::env::var("RETX_REQUIRE_ALL").unwrap_or_default();
    assert!(!requires(&required, missing), "{reason}; RETX_REQUIRE_ALL requires {missing}");
    // Not by `eprintln!`, which is shown for failed tests alone.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// True if the variable's value, `1` or names with commas between them, includes a name.
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
