"""The command `retx`: its subcommands, and its handling of errors."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

from retx import _native
from retx.cli.codes import BAD_INPUT, FAULT, INTERRUPTED, KILLED, PIPE_CLOSED
from retx.cli.encoding import replace_unencodable
from retx.cli.memory import SENTENCE, guard_imports, is_short_of_memory
from retx.cli.parameters import Option, for_typer, plain_values
from retx.errors import (
    IdleQueueWarning,
    LastingLossesWarning,
    NothingMeasuredWarning,
    UsageError,
)
from retx.terminal.streams import echo, reserved_output

if TYPE_CHECKING:
    import typer

COMMANDS = {
    "init": "retx.cli.init:command",
    "run": "retx.cli.run:command",
    "why": "retx.cli.why:command",
    "diagnose": "retx.cli.diagnose:command",
    "fit": "retx.cli.fit:command",
    "sweep": "retx.cli.sweep:command",
    "plot": "retx.cli.plot:command",
    "tune": "retx.cli.tune:command",
    "emulate": "retx.cli.emulate:command",
    "compare": "retx.cli.compare:command",
    "drill": "retx.cli.drill:command",
    "list": "retx.cli.listing:list_command",
    "schema": "retx.cli.listing:schema_command",
    "study": "retx.cli.study:command",
}
"""Location of each command, in the order of `--help`."""

HELP = """Finds out why TCP is slow over links that lose, corrupt and delay packets.

    \b
    To begin:
      retx init                            writes scenario.toml
      retx run scenario.toml               simulates it
      retx why scenario.toml               says what limits it, and what would help
      retx run scenario.toml --plot cwnd   draws the congestion window
      retx list                            what a scenario can name
    """


COMPLETION = "_RETX_COMPLETE"
"""Environment variable by which a shell asks typer for completions."""


def _call(arguments: list[str]) -> Any:  # noqa: ANN401
    """Calls the command that the arguments name; returns its exit code."""
    if arguments == ["--version"]:
        _show_version(True)
    if arguments[0] in COMMANDS and COMPLETION not in os.environ:
        command = command_function(arguments[0])
        values = plain_values(command, arguments[1:])
        if values is not None:
            return command(**values)
    return command_line(arguments)(arguments, standalone_mode=False)


def command_function(name: str) -> FunctionType:
    """Function of a command."""
    module, _, function = COMMANDS[name].partition(":")
    command: FunctionType = getattr(import_module(module), function)
    return command


def command_line(arguments: Sequence[str]) -> typer.Typer:
    """Command line with only the subcommand that is called, since importing all is slow.

    If no known subcommand is called, all of them are included.
    """
    import typer

    app = typer.Typer(
        name="retx",
        help=HELP,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    first = next((word for word in arguments if not word.startswith("-")), "")
    for name in [first] if first in COMMANDS else COMMANDS:
        app.command(name)(for_typer(command_function(name)))
    app.callback()(for_typer(options))
    return app


def _show_version(value: bool) -> None:
    if value:
        echo(f"retx {_native.__version__}")
        sys.exit()


Version = Annotated[
    bool, Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
]
Debug = Annotated[bool, Option("--debug", help="Show the traceback of errors.")]


def options(version: Version = False, debug: Debug = False) -> None:
    """Handles options before the subcommand; `main` has already handled `--debug`."""


def main() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    arguments = sys.argv[1:] or ["--help"]
    debug = "--debug" in arguments
    warnings.showwarning = _show_warning
    # If there is not enough memory to load polars, polars prints a warning of its own, which would
    # come before our message.
    warnings.filterwarnings("ignore", "Polars binary is missing")
    _native.catch_aborts()
    guard_imports()
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number and signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _terminate)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    _open_missing()
    replace_unencodable()
    try:
        _check_text(arguments)
        with reserved_output() if _is_json(arguments) else nullcontext():
            code = _call([word for word in arguments if word != "--debug"] or ["--help"])
        if code == INTERRUPTED:  # typer has caught it
            raise KeyboardInterrupt
        # Flushing here detects a closed pipe. If the interpreter flushed at its end instead, a
        # traceback would be printed.
        sys.stdout.flush()
        sys.exit(code)
    except SystemExit as end:
        if type(sys.stdout).__name__ != "PacifyFlushWrapper":
            raise
        # click has caught the error of a closed pipe, and would exit with 1.
        end.code = PIPE_CLOSED
        raise
    except BaseException as error:
        if debug:
            raise
        message, code = _message_and_code(error)
        if message:
            print(message, file=sys.stderr)
        if code == PIPE_CLOSED:
            # Nobody reads the buffered output, and writing it at exit would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(code)


def _is_json(arguments: list[str]) -> bool:
    """True if the standard output is for JSON only."""
    return "--json" in arguments and not {"--help", "-h"} & set(arguments)


_show_other_warning = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Shows warnings about scenarios and runs in one line, and other warnings as Python does."""
    if issubclass(category, (IdleQueueWarning, LastingLossesWarning, NothingMeasuredWarning)):
        print(f"warning: {message}", file=sys.stderr)
    else:
        _show_other_warning(message, category, filename, lineno, file, line)


