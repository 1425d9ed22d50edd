//! What stands between `%{` and `}%`: the part of Python that packetdrill scripts use. `assert`,
//! `print`, assignments, and expressions over numbers and texts.

mod evaluate;
mod format;
mod lexer;
mod parser;
mod value;

pub use evaluate::{Names, Outcome, Program};
pub use parser::parse;
pub use value::Value;

/// A line of a code block.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Its line in the script.
    pub line: u32,
    /// What it does.
    pub what: What,
}

/// What a statement does.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// `assert test, message`.
    Assert {
        /// What must hold.
        test: Expression,
        /// What is shown when it does not.
        message: Option<Expression>,
        /// The test as it is written.
        text: String,
    },
    /// `print(x, y)`.
    Print(Vec<Expression>),
    /// `name = value`; with an operator `name += value`.
    Assign(String, Option<Operator>, Expression),
    /// `pass`.
    Pass,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number or a text.
    Literal(Value),
    /// A variable.
    Name(String),
    /// `-x`, `not x`, `~x`.
    Unary(Prefix, Box<Expression>),
    /// `a + b`.
    Binary(Operator, Box<(Expression, Expression)>),
    /// `a <= b <= c`: holds when each neighbouring pair does.
    Compare(Box<Expression>, Vec<(Comparison, Expression)>),
    /// `a and b`; `true` for `or`.
    Logic(bool, Box<(Expression, Expression)>),
    /// `abs(x)`.
    Call(Function, Vec<Expression>),
    /// `(a, b)`.
    Tuple(Vec<Expression>),
}

/// What stands before an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Prefix {
    Minus,
    Not,
    Invert,
}

/// What stands between two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// What compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The functions that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Function {
    Abs,
    Min,
    Max,
    Int,
    Float,
    Round,
    Str,
}
