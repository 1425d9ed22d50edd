"""Conversion of the forms in which a user names a scenario to TOML."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import LOSSY

import retx
from retx.scenarios.source import TomlText, read, toml_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (7, "7"),
        (1e-4, "0.0001"),
        (1e-7, "1e-07"),
        (float("inf"), "inf"),
        ("20 ms", '"20 ms"'),
        ('say "hi"\n\t\\', '"say \\"hi\\"\\n\\t\\\\"'),
        ("ünï ☃ 🛰", '"ünï ☃ 🛰"'),
        ("\x7f", '"\\u007f"'),
        ([1, [2.5, "x"]], '[1, [2.5, "x"]]'),
        ({"name": "reno", "odd key": 1}, '{ name = "reno", "odd key" = 1 }'),
        (np.float64(0.5), "0.5"),
        (np.int64(3), "3"),
        (TomlText("bare"), "bare"),
    ],
)
def test_values_as_toml(value: object, text: str) -> None:
    assert toml_value(value) == text


def test_what_toml_cannot_hold() -> None:
    with pytest.raises(retx.ScenarioError, match="set is not a TOML value"):
        toml_value({1})


@pytest.mark.parametrize("title", ["ünï ☃ 🛰", "a\x7fb", "\u2028", '"""'])
def test_texts_survive_the_way_in(title: str) -> None:
    assert retx.resolve(LOSSY, overrides={"title": title})["title"] == title
    assert retx.resolve({**retx.resolve(LOSSY), "title": title})["title"] == title


def test_numbers_of_numpy_are_numbers() -> None:
    assert retx.resolve({**retx.resolve(LOSSY), "seed": np.int64(9)})["seed"] == 9
    assert retx.resolve(LOSSY, overrides={"seed": np.uint8(9)})["seed"] == 9


def test_a_line_break_tells_text_from_a_path(tmp_path: Path) -> None:
    assert read(LOSSY).name == "scenario"
    path = tmp_path / "s.toml"
    path.write_text(LOSSY)
    assert read(str(path)).text == LOSSY
    assert read(path).name == str(path)
    with pytest.raises(retx.ScenarioError, match="Out of range"):
        retx.run({"duration": float("nan")})
