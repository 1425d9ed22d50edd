"""What `retx list model` shows: every closed form with its arguments, from code and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from retx.models import MODELS


def describe() -> list[dict[str, Any]]:
    """One entry per function, in the form of `retx.describe`; `reference` is its module's."""
    return [entry for module in MODELS for entry in _of_module(module)]


def _of_module(name: str) -> Iterator[dict[str, Any]]:
    module = import_module(f"retx.models.{name}")
    for function_name, function in vars(module).items():
        own = inspect.isfunction(function) and function.__module__ == module.__name__
        if own and not function_name.startswith("_"):
            doc = inspect.getdoc(function) or ""
            yield {
                "name": f"{name}.{function_name}",
                "summary": doc.split("\n\n")[0].replace("\n", " "),
                "reference": _reference(module.__doc__ or ""),
                "parameters": list(_parameters(function, doc)),
            }


def _reference(doc: str) -> str:
    """The module's paragraph on its source."""
    found = re.search(r"\*Reference\.\* (.*?)(\n\n|$)", doc, flags=re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _parameters(function: Any, doc: str) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    texts = _argument_texts(doc)
    for parameter in inspect.signature(function).parameters.values():
        required = parameter.default is inspect.Parameter.empty
        entry = {
            "name": parameter.name,
            "type": _type(parameter.name, str(parameter.annotation)),
            "required": required,
            "doc": texts.get(parameter.name, ""),
        }
        default = parameter.default
        if isinstance(default, bool | int | float | str) and default == default:
            entry["default"] = default if abs(_number(default)) != float("inf") else "inf"
        yield entry


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _type(name: str, annotation: str) -> str:
    if "Given" not in annotation:
        return annotation.split(" | ")[0].lower()
    units = ("bytes", "packets", "bit_s", "hz", "s")
    unit = next((unit for unit in units if name.endswith(f"_{unit}")), None)
    return {"bit_s": "bit/s", "hz": "Hz", None: "number"}.get(unit, unit or "number")


def _argument_texts(doc: str) -> dict[str, str]:
    """The `Args:` of a docstring by name."""
    section = re.search(r"^Args:\n((?:    .*\n?)+)", doc, flags=re.MULTILINE)
    pairs = re.findall(
        r"^    (\w+): (.*(?:\n {8}.*)*)", section[1] if section else "", re.MULTILINE
    )
    return {name: " ".join(text.split()) for name, text in pairs}
