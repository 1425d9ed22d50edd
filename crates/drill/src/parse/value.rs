//! Arguments of calls.

use super::Parser;
use crate::fault::Refusal;
use crate::token::Kind;

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
            self.expect(',')?;
        }
    }

    fn value(&mut self, depth: u32) -> Result<Value, Refusal> {
        if depth > DEEPEST {
            return Err(Refusal::new(self.line(), "this argument is nested too deeply"));
        }
        let first = self.term(depth)?;
        if self.peek() != Kind::Symbol('|') {
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
            Kind::Ellipsis => {
                self.take();
                Ok(Value::Any)
            }
            Kind::Integer(_) | Kind::Hex(_) => {
                self.integer("a number", i64::MIN, i64::MAX).map(Value::Number)
            }
            Kind::Text(text) => {
                self.take();
                Ok(Value::Text(text.to_owned()))
            }
            Kind::Word(word) => {
                self.take();
                if self.accept('(') {
                    self.values(')', depth + 1)?;
                    return Ok(Value::Address);
                }
                Ok(Value::Word(word.to_owned()))
            }
            Kind::Symbol('[') => {
                self.take();
                self.values(']', depth + 1).map(Value::List)
            }
            Kind::Symbol('{') => {
                self.take();
                self.record(depth + 1)
            }
            _ => Err(self.unexpected("an argument")),
        }
    }

    fn record(&mut self, depth: u32) -> Result<Value, Refusal> {
        let mut fields = Vec::new();
        loop {
            let name = match (self.peek(), self.peek_second()) {
                (Kind::Word(name), Kind::Symbol('=')) => {
                    self.take();
                    self.take();
                    name.to_owned()
                }
                // `msg_iov(1)=…`: the number in brackets is ignored, because the length follows
                // from the value.
                (Kind::Word(name), Kind::Symbol('(')) => {
                    self.take();
                    self.take();
                    self.values(')', depth + 1)?;
                    self.expect('=')?;
                    name.to_owned()
                }
                _ => String::new(),
            };
            fields.push((name, self.value(depth)?));
            if self.accept('}') {
                return Ok(Value::Record(fields));
            }
            self.expect(',')?;
        }
    }
}
