//! Results of playing a script.

/// Result of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The endpoint did everything that the script requires.
    Passed,
    /// The endpoint differed from the script.
    Failed(Difference),
    /// The script could not be played to its end: it is malformed, or needs something that the
    /// player or the endpoint does not support.
    Refused(Refusal),
}

/// Difference between the endpoint and the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Line in the script, from 1.
    pub line: u32,
    /// Description of the difference.
    pub message: String,
    /// Packet or result that the script expects, if it can be shown.
    pub expected: Option<String>,
    /// Actual packet or result in the notation of scripts, if it can be shown.
    pub actual: Option<String>,
}

/// Reason why a script cannot be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Line in the script, from 1; 0 for options on the command line.
    pub line: u32,
    /// Problem and remedy.
    pub message: String,
}

impl Refusal {
    /// Creates a refusal at a line.
    pub fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// Reason for ending a script early.
#[derive(Debug, Clone)]
pub enum EarlyEnd {
    /// The endpoint differs from the script.
    Failed(Box<Difference>),
    /// The script cannot be continued.
    Refused(Refusal),
}

impl EarlyEnd {
    /// Creates a difference without a packet to show.
    pub fn failed(line: u32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Failed(Box::new(Difference { line, message, expected: None, actual: None }))
    }
}

impl From<Refusal> for EarlyEnd {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
