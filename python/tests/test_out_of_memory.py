"""A process that gets no more memory ends with one sentence and status 1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOSSY

from retx.cli import memory
from retx.cli.entry import _message_and_code

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")

LIMITED = (
    "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
    "resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))\n"
    "{before}\n"
    "import sys; sys.argv[0] = 'retx'\n"
    "from retx.cli.entry import main; main()"
)
REMEDY = "fewer flows, shorter runs, fewer recorded tables or fewer processes at once need less\n"


def limited(
    folder: Path,
    *words: str,
    limit: int = 400 << 20,
    before: str = "",
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    code = LIMITED.format(limit=limit, before=before)
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=timeout_s
    )


def test_a_run_that_is_too_large_says_so_and_its_files_go(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(LOSSY.replace("[[flow]]", "[[flow]]\ncount = 1_000_000"))
    done = limited(tmp_path, "run", "many.toml", "--out", "out")
    assert done.returncode == 1
    assert done.stderr.startswith("error: out of memory: the system refused ")
    assert done.stderr.endswith(f" more bytes; {REMEDY}")
    assert done.stderr.count("\n") == 1
    # The temporary folder has lost its lock: the next run into the same place removes it.
    (left,) = tmp_path.glob(".out.*.partial")
    (tmp_path / "lossy.toml").write_text(LOSSY)
    command = [sys.executable, "-m", "retx", "run", "lossy.toml", "--out", "out"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert not left.exists()


def test_a_library_that_aborts_for_want_of_memory(tmp_path: Path) -> None:
    """As polars does: it has an allocator of its own, whose words come first."""
    aborting = "import retx.cli.entry as e, os; e._check_text = lambda _: os.abort()"
    done = limited(tmp_path, "list", limit=270 << 20, before=aborting)
    assert (done.returncode, done.stderr) == (1, f"error: out of memory; {REMEDY}")
    # With memory enough an abort remains one.
    done = limited(tmp_path, "list", limit=1 << 40, before=aborting)
    assert (done.returncode, done.stderr) == (-6, "")


def test_a_library_that_does_not_load_for_want_of_memory(tmp_path: Path) -> None:
    broken = (
        "import retx.cli.entry as e\n"
        "def missing(_): raise ImportError('failed to map segment from shared object')\n"
        "e._check_text = missing"
    )
    done = limited(tmp_path, "list", limit=270 << 20, before=broken)
    assert (done.returncode, done.stderr) == (1, f"error: out of memory; {REMEDY}")
    done = limited(tmp_path, "list", limit=1 << 40, before=broken)
    assert done.returncode == 70
    assert "internal error: ImportError" in done.stderr


def test_errors_for_want_of_memory() -> None:
    assert _message_and_code(MemoryError()) == (memory.SENTENCE, 1)
    assert not memory.is_short_of_memory(ZeroDivisionError())


def test_a_figure_without_room_for_its_libraries_says_so(tmp_path: Path) -> None:
    """OpenBLAS would spin for ever where it gets no memory for its threads."""
    (tmp_path / "lossy.toml").write_text(LOSSY)
    command = [sys.executable, "-m", "retx", "sweep", "lossy.toml", "--replications", "2"]
    command += ["--vary", "link.cloud.delay=5..50 ms:2", "--out", "sweep"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    sentence = f"error: out of memory; {REMEDY}"
    for limit in range(450, 900, 50):
        words = ("plot", "sweep", "metric=means.csv")
        done = limited(tmp_path, *words, limit=limit << 20, timeout_s=60)
        # Polars and its allocator may add lines.
        assert done.returncode == 0 or (done.returncode == 1 and sentence in done.stderr), limit
    assert limited(tmp_path, *words, limit=1400 << 20, timeout_s=60).returncode == 0
