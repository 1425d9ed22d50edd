//! Fuzzing: for any text, the result is a scenario or a one-line error.
//!
//! The mutations are drawn from a fixed seed; `RETX_FUZZ_ITERATIONS` sets their number.

use retx_scenario::{ScenarioError, Source, from_json, parse};
use retx_units::{RandomStream, StreamKey};
use std::path::Path;

/// Fragments with a meaning to the parser.
const PIECES: &[&str] = &[
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "=",
    ".",
    ",",
    "\"",
    "'",
    "\"\"\"",
    "\n",
    "\\",
    "#",
    "-",
    "+",
    "_",
    "0",
    "-1",
    "1e308",
    "1e400",
    "nan",
    "inf",
    "9223372036854775807",
    "18446744073709551616",
    "0x",
    "1979-05-27",
    "true",
    "\u{0}",
    "\u{1f}",
    "\u{feff}",
    "\u{2028}",
    "é",
    "日本",
    " s\"",
    "\"0 s\"",
    "\"1e9 h\"",
    "\"99999999999 h\"",
    "\"0 bit/s\"",
    "\"-1 s\"",
    "\"µs\"",
    "\"6 mss\"",
    "\"99999999999999999999 mss\"",
    "[[link]]\n",
    "[[flow]]\n",
    "[[route]]\n",
    "[tcp.reno]\n",
    "[sweep]\n",
    "topology = \"satellite\"\n",
    "[topology]\nshape = \"chain\"\n",
    "hops = 2\n",
    "like = \"reno\"\n",
    "name = \"x\"\n",
    "ends = [\"a\", \"b\"]\n",
    "via = [\"cloud\"]\n",
    "count = 1000000\n",
    "forward.channel = []\n",
    "channel = \"ber\"\n",
    "queue = {}\n",
    "app = \"ftp\"\n",
    "delayed_ack = {}\n",
    "mtu = 80\n",
    "model",
    "kind",
];

/// Valid and invalid keys for overrides.
const KEYS: &[&str] = &[
    "duration",
    "link.cloud.rate",
    "link.cloud.forward.channel.p",
    "link.bottleneck.queue.packets",
    "flow.download.tcp",
    "flow.download.app",
    "flow.data.count",
    "tcp.reno.mss",
    "tcp.riverbed",
    "link",
    "link.0",
    "",
    ".",
    "link..rate",
    "a.b.c.d.e",
    "sweep.x",
    "route.0.via.0",
    "link.\"cloud\".mtu",
    "topology",
    "topology.hops",
    "topology.link.queue.packets",
    "link.hop0.rate",
];

struct Mutator {
    stream: RandomStream,
    seeds: Vec<String>,
}

impl Mutator {
    fn below(&mut self, bound: usize) -> usize {
        self.stream.below(bound.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// A position that does not split a character.
    fn place(&mut self, text: &str) -> usize {
        let mut at = self.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// Mostly short: a long cut spoils every file in the same way.
    fn range(&mut self, text: &str) -> std::ops::Range<usize> {
        let longest = if self.below(8) == 0 { text.len() } else { 20 };
        let start = self.place(text);
        let mut end = (start + self.below(longest)).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        start..end
    }

    fn text(&mut self) -> String {
        let seed = self.below(self.seeds.len());
        let mut text = self.seeds[seed].clone();
        for _ in 0..=self.below(3) {
            match self.below(6) {
                0 => {
                    let mut bytes = text.into_bytes();
                    let at = self.below(bytes.len());
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << self.stream.below(8);
                    }
                    text = String::from_utf8_lossy(&bytes).into_owned();
                }
                1 => {
                    let range = self.range(&text);
                    text.replace_range(range, "");
                }
                2 => {
                    let other = self.below(self.seeds.len());
                    let other = self.seeds[other].clone();
                    let (from, to) = (self.range(&other), self.place(&text));
                    text.insert_str(to, &other[from]);
                }
                3 => {
                    let (at, piece) = (self.place(&text), self.pick(PIECES));
                    text.insert_str(at, piece);
                }
                4 => {
                    // One line gets another line's value, or a piece.
                    let lines: Vec<&str> = text.lines().collect();
                    let (line, other) = (self.below(lines.len()), self.below(lines.len()));
                    let value = lines.get(other).and_then(|line| line.split_once('='));
                    let piece = self.pick(PIECES);
                    let value =
                        if self.below(2) == 0 { piece } else { value.map_or(piece, |it| it.1) };
                    let key = lines.get(line).and_then(|line| line.split_once('='));
                    let new = format!("{}= {value}", key.map_or("x ", |it| it.0));
                    let mut lines: Vec<&str> = lines.clone();
                    if let Some(line) = lines.get_mut(line) {
                        *line = &new;
                    }
                    text = lines.join("\n");
                }
                _ => {
                    let (range, piece) = (self.range(&text), self.pick(PIECES));
                    let end =
                        text[range.start..].find('\n').map_or(range.end, |at| range.start + at);
                    text.replace_range(range.start..end, piece);
                }
            }
        }
        text
    }

    fn overrides(&mut self) -> Vec<(String, String)> {
        let changes = self.below(8).saturating_sub(5);
        (0..changes).map(|_| (self.pick(KEYS).to_owned(), self.pick(PIECES).to_owned())).collect()
    }
}

fn seeds() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of examples")
        .map(|file| file.expect("a file").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "toml"));
    files.sort();
    let text = |file: &std::path::PathBuf| std::fs::read_to_string(file).expect("a readable file");
    let mut seeds: Vec<String> = files.iter().map(text).collect();
    let resolved: Vec<String> = seeds
        .iter()
        .map(|text| {
            parse(&Source { name: "seed", text, overrides: &[] }).expect("sound examples").to_toml()
        })
        .collect();
    seeds.extend(resolved);
    seeds
}

fn check_message(error: &ScenarioError, input: &str) {
    let message = error.to_string();
    assert!(!error.message.is_empty(), "an empty message for\n{input}");
    assert!(!message.chars().any(char::is_control), "{message:?} for\n{input}");
    assert!(message.chars().count() < 4000, "{message} for\n{input}");
}

#[test]
fn whatever_the_text() {
    let iterations = std::env::var("RETX_FUZZ_ITERATIONS")
        .map_or(20_000, |text| text.parse().expect("RETX_FUZZ_ITERATIONS is a number"));
    let stream = StreamKey { seed: 1, replication: 0 }.stream("scenario fuzz");
    let mut mutator = Mutator { stream, seeds: seeds() };
    let mut sound = 0;
    for _ in 0..iterations {
        let text = mutator.text();
        let overrides = mutator.overrides();
        let input = format!("{overrides:?}\n{text}");
        match parse(&Source { name: "fuzz.toml", text: &text, overrides: &overrides }) {
            Ok(scenario) => {
                sound += 1;
                let resolved = scenario.to_toml();
                let again = parse(&Source { name: "resolved", text: &resolved, overrides: &[] });
                assert_eq!(again.as_ref(), Ok(&scenario), "{input}\n{resolved}");
            }
            Err(error) => check_message(&error, &input),
        }
        if let Err(error) = from_json(&text) {
            check_message(&error, &input);
        }
    }
    // Both outcomes must occur, otherwise the mutations test nothing.
    assert!(sound * 50 > iterations && sound < iterations, "{sound} of {iterations} are sound");
}
