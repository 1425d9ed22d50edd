//! Errors of scenarios and their locations.

use std::fmt;

/// Error in a scenario; printed as one line with location, problem and remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// Name of the file; empty if the text came from no file.
    pub file: String,
    /// Position in the file; `None` if the error has no single position or lies in an override.
    pub position: Option<Position>,
    /// Override that causes the error, as `with key = value`; `None` if no override does. The
    /// override comes from `--set`, another option, or Python.
    pub r#override: Option<String>,
    /// Key in the notation of overrides and sweeps; empty for the file as a whole.
    pub path: String,
    /// Problem, with the invalid value and the valid ones.
    pub message: String,
}

/// Position in a text, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line number.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}", self.file)?;
            if let Some(position) = self.position {
                write!(f, ":{}", position.line)?;
            }
            f.write_str(": ")?;
        }
        if let Some(change) = &self.r#override {
            write!(f, "{change}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl ScenarioError {
    /// Error of the file as a whole.
    pub(crate) fn without_position(file: &str, message: &str) -> Self {
        Self {
            file: one_line(file),
            position: None,
            r#override: None,
            path: String::new(),
            message: one_line(message),
        }
    }

    pub(crate) fn too_large(file: &str, bytes: usize) -> Self {
        let max = crate::TEXT_MAX_BYTES;
        Self::without_position(file, &format!("{bytes} bytes: a scenario has at most {max}"))
    }

    /// Attributes the error to all overrides together. Called if the file is valid without them.
    pub(crate) fn blame_overrides(self, changes: &[(String, String)]) -> Self {
        Self { position: None, r#override: Some(one_line(&with_overrides(changes))), ..self }
    }
}

/// Overrides as errors quote them: `with KEY = VALUE, …`.
pub fn with_overrides(changes: &[(String, String)]) -> String {
    format!("with {}", list_overrides(changes))
}

/// Overrides as a list: `KEY = VALUE, …`.
pub fn list_overrides(changes: &[(String, String)]) -> String {
    let each: Vec<String> = changes.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    each.join(", ")
}

/// A step of a key's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A key of a table.
    Key(String),
    /// An element of a list.
    Index(usize),
}

/// Problem at a path of the values, before its position in the text is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path from the root.
    pub path: Vec<Step>,
    /// Problem and remedy.
    pub message: String,
}

impl Problem {
    /// Creates a problem with an empty path; [`Problem::within`] extends the path.
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into() }
    }

    /// Prepends a key to the path.
    #[must_use]
    pub fn within(mut self, key: &str) -> Self {
        self.path.insert(0, Step::Key(key.to_owned()));
        self
    }

    /// Prepends element `index` of the list `key` to the path.
    #[must_use]
    pub fn within_element(mut self, key: &str, index: usize) -> Self {
        self.path.insert(0, Step::Index(index));
        self.within(key)
    }
}

/// Number of characters that a shortened message keeps at either end.
const KEPT_CHARS: usize = 400;

/// Fits a message into one line of a terminal. Control characters are escaped. The middle of a long
/// message is cut out, because a message is long only if it quotes a long value.
pub fn one_line(text: &str) -> String {
    let count = text.chars().count();
    let mut line = String::with_capacity(text.len().min(4 * KEPT_CHARS));
    for (index, c) in text.chars().enumerate() {
        if count > 2 * KEPT_CHARS && (KEPT_CHARS..count - KEPT_CHARS).contains(&index) {
            if index == KEPT_CHARS {
                line.push('…');
            }
        } else if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_on_one_short_line() {
        assert_eq!(one_line("a\nb\u{1b}[2J"), "a\\nb\\u{1b}[2J");
        let long = one_line(&"x".repeat(1_000_000));
        assert_eq!(long.chars().count(), 2 * KEPT_CHARS + 1);
    }
}
