//! Execution of code blocks.

use super::format::format_percent;
use super::{
    BinaryOperator, Comparison, Expression, Function, Statement, StatementKind, UnaryOperator,
    Value,
};
use crate::fault::Refusal;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Source of values for the names that a script has not assigned.
pub trait NameSource {
    /// The value of a name.
    ///
    /// # Errors
    /// The reason why the name has no value.
    fn value(&self, name: &str) -> Result<Value, String>;
}

/// Outcome of a code block.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// All assertions hold.
    Held,
    /// An assertion fails.
    Broken {
        /// Line of the assertion.
        line: u32,
        /// Text of the assertion's condition.
        text: String,
        /// The script's message, or the values of the operands.
        message: String,
    },
}

/// Variables shared by a script's code blocks, and their output.
#[derive(Debug, Clone, Default)]
pub struct Program {
    variables: HashMap<String, Value>,
    /// Lines printed, in order.
    pub printed: Vec<String>,
}

/// Reason why an expression has no value.
type Fault = String;

impl Program {
    /// Executes a block.
    ///
    /// # Errors
    /// An unknown name, or an operation that its operands do not support.
    pub fn run(&mut self, block: &[Statement], names: &dyn NameSource) -> Result<Outcome, Refusal> {
        for statement in block {
            let refuse =
                |fault: Fault| Refusal::new(statement.line, format!("in the code block: {fault}"));
            match &statement.kind {
                StatementKind::Pass => {}
                StatementKind::Print(values) => {
                    let values = self.all(values, names).map_err(refuse)?;
                    let texts: Vec<String> = values.iter().map(Value::to_string).collect();
                    self.printed.push(texts.join(" "));
                }
                StatementKind::Assign(name, operator, value) => {
                    let mut value = self.value(value, names).map_err(refuse)?;
                    if let Some(operator) = operator {
                        let old = self.named(name, names).map_err(refuse)?;
                        value = binary(*operator, &old, &value).map_err(refuse)?;
                    }
                    self.variables.insert(name.clone(), value);
                }
                StatementKind::Assert { test, message, text } => {
                    if !self.value(test, names).map_err(refuse)?.is_truthy() {
                        let mut message = match message {
                            Some(message) => {
                                self.value(message, names).map_err(refuse)?.to_string()
                            }
                            None => String::new(),
                        };
                        let values = self.operands(test, names);
                        if !values.is_empty() {
                            let gap = if message.is_empty() { "" } else { "; " };
                            message = format!("{message}{gap}{}", values.join(", "));
                        }
                        let (line, text) = (statement.line, text.clone());
                        return Ok(Outcome::Broken { line, text, message });
                    }
                }
            }
        }
        Ok(Outcome::Held)
    }

    /// `name = value` for each distinct name in an expression.
    fn operands(&self, expression: &Expression, names: &dyn NameSource) -> Vec<String> {
        let mut found = Vec::new();
        collect_names(expression, &mut found);
        let mut operands = Vec::new();
        for name in found {
            if let Ok(value) = self.named(name, names) {
                let text = format!("{name} = {value}");
                if !operands.contains(&text) {
                    operands.push(text);
                }
            }
        }
        operands
    }

    fn all(&self, from: &[Expression], names: &dyn NameSource) -> Result<Vec<Value>, Fault> {
        from.iter().map(|expression| self.value(expression, names)).collect()
    }

    fn named(&self, name: &str, names: &dyn NameSource) -> Result<Value, Fault> {
        self.variables.get(name).cloned().map_or_else(|| names.value(name), Ok)
    }

