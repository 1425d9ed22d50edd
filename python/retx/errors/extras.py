"""Packages that only some parts of retx need: the extras of pyproject.toml."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

PACKAGES = {"tune": "optuna", "dask": "distributed"}
"""Package of each extra, by the name with which Python imports it."""


def is_installed(extra: str) -> bool:
    """True if the package of the extra can be imported."""
    return find_spec(PACKAGES[extra]) is not None


def install_command(extra: str) -> str:
    """Command that installs the package of an extra, in the version that retx needs.

    The command names the package itself instead of `retx[extra]`, so that it works in whatever way
    retx was installed.
    """
    return f"pip install '{_requirement(extra)}'"


def _requirement(extra: str) -> str:
    package = PACKAGES[extra]
    try:
        listed = requires("retx") or []
    except PackageNotFoundError:  # retx is on the path, but not installed
        return package
    of_extra = (line.split(";")[0].strip() for line in listed if "extra ==" in line)
    return next((one for one in of_extra if one.startswith(package)), package)
