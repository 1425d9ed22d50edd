//! How a script ends.

/// What became of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The endpoint did all that the script says.
    Passed,
    /// It did something else.
    Failed(Difference),
    /// The script could not be played, or not to its end: it is malformed, or asks for something
    /// that this player or this endpoint does not have.
    Refused(Refusal),
}

/// Where the endpoint departs from the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Line in the script, from 1.
    pub line: u32,
    /// What differs.
    pub message: String,
    /// What the script says there.
    pub expected: Option<String>,
    /// What happened, as a script would say it.
    pub actual: Option<String>,
}

/// Why a script cannot be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Line in the script, from 1; 0 for the command line's part.
    pub line: u32,
    /// What is wrong, and what instead.
    pub message: String,
}

impl Refusal {
    /// A refusal at a line.
    pub fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// What ends a play early.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The endpoint departs from the script.
    Failed(Box<Difference>),
    /// The script cannot be played on.
    Refused(Refusal),
}

impl Stop {
    /// A difference without a packet to show.
    pub fn failed(line: u32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Failed(Box::new(Difference { line, message, expected: None, actual: None }))
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
