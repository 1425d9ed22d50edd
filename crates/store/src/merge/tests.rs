//! Merging batches and files.

use super::{KEY_COLUMN, REPLICATION_COLUMN, ReplicationRange, Source, join, merge, runs_in};
use crate::batch::{Batch, Value};
use crate::columns::Columns;
use crate::{POINT_COLUMN, file};
use proptest::prelude::*;
use retx_record::Column;
use std::path::PathBuf;

const KEYS: [&str; 3] = ["zero", "one", "two"];

fn keys() -> Vec<String> {
    KEYS.map(String::from).to_vec()
}

/// Table with two rows for each run; the text of the first row identifies the run.
fn rows(runs: &[(u64, u64)]) -> Columns {
    let twice = || runs.iter().flat_map(|run| [*run, *run]);
    let texts: Vec<String> =
        runs.iter().flat_map(|(p, r)| [format!("{p}.{r}"), "b".into()]).collect();
    let mut names: Vec<String> = texts.clone();
    names.sort_by(|a, b| b.cmp(a));
    names.dedup();
    let code = |text: &String| names.iter().position(|name| name == text).expect("known") as u32;
    let codes = texts.iter().map(code).collect();
    vec![
        (POINT_COLUMN.into(), Column::Integer(twice().map(|run| run.0).collect())),
        (REPLICATION_COLUMN.into(), Column::Integer(twice().map(|run| run.1).collect())),
        ("events".into(), Column::Integer(twice().map(|run| 10 * run.0 + run.1).collect())),
        ("text".into(), Column::Name { codes, names }),
    ]
}

fn batch(runs: &[(u64, u64)]) -> Batch {
    Batch::new([("runs".to_owned(), rows(runs))])
}

/// Point, replication and text of each row.
fn said(table: &Columns) -> Vec<(String, u64, String)> {
    let [(_, Column::Name { codes, names }), (_, Column::Integer(replications)), _, text] =
        table.as_slice()
    else {
        panic!("{table:?}")
    };
    assert_eq!((table[0].0.as_str(), table[1].0.as_str()), (KEY_COLUMN, REPLICATION_COLUMN));
    let Column::Name { codes: texts, names: words } = &text.1 else { panic!("{text:?}") };
    codes
        .iter()
        .zip(replications)
        .zip(texts)
        .map(|((key, replication), word)| {
            (names[*key as usize].clone(), *replication, words[*word as usize].clone())
        })
        .collect()
}

fn expected(mut runs: Vec<(u64, u64)>) -> Vec<(String, u64, String)> {
    runs.sort_unstable();
    runs.iter()
        .flat_map(|(p, r)| {
            let key = KEYS[*p as usize].to_owned();
            [(key.clone(), *r, format!("{p}.{r}")), (key, *r, "b".to_owned())]
        })
        .collect()
}

#[test]
fn runs_are_told_as_ranges() {
    let table = join(&[&batch(&[(2, 0), (2, 9), (0, 5), (0, 4), (0, 7)])], &keys(), "runs");
    let found = runs_in(&table.expect("runs"));
    assert_eq!(
        found,
        [("zero".to_owned(), vec![4..6, 7..8]), ("two".to_owned(), vec![0..1, 9..10])]
    );
    assert_eq!(join(&[&batch(&[(0, 0)])], &keys(), "flows"), None);
}

