//! Tables in columns, as Arrow and data frames keep them.

/// A column's values.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers; NaN where there is none.
    Float(Vec<f64>),
    /// Whole numbers; [`NO_INTEGER`] where there is none.
    Integer(Vec<u64>),
    /// True or false.
    Flag(Vec<bool>),
    /// One of a few texts.
    Name {
        /// Indices into `names`; [`NO_NAME`] where there is none.
        codes: Vec<u32>,
        /// The texts.
        names: Vec<String>,
    },
}

/// Stands for an absent whole number.
pub const NO_INTEGER: u64 = u64::MAX;
/// Stands for an absent name.
pub const NO_NAME: u32 = u32::MAX;

impl Column {
    /// Rows in the column.
    pub const fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Flag(values) => values.len(),
            Self::Name { codes, .. } => codes.len(),
        }
    }

    /// True without a row.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Columns of equal length, each with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The table's name: its file's name without the ending.
    pub name: &'static str,
    /// The columns, in the contract's order.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// A table of these columns.
    ///
    /// # Panics
    /// When they differ in length.
    pub fn new(name: &'static str, columns: Vec<(&'static str, Column)>) -> Self {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        for (column_name, column) in &columns {
            assert_eq!(column.len(), rows, "{name}.{column_name} has another length");
        }
        Self { name, columns }
    }

    /// Rows in the table.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(column, _)| *column == name).map(|(_, column)| column)
    }
}

/// What the indices in a record's columns stand for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The flows.
    pub flows: Vec<String>,
    /// The directions of links, `cloud.forward`, and the stations of wlans, `cell.laptop`.
    pub places: Vec<String>,
}

/// Declares a small closed set of names: an enum whose variants are the codes of a column.
macro_rules! names {
    ($(#[$meta:meta])* $type:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $type { $($(#[$variant_meta])* $variant),+ }

        impl $type {
            /// Every name, in the order of the codes.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// Every variant, in the order of the codes.
            #[allow(dead_code)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name, as tables and summaries write it.
            pub const fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// A column of these names.
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
