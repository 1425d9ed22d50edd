"""RETX_REQUIRE_ALL turns skips for want of something into failures."""

from pathlib import Path

import pytest
from required import MACHINE, missing, required

pytest_plugins = ["pytester"]

SKIPPING = """
import pytest
def test_a():
    pytest.skip("tshark is not installed")
def test_b():
    pytest.skip("this kernel has veno")
"""


@pytest.mark.parametrize(
    ("value", "outcomes"),
    [("", {"skipped": 2}), ("1", {"skipped": 1, "failed": 1}), ("ns-2", {"skipped": 2})],
)
def test_a_required_thing_is_missing(
    value: str,
    outcomes: dict[str, int],
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = Path(__file__).parent
    monkeypatch.setenv("RETX_REQUIRE_ALL", value)
    monkeypatch.setenv("PYTHONPATH", str(here))
    pytester.makeconftest((here / "conftest.py").read_text())
    pytester.makepyfile(SKIPPING)
    pytester.runpytest_subprocess().assert_outcomes(**outcomes)


def test_every_reason_of_the_suite_is_known() -> None:
    """A skip is for want of something in the list, or for a reason no machine can mend."""
    unmendable = ("root may ", "this kernel has", "only a sweep", "Unix's", "no clone")
    found = 0
    for path in Path(__file__).parent.glob("*.py"):
        for line in path.read_text().splitlines():
            if "pytest.skip(" in line and '"' in line and path.name != Path(__file__).name:
                found += 1
                known = missing(line, list(MACHINE)) or any(it in line for it in unmendable)
                assert known or "another user" in line or "{program}" in line, f"{path}: {line}"
    assert found > 6


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no \\['wireshark'\\]; there is 1 or tshark"):
        required("wireshark")
