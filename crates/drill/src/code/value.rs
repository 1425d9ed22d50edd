//! Values of code blocks.

use std::fmt;

/// Number, string or tuple. Truth values are the numbers 0 and 1, as in Python.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Integer.
    Integer(i128),
    /// Floating-point number.
    Float(f64),
    /// String.
    Text(String),
    /// Tuple.
    Tuple(Vec<Value>),
}

impl Value {
    /// Python's truth value: false for zero and for empty values.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Integer(number) => *number != 0,
            Self::Float(number) => number.abs() > 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Tuple(values) => !values.is_empty(),
        }
    }

    /// Value as a float, if it is a number.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Integer(truth.into())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Text(text) => f.write_str(text),
            Self::Tuple(values) => {
                f.write_str("(")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}
