"""Entries of `retx list` for closed forms and studies, which it reads instead of importing them."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

import retx
from retx.errors import UsageError
from retx.listing import find
from retx.models import MODELS
from retx.study.library import load
from retx.study.shipped import names


@pytest.mark.parametrize("module", MODELS)
def test_closed_forms_are_described_as_python_has_them(module: str) -> None:
    home = import_module(f"retx.models.{module}")
    described = {
        entry["name"].split(".")[1]: entry
        for entry in retx.describe()["model"]
        if entry["name"].startswith(f"{module}.")
    }
    own = {
        name: function
        for name, function in vars(home).items()
        if inspect.isfunction(function)
        and function.__module__ == home.__name__
        and not name.startswith("_")
    }
    assert list(described) == list(own)
    for name, function in own.items():
        parameters = inspect.signature(function).parameters
        entry = described[name]
        assert [it["name"] for it in entry["parameters"]] == list(parameters)
        for said, meant in zip(entry["parameters"], parameters.values(), strict=True):
            assert said["required"] == (meant.default is inspect.Parameter.empty)
            if "default" in said:
                assert said["default"] == (
                    "inf" if meant.default == float("inf") else meant.default
                )
        assert entry["summary"].split() == (inspect.getdoc(function) or "").split("\n\n")[0].split()


def test_studies_are_described_as_their_files_have_them() -> None:
    said = {entry["name"]: entry["summary"] for entry in retx.describe()["study"]}
    studies = map(load, names())
    assert said == {it.name: f"{it.title} ({it.paper.reference})" for it in studies}


def test_a_module_of_models_stands_for_its_functions(cli) -> None:
    printed = cli("list", "models", "mathis").stdout
    assert "mathis.packets_s: Packets per second" in printed
    assert "mathis.bit_s: Goodput in bit/s" in printed


def test_a_name_without_its_kind_is_shown_the_way() -> None:
    with pytest.raises(UsageError, match=r"^no kind 'outage'; write channel outage$"):
        find("outage")
    with pytest.raises(UsageError, match=r"; write tcp linux_bbr$"):
        find("linux_bbr")
    with pytest.raises(UsageError, match=r"^no kind 'chanel'; did you mean 'channel'\?"):
        find("chanel")
