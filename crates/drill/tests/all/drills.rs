//! The repository's own scripts: each passes, states its claim, and cites the clause.

use retx_drill::{Options, Verdict, play};
use std::fs;
use std::path::{Path, PathBuf};

fn scripts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drills");
    let mut found = Vec::new();
    let mut directories = vec![root];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("a readable directory") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|ending| ending == "pkt") {
                let text = fs::read_to_string(&path).expect("a text");
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_script_passes() {
    let scripts = scripts();
    assert!(scripts.len() >= 100, "{} scripts", scripts.len());
    let mut broken = Vec::new();
    for (path, text) in &scripts {
        let played = play(text, &Options::default());
        if played.verdict != Verdict::Passed {
            broken.push(format!("{}: {:?}", path.display(), played.verdict));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Recording a trace, and another initial sequence number, change nothing.
#[test]
fn scripts_pass_whatever_the_initial_number() {
    for (path, text) in scripts() {
        for number in [0, 1 << 31, u32::MAX - 500] {
            let text = format!("--retx-isn={number}\n{text}");
            let options = Options { trace: true, ..Options::default() };
            let played = play(&text, &options);
            assert_eq!(played.verdict, Verdict::Passed, "{} at {number}", path.display());
            assert!(!played.trace.is_empty());
        }
    }
}

/// Lines, except those that repeat the second or third line before up to their numbers: exhausting
/// Linux's quick ACKs takes sixteen segments, each with three similar lines.
fn lines_without_repetition(text: &str) -> usize {
    let shapes: Vec<String> =
        text.lines().map(|line| line.replace(|it: char| it.is_ascii_digit(), "")).collect();
    let repeats = |at: &usize| {
        !shapes[*at].is_empty()
            && [2, 3].iter().any(|back| *at >= *back && shapes[*at] == shapes[*at - *back])
    };
    (0..shapes.len()).filter(|at| !repeats(at)).count()
}

#[test]
fn every_script_names_its_source_and_is_exact() {
    for (path, text) in scripts() {
        let name = path.display();
        let first = text.lines().next().unwrap_or_default();
        let linux = first.starts_with("// Linux ");
        let cites = first.starts_with("// RFC ") || first.contains(" 19") || first.contains(" 20");
        assert!(cites || linux, "{name} begins with the clause that it is about: {first}");
        assert_eq!(linux, path.ancestors().any(|room| room.ends_with("linux")), "{name}");
        // The behaviour of Linux is backed by a kernel run instead of a clause.
        assert_eq!(linux, text.contains("\n// Certified on Linux "), "{name}");
        assert!(text.contains("\n--retx-tcp="), "{name} names its TCP");
        assert!(text.contains("\n--retx-exact\n"), "{name} is exact");
        assert!(lines_without_repetition(&text) <= 60, "{name} makes one claim");
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(100), "{name}: a line of {longest:?} characters");
    }
}
