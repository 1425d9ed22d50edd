"""The command line. Each command is a few lines over the Python API."""

from __future__ import annotations

from retx.cli.entry import main

__all__ = ["main"]
