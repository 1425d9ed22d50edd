//! What is wrong with a scenario, and where.

use std::fmt;

/// Why a text is no scenario: where, what, and what instead, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file's name; empty when the text came from no file.
    pub file: String,
    /// The place in the file; `None` when the fault lies in no single place or in an override.
    pub position: Option<Position>,
    /// The change to which the fault is due, as `with key = value`: it may have been asked for by
    /// `--set`, by another option, or in Python.
    pub r#override: Option<String>,
    /// The key, as overrides and sweeps write it; empty for the file as a whole.
    pub path: String,
    /// What is wrong, with the value and what is allowed.
    pub message: String,
}

/// A place in a text, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line.
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
    /// A fault of the file as a whole.
    pub(crate) fn plain(file: &str, message: &str) -> Self {
        Self {
            file: one_line(file),
            position: None,
            r#override: None,
            path: String::new(),
            message: one_line(message),
        }
    }

    /// The refusal of bytes that are not UTF-8, for those who read the file.
    pub fn not_text(file: &str) -> Self {
        Self::plain(file, "not a text: a scenario is a TOML file in UTF-8")
    }

    pub(crate) fn too_large(file: &str, bytes: usize) -> Self {
        let max = crate::TEXT_MAX_BYTES;
        Self::plain(file, &format!("{bytes} bytes: a scenario has at most {max}"))
    }

    /// Every override together is to blame: without them the file is sound.
    pub(crate) fn blame_overrides(self, changes: &[(String, String)]) -> Self {
        Self { position: None, r#override: Some(one_line(&with(changes))), ..self }
    }
}

/// Overrides as errors have them.
pub fn with(changes: &[(String, String)]) -> String {
    format!("with {}", listed(changes))
}

/// Keys with their values.
pub fn listed(changes: &[(String, String)]) -> String {
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

/// Something wrong at a path of the values, before its place in the text is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From the root.
    pub path: Vec<Step>,
    /// What is wrong, and what instead.
    pub message: String,
}

impl Problem {
    /// At the root; see [`Problem::within`].
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into() }
    }

    /// The same, one level further out.
    #[must_use]
    pub fn within(mut self, key: &str) -> Self {
        self.path.insert(0, Step::Key(key.to_owned()));
        self
    }

    /// The same in an element of the list `key`.
    #[must_use]
    pub fn within_element(mut self, key: &str, index: usize) -> Self {
        self.path.insert(0, Step::Index(index));
        self.within(key)
    }
}

/// What a message may quote of a text at either end of what is cut out of it.
const KEPT_CHARS: usize = 400;

/// A message fit for one line of a terminal: control characters are escaped, and the middle of
/// what is too long (it quotes a long value) is cut out.
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
