//! Columns: names that all tables share, appending, and selecting rows.

use retx_record::Column;
use retx_record::table::NO_NAME;
use std::collections::HashMap;

/// Column of a batch that holds the point number of a run.
pub const POINT_COLUMN: &str = "point";
/// Column that holds the key of a run's point.
pub const KEY_COLUMN: &str = "key";
/// Column that holds the replication number of a run.
pub const REPLICATION_COLUMN: &str = "replication";

/// Table: columns of equal length, by name.
pub type Columns = Vec<(String, Column)>;

/// Column of the given name.
pub fn column<'a>(columns: &'a [(String, Column)], name: &str) -> Option<&'a Column> {
    columns.iter().find(|(known, _)| known == name).map(|(_, column)| column)
}

/// Integer column of the given name.
///
/// # Panics
/// If there is no such column, or it has another type.
pub fn integer_column<'a>(columns: &'a [(String, Column)], name: &str) -> &'a [u64] {
    match column(columns, name) {
        Some(Column::Integer(values)) => values,
        other => panic!("{name} is {other:?}, not whole numbers"),
    }
}

/// Codes and texts of the text column of the given name.
///
/// # Panics
/// If there is no such column, or it has another type.
pub fn text_column<'a>(columns: &'a [(String, Column)], name: &str) -> (&'a [u32], &'a [String]) {
    match column(columns, name) {
        Some(Column::Name { codes, names }) => (codes, names),
        other => panic!("{name} is {other:?}, not names"),
    }
}

/// Appends the rows of `more`; an empty table takes over its columns.
///
/// # Panics
/// If the columns differ.
pub fn append_rows(columns: &mut Columns, more: &[(String, Column)]) {
    if columns.is_empty() {
        columns.extend_from_slice(more);
        return;
    }
    assert_eq!(columns.len(), more.len(), "another number of columns");
    for ((name, column), (other, more)) in columns.iter_mut().zip(more) {
        assert_eq!(name, other, "another column");
        match (column, more) {
            (Column::Float(values), Column::Float(more)) => values.extend_from_slice(more),
            (Column::Integer(values), Column::Integer(more)) => values.extend_from_slice(more),
            (Column::Flag(values), Column::Flag(more)) => values.extend_from_slice(more),
            (Column::Name { codes, names }, Column::Name { codes: new, names: texts }) => {
                let known: HashMap<&str, u32> =
                    names.iter().zip(0..).map(|(text, code)| (text.as_str(), code)).collect();
                let mut added = Vec::new();
                let mut code = |text: &String| {
                    known.get(text.as_str()).copied().unwrap_or_else(|| {
                        added.push(text.clone());
                        (known.len() + added.len() - 1) as u32
                    })
                };
                let map: Vec<u32> = texts.iter().map(&mut code).collect();
                codes.extend(new.iter().map(|code| recoded(&map, *code)));
                names.extend(added);
            }
            (column, more) => panic!("{name}: {column:?} is not of the kind of {more:?}"),
        }
    }
}

/// Selects rows by number, in the given order. Texts are renumbered in order of first appearance.
pub fn select_rows(column: &Column, rows: &[u32]) -> Column {
    fn each<T: Copy>(values: &[T], rows: &[u32]) -> Vec<T> {
        rows.iter().map(|row| values[*row as usize]).collect()
    }
    match column {
        Column::Float(values) => Column::Float(each(values, rows)),
        Column::Integer(values) => Column::Integer(each(values, rows)),
        Column::Flag(values) => Column::Flag(each(values, rows)),
        Column::Name { codes, names } => in_order(each(codes, rows), names),
    }
}

/// Renumbers texts in order of first appearance and drops those that do not appear.
fn in_order(mut codes: Vec<u32>, names: &[String]) -> Column {
    let mut map = vec![NO_NAME; names.len()];
    let mut found = Vec::new();
    for code in &mut codes {
        if *code == NO_NAME {
            continue;
        }
        let new = &mut map[*code as usize];
        if *new == NO_NAME {
            *new = found.len() as u32;
            found.push(names[*code as usize].clone());
        }
        *code = *new;
    }
    Column::Name { codes, names: found }
}

fn recoded(map: &[u32], code: u32) -> u32 {
    if code == NO_NAME { NO_NAME } else { map[code as usize] }
}
