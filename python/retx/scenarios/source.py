"""Conversion of a scenario (a path, TOML text or a dict) to text with a name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx._native import ScenarioError
from retx.errors import UsageError
from retx.files.standard_input import content as standard_input
from retx.files.standard_input import is_standard_input

if TYPE_CHECKING:
    from retx.plugins.user_code import Place

Scenario = str | os.PathLike[str] | Mapping[str, Any]

LIMIT_BYTES = 16 << 20
"""Size limit of a scenario, far above any need. The limit ends the reading of endless files such as
/dev/zero.
"""


class Source:
    """Text of a scenario, and its name in errors.

    Args:
        text: The text.
        name: Name in errors.
        is_json: True for JSON, False for TOML.
        base: Directory to which relative paths in the scenario refer.
        classes: Classes in a scenario that is given as a dict.
    """

    def __init__(
        self,
        text: str,
        name: str,
        *,
        is_json: bool = False,
        base: Path | None = None,
        classes: dict[Place, type] | None = None,
    ) -> None:
        self.text = text
        self.name = name
        self.is_json = is_json
        self.base = base or Path()
        self.classes: dict[Place, type] = {} if classes is None else classes


def read(scenario: Scenario) -> Source:
    """Text of a scenario.

    A mapping is treated like the contents of a file; decisions in it may be classes (see
    `retx.decisions`). A string with a line break is TOML; any other string, and any path object, is
    the path of a file, or `-` for the standard input.

    Raises:
        OSError: The file cannot be read.
        ScenarioError: The file is not text.
    """
    if isinstance(scenario, Mapping):
        return _from_mapping(scenario)
    if isinstance(scenario, str) and "\n" in scenario:
        return Source(scenario, "scenario")
    if not isinstance(scenario, str | os.PathLike):
        raise TypeError(f"a scenario is a path, TOML text or a dict, not {type(scenario).__name__}")
    if not os.fspath(scenario):
        raise UsageError("the scenario is empty: name a file")
    return _from_file(Path(scenario))


def _from_mapping(scenario: Mapping[str, Any]) -> Source:
    classes: dict[Place, type] = {}
    named = with_names(scenario, classes)
    try:
        text = json.dumps(named, allow_nan=False, default=plain)
        return Source(text, "scenario", is_json=True, classes=classes)
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"scenario: {error}") from None


def with_names(value: Any, classes: dict[Place, type]) -> Any:  # noqa: ANN401
    """Value with names in place of classes, which are added to `classes`."""
    if isinstance(value, type):
        from retx.plugins.user_code import named

        return named(value, classes)
    if isinstance(value, Mapping):
        items = {key: with_names(item, classes) for key, item in value.items()}
        if isinstance(items.get("class"), dict):
            # { name = "python", class = Aimd, … }
            items |= items["class"]
        return items
    if isinstance(value, list | tuple):
        return [with_names(item, classes) for item in value]
    return value


def plain(value: Any) -> object:  # noqa: ANN401
    """Plain Python value: NumPy numbers as int or float, arrays and polars columns as lists."""
    for name in ("item", "tolist", "to_list"):
        with suppress(ValueError, AttributeError):  # an array is no single item
            return getattr(value, name)()
    raise TypeError(f"{value!r}: {type(value).__name__} is not a TOML value")


def _from_file(path: Path) -> Source:
    name = os.fsencode(path).decode("utf-8", "backslashreplace")
    if is_standard_input(path):
        name, content = "standard input", standard_input(LIMIT_BYTES + 1)
    else:
        with path.open("rb") as file:
            content = file.read(LIMIT_BYTES + 1)
    if len(content) > LIMIT_BYTES:
        raise ScenarioError(
            f"{name}: larger than {LIMIT_BYTES >> 20} MiB, the limit for a scenario file"
        )
    try:
        return Source(content.decode("utf-8"), name, base=path.parent)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ScenarioError(
            f"{name}:{line}: not text: byte 0x{content[error.start]:02x} is not UTF-8; "
            "a scenario is a TOML file"
        ) from None


def override_pairs(
    overrides: Mapping[str, Any] | None, classes: dict[Place, type] | None = None
) -> list[tuple[str, str]]:
    """Overrides in the form of `--set`: keys and TOML values.

    Classes in them are added to `classes`.

    Raises:
        ScenarioError: TOML cannot represent the value.
        UsageError: The overrides are not a mapping, or a key is not text.
    """
    collected = {} if classes is None else classes
    if not isinstance(overrides, Mapping | None):
        raise UsageError(f"overrides is {overrides!r}: a dict of values by their key is needed")
    pairs = []
    for key, value in (overrides or {}).items():
        if not isinstance(key, str):
            raise UsageError(f"overrides: the key {key!r} is no text, such as 'seed'")
        try:
            text = toml_value(value if isinstance(value, str) else with_names(value, collected))
        except ScenarioError as error:
            raise ScenarioError(f"overrides: {key}: {error}") from None
        pairs.append((key, text))
    return pairs


class TomlText(str):
    """Text that is already TOML, such as a value of `--set`."""

    __slots__ = ()


def toml_value(value: object) -> str:
    """A Python value as an inline TOML value."""
    if isinstance(value, TomlText):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        items = (f"{_toml_key(str(key))} = {toml_value(item)}" for key, item in value.items())
        return "{ " + ", ".join(items) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, int | float) and not hasattr(value, "item"):
        return repr(value)
    if value is None:
        raise ScenarioError(
            'None is not a TOML value: leave the key out, or unset an optional field by "none"'
        )
    try:
        return toml_value(plain(value))
    except TypeError as error:
        raise ScenarioError(str(error)) from None


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_text(key)


def _toml_text(text: str) -> str:
    # Basic strings of TOML equal those of JSON, except that DEL must be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