    fn value(&self, expression: &Expression, names: &dyn NameSource) -> Result<Value, Fault> {
        match expression {
            Expression::Literal(value) => Ok(value.clone()),
            Expression::Name(name) => self.named(name, names),
            Expression::Unary(prefix, inner) => unary(*prefix, &self.value(inner, names)?),
            Expression::Binary(operator, operands) => {
                let left = self.value(&operands.0, names)?;
                binary(*operator, &left, &self.value(&operands.1, names)?)
            }
            Expression::Compare(first, rest) => {
                let mut left = self.value(first, names)?;
                for (comparison, right) in rest {
                    let right = self.value(right, names)?;
                    if !compare(*comparison, &left, &right)? {
                        return Ok(false.into());
                    }
                    left = right;
                }
                Ok(true.into())
            }
            Expression::Logic(either, operands) => {
                let left = self.value(&operands.0, names)?;
                if left.is_truthy() == *either { Ok(left) } else { self.value(&operands.1, names) }
            }
            Expression::Call(function, arguments) => call(*function, &self.all(arguments, names)?),
            Expression::Tuple(values) => Ok(Value::Tuple(self.all(values, names)?)),
        }
    }
}

fn collect_names<'a>(expression: &'a Expression, names: &mut Vec<&'a str>) {
    match expression {
        Expression::Literal(_) => {}
        Expression::Name(name) => names.push(name),
        Expression::Unary(_, inner) => collect_names(inner, names),
        Expression::Binary(_, operands) | Expression::Logic(_, operands) => {
            collect_names(&operands.0, names);
            collect_names(&operands.1, names);
        }
        Expression::Compare(first, rest) => {
            collect_names(first, names);
            rest.iter().for_each(|(_, right)| collect_names(right, names));
        }
        Expression::Call(_, values) | Expression::Tuple(values) => {
            values.iter().for_each(|value| collect_names(value, names));
        }
    }
}

fn unary(prefix: UnaryOperator, value: &Value) -> Result<Value, Fault> {
    match (prefix, value) {
        (UnaryOperator::Not, value) => Ok((!value.is_truthy()).into()),
        (UnaryOperator::Minus, Value::Integer(number)) => {
            number.checked_neg().map(Value::Integer).ok_or_else(too_large)
        }
        (UnaryOperator::Minus, Value::Float(number)) => Ok(Value::Float(-number)),
        (UnaryOperator::Invert, Value::Integer(number)) => Ok(Value::Integer(!number)),
        _ => Err(format!("{value} is no number")),
    }
}

fn binary(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, Fault> {
    match (operator, left, right) {
        (BinaryOperator::Modulo, Value::Text(text), _) => {
            format_percent(text, right).map(Value::Text)
        }
        (BinaryOperator::Add, Value::Text(left), Value::Text(right)) => {
            Ok(Value::Text(format!("{left}{right}")))
        }
        (BinaryOperator::Divide, ..) => float_binary(operator, left, right),
        (_, Value::Integer(left), Value::Integer(right)) => integer_binary(operator, *left, *right),
        _ => float_binary(operator, left, right),
    }
}

fn integer_binary(operator: BinaryOperator, left: i128, right: i128) -> Result<Value, Fault> {
    let shift = || u32::try_from(right).ok().filter(|bits| *bits < 100);
    let number = match operator {
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::FloorDivide | BinaryOperator::Modulo if right == 0 => {
            return Err("a division by zero".into());
        }
        // Python rounds towards minus infinity.
        BinaryOperator::FloorDivide => left
            .checked_div(right)
            .map(|quotient| quotient - i128::from(left % right != 0 && (left < 0) != (right < 0))),
        BinaryOperator::Modulo => left
            .checked_rem(right)
            .map(|rest| if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest }),
        BinaryOperator::And => Some(left & right),
        BinaryOperator::Or => Some(left | right),
        BinaryOperator::Xor => Some(left ^ right),
        BinaryOperator::ShiftLeft => {
            shift().and_then(|bits| left.checked_mul(1_i128.checked_shl(bits)?))
        }
        BinaryOperator::ShiftRight => shift().map(|bits| left >> bits),
        BinaryOperator::Divide => unreachable!("divisions are of floats"),
    };
    number.map(Value::Integer).ok_or_else(too_large)
}

