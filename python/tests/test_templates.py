"""Scenarios of `retx init --like`: each runs at once, and each figure says where it is from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import retx
from retx.errors import UsageError
from retx.scenarios import templates

NAMES = ("datacentre", "dsl", "lte", "satellite", "starlink", "wifi")
FREE = ("title", "seed", "name", "ends", "sample_interval", 'start = "0 s"')
"""Lines that stand for no figure of a path."""
CITED = re.compile(r"\[\d\]|chosen")


def body(name: str) -> str:
    """A template below its sources."""
    return templates.text(name).split("\ntitle = ", 1)[1]


def test_the_templates_are_listed() -> None:
    assert tuple(templates.names()) == NAMES
    listed = retx.describe()["template"]
    assert [entry["name"] for entry in listed] == list(NAMES)
    assert all(
        entry["summary"].endswith(".") and "FILE" not in entry["summary"] for entry in listed
    )


def test_an_error_names_the_nearest_template() -> None:
    with pytest.raises(UsageError, match="did you mean 'satellite'"):
        templates.text("satelite")


@pytest.mark.parametrize("name", NAMES)
def test_a_template_runs_at_once(name: str, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(templates.text(name))
    result = retx.run(file, overrides={"duration": "2 s"}, segments=False, progress=False)
    assert result.flows["bytes_delivered"].sum() > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_says_where_it_is_from(name: str) -> None:
    head = templates.text(name).partition("\ntitle = ")[0]
    sources = set(re.findall(r"^# (\[\d\]) \w", head, re.MULTILINE))
    assert sources
    inside = False
    used = set[str]()
    for line in body(name).splitlines()[1:]:
        used |= set(re.findall(r"\[\d\]", line.partition("#")[2]))
        figure = re.search(r"\d", line.partition("#")[0]) and not line.startswith(("#", *FREE))
        if figure and not inside and not line.strip().startswith("}"):
            assert CITED.search(line.partition("#")[2]), line
        opens = line.partition("#")[0].rstrip().endswith(("[", "= ["))
        inside = (inside or (opens and bool(CITED.search(line)))) and line not in ("]",)
    assert used <= sources


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("datacentre", "queue = {", ("# queue = {", "# ecn = true")),
        ("lte", "forward.", ("# forward.",)),
    ],
)
def test_the_alternatives_in_comments_are_no_worse(
    name: str, old: str, new: tuple[str, ...], tmp_path: Path
) -> None:
    lines = templates.text(name).splitlines()
    kept = [line for line in lines if not line.startswith(old)]
    used = [line.removeprefix("# ") if line.startswith(new) else line for line in kept]
    text = "\n".join(used)
    (tmp_path / "cell.down").write_text("1\n2\n5\n")
    (tmp_path / "s.toml").write_text(text)
    assert retx.resolve(tmp_path / "s.toml") != retx.resolve(templates.text(name))


def test_a_proxy_can_be_put_into_the_satellite() -> None:
    text = templates.text("satellite")
    for line in ("[[relay]]", 'name = "proxy"', 'node = "gateway"', 'kind = "split"'):
        text = text.replace(f"# {line}", line)
    assert len(retx.resolve(text)["relay"]) == 1


def test_init_writes_a_template_and_knows_no_others(cli, tmp_path: Path) -> None:
    assert cli("init", "sat.toml", "--like", "satellite").returncode == 0
    text = (tmp_path / "cwd" / "sat.toml").read_text()
    assert "retx why sat.toml" in text
    refused = cli("init", "moon.toml", "--like", "moon")
    assert (refused.returncode, "there are datacentre" in refused.stderr) == (2, True)
    assert not (tmp_path / "cwd" / "moon.toml").exists()
    shown = cli("list", "templates", "satellite").stdout
    assert body("satellite") in shown
