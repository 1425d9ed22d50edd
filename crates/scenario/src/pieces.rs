//! Reading of long texts, piece by piece.
//!
//! A scenario of 10,000 flows, each with its own links, has 30,000 list elements. One tree of all
//! values and their positions would take forty times the memory of the text. The text is therefore
//! cut at headers of list elements such as `[[link]]` and `[[flow]]`. Each piece is converted to
//! the tables of the file before the next piece is read.
//!
//! Only valid texts are read in this way. If anything is unexpected, the text is read again as a
//! whole, which yields the error and its position. This also happens if the text is cut inside a
//! value, because the piece is then not valid TOML.

use crate::file::File;
use crate::tables::{FlowTable, LinkTable, RouteTable};
use crate::wlan::WlanTable;
use crate::{Relay, Scenario, Source, TEXT_MAX_BYTES};
use crate::{document, overrides, resolve, topology, traces};
use retx_tcp::Loader;
use serde::Deserialize;
use serde_json::Value;
use toml::de::DeTable;

/// Texts shorter than this are read as a whole.
const SHORT_BYTES: usize = 1 << 18;
/// Approximate length of a piece, bytes.
const PIECE_BYTES: usize = 1 << 16;

/// Lists that may be split: each element has its own header.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Lists {
    link: Vec<LinkTable>,
    wlan: Vec<WlanTable>,
    route: Vec<RouteTable>,
    relay: Vec<Relay>,
    flow: Vec<FlowTable>,
}

/// True for a text that is long enough to be split.
pub fn is_splittable(text: &str) -> bool {
    (SHORT_BYTES..=TEXT_MAX_BYTES).contains(&text.len())
}

/// Reads and checks a scenario; `None` if it has to be read as a whole.
pub fn read_in_pieces(source: &Source<'_>, loader: &dyn Loader) -> Option<Scenario> {
    read_by(PIECE_BYTES, source, loader)
}

fn read_by(piece_bytes: usize, source: &Source<'_>, loader: &dyn Loader) -> Option<Scenario> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let mut pieces = Pieces { rest: text, least: 0, then: piece_bytes };
    let mut head = values(pieces.next()?)?;
    for change in source.overrides {
        overrides::apply(&mut head, change).ok()?;
    }
    let head_alone = Lists::KEYS.iter().all(|key| head.get(key).is_none());
    if !head_alone || head.get(topology::KEY).is_some() {
        return None;
    }
    let mut file: File = serde_json::from_value(head).ok()?;
    for piece in pieces {
        let lists: Lists = serde_json::from_value(values(piece)?).ok()?;
        file.link.extend(lists.link);
        file.wlan.extend(lists.wlan);
        file.route.extend(lists.route);
        file.relay.extend(lists.relay);
        file.flow.extend(lists.flow);
    }
    resolve::resolve(file, loader).ok()
}

impl Lists {
    const KEYS: [&str; 5] = ["link", "wlan", "route", "relay", "flow"];
}

/// Values of a piece; `None` if a trace file remains to be read.
fn values(piece: &str) -> Option<Value> {
    let tree = DeTable::parse(piece).ok()?;
    let values = document::table_to_json(tree.get_ref()).ok()?;
    (!traces::has_trace_file(&values)).then_some(values)
}

/// Iterator over a text. It returns the part before the first list, then pieces that each begin
/// with the header of a list element.
struct Pieces<'a> {
    rest: &'a str,
    /// Minimum length of the next piece, bytes.
    least: usize,
    /// Minimum length of later pieces, bytes.
    then: usize,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (piece, rest) = self.rest.split_at(cut(self.rest, self.least.min(self.rest.len())));
        self.rest = rest;
        self.least = self.then;
        Some(piece)
    }
}