fn float_binary(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, Fault> {
    let (Some(a), Some(b)) = (left.as_number(), right.as_number()) else {
        return Err(format!("{left} and {right} have no such operation"));
    };
    if matches!(
        operator,
        BinaryOperator::Divide | BinaryOperator::FloorDivide | BinaryOperator::Modulo
    ) && b.abs() <= 0.0
    {
        return Err("a division by zero".into());
    }
    Ok(Value::Float(match operator {
        BinaryOperator::Add => a + b,
        BinaryOperator::Subtract => a - b,
        BinaryOperator::Multiply => a * b,
        BinaryOperator::Divide => a / b,
        BinaryOperator::FloorDivide => (a / b).floor(),
        BinaryOperator::Modulo => a - b * (a / b).floor(),
        _ => return Err(format!("{left} and {right} have no such operation")),
    }))
}

fn compare(comparison: Comparison, left: &Value, right: &Value) -> Result<bool, Fault> {
    let order = match order(left, right) {
        Some(order) => order,
        // In Python, values of different kinds are unequal, and have no order.
        None if matches!(comparison, Comparison::Equal | Comparison::NotEqual) => None,
        None => return Err(format!("{left} and {right} cannot be compared")),
    };
    Ok(match comparison {
        Comparison::Equal => order.is_some_and(Ordering::is_eq),
        Comparison::NotEqual => !order.is_some_and(Ordering::is_eq),
        Comparison::Less => order.is_some_and(Ordering::is_lt),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order.is_some_and(Ordering::is_gt),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
    })
}

/// Order of two values; `Some(None)` if one is NaN, `None` for values of different kinds. Tuples
/// are ordered by their first values that differ, and then by length.
fn order(left: &Value, right: &Value) -> Option<Option<Ordering>> {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.partial_cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.partial_cmp(right)),
        (Value::Tuple(left), Value::Tuple(right)) => {
            for (left, right) in left.iter().zip(right) {
                match order(left, right)? {
                    Some(Ordering::Equal) => {}
                    other => return Some(other),
                }
            }
            Some(left.len().partial_cmp(&right.len()))
        }
        _ => Some(left.as_number()?.partial_cmp(&right.as_number()?)),
    }
}

fn call(function: Function, arguments: &[Value]) -> Result<Value, Fault> {
    let one = || match arguments {
        [one] => Ok(one),
        _ => Err(format!("this function takes one argument, not {}", arguments.len())),
    };
    let whole = |number: f64| Value::Integer(number as i128);
    match function {
        Function::Str => Ok(Value::Text(one()?.to_string())),
        Function::Abs => match one()? {
            Value::Integer(number) => {
                number.checked_abs().map(Value::Integer).ok_or_else(too_large)
            }
            Value::Float(number) => Ok(Value::Float(number.abs())),
            other => Err(format!("{other} is no number")),
        },
        Function::Int | Function::Round | Function::Float => match (function, one()?) {
            (Function::Int, Value::Float(number)) => Ok(whole(number.trunc())),
            (Function::Round, Value::Float(number)) => Ok(whole(number.round_ties_even())),
            (Function::Float, Value::Integer(number)) => Ok(Value::Float(*number as f64)),
            (_, number @ (Value::Integer(_) | Value::Float(_))) => Ok(number.clone()),
            (_, other) => Err(format!("{other} is no number")),
        },
        Function::Min | Function::Max => {
            let wanted =
                if function == Function::Min { Comparison::Less } else { Comparison::Greater };
            let Some((first, rest)) = arguments.split_first() else {
                return Err("min and max take at least one argument".into());
            };
            rest.iter()
                .try_fold(first, |best, next| {
                    compare(wanted, next, best).map(|better| if better { next } else { best })
                })
                .cloned()
        }
    }
}

fn too_large() -> Fault {
    "a number is too large".into()
}

#[cfg(test)]
mod tests;
