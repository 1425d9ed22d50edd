"""Entries of `retx list model`: every closed form with its arguments, from code and docstrings."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retx.models import MODELS


def describe() -> list[dict[str, Any]]:
    """One entry per function, in the form of `retx.describe`; `reference` is the module's.

    The modules are parsed rather than imported, since importing NumPy and SciPy takes a second.
    """
    return [entry for module in MODELS for entry in _of_module(module)]


def _of_module(name: str) -> Iterator[dict[str, Any]]:
    path = Path(__file__).with_name(f"{name}.py")
    module = ast.parse(path.read_text(encoding="utf-8"))
    reference = _reference(ast.get_docstring(module) or "")
    for function in module.body:
        if isinstance(function, ast.FunctionDef) and not function.name.startswith("_"):
            doc = ast.get_docstring(function) or ""
            yield {
                "name": f"{name}.{function.name}",
                "summary": doc.split("\n\n")[0].replace("\n", " "),
                "reference": reference,
                "parameters": list(_parameters(function.args, doc)),
            }


def _reference(doc: str) -> str:
    """Paragraph *Reference* of a module's docstring, which names the source of the model."""
    found = re.search(r"\*Reference\.\* (.*?)(\n\n|$)", doc, flags=re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _parameters(arguments: ast.arguments, doc: str) -> Iterator[dict[str, Any]]:
    texts = _argument_texts(doc)
    by_place = [*arguments.posonlyargs, *arguments.args]
    without = len(by_place) - len(arguments.defaults)
    defaults = [*[None] * without, *arguments.defaults, *arguments.kw_defaults]
    for argument, default in zip([*by_place, *arguments.kwonlyargs], defaults, strict=True):
        annotation = ast.unparse(argument.annotation) if argument.annotation else ""
        entry = {
            "name": argument.arg,
            "type": _type(argument.arg, annotation),
            "required": default is None,
            "doc": texts.get(argument.arg, ""),
        }
        value = None if default is None else _value(default)
        if isinstance(value, bool | int | float | str):
            entry["default"] = value
        yield entry


def _value(default: ast.expr) -> object:
    """Default value as `retx list` shows it; None if it is neither a constant nor `math.inf`."""
    if ast.unparse(default) in ("math.inf", "inf", "np.inf"):
        return "inf"
    try:
        value: object = ast.literal_eval(default)
    except ValueError:
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def _type(name: str, annotation: str) -> str:
    if "Given" not in annotation:
        return annotation.split(" | ")[0].lower()
    units = ("bytes", "packets", "bit_s", "hz", "s")
    unit = next((unit for unit in units if name.endswith(f"_{unit}")), None)
    return {"bit_s": "bit/s", "hz": "Hz", None: "number"}.get(unit, unit or "number")


def _argument_texts(doc: str) -> dict[str, str]:
    """Texts of the `Args:` of a docstring, by name."""
    section = re.search(r"^Args:\n((?:    .*\n?)+)", doc, flags=re.MULTILINE)
    pairs = re.findall(
        r"^    (\w+): (.*(?:\n {8}.*)*)", section[1] if section else "", re.MULTILINE
    )
    return {name: " ".join(text.split()) for name, text in pairs}
