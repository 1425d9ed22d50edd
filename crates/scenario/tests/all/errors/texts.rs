//! Texts as a whole, and the parts of an error.

use super::*;

#[test]
fn texts_that_are_no_scenario() {
    for empty in ["", "\n\n", "# only a comment\n"] {
        assert_eq!(error(empty, &[]).to_string(), expand("s.toml: empty: {needs}"));
    }
    assert_eq!(
        error("{\"duration\": 1}", &[]).to_string(),
        "s.toml:1: not TOML: invalid key-value pair, expected key"
    );
    refuse("warmup", "duration", "s.toml:2: not TOML: duplicate key");
    refuse(
        "[\"server\", \"client\"]",
        "[\"server\", \"client\"",
        "s.toml:10: not TOML: missing comma between array elements, expected `,`",
    );
    let large = "#".repeat((16 << 20) + 1);
    assert_eq!(
        error(&large, &[]).to_string(),
        "s.toml: 16777217 bytes: a scenario has at most 16777216"
    );
}

#[test]
fn depth_and_length_do_no_harm() {
    let deep = [
        "[".repeat(1 << 20),
        format!("a={}", "[".repeat(1 << 20)),
        format!("a={}", "{a=".repeat(1 << 20)),
        format!("{}a = 1", "a.".repeat(1 << 20)),
        format!("[{}a]", "a.".repeat(1 << 20)),
        format!("duration = \"{}\"", "x".repeat(1 << 20)),
        format!("{} = 1", "x".repeat(1 << 20)),
    ];
    for text in deep {
        let message = error(&text, &[]).to_string();
        assert!(message.len() < 4000, "{} characters", message.len());
    }
}

#[test]
fn scenarios_from_json() {
    let refuse = |json: &str| from_json(json).unwrap_err().to_string();
    assert_eq!(refuse("[1]"), "a scenario is a table of keys and values");
    assert_eq!(refuse("{\"seed\": [1, null]}"), "seed.1: a list cannot hold null");
    assert_eq!(
        refuse("{\"link\": [{\"mtu\": 18446744073709551615}]}"),
        "link.0.mtu: 18446744073709551615 is too large: integers end at 2^63"
    );
    assert!(refuse("{").starts_with("not JSON: "));
    // No file, so no line.
    let text = from_json("{\"duration\": 3, \"title\": null}").unwrap();
    let error = parse(&Source { name: "", text: &text, overrides: &[] }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "duration: 3 lacks a unit: write a duration like \"20 ms\" or \"2.5 s\""
    );
}
#[test]
fn parts_of_an_error() {
    let error = error(&BASE.replace("p = 0.01", "p = 2"), &[]);
    assert_eq!(error.file, "s.toml");
    assert_eq!(error.path, "link.cloud.channel.p");
    assert_eq!(error.position, Some(Position { line: 12, column: 34 }));
    assert_eq!(error.r#override, None);
}
