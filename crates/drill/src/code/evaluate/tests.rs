use super::*;

struct Some5;
impl NameSource for Some5 {
    fn value(&self, name: &str) -> Result<Value, String> {
        if name == "five" { Ok(Value::Integer(5)) } else { Err(format!("no {name}")) }
    }
}

fn run(text: &str) -> Result<(Outcome, Vec<String>), Refusal> {
    let block = crate::code::parse(text, 10)?;
    let mut program = Program::default();
    let outcome = program.run(&block, &Some5)?;
    Ok((outcome, program.printed))
}

#[test]
fn python_agrees() {
    for held in [
        "assert five == 5, five",
        "assert (five & 4) != 0; assert five | 2 == 7 and not five < 5",
        "assert 1 < 2 <= five > 4",
        "assert -7 // 2 == -4 and -7 % 3 == 2 and 7 / 2 == 3.5",
        "assert 2 + 3 * 4 == 14 and (2 + 3) * 4 == 20 and 1 << 3 == 8",
        "cwnd = 10; cwnd += 1\nassert cwnd == 11",
        "assert (\n five ==\n 5)  # a comment\n\n",
        "assert five \\\n == 5",
        "assert min(3, five, 4) == 3 and max(1, 2.5) == 2.5 and abs(-3) == 3",
        "assert 0x7fffffff == 2147483647 and 1e3 == 1000 and 1.5e-1 < .2",
        "assert '%d of %s' % (five, 'x') == \"5 of x\"",
        "assert 5 or missing",
        "assert (five, 3) == (5, 3) and (five, 3) != (5, 4), (five, 1)",
        "assert (1, 2) < (1, 3) < (1, 3, 0) and not (1, 2) == (1, 2, 3)",
        "assert (1, (2, 'x')) == (1, (2, 'x')) and 'a' != 1 and (1,) != 1",
        "pass",
    ] {
        assert_eq!(run(held).map(|(outcome, _)| outcome), Ok(Outcome::Held), "{held}");
    }
    assert_eq!(run("print(five, 'x'); print five").unwrap().1, ["5 x", "5"]);
}

#[test]
fn a_broken_assertion_names_its_line_text_and_values() {
    let (outcome, _) = run("x = 1\nassert x + 1 == five, 'now %d' % x").unwrap();
    assert_eq!(
        outcome,
        Outcome::Broken {
            line: 11,
            text: "x + 1 == five".into(),
            message: "now 1; x = 1, five = 5".into(),
        }
    );
}

#[test]
fn what_is_not_played_is_refused() {
    for (text, part) in [
        ("assert six == 6", "no six"),
        ("import os", "expected assert, print or an assignment"),
        ("assert open('x')", "no function open"),
        ("assert 1 == ", "expected a value"),
        ("assert 'x", "no end"),
        ("assert 1 / 0", "division by zero"),
        ("assert 1 == 1 2", "expected the end of the statement"),
        ("x = 1 if 2 else 3", "expected the end of the statement"),
        ("assert 'a' < 1", "cannot be compared"),
        ("assert (1, 'a') < (1, 2)", "cannot be compared"),
        ("assert ?", "has no meaning"),
        ("assert 1 << 99 << 99", "too large"),
    ] {
        let refusal = run(text).unwrap_err();
        assert_eq!(refusal.line, 10, "{text}");
        assert!(refusal.message.contains(part), "{text}: {refusal:?}");
    }
    let deep = format!("assert {}1{}", "(".repeat(100), ")".repeat(100));
    assert!(run(&deep).unwrap_err().message.contains("too deeply"));
    let long = format!("assert 1{}", " + 1".repeat(300));
    assert!(run(&long).unwrap_err().message.contains("too long"));
}
