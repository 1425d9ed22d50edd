//! Tables stored by columns, like those of Arrow and of data frames.

/// Values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Floating-point numbers; NaN if absent.
    Float(Vec<f64>),
    /// Integers; [`NO_INTEGER`] if absent.
    Integer(Vec<u64>),
    /// True or false.
    Flag(Vec<bool>),
    /// Strings, each from a small set.
    Name {
        /// Indices into `names`; [`NO_NAME`] if absent.
        codes: Vec<u32>,
        /// Distinct strings.
        names: Vec<String>,
    },
}

/// Value of an absent integer.
pub const NO_INTEGER: u64 = u64::MAX;
/// Code of an absent name.
pub const NO_NAME: u32 = u32::MAX;

impl Column {
    /// Number of rows.
    pub const fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Flag(values) => values.len(),
            Self::Name { codes, .. } => codes.len(),
        }
    }

    /// True if the column has no rows.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the values of a column of the same type. Returns false, without a change, if the
    /// codes of the two columns represent different strings.
    fn extend(&mut self, more: Self) -> bool {
        match (self, more) {
            (Self::Float(values), Self::Float(more)) => values.extend(more),
            (Self::Integer(values), Self::Integer(more)) => values.extend(more),
            (Self::Flag(values), Self::Flag(more)) => values.extend(more),
            (Self::Name { codes, names }, Self::Name { codes: more, names: others }) => {
                if *names != others {
                    return false;
                }
                codes.extend(more);
            }
            (column, more) => panic!("{column:?} is not of the kind of {more:?}"),
        }
        true
    }
}

/// Columns of equal length, each with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name of the table, which is the name of its file without the extension.
    pub name: &'static str,
    /// Columns, in the documented order.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// Creates a table of these columns.
    ///
    /// # Panics
    /// If the columns differ in length.
    pub fn new(name: &'static str, columns: Vec<(&'static str, Column)>) -> Self {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        for (column_name, column) in &columns {
            assert_eq!(column.len(), rows, "{name}.{column_name} has another length");
        }
        Self { name, columns }
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Concatenates the rows of several tables of one kind. `None` if there is no table, or if the
    /// codes of the tables represent different strings.
    ///
    /// # Panics
    /// If the tables differ in their columns.
    pub fn concatenate(tables: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut tables = tables.into_iter();
        let mut all = tables.next()?;
        for table in tables {
            assert_eq!(all.columns.len(), table.columns.len(), "other columns");
            for ((name, column), (other, more)) in all.columns.iter_mut().zip(table.columns) {
                assert_eq!(*name, other, "another column");
                if !column.extend(more) {
                    return None;
                }
            }
        }
        Some(all)
    }

    /// Column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(column, _)| *column == name).map(|(_, column)| column)
    }
}

/// Names represented by the indices in the columns of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Names of the flows.
    pub flows: Vec<String>,
    /// Names of places: directions of links, such as `cloud.forward`, and stations of wlans, such
    /// as `cell.laptop`.
    pub places: Vec<String>,
}

/// Declares an enum whose variants are the codes of a column of names.
macro_rules! names {
    ($(#[$meta:meta])* $type:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $type { $($(#[$variant_meta])* $variant),+ }

        impl $type {
            /// All names, in the order of the codes.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// All variants, in the order of the codes.
            #[allow(dead_code)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Name in tables and summaries.
            pub const fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// Column of the names of these values; `None` becomes an absent name.
            #[allow(dead_code)]
            pub(crate) fn column(values: impl Iterator<Item = Option<Self>>) -> crate::Column {
                crate::Column::Name {
                    codes: values
                        .map(|value| value.map_or(crate::table::NO_NAME, |it| it as u32))
                        .collect(),
                    names: Self::NAMES.iter().map(|name| (*name).to_owned()).collect(),
                }
            }
        }
    };
}
pub(crate) use names;
