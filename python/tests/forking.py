"""Runs `retx` in forks of a process that has loaded what the commands load.

The tests call the command line some six hundred times, and loading takes 0.1 to 1 s of each call. A
call still has a process of its own, with the descriptors, directory and environment of the caller.

    forking.py serve SOCKET      answers until its standard input ends
    forking.py call SOCKET ...   `retx ...` in a fork of the server; ends with its exit code
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

NUMBER = struct.Struct("=q")
"""Answers of the server: the process's number, then its status as waitpid gives it."""
LOADED = (
    "numpy",
    "polars",
    "scipy.special",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "rich.table",
    "retx.cli.summary",
    "retx.models.listing",
    "retx.running.run",
    "retx.sweeps.running",
)


class Forks:
    """A server, for the length of a test session."""

    def __init__(self, home: Path) -> None:
        self.socket = home / "socket"
        command = [sys.executable, __file__, "serve", str(self.socket)]
        pipe = subprocess.PIPE
        self._server = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        assert self._server.stdout
        assert self._server.stdout.readline() == b"ready\n"

    def close(self) -> None:
        """Ends the server."""
        self._server.communicate(timeout=30)

    def retx(
        self, arguments: list[str], where: Path, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs `retx` with these arguments in a directory.

        Raises:
            subprocess.TimeoutExpired: It took longer, and was killed.
        """
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            descriptors = [0, out.fileno(), err.fileno()]
            status = call(self.socket, arguments, where, descriptors, timeout_s)
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read())
        return subprocess.CompletedProcess(["retx", *arguments], status, *texts)

    def command(self, path: Path) -> None:
        """Writes a program that calls the server where a page says `retx`."""
        quoted = f"'{sys.executable}' -IS '{__file__}' call '{self.socket}'"
        path.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
        path.chmod(0o755)


def call(
    server: Path, arguments: list[str], where: Path, descriptors: list[int], timeout_s: float | None
) -> int:
    """The exit code, or the negative number of the signal, as `subprocess` has it."""
    request = {"arguments": arguments, "where": str(where), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(server))
        # A descriptor goes with the first byte; the text may need several messages.
        socket.send_fds(connection, [b"{"], descriptors)
        connection.sendall(json.dumps(request).encode()[1:])
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(timeout_s)
        (pid,) = NUMBER.unpack(connection.recv(NUMBER.size, socket.MSG_WAITALL))
        try:
            (status,) = NUMBER.unpack(connection.recv(NUMBER.size, socket.MSG_WAITALL))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(["retx", *arguments], timeout_s or 0) from None
    return os.waitstatus_to_exitcode(status)


def serve(path: str) -> None:
    """Answers calls; returns in the process that is to become `retx`, and only there."""
    for module in LOADED:
        __import__(module)
    from retx.cli.entry import COMMANDS, command_line

    command_line([])  # loads every command
    assert COMMANDS
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait below
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready:
                os._exit(0)
            connection, _ = listener.accept()
            if os.fork() == 0:
                break
            connection.close()
    with connection:
        become(connection)


def become(connection: socket.socket) -> None:
    """Forks once more: the child is the caller's `retx`, the parent tells how the child ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    begun, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    while part := connection.recv(1 << 16):
        begun += part
    request = json.loads(begun)
    if pid := os.fork():
        connection.sendall(NUMBER.pack(pid))
        connection.sendall(NUMBER.pack(os.waitpid(pid, 0)[1]))
        os._exit(0)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        # A stream remembers whether its descriptor was a file, a pipe or a terminal.
        old = getattr(sys, name)
        text = {"encoding": old.encoding, "errors": old.errors}
        new = open(number, mode, closefd=False, **text)  # noqa: SIM115
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    os.chdir(request["where"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["retx", *request["arguments"]]
    sys.path[0] = request["where"]  # as `python -m retx` has it


def main() -> None:
    """Runs the server or a call, as the module's text says."""
    what, path, *arguments = sys.argv[1:]
    if what == "call":
        code = call(Path(path), arguments, Path.cwd(), [0, 1, 2], None)
        sys.exit(code if code >= 0 else 128 - code)
    serve(path)
    from runpy import run_module

    try:
        run_module("retx", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        leave(end)
        raise


def leave(end: SystemExit) -> None:
    """Ends the process like the interpreter, but without freeing what the server has loaded.

    To free every object takes as long as a short command. Threads are waited for, functions of
    `atexit` are called and streams flushed. Returns where only the interpreter can say what failed.
    """
    if end.code is not None and not isinstance(end.code, int):
        return
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit((end.code or 0) & 0xFF)


if __name__ == "__main__":
    main()
