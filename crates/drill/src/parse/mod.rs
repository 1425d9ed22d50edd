//! Parser: text to events.

mod arguments;
mod call;
mod message;
mod packet;
mod time;
mod value;

use crate::code;
use crate::fault::Refusal;
use crate::script::{Action, Command, Event, EventTime, Flag, Script};
use crate::token::{self, Token, TokenKind};

/// Parses a script.
///
/// # Errors
/// The first construct that is malformed or not supported.
pub fn parse(text: &str) -> Result<Script, Refusal> {
    if text.len() > crate::TEXT_MAX_BYTES {
        let message =
            format!("{} bytes: a script has at most {}", text.len(), crate::TEXT_MAX_BYTES);
        return Err(Refusal::new(0, message));
    }
    let mut parser = Parser { tokens: token::tokenize(text)?, at: 0 };
    let flags = parser.flags()?;
    let commands = parser.commands();
    let mut events = Vec::new();
    while let Some(event) = parser.event()? {
        events.push(event);
    }
    if events.is_empty() {
        return Err(Refusal::new(parser.line(), "the script has no event"));
    }
    check_order(&events)?;
    Ok(Script { flags, commands, events })
}

/// Tokens and the read position.
pub struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    /// Next token, without taking it.
    pub fn peek(&self) -> TokenKind<'a> {
        self.tokens[self.at].kind
    }

    /// Token after the next.
    fn peek_second(&self) -> TokenKind<'a> {
        self.tokens.get(self.at + 1).map_or(TokenKind::End, |token| token.kind)
    }

    /// Line of the next token.
    pub fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    /// Takes and returns the next token; at the end of the script, returns the end token every
    /// time.
    pub fn next_token(&mut self) -> TokenKind<'a> {
        let kind = self.peek();
        if kind != TokenKind::End {
            self.at += 1;
        }
        kind
    }

    /// Consumes this character if it is next; returns true in that case.
    pub fn accept(&mut self, symbol: char) -> bool {
        let found = self.peek() == TokenKind::Symbol(symbol);
        self.at += usize::from(found);
        found
    }

    /// Consumes this word if it is next; returns true in that case.
    pub fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek() == TokenKind::Word(word);
        self.at += usize::from(found);
        found
    }

    /// Takes this character, which must be next.
    ///
    /// # Errors
    /// Another token is next.
    pub fn require(&mut self, symbol: char) -> Result<(), Refusal> {
        if self.accept(symbol) {
            Ok(())
        } else {
            Err(self.unexpected_token(&format!("\"{symbol}\"")))
        }
    }

    /// Takes an integer within bounds.
    ///
    /// # Errors
    /// Another token, or a number out of bounds.
    pub fn integer(&mut self, what: &str, low: i64, high: i64) -> Result<i64, Refusal> {
        let line = self.line();
        let number = match self.peek() {
            TokenKind::Integer(text) => text.parse::<i64>().ok(),
            TokenKind::Hex(text) => i64::from_str_radix(text, 16).ok(),
            _ => return Err(self.unexpected_token(what)),
        };
        let kind = self.next_token();
        number.filter(|number| (low..=high).contains(number)).ok_or_else(|| {
            let message = format!("{} as {what}: it lies within {low} … {high}", kind.describe());
            Refusal::new(line, message)
        })
    }

    /// Error for the next token.
    pub fn unexpected_token(&self, wanted: &str) -> Refusal {
        Refusal::new(self.line(), format!("expected {wanted}, found {}", self.peek().describe()))
    }

    fn flags(&mut self) -> Result<Vec<Flag>, Refusal> {
        let mut flags = Vec::new();
        while let TokenKind::Flag(text) = self.peek() {
            let line = self.line();
            self.next_token();
            let (name, value) = match text[2..].split_once('=') {
                Some((name, value)) => {
                    let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
                    (name, Some(bare.unwrap_or(value).to_owned()))
                }
                None => (&text[2..], None),
            };
            if name.is_empty() {
                return Err(Refusal::new(line, format!("{text}: a flag has a name, --mss=1000")));
            }
            flags.push(Flag { line, name: name.to_owned(), value });
        }
        Ok(flags)
    }

    /// Commands before the first event.
    fn commands(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        while let TokenKind::Command(text) = self.peek() {
            commands.push(Command { line: self.line(), text: text.to_owned() });
            self.next_token();
        }
        commands
    }

    /// Next event; `None` at the end.
    fn event(&mut self) -> Result<Option<Event>, Refusal> {
        if let TokenKind::Command(_) = self.peek() {
            // The last command of a script restores the settings of a real machine, so it is
            // ignored.
            self.next_token();
            if self.peek() != TokenKind::End {
                return Err(self.unexpected_token("the end of the script after the last command"));
            }
        }
        if self.peek() == TokenKind::End {
            return Ok(None);
        }
        if let TokenKind::Flag(text) = self.peek() {
            let message = format!("{text}: flags stand before everything else");
            return Err(Refusal::new(self.line(), message));
        }
        let line = self.line();
        let when = self.event_time()?;
        let action = self.action(when)?;
        Ok(Some(Event { line, when, action }))
    }

    fn action(&mut self, when: EventTime) -> Result<Action, Refusal> {
        let line = self.line();
        match self.peek() {
            TokenKind::Symbol('<') => {
                self.next_token();
                Ok(Action::Inbound(self.packet()?))
            }
            TokenKind::Symbol('>') => {
                self.next_token();
                Ok(Action::Outbound(self.packet()?))
            }
            TokenKind::Command(text) => {
                self.next_token();
                Ok(Action::Command(text.to_owned()))
            }
            TokenKind::Code(text) => {
                self.next_token();
                code::parse(text, line).map(Action::Code)
            }
            TokenKind::Ellipsis | TokenKind::Word(_) => {
                Ok(Action::Call(Box::new(self.call(when)?)))
            }
            _ => Err(self.unexpected_token("a packet (< or >), a call, a command or a code block")),
        }
    }
}

/// Checks that absolute times do not decrease, and that the first one is 0.
fn check_order(events: &[Event]) -> Result<(), Refusal> {
    let mut last = None;
    for (index, event) in events.iter().enumerate() {
        let begin = match event.when {
            EventTime::At(time) | EventTime::Between(time, _) => Some(time.as_nanos()),
            EventTime::After(wait) | EventTime::AfterBetween(wait, _) => {
                (index == 0).then_some(wait.as_nanos())
            }
            EventTime::Any => None,
        };
        if index == 0 && begin != Some(0) {
            return Err(Refusal::new(event.line, "the first event happens at time 0"));
        }
        if let (Some(begin), Some(last)) = (begin, last)
            && begin < last
        {
            return Err(Refusal::new(event.line, "this time lies before that of the event before"));
        }
        last = begin;
    }
    Ok(())
}
