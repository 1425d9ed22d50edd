"""The rules of style that a machine can hold.

`EXCEPTIONS` lists what breaks them today. It only shrinks: a rule that an entry no longer breaks
fails the test until the entry is taken out, and new entries need a reason in review.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from repository import ROOT, tracked
from rooms import (
    CIRCLES,
    CIRCLES_MAX,
    CRATES,
    PYTHON,
    circles,
    direct,
    is_test,
    python_uses,
    rust_modules,
    uses,
    without_tests,
)

ARCHITECTURE = ROOT / "ARCHITECTURE.md"

FILE_LINES, FILE_LINES_END = 400, 600
FUNCTION_LINES = 70
COLUMNS = 100

# Written backwards, so that this file does not hold them.
FORBIDDEN = [word[::-1] for word in ("ODOT", "EMXIF", ":XXX", "won rof", "!detnemelpminu", "!odot")]

EXCEPTIONS: set[tuple[str, str]] = {
    # The one writer of files: under a temporary name, then renamed.
    ("no clock, no I/O", "crates/record/src/atomic.rs"),
    # Runs share no state, so threads cannot change what any of them finds.
    ("no clock, no I/O", "crates/sim/src/pool.rs"),
}
"""Pairs of rule and path."""


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def held(rule: str, broken: dict[str, str]) -> None:
    """Fails with everything that breaks the rule, and for exceptions that are none any more."""
    excepted = {path for name, path in EXCEPTIONS if name == rule}
    wrong = [message for path, message in broken.items() if path not in excepted]
    assert not wrong, f"{rule}:\n" + "\n".join(wrong)
    stale = excepted - broken.keys()
    assert not stale, f"{rule}: take these out of EXCEPTIONS: {sorted(stale)}"


SOURCES = [path for path in tracked("*.rs", "*.py") if path.exists()]


def test_there_are_sources() -> None:
    assert len(SOURCES) > 40


def test_files_are_short() -> None:
    broken, counts = {}, []
    for path in SOURCES:
        if is_test(path):
            continue
        count = len(without_tests(path))
        counts.append(count)
        if count > FILE_LINES:
            broken[name_of(path)] = f"{name_of(path)}: {count} lines, more than {FILE_LINES}"
    assert max(counts) <= FILE_LINES_END
    held("file length", broken)


def test_lines_are_short() -> None:
    broken = {}
    for path in SOURCES:
        for number, line in enumerate(lines_of(path), start=1):
            # rustfmt leaves what it cannot break: tables in comments, macro arms, long texts.
            if len(line) > COLUMNS and not breakable_nowhere(line):
                broken[name_of(path)] = f"{name_of(path)}:{number}: {len(line)} columns"
    held("line length", broken)


def breakable_nowhere(line: str) -> bool:
    """A line that is one address, or one text that has no blank to break at."""
    return " " not in line.strip().lstrip("/!#* ")


def rust_functions(lines: list[str]) -> list[tuple[str, int, int]]:
    """Name, first line and length of each function, found by indentation as rustfmt lays it."""
    found = []
    start = re.compile(r"^(\s*)(?:pub(?:\([a-z ]+\))? )?(?:const |async |unsafe )*fn (\w+)")
    for number, line in enumerate(lines):
        match = start.match(line)
        if not match:
            continue
        end = f"{match[1]}}}"
        for last in range(number, len(lines)):
            if lines[last] == end or (last == number and line.endswith("}")):
                found.append((match[2], number + 1, last - number + 1))
                break
            if lines[last].endswith(";") and lines[last].startswith(match[1] + "fn"):
                break
    return found


def python_functions(path: Path) -> list[tuple[str, int, int]]:
    """Name, first line and length of each function, its docstring not counted."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        first = node.body[0]
        if ast.get_docstring(node) is not None:
            length -= (first.end_lineno or first.lineno) - first.lineno + 1
        found.append((node.name, node.lineno, length))
    return found


