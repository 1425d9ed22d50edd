//! Parser of code blocks.

use super::lexer::{CodeToken, LocatedToken, tokenize};
use super::{
    BinaryOperator, Comparison, Expression, Function, Statement, StatementKind, UnaryOperator,
    Value,
};
use crate::fault::Refusal;

/// Nesting limit; no real script comes near it.
const DEEPEST: u32 = 40;

/// Longest chain of operators on one level.
const LONGEST_CHAIN: usize = 200;

/// Parses a code block that begins on `line`.
///
/// # Errors
/// The first construct outside the supported subset of Python.
pub fn parse(text: &str, line: u32) -> Result<Vec<Statement>, Refusal> {
    let mut parser = Parser { text, tokens: tokenize(text, line)?, at: 0, depth: 0 };
    let mut statements = Vec::new();
    loop {
        while parser.peek() == &CodeToken::Newline {
            parser.at += 1;
        }
        if parser.peek() == &CodeToken::End {
            return Ok(statements);
        }
        statements.push(parser.statement()?);
        if !matches!(parser.peek(), CodeToken::Newline | CodeToken::End) {
            return Err(parser.unexpected("the end of the statement"));
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<LocatedToken>,
    at: usize,
    depth: u32,
}

type Level = &'static [(&'static str, BinaryOperator)];

/// Binary operators by precedence, the lowest first.
const LEVELS: [Level; 6] = [
    &[("|", BinaryOperator::Or)],
    &[("^", BinaryOperator::Xor)],
    &[("&", BinaryOperator::And)],
    &[("<<", BinaryOperator::ShiftLeft), (">>", BinaryOperator::ShiftRight)],
    &[("+", BinaryOperator::Add), ("-", BinaryOperator::Subtract)],
    &[
        ("*", BinaryOperator::Multiply),
        ("/", BinaryOperator::Divide),
        ("//", BinaryOperator::FloorDivide),
        ("%", BinaryOperator::Modulo),
    ],
];

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

const FUNCTIONS: [(&str, Function); 7] = [
    ("abs", Function::Abs),
    ("min", Function::Min),
    ("max", Function::Max),
    ("int", Function::Int),
    ("float", Function::Float),
    ("round", Function::Round),
    ("str", Function::Str),
];

