//! Fuzzing with hostile scripts: any text yields a verdict without a panic. It also exposes the
//! endpoint to packets that our own scripts never send.
//!
//! `RETX_FUZZ_ITERATIONS` sets the number of iterations; every run uses the same texts.

use retx_drill::{Options, Verdict, play};
use retx_tcp::presets;
use retx_units::{RandomStream, StreamKey};
use std::fs;
use std::path::Path;

const ITERATIONS: u64 = 20_000;

fn iterations() -> u64 {
    match std::env::var("RETX_FUZZ_ITERATIONS") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("RETX_FUZZ_ITERATIONS is {text:?}, not a whole number")),
        Err(_) => ITERATIONS,
    }
}

/// Prints the current text if the test panics.
struct Culprit<'a>(&'a str);

impl Drop for Culprit<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the script was:\n{}\nor: {:?}", self.0, self.0);
        }
    }
}

fn verdict(text: &str, tcp: &str) -> Verdict {
    let _culprit = Culprit(text);
    // Limits the work: mutated times and lengths can ask for hours of retransmissions.
    let options = Options { tcp: tcp.into(), packets_max: 3_000, ..Options::default() };
    let verdict = play(text, &options).verdict;
    if let Verdict::Failed(difference) = &verdict {
        assert!(!difference.message.is_empty() && difference.line > 0, "{difference:?}");
        let texts = [&difference.expected, &difference.actual];
        for shown in texts.into_iter().flatten() {
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
        }
    }
    if let Verdict::Refused(refusal) = &verdict {
        assert!(!refusal.message.is_empty() && !refusal.message.contains('\n'), "{refusal:?}");
    }
    verdict
}

fn seeds() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drills")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("scripts") {
            let path = entry.expect("a script").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "pkt") {
                files.push(path);
            }
        }
    }
    files.sort();
    files.iter().map(|path| fs::read_to_string(path).expect("a text")).collect()
}

fn pick<T: Clone>(stream: &mut RandomStream, from: &[T]) -> T {
    from[stream.below(from.len() as u64) as usize].clone()
}

/// Words of scripts in random order.
fn rubbish(stream: &mut RandomStream) -> String {
    const WORDS: [&str; 48] = [
        "0",
        "+0",
        "+.1",
        "*",
        "~",
        "...",
        "<",
        ">",
        ".",
        "S",
        "S.",
        "P.",
        "F.",
        "R",
        "1:1001(1000)",
        "0:0(0)",
        "ack",
        "1",
        "win",
        "65535",
        "mss 1000",
        "sackOK",
        "nop",
        "sack 1:2 3:4",
        "TS val 1",
        "ecr 2",
        "wscale 99",
        "\n",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "=",
        "|",
        "socket",
        "write",
        "%{",
        "}%",
        "assert tcpi_rto == 1",
        "`",
        "--mss=1",
        "\"",
        "//",
        "/*",
        "\u{1b}é\0",
    ];
    let mut text = String::new();
    for _ in 0..stream.below(60) {
        text.push_str(pick(stream, &WORDS));
        text.push(' ');
    }
    text
}

/// Boundary values for parsers and TCP.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "999",
    "1000",
    "1001",
    "2001",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "99999999999999999999",
    "-1",
];

/// A script with some numbers replaced, lines repeated, moved or lost, or characters changed.
fn mutated(stream: &mut RandomStream, seed: &str) -> String {
    let mut lines: Vec<String> = seed.lines().map(str::to_owned).collect();
    for _ in 0..=stream.below(4) {
        let at = stream.below(lines.len() as u64) as usize;
        match stream.below(6) {
            0 if lines.len() > 1 => {
                lines.remove(at);
            }
            1 => {
                let copy = pick(stream, &lines);
                lines.insert(at, copy);
            }
            2 => {
                let other = stream.below(lines.len() as u64) as usize;
                lines.swap(at, other);
            }
            3 => {
                let mut characters: Vec<char> = lines[at].chars().collect();
                if !characters.is_empty() {
                    let place = stream.below(characters.len() as u64) as usize;
                    characters[place] = pick(stream, &['.', '9', ' ', '(', '{', '\u{7f}', 'ß']);
                    lines[at] = characters.into_iter().collect();
                }
            }
            _ => lines[at] = renumbered(stream, &lines[at]),
        }
    }
    lines.join("\n")
}

/// The line with one of its numbers replaced; a packet's length stays right half the time.
fn renumbered(stream: &mut RandomStream, line: &str) -> String {
    let bytes = line.as_bytes();
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|&at| bytes[at].is_ascii_digit() && (at == 0 || !bytes[at - 1].is_ascii_digit()))
        .collect();
    if starts.is_empty() {
        return line.to_owned();
    }
    if let (Some(open), true) = (line.find(":"), stream.below(2) == 0)
        && let Some(begin) = line[..open].rfind(' ')
        && let Some(close) = line[open..].find(')')
        && line[open..].contains('(')
    {
        let left = stream.below(9_000);
        let length = stream.below(3_000);
        let range = format!(" {left}:{}({length})", left + length);
        return format!("{}{range}{}", &line[..begin], &line[open + close + 1..]);
    }
    let start = pick(stream, &starts);
    let end = line[start..].find(|c: char| !c.is_ascii_digit()).map_or(line.len(), |at| start + at);
    format!("{}{}{}", &line[..start], pick(stream, &NUMBERS), &line[end..])
}

#[test]
fn hostile_scripts_get_a_verdict() {
    let mut stream = StreamKey { seed: 1, replication: 0 }.stream("drill fuzz");
    let seeds = seeds();
    let presets: Vec<&str> = presets::PRESETS.iter().map(|preset| preset.name).collect();
    let mut counts = [0_u64; 3];
    let iterations = iterations();
    for iteration in 0..iterations {
        let text = if iteration % 8 == 0 {
            rubbish(&mut stream)
        } else {
            let seed = pick(&mut stream, &seeds);
            let text = mutated(&mut stream, &seed);
            // Without its own preset a script also runs with the others.
            if stream.below(2) == 0 { text.replace("--retx-tcp=", "//") } else { text }
        };
        let kind = match verdict(&text, pick(&mut stream, &presets)) {
            Verdict::Passed => 0,
            Verdict::Failed(_) => 1,
            Verdict::Refused(_) => 2,
        };
        counts[kind] += 1;
    }
    println!("{iterations} scripts; passed, failed, refused: {counts:?}");
    // All three verdicts must be common, otherwise little was tested.
    if iterations >= ITERATIONS {
        assert!(counts.iter().all(|&count| count > iterations / 20), "{counts:?}");
    }
}
