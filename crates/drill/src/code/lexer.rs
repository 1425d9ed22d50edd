//! Lexer of code blocks.

use crate::fault::Refusal;

/// Token of a code block.
#[derive(Debug, Clone, PartialEq)]
pub enum CodeToken {
    /// A name or keyword.
    Name(String),
    /// Integer.
    Integer(i128),
    /// Floating-point number.
    Float(f64),
    /// String, without its quotes.
    Text(String),
    /// An operator or bracket.
    Sign(&'static str),
    /// The end of a line, or `;`.
    Newline,
    /// End of the block.
    End,
}

/// Token with its line and its position in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct LocatedToken {
    /// The token.
    pub token: CodeToken,
    /// Line in the script.
    pub line: u32,
    /// Offset of the token's first byte.
    pub start: usize,
    /// Offset after the token's last byte.
    pub end: usize,
}

/// Operators and brackets, longest first, so that `<` does not match the start of `<=`.
const SIGNS: [&str; 28] = [
    "//=", "==", "!=", "<=", ">=", "<<", ">>", "//", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "+",
    "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "(", ")",
];

/// Splits a code block into tokens. `line` is its first line.
///
/// # Errors
/// A character or a number that is not Python, or an unterminated string.
pub fn tokenize(text: &str, line: u32) -> Result<Vec<LocatedToken>, Refusal> {
    let mut lexer = Lexer { text, at: 0, line, depth: 0, tokens: Vec::new() };
    while lexer.at < text.len() {
        lexer.step()?;
    }
    lexer.push(CodeToken::End, lexer.at);
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// Number of open brackets, inside which line ends are ignored.
    depth: u32,
    tokens: Vec<LocatedToken>,
}

impl Lexer<'_> {
    fn push(&mut self, word: CodeToken, from: usize) {
        self.tokens.push(LocatedToken { token: word, line: self.line, start: from, end: self.at });
    }

    fn step(&mut self) -> Result<(), Refusal> {
        let rest = &self.text[self.at..];
        let from = self.at;
        let first = rest.chars().next().expect("there is text left");
        if first == '\n' || first == ';' {
            self.at += 1;
            if self.depth == 0 {
                self.push(CodeToken::Newline, from);
            }
            self.line += u32::from(first == '\n');
        } else if let Some(length) = continued(rest) {
            self.at += length;
            self.line += 1;
        } else if first.is_whitespace() {
            self.at += first.len_utf8();
        } else if first == '#' {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(is_digit)) {
            self.number()?;
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            self.at += end.unwrap_or(rest.len());
            self.push(CodeToken::Name(self.text[from..self.at].to_owned()), from);
        } else if first == '"' || first == '\'' {
            let end = rest[1..].find(first).filter(|end| !rest[1..=*end].contains('\n'));
            let end = end.ok_or_else(|| self.refuse("this text has no end"))?;
            self.at += end + 2;
            self.push(CodeToken::Text(rest[1..=end].to_owned()), from);
        } else {
            self.sign()?;
        }
        Ok(())
    }

    fn sign(&mut self) -> Result<(), Refusal> {
        const MORE: [&str; 5] = ["=", ",", "[", "]", "."];
        let rest = &self.text[self.at..];
        let sign = SIGNS.iter().chain(&MORE).find(|sign| rest.starts_with(**sign));
        let Some(sign) = sign else {
            let first = rest.chars().next().unwrap_or(' ');
            return Err(self.refuse(&format!("\"{}\" has no meaning here", first.escape_default())));
        };
        match *sign {
            "(" => self.depth += 1,
            ")" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let from = self.at;
        self.at += sign.len();
        self.push(CodeToken::Sign(sign), from);
        Ok(())
    }

    fn number(&mut self) -> Result<(), Refusal> {
        let rest = &self.text[self.at..];
        let from = self.at;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        let mut end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        // A sign after the `e` of an exponent, as in `1e-3`, belongs to the number.
        let hex = rest.starts_with("0x");
        if !hex && rest[..end].ends_with(['e', 'E']) && rest[end..].starts_with(['+', '-']) {
            let digits = rest[end + 1..].find(|c: char| !c.is_ascii_digit());
            end += 1 + digits.unwrap_or(rest.len() - end - 1);
        }
        let text = rest[..end].replace('_', "");
        let integer = match text.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let word = match (integer, text.parse::<f64>()) {
            (Some(integer), _) => CodeToken::Integer(integer),
            (None, Ok(float)) if float.is_finite() && !hex => CodeToken::Float(float),
            _ => return Err(self.refuse(&format!("{} is no number", crate::token::clip(&text)))),
        };
        self.at += end;
        self.push(word, from);
        Ok(())
    }

    fn refuse(&self, message: &str) -> Refusal {
        Refusal::new(self.line, format!("in the code block: {message}"))
    }
}

/// Length of a `\` and the line end after it, if `rest` begins with them; otherwise `None`.
fn continued(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('\\')?;
    let newline = after.find('\n')?;
    after[..newline].trim().is_empty().then_some(newline + 2)
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}
