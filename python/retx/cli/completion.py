"""Shell completion.

If the scenario cannot be read, nothing is completed and no error is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer import Context

from retx.files.earlier import FIGURES

Described = list[tuple[str, str]]
"""Completions, each with its meaning."""


def kinds_of_plots(incomplete: str) -> list[str]:
    """Completes `--plot`."""
    return [kind for kind in FIGURES if kind.startswith(incomplete)]


def kinds_of_stored_plots(incomplete: str) -> list[str]:
    """Completes the words after `retx plot DIR`."""
    from retx.sweeps.figures import KINDS

    return [kind for kind in (*FIGURES, *KINDS) if kind.startswith(incomplete)]


def kinds_of_plots_of_sweeps(incomplete: str) -> list[str]:
    """Completes `--plot` of `retx sweep`."""
    from retx.sweeps.figures import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


def kinds(incomplete: str) -> list[str]:
    """Completes the first word after `retx list`."""
    from retx.listing import describe

    return [kind for kind in describe() if kind.startswith(incomplete)]


def names(ctx: Context, incomplete: str) -> Described:
    """Completes the second word after `retx list`."""
    return _named(str(ctx.params.get("kind")), incomplete)


def presets(incomplete: str) -> Described:
    """Completes names of TCP presets, each with its description."""
    return _named("tcp", incomplete)


def templates(incomplete: str) -> Described:
    """Completes `retx init --like`."""
    return _named("template", incomplete)


def studies(incomplete: str) -> Described:
    """Completes the argument of `retx study`, which may also be `all`."""
    every = [("all", "every study")] if "all".startswith(incomplete) else []
    return [*_named("study", incomplete), *every]


def settings(ctx: Context, incomplete: str) -> list[str]:
    """Completes `--set` and `--vary`: keys of the preceding scenario, each with an equals sign."""
    scenario = _scenario(ctx)
    return [f"{key}=" for key in keys_of(scenario) if key.startswith(incomplete)]


def metrics(ctx: Context, incomplete: str) -> list[str]:
    """Completes `--metric`: columns of `flows`, and columns of a named flow or link."""
    from retx import _native

    columns = dict(_native.measures())
    found = list(columns["flows"])
    scenario = _scenario(ctx)
    for flow in scenario.get("flow", []):
        found += [f"flow.{flow['name']}.{column}" for column in columns["flows"]]
    for link in scenario.get("link", []):
        for direction in ("forward", "reverse"):
            found += [f"link.{link['name']}.{direction}.{it}" for it in columns["links"]]
    return [metric for metric in found if metric.startswith(incomplete)]


def keys_of(value: object, before: str = "") -> Iterator[str]:
    """Keys of a resolved scenario as `--set` takes them, such as `link.radio.delay`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "name" or not before:
                yield from keys_of(inner, f"{before}.{key}" if before else key)
    elif isinstance(value, list) and value and all(isinstance(it, dict) for it in value):
        for number, inner in enumerate(value):
            yield from keys_of(inner, f"{before}.{inner.get('name', number)}")
    else:
        yield before


def _named(kind: str, incomplete: str) -> Described:
    from retx.listing import describe

    entries = describe().get(kind, [])
    return [(it["name"], it["summary"]) for it in entries if it["name"].startswith(incomplete)]


def _scenario(ctx: Context) -> dict[str, Any]:
    """Resolved scenario that the command line names; empty if it names none."""
    from retx.scenarios.parsed import resolve

    # If an option still lacks its value, the words before it are not parsed yet.
    words = [str(ctx.params.get("scenario") or ""), *ctx.args]
    path = next((word for word in words if word.endswith(".toml")), None)
    try:
        return resolve(path) if path else {}
    except (ValueError, OSError):
        return {}
