//! Code blocks between `%{` and `}%`, in the subset of Python that packetdrill scripts use:
//! `assert`, `print`, assignments, and expressions over numbers and texts.

mod evaluate;
mod format;
mod lexer;
mod parser;
mod value;

pub use evaluate::{NameSource, Outcome, Program};
pub use parser::parse;
pub use value::Value;

/// Statement of a code block.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Line in the script.
    pub line: u32,
    /// Kind of statement, with its operands.
    pub kind: StatementKind,
}

/// Kinds of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// `assert test, message`.
    Assert {
        /// Condition.
        test: Expression,
        /// Message shown if the assertion fails.
        message: Option<Expression>,
        /// Text of the condition.
        text: String,
    },
    /// `print(x, y)`.
    Print(Vec<Expression>),
    /// `name = value`; with an operator `name += value`.
    Assign(String, Option<BinaryOperator>, Expression),
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
    Unary(UnaryOperator, Box<Expression>),
    /// `a + b`.
    Binary(BinaryOperator, Box<(Expression, Expression)>),
    /// `a <= b <= c`: holds when each neighbouring pair does.
    Compare(Box<Expression>, Vec<(Comparison, Expression)>),
    /// `a and b`; if the flag is true, `a or b`.
    Logic(bool, Box<(Expression, Expression)>),
    /// `abs(x)`.
    Call(Function, Vec<Expression>),
    /// `(a, b)`.
    Tuple(Vec<Expression>),
}

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum UnaryOperator {
    Minus,
    Not,
    Invert,
}

/// Binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinaryOperator {
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

/// Comparison operators.
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

/// Built-in functions.
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
