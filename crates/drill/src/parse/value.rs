//! Arguments of calls.

use super::Parser;
use crate::fault::Refusal;
use crate::token::TokenKind;

/// Nesting limit; no real call comes near it.
const DEEPEST: u32 = 16;

/// Argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `...`
    Any,
    /// A number.
    Number(i64),
    /// Name, such as `SOCK_STREAM`.
    Word(String),
    /// String.
    Text(String),
    /// `A|B`.
    Or(Vec<Value>),
    /// `[1, 2]`.
    List(Vec<Value>),
    /// `{fd=3, events=POLLIN}`; the name of an unnamed value is empty.
    Record(Vec<(String, Value)>),
    /// `htons(80)`: an address, which is ignored.
    Address,
}

impl Parser<'_> {
    /// Comma-separated values up to and including `close`.
    pub fn values(&mut self, close: char, depth: u32) -> Result<Vec<Value>, Refusal> {
        let mut values = Vec::new();
        if self.accept(close) {
            return Ok(values);
        }
        loop {
            values.push(self.value(depth)?);
            if self.accept(close) {
                return Ok(values);
            }
            self.require(',')?;
        }
    }

    fn value(&mut self, depth: u32) -> Result<Value, Refusal> {
        if depth > DEEPEST {
            return Err(Refusal::new(self.line(), "this argument is nested too deeply"));
        }
        let first = self.term(depth)?;
        if self.peek() != TokenKind::Symbol('|') {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.accept('|') {
            all.push(self.term(depth)?);
        }
        Ok(Value::Or(all))
    }

    fn term(&mut self, depth: u32) -> Result<Value, Refusal> {
        match self.peek() {
            TokenKind::Ellipsis => {
                self.next_token();
                Ok(Value::Any)
            }
            TokenKind::Integer(_) | TokenKind::Hex(_) => {
                self.integer("a number", i64::MIN, i64::MAX).map(Value::Number)
            }
            TokenKind::Text(text) => {
                self.next_token();
                Ok(Value::Text(text.to_owned()))
            }
            TokenKind::Word(word) => {
                self.next_token();
                if self.accept('(') {
                    self.values(')', depth + 1)?;
                    return Ok(Value::Address);
                }
                Ok(Value::Word(word.to_owned()))
            }
            TokenKind::Symbol('[') => {
                self.next_token();
                self.values(']', depth + 1).map(Value::List)
            }
            TokenKind::Symbol('{') => {
                self.next_token();
                self.record(depth + 1)
            }
            _ => Err(self.unexpected_token("an argument")),
        }
    }

    fn record(&mut self, depth: u32) -> Result<Value, Refusal> {
        let mut fields = Vec::new();
        loop {
            let name = match (self.peek(), self.peek_second()) {
                (TokenKind::Word(name), TokenKind::Symbol('=')) => {
                    self.next_token();
                    self.next_token();
                    name.to_owned()
                }
                // `msg_iov(1)=…`: the number in brackets is ignored, because the length follows
                // from the value.
                (TokenKind::Word(name), TokenKind::Symbol('(')) => {
                    self.next_token();
                    self.next_token();
                    self.values(')', depth + 1)?;
                    self.require('=')?;
                    name.to_owned()
                }
                _ => String::new(),
            };
            fields.push((name, self.value(depth)?));
            if self.accept('}') {
                return Ok(Value::Record(fields));
            }
            self.require(',')?;
        }
    }
}
