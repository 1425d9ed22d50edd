"""Parsing of Python source beside other threads that parse."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest

from retx.files import python_source
from retx.files.python_source import parse


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ast.parse` as in CPython 3.11 while another thread parses: each first call fails."""
    seen: set[bytes] = set()

    def sometimes(content: bytes) -> ast.Module:
        if content not in seen:
            seen.add(content)
            raise SystemError("AST constructor recursion depth mismatch (before=24, after=34)")
        return ast.parse(content)

    monkeypatch.setattr(python_source, "ast", SimpleNamespace(parse=sometimes))


@pytest.mark.usefixtures("disturbed")
def test_a_disturbed_parse_is_repeated() -> None:
    assert isinstance(parse(b"x = 1"), ast.Module)


@pytest.mark.usefixtures("disturbed")
def test_errors_of_the_text_are_raised() -> None:
    with pytest.raises(SyntaxError):
        parse(b"x = ")