impl Parser<'_> {
    fn peek(&self) -> &CodeToken {
        &self.tokens[self.at].token
    }

    fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    fn accept(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), CodeToken::Sign(next) if *next == sign);
        self.at += usize::from(found);
        found
    }

    fn accept_name(&mut self, name: &str) -> bool {
        let found = matches!(self.peek(), CodeToken::Name(next) if next == name);
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, wanted: &str) -> Refusal {
        let found = match self.peek() {
            CodeToken::End => "its end".to_owned(),
            CodeToken::Newline => "the end of the line".to_owned(),
            _ => {
                let LocatedToken { start: from, end: to, .. } = self.tokens[self.at];
                format!("\"{}\"", crate::token::clip(&self.text[from..to]))
            }
        };
        Refusal::new(self.line(), format!("in the code block: expected {wanted}, found {found}"))
    }

    fn statement(&mut self) -> Result<Statement, Refusal> {
        let line = self.line();
        let kind = if self.accept_name("assert") {
            self.assertion()?
        } else if self.accept_name("print") {
            StatementKind::Print(self.printed()?)
        } else if self.accept_name("pass") {
            StatementKind::Pass
        } else {
            self.assignment()?
        };
        Ok(Statement { line, kind })
    }

    fn assertion(&mut self) -> Result<StatementKind, Refusal> {
        let from = self.tokens[self.at].start;
        let test = self.expression()?;
        let to = self.tokens[self.at - 1].end;
        let message = if self.accept(",") { Some(self.expression()?) } else { None };
        Ok(StatementKind::Assert { test, message, text: self.text[from..to].to_owned() })
    }

    /// Arguments of `print`: Python 2's `print x` as well as `print(x)`.
    fn printed(&mut self) -> Result<Vec<Expression>, Refusal> {
        if matches!(self.peek(), CodeToken::Newline | CodeToken::End) {
            return Ok(Vec::new());
        }
        let mut values = vec![self.expression()?];
        while self.accept(",") {
            values.push(self.expression()?);
        }
        // The operands of `print(x, y)` are parsed as one tuple.
        Ok(match values.pop() {
            Some(Expression::Tuple(inner)) if values.is_empty() => inner,
            last => values.into_iter().chain(last).collect(),
        })
    }

    fn assignment(&mut self) -> Result<StatementKind, Refusal> {
        const WANTED: &str = "assert, print or an assignment";
        let CodeToken::Name(name) = self.peek().clone() else {
            return Err(self.unexpected(WANTED));
        };
        self.at += 1;
        let operator = match self.peek() {
            CodeToken::Sign("=") => None,
            CodeToken::Sign("+=") => Some(BinaryOperator::Add),
            CodeToken::Sign("-=") => Some(BinaryOperator::Subtract),
            CodeToken::Sign("*=") => Some(BinaryOperator::Multiply),
            CodeToken::Sign("//=") => Some(BinaryOperator::FloorDivide),
            _ => {
                self.at -= 1;
                return Err(self.unexpected(WANTED));
            }
        };
        self.at += 1;
        Ok(StatementKind::Assign(name, operator, self.expression()?))
    }

    fn expression(&mut self) -> Result<Expression, Refusal> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Refusal::new(self.line(), "in the code block: nested too deeply"));
        }
        let result = self.logic(true);
        self.depth -= 1;
        result
    }

    /// Chain of `or` if `either` is true; otherwise of `and`, which has a higher precedence.
    fn logic(&mut self, either: bool) -> Result<Expression, Refusal> {
        let operand = |it: &mut Self| if either { it.logic(false) } else { it.negation() };
        let mut left = operand(self)?;
        let mut links = 0;
        while self.accept_name(if either { "or" } else { "and" }) {
            left = Expression::Logic(either, Box::new((left, operand(self)?)));
            links = self.counted(links)?;
        }
        Ok(left)
    }

    /// Refuses long chains of operators, because they would become deep trees.
    fn counted(&self, links: usize) -> Result<usize, Refusal> {
        if links == LONGEST_CHAIN {
            return Err(Refusal::new(self.line(), "in the code block: too long an expression"));
        }
        Ok(links + 1)
    }

    fn negation(&mut self) -> Result<Expression, Refusal> {
        let mut negations = 0_u32;
        while self.accept_name("not") {
            negations += 1;
        }
        let mut inner = self.comparison()?;
        if negations > 0 {
            inner = Expression::Unary(UnaryOperator::Not, Box::new(inner));
            if negations.is_multiple_of(2) {
                inner = Expression::Unary(UnaryOperator::Not, Box::new(inner));
            }
        }
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Expression, Refusal> {
        let first = self.binary(0)?;
        let mut rest = Vec::new();
        while let CodeToken::Sign(sign) = self.peek()
            && let Some(&(_, comparison)) = COMPARISONS.iter().find(|(text, _)| text == sign)
        {
            self.at += 1;
            rest.push((comparison, self.binary(0)?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Compare(Box::new(first), rest) })
    }

    fn binary(&mut self, level: usize) -> Result<Expression, Refusal> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        let mut links = 0;
        while let CodeToken::Sign(sign) = self.peek()
            && let Some(&(_, operator)) = operators.iter().find(|(text, _)| text == sign)
        {
            self.at += 1;
            left = Expression::Binary(operator, Box::new((left, self.binary(level + 1)?)));
            links = self.counted(links)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, Refusal> {
        let mut prefixes = Vec::new();
        loop {
            let prefix = match self.peek() {
                CodeToken::Sign("-") => Some(UnaryOperator::Minus),
                CodeToken::Sign("~") => Some(UnaryOperator::Invert),
                CodeToken::Sign("+") => None,
                _ => break,
            };
            self.at += 1;
            prefixes.extend(prefix);
            self.counted(prefixes.len())?;
        }
        let inner = self.atom()?;
        Ok(prefixes
            .into_iter()
            .rev()
            .fold(inner, |inner, prefix| Expression::Unary(prefix, Box::new(inner))))
    }

    fn atom(&mut self) -> Result<Expression, Refusal> {
        let literal = |value| Ok(Expression::Literal(value));
        match self.peek().clone() {
            CodeToken::Integer(number) => {
                self.at += 1;
                literal(Value::Integer(number))
            }
            CodeToken::Float(number) => {
                self.at += 1;
                literal(Value::Float(number))
            }
            CodeToken::Text(text) => {
                self.at += 1;
                literal(Value::Text(text))
            }
            CodeToken::Sign("(") => {
                self.at += 1;
                self.brackets()
            }
            CodeToken::Name(name) => {
                let line = self.line();
                self.at += 1;
                match name.as_str() {
                    "True" => return literal(true.into()),
                    "False" => return literal(false.into()),
                    _ if !self.accept("(") => return Ok(Expression::Name(name)),
                    _ => {}
                }
                let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
                    let message = format!("in the code block: there is no function {name}");
                    return Err(Refusal::new(line, message));
                };
                Ok(Expression::Call(*function, self.list()?.0))
            }
            _ => Err(self.unexpected("a value")),
        }
    }

    /// Parses the rest of `(a)`, an expression in brackets, or of a tuple such as `(a, b)`.
    fn brackets(&mut self) -> Result<Expression, Refusal> {
        let (mut values, comma) = self.list()?;
        Ok(if values.len() == 1 && !comma { values.remove(0) } else { Expression::Tuple(values) })
    }

    /// Expressions up to `)`, and true if a comma precedes the `)`.
    fn list(&mut self) -> Result<(Vec<Expression>, bool), Refusal> {
        let mut values = Vec::new();
        let mut comma = false;
        loop {
            if self.accept(")") {
                return Ok((values, comma));
            }
            if !values.is_empty() && !comma {
                return Err(self.unexpected("\")\""));
            }
            values.push(self.expression()?);
            comma = self.accept(",");
        }
    }
}
