"""Templates of a study: checked before any run, and rendered; an error names file and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from types import TracebackType

from jinja2 import Environment, TemplateSyntaxError, UndefinedError, meta, nodes

from retx.errors import UsageError
from retx.study.data import StudyError, unknown

Names = Mapping[str, Collection[str] | None]
"""Variables of a template, with the names that each contains; None if these are not known yet."""


def check(environment: Environment, text: str, where: str, names: Names) -> None:
    """Checks a template without its values.

    Raises:
        StudyError: It is no template, or a name or filter in it is unknown.
    """
    try:
        tree = environment.parse(text)
        environment.compile(text)
    except TemplateSyntaxError as error:
        raise StudyError(f"{_place(where, error.lineno)}: {error.message}") from None
    known = {*names, *environment.globals, *_own(tree)}
    undeclared = meta.find_undeclared_variables(tree) - known
    for node in tree.find_all(nodes.Name):
        if node.name in undeclared:
            raise StudyError(
                f"{_place(where, node.lineno)}: {unknown('name', node.name, known, listed=False)}"
            )
    for line, variable, part in _parts(tree):
        within = names.get(variable)
        if within is not None and part not in within and not hasattr(dict, part):
            raise StudyError(f"{_place(where, line)}: {variable}: {unknown('name', part, within)}")


def _own(tree: nodes.Template) -> Iterator[str]:
    """Names that a template defines, imports, or asks for with `is defined`."""
    yield from ("self", "super")
    kinds = (nodes.Name, nodes.Macro, nodes.FromImport, nodes.Test)
    for node in tree.find_all(kinds):
        if isinstance(node, nodes.FromImport):
            yield from (it if isinstance(it, str) else it[1] for it in node.names)
        elif isinstance(node, nodes.Test):
            if node.name in ("defined", "undefined") and isinstance(node.node, nodes.Name):
                yield node.node.name
        elif isinstance(node, nodes.Macro) or (
            isinstance(node, nodes.Name) and node.ctx == "store"
        ):
            yield node.name


def _parts(tree: nodes.Template) -> Iterator[tuple[int, str, str]]:
    """Line, variable and name of each `variable.name` or `variable["name"]`.

    Those that a template asks for with `is defined` are left out.
    """
    asked: set[tuple[str, str]] = set()
    for test in tree.find_all(nodes.Test):
        part = test.node
        if isinstance(part, nodes.Getattr) and isinstance(part.node, nodes.Name):
            asked.add((part.node.name, part.attr))
    for node in tree.find_all(nodes.Getattr):
        if isinstance(node.node, nodes.Name) and (node.node.name, node.attr) not in asked:
            yield node.lineno, node.node.name, node.attr
    for item in tree.find_all(nodes.Getitem):
        if isinstance(item.node, nodes.Name) and isinstance(item.arg, nodes.Const):
            yield item.lineno, item.node.name, str(item.arg.value)


def rendered(render: Callable[[], str], where: str, file: str = "<template>") -> str:
    """The result of rendering a template.

    Args:
        render: Function that renders it.
        where: File and key of the template.
        file: Name of the template in tracebacks.

    Raises:
        StudyError: The template is wrong, or a filter refuses a value.
    """
    try:
        return render()
    except UsageError:
        raise
    except Exception as error:
        line = getattr(error, "lineno", None) or _line(error.__traceback__, file)
        said = re.sub(r"^'[^']*' has no attribute", "there is no", str(error).partition("\n")[0])
        if not isinstance(error, TemplateSyntaxError | UndefinedError):
            said = f"{type(error).__name__}: {said}"
        raise StudyError(f"{_place(where, line)}: {said}") from error


def _line(traceback: TracebackType | None, file: str) -> int | None:
    """Line of the last frame in a template."""
    found = None
    while traceback:
        if traceback.tb_frame.f_code.co_filename == file:
            found = traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def _place(where: str, line: int | None) -> str:
    """File and line; the texts in TOML are short, and are found by their key."""
    return f"{where}:{line}" if line and where.endswith(".html") else where
