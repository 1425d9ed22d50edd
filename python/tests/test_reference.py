"""A run without anything that exists only for speed has the same results."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import retx

ROOT = Path(__file__).parents[2]
SCENARIOS = ["last-hop-snoop", "last-hop-split", "noisy-download", "parking-lot", "wifi"]


def rendered(result: Any) -> str:
    """The summary without its count of events and the clock."""
    return json.dumps({key: value for key, value in result.items() if key != "engine"})


@pytest.mark.parametrize("name", SCENARIOS)
def test_results_are_those_of_the_reference(name: str) -> None:
    path = ROOT / "scenarios" / f"{name}.toml"
    fast, reference = (retx.run(path, reference=reference) for reference in (False, True))
    assert rendered(fast.summary) == rendered(reference.summary)
    assert fast.segments.equals(reference.segments)
    assert fast.episodes.equals(reference.episodes)
    assert fast.summary["engine"]["events"] <= reference.summary["engine"]["events"]


def test_the_command_line_has_the_switch(cli: Cli, lossy: Path) -> None:
    fast = json.loads(cli("run", lossy, "--json").stdout)
    reference = json.loads(cli("run", lossy, "--json", "--reference").stdout)
    assert rendered(fast) == rendered(reference)
    assert fast["engine"]["events"] <= reference["engine"]["events"]
