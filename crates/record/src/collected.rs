//! Columns that collect the rows of many runs, in the form in which a sweep stores them.
//!
//! A row is any value that serde can serialize. A nested field such as `drops: { queue }` becomes
//! the column `drops_queue`; lists are left out. Column names are built from the first row. All
//! other rows must have the same shape, so they need neither names nor allocations.

mod serializer;

use crate::table::{Column, NO_NAME, Table};
use serde::Serialize;
use serde::ser::Error as _;
use std::collections::HashMap;

type Error = serde::de::value::Error;

/// Prefix of the columns with the time under each limit. In JSON the limits are keys of one table,
/// `limited_by`. The name of a column ends with the unit, as in `limited_handshake_s`.
const LIMITED_BY: &str = "limited_by_";

/// Values of a column, to which each row appends one.
#[derive(Debug, Clone)]
enum Cells {
    Float(Vec<f64>),
    Integer(Vec<u64>),
    Flag(Vec<bool>),
    Name { codes: Vec<u32>, names: Vec<String>, index: HashMap<String, u32> },
}

impl Cells {
    fn named() -> Self {
        Self::Name { codes: Vec::new(), names: Vec::new(), index: HashMap::new() }
    }

    fn push_name(&mut self, text: Option<&str>) {
        let Self::Name { codes, names, index } = self else { panic!("not a column of names") };
        codes.push(text.map_or(NO_NAME, |text| {
            index.get(text).copied().unwrap_or_else(|| {
                let code = names.len() as u32;
                names.push(text.to_owned());
                index.insert(text.to_owned(), code);
                code
            })
        }));
    }

    fn finish(self) -> Column {
        match self {
            Self::Float(values) => Column::Float(values),
            Self::Integer(values) => Column::Integer(values),
            Self::Flag(values) => Column::Flag(values),
            Self::Name { codes, names, .. } => Column::Name { codes, names },
        }
    }
}

/// Rows of equal shape.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    columns: Vec<(String, Cells)>,
    /// Index of the next cell in the current row.
    at: usize,
    rows: usize,
    /// Name of the current cell; built only for the first row.
    name: String,
    /// True if the number being written is optional: it may be absent in other rows.
    optional: bool,
}

impl Rows {
    /// Appends a row: the integers `numbers`, the names `names`, and the fields of `row`.
    ///
    /// # Panics
    /// If the row's shape differs from that of earlier rows, or if the row contains a value that no
    /// column can hold.
    pub fn push<T: Serialize>(&mut self, numbers: &[(&str, u64)], names: &[(&str, &str)], row: &T) {
        for (name, value) in numbers {
            self.cell(name, value);
        }
        for (name, text) in names {
            self.cell(name, text);
        }
        row.serialize(&mut *self).expect("a row holds numbers, names and tables of them");
        assert_eq!(self.at, self.columns.len(), "a row of another shape");
        self.at = 0;
        self.rows += 1;
    }

