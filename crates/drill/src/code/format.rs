//! `%` formatting: `'cwnd=%d' % tcpi_snd_cwnd`.

use super::Value;

/// Replaces the conversion specifiers (`%d`, …) of a text by values. Widths and precisions are
/// ignored.
///
/// # Errors
/// More or fewer values than specifiers, or an unknown specifier.
pub fn format_percent(text: &str, values: &Value) -> Result<String, String> {
    let mut values = match values {
        Value::Tuple(values) => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        result.push_str(before);
        let mark = after.trim_start_matches(|c: char| c.is_ascii_digit() || ".-+ ".contains(c));
        let Some(kind) = mark.chars().next() else { return Err("a % stands at the end".into()) };
        if kind == '%' {
            result.push('%');
        } else {
            let Some((value, others)) = values.split_first() else {
                return Err("fewer values than % marks".into());
            };
            values = others;
            match (kind, value) {
                ('d' | 'i' | 'u', Value::Float(number)) => result += &format!("{number:.0}"),
                ('f', number) => match number.as_number() {
                    Some(number) => result += &format!("{number:.6}"),
                    None => return Err(format!("{number} is no number")),
                },
                ('x', Value::Integer(number)) => result += &format!("{number:x}"),
                ('d' | 'i' | 'u' | 's' | 'r' | 'g', value) => result += &value.to_string(),
                _ => {
                    return Err(format!("no mark %{} is known for {value}", kind.escape_default()));
                }
            }
        }
        rest = &mark[kind.len_utf8()..];
    }
    if !values.is_empty() {
        return Err("more values than % marks".into());
    }
    result.push_str(rest);
    Ok(result)
}
