"""Results of any kind read back from their directories."""

from __future__ import annotations

import errno
import os

from retx.errors import UsageError
from retx.errors.checks import required_path
from retx.results.replications import Replications
from retx.results.result import Result
from retx.results.stored import PLAN, load_runs
from retx.sweeps.result import Sweep, load_sweep


def load(directory: str | os.PathLike[str]) -> Result | Replications | Sweep:
    """Loads the result of `run`, `replicate`, `emulate` or `sweep` from a directory.

    Tables are read at their first use. A sweep may be incomplete.

    Args:
        directory: Written with `out` or `save`, or by `--out` on the command line.

    Raises:
        OSError: The directory cannot be read.
        UsageError: The directory is not a result of retx, or is damaged.
    """
    path = required_path("directory", directory)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "no such directory", str(path))
    if not path.is_dir():
        raise UsageError(f"{path}: is a file: name the directory that --out has written")
    return load_sweep(path) if (path / PLAN).is_file() else load_runs(path)