def _open_missing() -> None:
    """Opens the null device in place of each standard stream that the shell has closed (`>&-`)."""
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            # The null device gets the number of the closed stream, so that no file opened later
            # gets this number.
            handle = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(handle, "r" if number == 0 else "w", encoding="utf-8"))


def _check_text(arguments: list[str]) -> None:
    """Refuses arguments that are not valid text, or empty because a shell variable is unset.

    Raises:
        UsageError: An argument is refused; the message says which.
    """
    for before, word in zip(["", *arguments], arguments, strict=False):
        name, equals, value = word.partition("=")
        if not word or (name.startswith("--") and equals and not value):
            where = before if before.startswith("-") and not word else name
            after = f" after {where}" if where else ""
            raise UsageError(f"there is an empty argument{after}: leave it out, or write a value")
        shown = os.fsencode(word).decode("utf-8", "backslashreplace")
        if shown != word and not os.path.lexists(word):
            raise UsageError(
                f"argument '{shown}' is not UTF-8, and no file has this name: choose a name in "
                "UTF-8, such as one of letters and digits"
            )


class _Terminated(BaseException):
    """SIGTERM or SIGHUP was received.

    The exception unwinds like Ctrl-C, so that no file is left incomplete.
    """


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    raise _Terminated(number)


_interrupts: list[KeyboardInterrupt] = []
"""Interrupts so far. Their frames keep objects alive until the process ends. To free a million
flows takes a second, and the message about the interrupt must not wait for that.
"""


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    _interrupts.append(KeyboardInterrupt())
    raise _interrupts[-1]


def _message_and_code(error: BaseException) -> tuple[str, int]:
    """One-line message for the user about an error, and the exit code."""
    # The second class is that of typer, which may not be imported here.
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return "interrupted", INTERRUPTED
    if isinstance(error, _Terminated):
        return "terminated", KILLED + error.args[0]
    if isinstance(error, BrokenPipeError):
        return "", PIPE_CLOSED
    if hasattr(error, "format_message"):  # a misuse of options, found by typer
        message = error.format_message().rstrip(".")
        return f"error: {message} (see --help)", BAD_INPUT
    if isinstance(error, OSError) and error.strerror and error.errno != errno.ENOMEM:
        where = f"{error.filename}: " if error.filename else ""
        return f"error: {where}{error.strerror}", BAD_INPUT
    if isinstance(error, ValueError | LookupError | OSError) and _is_ours(error):
        return f"error: {error.args[0] if error.args else error}", BAD_INPUT
    if isinstance(error, _native.UserCodeError):
        return f"{_users_traceback(error)}error: {error}", 1
    if isinstance(error, _native.RunError):
        return f"error: {error}", 1
    if is_short_of_memory(error):
        return SENTENCE, 1
    from retx.cli.fault import report

    return report(error, sys.argv[1:]), FAULT


def _users_traceback(error: BaseException) -> str:
    """Traceback of an error in user code, without retx's frames; empty for other errors."""
    from retx.sweeps.remote import RemoteUserError

    cause = error.__cause__
    if isinstance(cause, RemoteUserError):
        return str(cause)
    if cause is None or (cause.__traceback__ is None and not isinstance(cause, SyntaxError)):
        return ""
    from traceback import format_exception

    return "".join(format_exception(cause))


def _is_ours(error: BaseException) -> bool:
    """True for errors that are meant for the user, which have classes defined by retx.

    An error of a class of Python, such as ValueError, is a bug of retx.
    """
    return type(error).__module__.split(".")[0] == "retx"