    /// Appends the rows of a table, each preceded by the integers `numbers`.
    ///
    /// # Panics
    /// If the table's columns differ from those of earlier rows.
    pub fn append(&mut self, numbers: &[(&'static str, u64)], table: Table) {
        let more = table.row_count();
        let before = self.rows;
        let first = self.columns.is_empty();
        let repeated =
            numbers.iter().map(|(name, value)| (*name, Column::Integer(vec![*value; more])));
        for (at, (name, column)) in repeated.chain(table.columns).enumerate() {
            if first {
                self.columns.push((name.to_owned(), empty_like(&column)));
            }
            let (known, cells) = &mut self.columns[at];
            assert_eq!(known, name, "another column");
            extend(cells, column);
        }
        self.rows = before + more;
    }

    /// Columns, in the order of the fields.
    pub fn into_columns(self) -> Vec<(String, Column)> {
        self.columns.into_iter().map(|(name, cells)| (name, cells.finish())).collect()
    }

    /// True until a row or a table has been added; a table without rows adds columns, too.
    pub const fn is_unused(&self) -> bool {
        self.columns.is_empty()
    }

    fn cell<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        self.field(key, value).expect("a number or a name");
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        if self.rows > 0 {
            return value.serialize(self);
        }
        let outer = self.name.len();
        if outer > 0 {
            self.name.push('_');
        }
        self.name.push_str(key);
        let done = value.serialize(&mut *self);
        self.name.truncate(outer);
        done
    }

    /// Column of the next cell to write; in the first row it is created.
    fn next(&mut self, new: impl FnOnce() -> Cells) -> &mut Cells {
        if self.rows == 0 {
            let name = self.name.strip_prefix(LIMITED_BY);
            let name = name.map_or_else(|| self.name.clone(), |key| format!("limited_{key}_s"));
            self.columns.push((name, new()));
        }
        self.at += 1;
        &mut self.columns[self.at - 1].1
    }

    fn integer(&mut self, value: u64) -> Result<(), Error> {
        if self.optional {
            return self.float(value as f64);
        }
        let Cells::Integer(values) = self.next(|| Cells::Integer(Vec::new())) else {
            return Err(Error::custom("a whole number where there was none before"));
        };
        values.push(value);
        Ok(())
    }

    /// Appends a number. Optional integers are stored as floating-point numbers, too.
    fn float(&mut self, value: f64) -> Result<(), Error> {
        let Cells::Float(values) = self.next(|| Cells::Float(Vec::new())) else {
            return Err(Error::custom("a measure where there was none before"));
        };
        values.push(value);
        Ok(())
    }
}

fn empty_like(column: &Column) -> Cells {
    match column {
        Column::Float(_) => Cells::Float(Vec::new()),
        Column::Integer(_) => Cells::Integer(Vec::new()),
        Column::Flag(_) => Cells::Flag(Vec::new()),
        Column::Name { .. } => Cells::named(),
    }
}

fn extend(cells: &mut Cells, column: Column) {
    match (cells, column) {
        (Cells::Float(values), Column::Float(more)) => values.extend(more),
        (Cells::Integer(values), Column::Integer(more)) => values.extend(more),
        (Cells::Flag(values), Column::Flag(more)) => values.extend(more),
        (cells @ Cells::Name { .. }, Column::Name { codes, names }) => {
            for code in codes {
                cells.push_name((code != NO_NAME).then(|| names[code as usize].as_str()));
            }
        }
        (cells, column) => panic!("{cells:?} is not of the kind of {column:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{FlowSummary, LinkSummary, WlanSummary};
    use serde_json::Value;

    /// Names of a row's cells as in the summary's JSON.
    fn flat(prefix: &str, value: &Value, names: &mut Vec<String>) {
        let Value::Object(table) = value else {
            let key = prefix.strip_prefix(LIMITED_BY);
            return names.push(key.map_or(prefix.to_owned(), |key| format!("limited_{key}_s")));
        };
        for (key, value) in table.iter().filter(|(_, value)| !value.is_array()) {
            let dash = if prefix.is_empty() { "" } else { "_" };
            flat(&format!("{prefix}{dash}{key}"), value, names);
        }
    }

    fn columns<T: Serialize>(rows: &[T]) -> Vec<(String, Column)> {
        let mut found = Rows::default();
        for (number, row) in rows.iter().enumerate() {
            found.push(&[("point", number as u64)], &[("place", "here")], row);
        }
        assert_eq!(found.rows, rows.len());
        let mut names = vec!["point".to_owned(), "place".to_owned()];
        flat("", &serde_json::to_value(&rows[0]).unwrap(), &mut names);
        let columns = found.into_columns();
        assert_eq!(columns.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
        columns
    }

    #[test]
    fn the_columns_are_those_of_the_summary() {
        let flow = FlowSummary { name: "a".into(), ..FlowSummary::default() };
        let other = FlowSummary { name: "b".into(), rtt_mean_s: Some(0.5), ..flow.clone() };
        let flows = columns(&[flow.clone(), other, flow]);
        let Column::Name { codes, names } = &flows[2].1 else { panic!("{:?}", flows[2]) };
        assert_eq!(
            (codes.as_slice(), names.as_slice()),
            (&[0, 1, 0][..], &["a".into(), "b".into()][..])
        );
        let means = flows.iter().find(|(name, _)| name == "rtt_mean_s").unwrap();
        let Column::Float(means) = &means.1 else { panic!("{means:?}") };
        assert!(means[0].is_nan() && means[2].is_nan());
        assert_eq!(means[1].to_bits(), 0.5_f64.to_bits());
        columns(&[LinkSummary::default(), LinkSummary::default()]);
        columns(&[WlanSummary::default(), WlanSummary::default()]);
    }

    #[test]
    fn a_count_that_only_some_rows_have_is_a_measure() {
        let none = FlowSummary { name: "file".into(), ..FlowSummary::default() };
        let mut asked = none.clone();
        asked.exchanges.count = Some(8);
        for rows in [[none.clone(), asked.clone()], [asked, none]] {
            let flows = columns(&rows);
            let counts = flows.iter().find(|(name, _)| name == "exchanges_count").unwrap();
            let Column::Float(counts) = &counts.1 else { panic!("{counts:?}") };
            assert_eq!(counts.iter().filter(|count| count.is_nan()).count(), 1);
            assert_eq!(counts.iter().copied().fold(f64::NAN, f64::max).to_bits(), 8_f64.to_bits());
        }
    }

    #[test]
    fn tables_are_joined_whatever_their_codes() {
        let names = |codes: &[u32], names: &[&str]| Column::Name {
            codes: codes.to_vec(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let table = |flow| Table::new("x", vec![("flow", flow)]);
        let mut rows = Rows::default();
        rows.append(&[("run", 4)], table(names(&[0, NO_NAME], &["a"])));
        rows.append(&[("run", 5)], table(names(&[1, 0], &["b", "a"])));
        let columns = rows.into_columns();
        assert_eq!(columns[0], ("run".into(), Column::Integer(vec![4, 4, 5, 5])));
        assert_eq!(columns[1], ("flow".into(), names(&[0, NO_NAME, 0, 1], &["a", "b"])));
    }

    #[test]
    #[should_panic(expected = "another shape")]
    fn a_row_of_another_shape_is_our_mistake() {
        let mut rows = Rows::default();
        rows.push(&[("a", 1), ("b", 2)], &[], &std::collections::BTreeMap::<String, u64>::new());
        rows.push(&[("a", 1)], &[], &std::collections::BTreeMap::<String, u64>::new());
    }
}