/// Position of the first list header at or after `least`, or the end of the text.
fn cut(text: &str, least: usize) -> usize {
    let is_header = |at: &usize| {
        let name = text[*at..].strip_prefix("[[").and_then(|rest| rest.split_once("]]"));
        name.is_some_and(|(name, _)| Lists::KEYS.contains(&name))
    };
    let rest = &text.as_bytes()[least..];
    let lines = rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    lines.map(|(at, _)| least + at + 1).find(is_header).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExternalSources, parse_whole};
    use proptest::prelude::*;
    use proptest::sample::Index;
    use retx_tcp::NoLoader;
    use std::fmt::Write;

    const HEAD: &str = "title = \"many\"\nduration = \"1 s\"\n[tcp.own]\nlike = \"sack\"\n\n";

    const STRAY: [&str; 5] = ["\"\"\"", "]", "[[link]]", "[flow]", "x = ["];

    fn text(flows: usize) -> String {
        let mut text = HEAD.to_owned();
        for flow in 0..flows {
            let _ = write!(
                text,
                "[[link]]\nname = \"l{flow}\"\nends = [\n\"a{flow}\",\n\"b\"\n]\n\
                 rate = \"1 Mbit/s\"\nqueue = {{ discipline = \"droptail\", packets = 9 }}\n\
                 forward.delay = \"{flow} us\"\n# A link.\n\
                 [link.reverse]\nchannel = {{ model = \"bernoulli\", p = 0.01 }}\n\
                 [[flow]]\nname = \"f{flow}\"\nfrom = \"a{flow}\"\nto = \"b\"\n\
                 tcp = \"own\"\napp = \"bulk\"\n\n",
            );
        }
        text
    }

    fn in_pieces(
        piece_bytes: usize,
        text: &str,
        overrides: &[(String, String)],
    ) -> Option<Scenario> {
        read_by(piece_bytes, &Source { name: "x.toml", text, overrides }, &NoLoader)
    }

    fn as_a_whole(text: &str, overrides: &[(String, String)]) -> Option<Scenario> {
        let outside = ExternalSources { files: &crate::traces::refuse_files, code: &NoLoader };
        parse_whole(&Source { name: "x.toml", text, overrides }, outside).ok()
    }

    #[test]
    fn a_text_in_pieces_says_what_it_says_as_a_whole() {
        let long = text(1500);
        assert!(is_splittable(&long));
        let pieces = Pieces { rest: &long, least: 0, then: PIECE_BYTES };
        let pieces: Vec<&str> = pieces.collect();
        assert_eq!((pieces[0], pieces.concat() == long), (HEAD, true));
        assert!((4..=2 + long.len() / PIECE_BYTES).contains(&pieces.len()));
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let overrides = [set("seed", "7"), set("tcp.own.mss", "1000")];
        let whole = as_a_whole(&long, &overrides).expect("sound");
        assert_eq!((whole.seed, whole.links.len(), whole.flows.len()), (7, 1500, 1500));
        assert!(in_pieces(PIECE_BYTES, &long, &overrides) == Some(whole));
    }

    #[test]
    fn what_cannot_be_cut_is_left_to_the_whole() {
        let base = text(3);
        let set = |key: &str, value: &str| [(key.to_owned(), value.to_owned())];
        assert!(in_pieces(1, &base, &[]).is_some());
        assert!(in_pieces(1, &base, &set("link.l1.delay", "1 s")).is_none());
        let topology = r#"{ kind = "dumbbell", pairs = 1, bottleneck = {}, access = {} }"#;
        assert!(in_pieces(1, &base, &set("topology", topology)).is_none());
        let others = [
            format!("{base}[tcp.late]\nlike = \"reno\"\n"),
            format!("{base}[link.forward]\noverhead = 3\n"),
            format!("{base}[[flow]]\n[[link.schedule]]\nat = \"1 s\"\n"),
            base.replace("\"many\"", "\"\"\"many\n[[link]]\nflows\"\"\""),
            base.replace("[tcp.own]", "link = []\n[tcp.own]"),
            base.replace("\"f1\"", "\"f2\""),
            base.replace("\"bernoulli\", p = 0.01", "\"trace\", file = \"x\""),
        ];
        for other in others {
            assert!(other != base && in_pieces(1, &other, &[]).is_none(), "{other}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Whatever lines are changed, reading in pieces gives the result of reading as a whole.
        #[test]
        fn pieces_never_say_anything_else(
            changes in prop::collection::vec((any::<Index>(), 0..4, any::<Index>()), 0..6),
        ) {
            let text = text(3);
            let mut lines: Vec<&str> = text.lines().collect();
            for (at, kind, other) in changes {
                let [at, other] = [at, other].map(|index| index.index(lines.len()));
                match kind {
                    0 => drop(lines.remove(at)),
                    1 => lines.insert(at, lines[other]),
                    2 => lines.swap(at, other),
                    _ => lines.insert(at, STRAY[other % STRAY.len()]),
                }
            }
            let text = lines.join("\n");
            if let Some(scenario) = in_pieces(1, &text, &[]) {
                prop_assert!(as_a_whole(&text, &[]) == Some(scenario), "{}", text);
            }
        }
    }
}
