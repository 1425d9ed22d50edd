//! Lexer of scripts.

use crate::fault::Refusal;

/// Kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind<'a> {
    /// `write`, `mss`, `SOCK_STREAM`.
    Word(&'a str),
    /// `1460`, `-1`.
    Integer(&'a str),
    /// `0x402`, without the `0x`.
    Hex(&'a str),
    /// `.1`, `0.25`.
    Decimal(&'a str),
    /// `192.0.2.1`.
    Address(&'a str),
    /// `"reno"`, without the quotes.
    Text(&'a str),
    /// Text between back quotes.
    Command(&'a str),
    /// Text between `%{` and `}%`.
    Code(&'a str),
    /// `--mss=1000` as a whole.
    Flag(&'a str),
    /// `...`
    Ellipsis,
    /// Any other character.
    Symbol(char),
    /// End of the script.
    End,
}

/// Token and its first line.
#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    /// Kind of token, with its text.
    pub kind: TokenKind<'a>,
    /// Line, from 1.
    pub line: u32,
}

/// Splits a text into tokens; the last is [`TokenKind::End`].
///
/// # Errors
/// An unterminated comment, string, command or code block.
pub fn tokenize(text: &str) -> Result<Vec<Token<'_>>, Refusal> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        let line = lexer.line;
        let kind = lexer.next()?;
        tokens.push(Token { kind, line });
        if kind == TokenKind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Lexer<'a> {
    /// Consumes and returns the next `bytes` bytes.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.bytes().filter(|byte| *byte == b'\n').count() as u32;
        self.rest = rest;
        taken
    }

    /// Skips blanks, `// …` and `/* … */`.
    fn skip_blank(&mut self) -> Result<(), Refusal> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if self.rest.starts_with("//") {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take(end);
            } else if self.rest.starts_with("/*") {
                let line = self.line;
                let end = self.rest[2..].find("*/").ok_or_else(|| {
                    Refusal::new(line, "this comment has no end: close it with */")
                })?;
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<TokenKind<'a>, Refusal> {
        let Some(first) = self.rest.chars().next() else { return Ok(TokenKind::End) };
        Ok(match first {
            '-' if self.rest.starts_with("--") => TokenKind::Flag(self.flag()),
            '`' => TokenKind::Command(self.enclosed("`", "`", "command")?),
            '%' if self.rest.starts_with("%{") => {
                TokenKind::Code(self.enclosed("%{", "}%", "code block")?)
            }
            '"' => TokenKind::Text(self.enclosed("\"", "\"", "text")?),
            '.' if self.rest.starts_with("...") => {
                self.take(3);
                TokenKind::Ellipsis
            }
            _ if self.number_length() > 0 => self.number(),
            _ if is_word(first) => {
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                TokenKind::Word(self.take(end))
            }
            _ => {
                self.take(first.len_utf8());
                TokenKind::Symbol(first)
            }
        })
    }

    /// Text between two marks; a `\` before a closing mark of one character escapes that mark.
    fn enclosed(&mut self, open: &str, close: &str, what: &str) -> Result<&'a str, Refusal> {
        let line = self.line;
        let body = &self.rest[open.len()..];
        let mut from = 0;
        loop {
            let Some(end) = body[from..].find(close).map(|at| from + at) else {
                let message = format!("this {what} has no end: close it with {close}");
                return Err(Refusal::new(line, message));
            };
            let escaped = close.len() == 1 && body[..end].ends_with('\\');
            if !escaped {
                self.take(open.len() + end + close.len());
                return Ok(&body[..end]);
            }
            from = end + close.len();
        }
    }

    /// Text up to the next blank that is neither in quotes nor in brackets.
    fn flag(&mut self) -> &'a str {
        let (mut quoted, mut depth) = (false, 0_i32);
        let end = self.rest.find(|c: char| {
            match c {
                '"' => quoted = !quoted,
                '{' | '[' if !quoted => depth += 1,
                '}' | ']' if !quoted => depth -= 1,
                '\n' => return true,
                _ => {}
            }
            c.is_whitespace() && !quoted && depth <= 0
        });
        self.take(end.unwrap_or(self.rest.len()))
    }

    /// Length of the number at the current position; 0 if there is none.
    fn number_length(&self) -> usize {
        let bytes = self.rest.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let mut at = usize::from(bytes.first() == Some(&b'-'));
        while digit(at) {
            at += 1;
        }
        while bytes.get(at) == Some(&b'.') && digit(at + 1) {
            at += 1;
            while digit(at) {
                at += 1;
            }
        }
        let has_digit = bytes[..at].iter().any(u8::is_ascii_digit);
        // A number followed by a letter is a word, except for `0x…`.
        let word = bytes.get(at).is_some_and(|byte| is_word(char::from(*byte)));
        let hex = at == 1 && bytes.starts_with(b"0x");
        if has_digit && (!word || hex) { at } else { 0 }
    }

    fn number(&mut self) -> TokenKind<'a> {
        if self.rest.starts_with("0x") {
            let end = self.rest[2..].find(|c: char| !c.is_ascii_hexdigit());
            let digits = end.unwrap_or(self.rest.len() - 2);
            return TokenKind::Hex(&self.take(2 + digits)[2..]);
        }
        let length = self.number_length();
        let text = self.take(length);
        match text.bytes().filter(|byte| *byte == b'.').count() {
            0 => TokenKind::Integer(text),
            1 => TokenKind::Decimal(text),
            _ => TokenKind::Address(text),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl TokenKind<'_> {
    /// Description of the token for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Word(text) | Self::Integer(text) | Self::Decimal(text) | Self::Address(text) => {
                format!("\"{}\"", clip(text))
            }
            Self::Hex(text) => format!("\"0x{}\"", clip(text)),
            Self::Text(text) => format!("the text \"{}\"", clip(text)),
            Self::Command(_) => "a command in back quotes".into(),
            Self::Code(_) => "a code block".into(),
            Self::Flag(text) => format!("the flag {}", clip(text)),
            Self::Ellipsis => "\"...\"".into(),
            Self::Symbol(symbol) => format!("\"{}\"", symbol.escape_default()),
            Self::End => "the end of the script".into(),
        }
    }
}

/// Shortens a text for a message.
pub fn clip(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_default).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind<'_>> {
        tokenize(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn times_flags_and_ranges() {
        use TokenKind::{Decimal, Ellipsis, End, Flag, Integer, Symbol, Word};
        assert_eq!(
            kinds("--mss=1000 +.01...0.2 > P. 1:5(4)"),
            [
                Flag("--mss=1000"),
                Symbol('+'),
                Decimal(".01"),
                Ellipsis,
                Decimal("0.2"),
                Symbol('>'),
                Word("P"),
                Symbol('.'),
                Integer("1"),
                Symbol(':'),
                Integer("5"),
                Symbol('('),
                Integer("4"),
                Symbol(')'),
                End
            ]
        );
        assert_eq!(
            kinds("0...1 -1 0x1F 192.0.2.1 1ab"),
            [
                Integer("0"),
                Ellipsis,
                Integer("1"),
                Integer("-1"),
                TokenKind::Hex("1F"),
                TokenKind::Address("192.0.2.1"),
                Word("1ab"),
                End
            ]
        );
    }

    #[test]
    fn lines_are_counted_through_comments_and_blocks() {
        let tokens = tokenize("/* a\nb */ // c\n%{ x\ny }% `d\ne` 7").unwrap();
        let lines: Vec<u32> = tokens.iter().map(|token| token.line).collect();
        assert_eq!(lines, [3, 4, 5, 5]);
        assert_eq!(tokens[0].kind, TokenKind::Code(" x\ny "));
    }

    #[test]
    fn what_has_no_end_is_refused_at_its_beginning() {
        for text in ["1\n/* x", "1\n\"x", "1\n`x\\`", "1\n%{ x }"] {
            let refusal = tokenize(text).unwrap_err();
            assert_eq!(refusal.line, 2, "{text}");
            assert!(refusal.message.contains("no end"), "{refusal:?}");
        }
    }
}