def test_functions_are_short() -> None:
    broken, seen = {}, 0
    for path in SOURCES:
        functions = (
            rust_functions(lines_of(path)) if path.suffix == ".rs" else python_functions(path)
        )
        seen += len(functions)
        for name, line, length in functions:
            if length > FUNCTION_LINES:
                broken[name_of(path)] = f"{name_of(path)}:{line}: {name} has {length} lines"
    assert seen > 300
    held("function length", broken)


def test_no_forbidden_words() -> None:
    broken = {}
    for path in tracked("*.rs", "*.py", "*.pyi", "*.toml", "*.md", "*.sh", "Makefile"):
        if not path.exists():
            continue
        for number, line in enumerate(lines_of(path), start=1):
            for word in FORBIDDEN:
                if word in line:
                    broken[name_of(path)] = f"{name_of(path)}:{number}: {word!r}"
    held("forbidden words", broken)


def dependencies(manifest: Path) -> set[str]:
    """The crates of retx that a crate uses, those for its tests alone not counted."""
    used, section = set(), ""
    for line in lines_of(manifest):
        if line.startswith("["):
            section = line.strip("[]")
        match = re.match(r"retx-(\w+)", line)
        if match and "dependencies" in section and "dev-dependencies" not in section:
            used.add(match[1])
    return used


@pytest.mark.parametrize("manifest", tracked("crates/*/Cargo.toml"), ids=lambda p: p.parent.name)
def test_crates_depend_downwards(manifest: Path) -> None:
    crate = manifest.parent.name
    assert crate in CRATES, f"say in rooms.py what crates/{crate} may use"
    beyond = dependencies(manifest) - direct(CRATES, crate)
    assert not beyond, f"crates/{crate} must not use {sorted(beyond)}"


def test_rooms_of_python_depend_downwards() -> None:
    """Imports within functions and for types count, too."""
    rooms, _ = python_uses()
    assert rooms == {room: direct(PYTHON, room) for room in PYTHON}
    lower: set[str] = set()
    for room in PYTHON:
        assert direct(PYTHON, room) <= lower, f"{room} uses a room that is listed after it"
        lower.add(room)


def test_the_architecture_says_what_each_room_may_use() -> None:
    """The components in ARCHITECTURE.md have the rooms that `rooms.py` permits, in its words."""
    rows = re.findall(r"^\| `([\w/]+)` \|.*\| ([^|]*) \|$", ARCHITECTURE.read_text(), re.M)
    wanted = {f"crates/{crate}": uses(CRATES, crate) for crate in CRATES}
    wanted |= {f"python/retx/{room}": uses(PYTHON, room) for room in PYTHON}
    assert {name: used for name, used in rows if name in wanted} == wanted


def test_modules_have_no_new_circles() -> None:
    """Python's imports for types do not count within a room; those within functions do."""
    found = {
        f"crates/{crate}": circles(rust_modules(ROOT / "crates" / crate / "src"))
        for crate in CRATES
    }
    found["python/retx"] = circles(python_uses()[1])
    known = {room: {frozenset(it.split()) for it in CIRCLES[room]} for room in CIRCLES}
    assert {room: them for room, them in found.items() if them} == known
    assert sum(map(len, known.values())) <= CIRCLES_MAX


PACKET_PATH = ROOT / "docs" / "packet-path.md"
PACKET_PATH_WORDS = 450
"""Maximum length of the ten steps, without the appendices."""


