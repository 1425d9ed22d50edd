//! Round trips: reading returns the rows that were written.

use super::{GROUP_ROWS, Reader, write};
use crate::columns::{Columns, append_rows};
use proptest::prelude::*;
use retx_record::Column;
use retx_record::table::{NO_INTEGER, NO_NAME};

fn read(bytes: Vec<u8>) -> Columns {
    let file = Reader::from_bytes(bytes).expect("a file of ours");
    let mut columns = file.empty_columns();
    for group in 0..file.row_group_count() {
        append_rows(&mut columns, &file.read_row_group(group).expect("a group of rows"));
    }
    columns
}

/// Text form of a column: floats by their bits, codes by the texts they stand for.
fn shown(column: &Column) -> Vec<String> {
    match column {
        Column::Float(values) => values
            .iter()
            .map(|it| if it.is_nan() { "none".into() } else { format!("{:x}", it.to_bits()) })
            .collect(),
        Column::Integer(values) => values.iter().map(u64::to_string).collect(),
        Column::Flag(values) => values.iter().map(bool::to_string).collect(),
        Column::Name { codes, names } => codes
            .iter()
            .map(|code| names.get(*code as usize).map_or("none".into(), |it| format!("{it:?}")))
            .collect(),
    }
}

fn assert_comes_back(columns: &Columns) {
    let back = read(write(columns));
    assert_eq!(columns.len(), back.len());
    for ((name, column), (other, found)) in columns.iter().zip(&back) {
        assert_eq!(name, other);
        assert_eq!(std::mem::discriminant(column), std::mem::discriminant(found), "{name}");
        assert_eq!(shown(column), shown(found), "{name}");
    }
}

fn named(columns: Vec<Column>) -> Columns {
    columns.into_iter().enumerate().map(|(at, column)| (format!("c{at}"), column)).collect()
}

/// Arbitrary column with `rows` rows.
fn any_column(rows: usize) -> impl Strategy<Value = Column> {
    let number = prop_oneof![
        Just(f64::NAN),
        Just(-0.0),
        Just(f64::INFINITY),
        Just(f64::MIN_POSITIVE / 8.0),
        any::<f64>(),
    ];
    let whole = prop_oneof![
        Just(NO_INTEGER),
        Just(0),
        Just(i64::MAX.cast_unsigned()),
        0..i64::MAX.cast_unsigned(),
        0..100_u64,
    ];
    let names = prop::collection::hash_set(".{0,9}", 1..9);
    let name = names.prop_flat_map(move |names| {
        let names: Vec<String> = names.into_iter().collect();
        let code = prop_oneof![Just(NO_NAME), 0..names.len() as u32];
        prop::collection::vec(code, rows)
            .prop_map(move |codes| Column::Name { codes, names: names.clone() })
    });
    prop_oneof![
        prop::collection::vec(number, rows).prop_map(Column::Float),
        prop::collection::vec(whole, rows).prop_map(Column::Integer),
        prop::collection::vec(any::<bool>(), rows).prop_map(Column::Flag),
        name,
        // Constant and all-null columns.
        Just(Column::Float(vec![f64::NAN; rows])),
        Just(Column::Integer(vec![7; rows])),
    ]
}

proptest! {
    #[test]
    fn any_columns_come_back(
        columns in (0_usize..200)
            .prop_flat_map(|rows| prop::collection::vec(any_column(rows), 1..9))
    ) {
        assert_comes_back(&named(columns));
    }
}

#[test]
fn more_rows_than_a_group_come_back() {
    let rows = 2 * GROUP_ROWS + 3;
    let each = |of: fn(usize) -> u64| (0..rows).map(of).collect::<Vec<_>>();
    let columns = named(vec![
        Column::Integer(each(|row| row as u64 * 1460)),
        Column::Integer(each(|row| if row % 3 == 0 { NO_INTEGER } else { row as u64 })),
        Column::Float(each(|row| row as u64).iter().map(|it| (*it as f64).sqrt()).collect()),
        Column::Name {
            codes: (0..rows).map(|row| (row / GROUP_ROWS) as u32).collect(),
            names: ["a", "b", "c"].map(String::from).to_vec(),
        },
    ]);
    assert_comes_back(&columns);
    assert_eq!(Reader::from_bytes(write(&columns)).expect("a file").row_group_count(), 3);
}

#[test]
fn the_same_rows_give_the_same_bytes_whatever_their_codes() {
    let bytes = |codes: &[u32], names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        write(&named(vec![Column::Name { codes: codes.to_vec(), names }]))
    };
    assert_eq!(bytes(&[1, 0, 1], &["a", "b"]), bytes(&[0, 2, 0], &["b", "c", "a"]));
    assert_ne!(bytes(&[1, 0, 1], &["a", "b"]), bytes(&[0, 1, 1], &["b", "a"]));
}

#[test]
#[should_panic(expected = "no count goes beyond 2^63")]
fn a_number_that_no_reader_could_hold_is_our_mistake() {
    write(&named(vec![Column::Integer(vec![1 << 63])]));
}

#[test]
fn what_is_no_file_is_an_error() {
    assert!(Reader::from_bytes(b"something else, long enough".to_vec()).is_err());
    let whole = write(&named(vec![Column::Integer((0..999).collect())]));
    assert!(Reader::from_bytes(whole[..whole.len() / 2].to_vec()).is_err());
    let missing = Reader::open(std::path::Path::new("/nowhere/flows.parquet"));
    let Err(error) = missing else { panic!("there is no such file") };
    assert!(error.to_string().starts_with("/nowhere/flows.parquet: "), "{error}");
}
