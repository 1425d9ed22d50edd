"""A real FTP server and client over a lossy link: the file arrives as it was."""

from __future__ import annotations

import filecmp
import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from emulating import need_emulation

import retx

LOSSY = """\
duration = "60 s"
seed = 1

[[link]]
name = "cloud"
ends = ["server", "client"]
rate = "20 Mbit/s"
delay = "5 ms"
queue = { discipline = "droptail", packets = 100 }
forward.channel = { model = "bernoulli", p = 0.01 }

[[flow]]
name = "probe"
from = "server"
to = "client"
tcp = "linux"
app = { kind = "transfer", bytes = 1 }
"""
SERVER = """\
listen=YES
anonymous_enable=YES
local_enable=NO
anon_root={root}
no_anon_password=YES
isolate=NO
isolate_network=NO
seccomp_sandbox=NO
background=NO
secure_chroot_dir=/var/run/vsftpd/empty
"""


def test_an_identical_file_by_ftp_over_a_lossy_link() -> None:
    for program in ("vsftpd", "curl"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if os.geteuid() != 0:
        pytest.skip("vsftpd takes root")
    need_emulation()
    # pytest's directory is not used: vsftpd's user could not reach it.
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        root = place / "served"
        root.mkdir(0o755)
        (root / "file").write_bytes(random.Random(3).randbytes(1_000_000))
        configuration = place / "vsftpd.conf"
        configuration.write_text(SERVER.format(root=root))
        fetch = f"curl -sS --retry 9 --retry-delay 1 --retry-connrefused -o {place}/got"
        result = retx.emulate(
            LOSSY,
            background=[("server", f"exec vsftpd {configuration}")],
            programs=[("client", f"{fetch} ftp://server/file")],
            progress=False,
        )
        assert result.summary["emulation"]["programs"][-1]["exit_code"] == 0
        assert filecmp.cmp(root / "file", place / "got", shallow=False)
    # Some of about 700 packets were lost, which p = 0.01 leaves out once in a thousand seeds.
    assert result.links["drops_channel"].sum() > 0
    assert result.links["packets_in"][0] > 1_000_000 / 1500