def test_the_packets_way_is_short_and_names_what_exists() -> None:
    """Every `Type::function`, function and file in docs/packet-path.md is in the Rust sources."""
    page = PACKET_PATH.read_text(encoding="utf-8")
    steps = page.partition("\n## ")[0]
    assert len(re.findall(r"^\d+\. ", steps, re.M)) == 10
    assert len(steps.split()) <= PACKET_PATH_WORDS
    sources = {
        name_of(path).removeprefix("crates/"): "\n".join(without_tests(path))
        for path in tracked("crates/*/src/*.rs")
        if path.exists()
    }
    missing = []
    for named in sorted(set(re.findall(r"`([^`]+)`", page))):
        kind, _, function = named.rpartition("::")
        if re.fullmatch(r"[\w/]+\.rs", named):
            found = any(f"/{path}".endswith(f"/{named}") for path in sources)
        elif re.fullmatch(r"[\w/]+", named) and "/" in named:
            found = any(path.startswith(f"{named}/") or path == f"{named}.rs" for path in sources)
        elif re.fullmatch(r"[a-z_]+", function) and (kind or "_" in function):
            owner = re.compile(rf"^(?:impl\b.*|pub trait )\b{kind}\b", re.M)
            texts = [text for text in sources.values() if not kind or owner.search(text)]
            found = any(re.search(rf"\bfn {function}\b", text) for text in texts)
        else:
            continue
        missing += [] if found else [named]
    assert not missing, f"docs/packet-path.md: not in the sources: {missing}"


def test_no_file_of_tests_is_left_out() -> None:
    """A crate has one program of tests, `all`; a file that no `mod` names would test nothing."""
    broken = {}
    for path in tracked("crates/*/tests/*.rs"):
        if not path.exists() or path.parts[-3:] == ("tests", "all", "main.rs"):
            continue
        module = path.parent if path.name == "mod.rs" else path.with_suffix("")
        names = [module.parent / name for name in ("main.rs", "mod.rs")]
        named = re.compile(rf"(pub )?mod {module.name};")
        if not any(named.match(line) for it in names if it.exists() for line in lines_of(it)):
            broken[name_of(path)] = f"{name_of(path)}: no mod {module.name};"
    held("files of tests", broken)


def test_comments_hold_no_code_that_nobody_runs() -> None:
    """`make test` leaves doc tests out, so a block in a comment says that it is none: `text`."""
    fence = re.compile(r"//[/!] *```(\w*)")
    broken = {}
    for path in SOURCES:
        found = [match[1] for line in lines_of(path) if (match := fence.search(line))]
        if path.suffix == ".rs" and set(found[::2]) - {"text"}:
            broken[name_of(path)] = f"{name_of(path)}: a block that is not marked `text`"
    held("code in comments", broken)


def test_unsafe_code_stays_where_c_begins() -> None:
    """Only the interfaces to C switch the lint off."""
    boundaries = [
        ROOT / "crates" / name / "src" / "boundary" for name in ("emulate", "packetdrill", "py")
    ]
    allowing = re.compile(r"allow\(.*unsafe_code|unsafe_code = \"(allow|warn|deny)")
    found = [
        path
        for path in tracked("*.rs", "*.toml")
        if path.exists() and any(allowing.search(line) for line in lines_of(path))
    ]
    manifests = [boundary.parents[1] / "Cargo.toml" for boundary in boundaries]
    assert found == sorted([*manifests, *(boundary / "mod.rs" for boundary in boundaries)])


def test_the_models_touch_no_clock_and_no_files() -> None:
    """`units` to `sim` are pure; `record` may write to what it is handed."""
    pattern = re.compile(
        r"std::(time|fs|env|thread)\b|std::net::(Tcp|Udp)|println!|SystemTime|Instant::now"
    )
    broken = {}
    for path in SOURCES:
        parts = path.relative_to(ROOT).parts
        doors = ("py", "packetdrill", "emulate", "store")
        pure = parts[:1] == ("crates",) and parts[1] not in doors
        if not pure or parts[2] != "src" or is_test(path):
            continue
        for number, line in enumerate(without_tests(path), start=1):
            if pattern.search(line) and not line.lstrip().startswith("//"):
                broken[name_of(path)] = f"{name_of(path)}:{number}: {line.strip()}"
    held("no clock, no I/O", broken)


PRONOUNS = (
    "How|It|Its|Such|That|The same|Their|These|They|This|Those|What|When|Where|Whether|Which|Who"
    "|Whose|Why"
)
"""Doc comments never open with one of these."""