#[test]
fn a_batch_tells_its_runs_and_measures() {
    let one = batch(&[(1, 0)]);
    assert_eq!(
        one.runs_by_point().iter().map(|it| (it.point, it.runs, it.events)).collect::<Vec<_>>(),
        [(1, 2, 20)]
    );
    let name = |names: &[&str]| Column::Name {
        codes: (0..names.len() as u32).collect(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let links = vec![
        (POINT_COLUMN.into(), Column::Integer(vec![1, 1])),
        (REPLICATION_COLUMN.into(), Column::Integer(vec![0, 0])),
        ("name".into(), name(&["cloud", "radio"])),
        ("direction".into(), name(&["forward", "reverse"])),
        ("frames".into(), Column::Integer(vec![4, u64::MAX])),
    ];
    let batch = Batch::new([("links".to_owned(), links)]);
    let values = |of, way| {
        let found = batch.series("links", "frames", of, way).into_iter();
        found.map(|it| (it.name, it.value)).collect::<Vec<_>>()
    };
    assert_eq!(values(Some("cloud"), None), [("cloud".to_owned(), 4.0)]);
    assert_eq!(values(Some("cloud"), Some("reverse")), []);
    assert!(values(None, Some("reverse"))[0].1.is_nan());
    assert_eq!(batch.series("links", "unknown", None, None), []);
}

#[test]
fn what_is_derived_comes_in_place_of_what_it_was_derived_from() {
    let value = |name: &str, value| Value { point: 0, replication: 1, name: name.into(), value };
    let values = [value("a", 1.0), value("b", f64::NAN), value("a", 2.0)];
    let derived = batch(&[(0, 1)]).with_derived(&["runs".to_owned()], &values);
    assert_eq!(derived.table_names().collect::<Vec<_>>(), ["derived"]);
    let table = join(&[&derived], &keys(), "derived").expect("it was derived");
    let names = ["a", "b"].map(String::from).to_vec();
    assert_eq!(table[2], ("quantity".into(), Column::Name { codes: vec![0, 1, 0], names }));
}

/// Runs, distributed over one to four batches.
fn any_runs() -> impl Strategy<Value = Vec<Vec<(u64, u64)>>> {
    let run = (0..3_u64, 0..40_u64);
    prop::collection::hash_map(run, 0..4_usize, 1..60).prop_map(|runs| {
        let mut batches = vec![Vec::new(); 4];
        for (run, at) in runs {
            batches[at].push(run);
        }
        batches.retain(|batch| !batch.is_empty());
        batches
    })
}

proptest! {
    #[test]
    fn the_order_and_the_bytes_do_not_depend_on_the_batches(runs in any_runs()) {
        let batches: Vec<Batch> = runs.iter().map(|runs| batch(runs)).collect();
        let table = join(&batches.iter().collect::<Vec<_>>(), &keys(), "runs").expect("runs");
        prop_assert_eq!(said(&table), expected(runs.concat()));
        let one = join(&[&batch(&runs.concat())], &keys(), "runs").expect("runs");
        prop_assert_eq!(file::write(&table), file::write(&one));
    }

    #[test]
    fn a_batch_comes_through_the_wire(runs in any_runs()) {
        let sent = batch(&runs[0]);
        let back = Batch::from_bytes(&sent.to_bytes()).expect("what was sent");
        let table = |batch| join(&[batch], &keys(), "runs").map(|table| said(&table));
        prop_assert_eq!(table(&sent), table(&back));
        let cut = sent.to_bytes();
        prop_assert!(Batch::from_bytes(&cut[..cut.len() - 1]).is_err());
    }

    #[test]
    fn files_are_merged_in_the_order_of_the_keys(runs in any_runs(), left_out in 0..3_u64) {
        let folder = Folder::new();
        let wanted = |(point, _): &&(u64, u64)| *point != left_out;
        let mut sources = Vec::new();
        for (at, part) in runs.iter().enumerate() {
            let table = join(&[&batch(part)], &keys(), "runs").expect("runs");
            let path = folder.0.join(at.to_string());
            std::fs::write(&path, file::write(&table)).expect("a place for it");
            let mut chosen = runs_in(&table);
            chosen.retain(|(key, _)| *key != KEYS[left_out as usize]);
            sources.push(Source { path, runs: chosen });
        }
        let table = merge(&sources, &keys()).expect("sound files");
        let kept: Vec<(u64, u64)> = runs.concat().iter().filter(wanted).copied().collect();
        prop_assert_eq!(said(&table), expected(kept.clone()));
        if !kept.is_empty() {
            let anew = join(&[&batch(&kept)], &keys(), "runs").expect("runs");
            prop_assert_eq!(file::write(&table), file::write(&anew));
        }
    }
}

#[test]
fn a_run_that_is_not_wanted_stays_where_it_is() {
    let folder = Folder::new();
    let table = join(&[&batch(&[(0, 1), (0, 2), (0, 3)])], &keys(), "runs").expect("runs");
    let path = folder.0.join("runs");
    std::fs::write(&path, file::write(&table)).expect("a place for it");
    let range: ReplicationRange = 2..3;
    let source = Source { path, runs: vec![("zero".to_owned(), vec![range])] };
    let found = merge(&[source], &keys()).expect("a sound file");
    assert_eq!(said(&found), expected(vec![(0, 2)]));
}

/// Temporary directory, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("retx-store-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a place for it");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
