"""Scenarios: their text, parsing, overrides, templates, and the files that they may read."""
