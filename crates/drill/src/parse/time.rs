//! Event times.

use super::Parser;
use crate::fault::Refusal;
use crate::script::EventTime;
use crate::token::TokenKind;
use retx_units::{Duration, Time};

/// Longest time that is accepted: eleven days, more than any real script takes.
const LONGEST_SECONDS: u64 = 1_000_000;

impl Parser<'_> {
    /// Time of an event: `0.1`, `+.1`, `*`, `0.1~0.2` or `+.1~+.2`.
    pub fn event_time(&mut self) -> Result<EventTime, Refusal> {
        if self.accept('*') {
            return Ok(EventTime::Any);
        }
        let relative = self.accept('+');
        let begin = self.seconds()?;
        if !self.accept('~') {
            return Ok(if relative {
                EventTime::After(begin)
            } else {
                EventTime::At(Time::ZERO + begin)
            });
        }
        if self.accept('+') != relative {
            let message = "a range of times is either 0.1~0.2 or +0.1~+0.2";
            return Err(Refusal::new(self.line(), message));
        }
        let end = self.seconds()?;
        if end < begin {
            return Err(Refusal::new(self.line(), "this range of times ends before it begins"));
        }
        Ok(if relative {
            EventTime::AfterBetween(begin, end)
        } else {
            EventTime::Between(Time::ZERO + begin, Time::ZERO + end)
        })
    }

    /// Parses a time in seconds, exactly.
    pub fn seconds(&mut self) -> Result<Duration, Refusal> {
        let (TokenKind::Integer(text) | TokenKind::Decimal(text)) = self.peek() else {
            return Err(self.unexpected_token("a time in seconds, such as 0, +.1 or 0.25"));
        };
        let refuse = |message: String| Refusal::new(self.line(), message);
        if text.starts_with('-') {
            return Err(refuse(format!("{text}: time does not go back")));
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let seconds: u64 = if whole.is_empty() { Some(0) } else { whole.parse().ok() }
            .filter(|seconds| *seconds <= LONGEST_SECONDS)
            .ok_or_else(|| refuse(format!("a script lasts at most {LONGEST_SECONDS} s")))?;
        let digits = fraction.trim_end_matches('0');
        if digits.len() > 9 {
            return Err(refuse("times are in whole nanoseconds".into()));
        }
        let nanos: u64 = format!("{digits:0<9}").parse().expect("nine digits");
        self.next_token();
        Ok(Duration::from_nanos(seconds * 1_000_000_000 + nanos))
    }
}
