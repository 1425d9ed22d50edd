"""Parses Python source beside other threads that parse."""

from __future__ import annotations

import ast

ATTEMPTS = 20


def parse(content: bytes) -> ast.Module:
    """The syntax tree of a source text; raises what `ast.parse` raises.

    CPython 3.11 and 3.12 count the depth of all threads' trees in one variable. Two threads that
    parse at the same time may therefore get a SystemError for a sound text, a matter of the moment
    (https://github.com/python/cpython/issues/106905).
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return ast.parse(content)
        except SystemError:
            continue
    return ast.parse(content)