PREPOSITIONS = (
    "After|Against|Among|As|At|Before|Behind|Between|Beyond|By|During|For|From|If|In|Of|On|Over"
    "|Since|So|To|Under|Until|While|With|Within|Without"
)

PREPOSITIONS_MAX = 125
"""Doc comments that open with a preposition or conjunction, of ten thousand; it only falls."""


def test_doc_comments_open_with_their_subject() -> None:
    pronouns, prepositions = (
        re.compile(rf"\s*//[/!] (?:{words})\b") for words in (PRONOUNS, PREPOSITIONS)
    )
    broken, count = [], 0
    for path in SOURCES:
        if path.suffix != ".rs":
            continue
        before = ""
        for number, line in enumerate(lines_of(path), start=1):
            begins = not before.strip().startswith(("///", "//!"))
            if begins and pronouns.match(line):
                broken.append(f"{name_of(path)}:{number}: {line.strip()}")
            count += bool(begins and prepositions.match(line))
            before = line
    assert not broken, "doc comments that open with a pronoun:\n" + "\n".join(broken)
    assert count <= PREPOSITIONS_MAX, f"{count} doc comments open with a preposition"


def docstrings(path: Path) -> list[tuple[int, str]]:
    """Line and text of each docstring, and of each text below a constant or an attribute."""
    bodies = [
        node.body
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    return [
        (line.lineno, line.value.value.strip())
        for body in bodies
        for line in body
        if isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    ]


def test_docstrings_open_with_their_subject() -> None:
    pronouns = re.compile(rf"(?:{PRONOUNS})\b")
    found = [
        (f"{name_of(path)}:{line}: {text.splitlines()[0]}", bool(pronouns.match(text)))
        for path in SOURCES
        if path.suffix == ".py"
        for line, text in docstrings(path)
        if text
    ]
    assert len(found) > 1000
    broken = [message for message, opens in found if opens]
    assert not broken, "docstrings that open with a pronoun:\n" + "\n".join(broken)


# Names that no source of the field knows; docs/decisions/0024 has what replaced them.
HOUSE_NAMES = (
    "Air|Aside|at_issue|be_fed|beside_of|books|bring|choose_course|frr_count|happenings|in_air"
    "|boxed_number|let_go|patience|Rhythm|settle|short_ways|state_of_losses|take_question|tell|told"
    "|turn_away|twins|What"
)


def test_house_names_do_not_come_back() -> None:
    name = re.compile(rf"\b(?:fn|struct|enum|let|let mut|mod|def|class|pub) (?:{HOUSE_NAMES})\b")
    broken = [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(lines_of(path), start=1)
        if name.search(line)
    ]
    assert not broken, "\n".join(broken)


EXPLAINED_LEAST = 4.0
"""Explaining comments per 100 lines of code where the code is hard: above the code, saying why."""

EXPLAINED = {
    "engine": ("sim/src/engine", "sim/src/event_queue", "sim/src/packet"),
    "pipes": ("link/src/pipe",),
    "fast path": ("tcp/src/connection/fast_path",),
    "recovery": ("tcp/src/loss_detection", "tcp/src/scoreboard"),
    "connection": ("tcp/src/connection",),
    "congestion control": ("tcp/src/congestion_control",),
    "diagnosis of a flow": ("diagnose/src/flow",),
    "emulator": ("emulate/src",),
}


@pytest.mark.parametrize("area", EXPLAINED)
def test_hard_steps_are_explained(area: str) -> None:
    starts = tuple(f"crates/{start}" for start in EXPLAINED[area])
    code = comments = 0
    for path in SOURCES:
        if path.suffix == ".rs" and name_of(path).startswith(starts) and not is_test(path):
            lines = [line.strip() for line in without_tests(path)]
            comments += sum(line.startswith("//") and line[2:3] not in "/!" for line in lines)
            code += sum(bool(line) and not line.startswith("//") for line in lines)
    assert code > 500
    share = 100 * comments / code
    assert share >= EXPLAINED_LEAST, f"{area}: {share:.2f} per 100 lines"
