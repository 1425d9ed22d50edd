//! JSON output that is equal, byte for byte, to the output of Python's library.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{self, Write};

/// Writes a value like `json.dumps(value, indent=2, ensure_ascii=False)`.
///
/// # Errors
/// An error of the writer; a map whose keys are not strings.
pub fn write_json<T: Serialize + ?Sized>(value: &T, out: &mut impl Write) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Python::default()))?;
    Ok(())
}

/// Formatter with the layout of Python's `indent=2`, and Python's format of numbers.
#[derive(Default)]
struct Python(PrettyFormatter<'static>);

/// Methods in which the layouts of `serde_json` and Python agree.
macro_rules! alike {
    ($($name:ident($($first:ident)?)),+ $(,)?) => {$(
        fn $name<W: Write + ?Sized>(&mut self, out: &mut W $(, $first: bool)?) -> io::Result<()> {
            self.0.$name(out $(, $first)?)
        }
    )+};
}

impl Formatter for Python {
    alike! {
        begin_array(), end_array(), begin_array_value(first), end_array_value(),
        begin_object(), end_object(), begin_object_key(first), begin_object_value(),
        end_object_value()
    }

    /// Writes the shortest digits that read back as this number, as both Rust and Python do. Python
    /// uses exponents below 1e-4 and from 1e16 on, and writes them with a sign and at least two
    /// digits.
    fn write_f64<W: Write + ?Sized>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        let small = value.abs() < 1e-4 && value != 0.0;
        if !small && value.abs() < 1e16 {
            return write!(out, "{value:?}");
        }
        let text = format!("{value:e}");
        let (digits, power) = text.split_once('e').expect("a power of ten");
        let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
        write!(out, "{digits}e{sign}{power:0>2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(value: &impl Serialize) -> String {
        let mut out = Vec::new();
        write_json(value, &mut out).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn numbers_are_pythons() {
        // Numbers, each with the output of `repr` in Python 3.
        let known = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (0.0001, "0.0001"),
            (0.000_099_999, "9.9999e-05"),
            (-1e-5, "-1e-05"),
            (1.5e-7, "1.5e-07"),
            (5e-324, "5e-324"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e22, "1e+22"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
        ];
        for (value, text) in known {
            assert_eq!(written(&value), text);
        }
        assert_eq!(written(&u64::MAX), "18446744073709551615");
        assert_eq!(written(&[f64::NAN, f64::INFINITY]), "[\n  null,\n  null\n]");
    }

    #[test]
    fn the_layout_is_pythons() {
        let lists = json!({ "a": [1, {}, []], "b": { "c": null, "d": true } });
        let text = [
            "{",
            "  \"a\": [",
            "    1,",
            "    {},",
            "    []",
            "  ],",
            "  \"b\": {",
            "    \"c\": null,",
            "    \"d\": true",
            "  }",
            "}",
        ];
        assert_eq!(written(&lists), text.join("\n"));
        assert_eq!(written(&"ä\"\\\n\u{1f}\u{7f}"), "\"ä\\\"\\\\\\n\\u001f\u{7f}\"");
    }
}
