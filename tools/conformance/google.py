"""Runs all of Google's TCP scripts: shows which pass, and why the others do not.

    python -m conformance.google --google DIR [--retx FILE] [--write]

Runs `gtests/net/tcp` of google/packetdrill with `retx drill` and compares the results with the
table in google.md next to this file; `--write` rewrites the table. REASONS contains the reason why
a script does not pass. A script that fails without a reason, or that passes although there is one,
is an error.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance import adapt, players, scripts
from conformance.scripts import Script

TABLE = Path(__file__).with_name("google.md")

MUST_PASS = 70
"""Minimum number of passing scripts, without those for Fast Open and zero copy."""

KERNEL = "Linux 6.18 (HZ = 250) itself fails it: "

REASONS = {
    r"fastopen/.*": "Fast Open is not built",
    r"syscall_bad_arg/fastopen-.*": "Fast Open is not built",
    r"zerocopy/fastopen-.*": "Fast Open is not built",
    r"zerocopy/.*": "notifications of zero copy are not played; they change no segment",
    r"splice/.*": "pipes and urgent data are not played",
    r"cubic/cubic-bulk-166k.*": KERNEL + "without sch_fq cwnd is 36 where 40 is expected, as here",
    r"cwnd_moderation/cwnd-moderation-ecn-.*": KERNEL + "cwnd is 5 where 4 is expected, as here",
    r"epoll/epoll_out_edge.*": KERNEL + "20 segments leave at once where 16 are expected",
    r"notsent_lowat/notsent-lowat-default": KERNEL
    + "20 segments leave at once where 16 are expected",
    r"gro/.*": KERNEL + "a segment without the ACK bit is not acknowledged",
    r"shutdown/shutdown-rdwr-send-queue-ack-close": KERNEL
    + "a probe that is expected at 18 ms comes at 24 ms",
    r"shutdown/shutdown-rdwr-write-queue-close": KERNEL
    + "the FIN that is expected again at 31 ms comes at 48 ms",
    r"cubic/cubic-rack-reo-.*": "tcpi_reord_seen, the number of reorderings, is not told",
    r"blocking/blocking-write": KERNEL
    + "the write returns 100 ms later, as here: each packet of two segments takes memory",
    r"ts_recent/invalid_ack": KERNEL
    + "an acknowledgment of what was not sent is answered, as here",
}
"""Regular expressions for paths without `.pkt`, each with the reason why these scripts do not
pass."""

HEADER = """\
# Google's scripts

    python -m conformance.google --google DIR --write

wrote this table: the {count} scripts in `gtests/net/tcp` of google/packetdrill, played by
`retx drill --tcp=linux` as they are, but for the changes that [README.md](README.md) names.
{passed} pass; without Fast Open and zero copy {passed_others} of {others}.

| script | verdict | reason |
|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    """A script in the table."""

    path: Path
    verdict: str
    """passed, failed or not played."""
    reason: str
    message: str
    """Verdict of the player."""

    @property
    def is_other(self) -> bool:
        """True if the script is neither about Fast Open nor about zero copy."""
        return not re.search(r"fastopen|zerocopy", str(self.path))

    @property
    def fault(self) -> str:
        """Fault of the row; empty if it has none."""
        if self.verdict != "passed" and not self.reason:
            return f"{self.path}: {self.verdict} without a reason: {self.message}"
        if self.verdict == "passed" and self.reason and self.is_other:
            return f"{self.path}: passes, so that it needs no reason"
        return ""


def reason_of(path: Path) -> str:
    """Reason why a script does not pass; empty for one that should."""
    name = str(path.with_suffix(""))
    return next((text for pattern, text in REASONS.items() if re.fullmatch(pattern, name)), "")


def found(checkout: Path) -> list[Script]:
    """All scripts of a checkout."""
    folder = scripts.folder_of("google", checkout)
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*.pkt"))
    return [Script("google", path, (folder / path).read_text(encoding="utf-8")) for path in paths]


def play(all_scripts: Sequence[Script], retx: Path) -> list[Row]:
    """Plays adapted copies."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as scratch:
        files = []
        for script in all_scripts:
            file = Path(scratch) / script.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(adapt.adapted(script), encoding="utf-8")
            files.append(file)
        verdicts = players.Drill(players.found(retx), "linux").play(files, Path(scratch))
    return [row_of(script.path, it) for script, it in zip(all_scripts, verdicts, strict=True)]


def row_of(path: Path, verdict: players.Verdict) -> Row:
    """Row of a script with its result."""
    if verdict.passed:
        return Row(path, "passed", reason_of(path), "")
    name = "failed" if verdict.message.startswith("failed") else "not played"
    return Row(path, name, reason_of(path), verdict.message)


def table(rows: Sequence[Row]) -> str:
    """The whole page."""
    others = [row for row in rows if row.is_other]
    header = HEADER.format(
        count=len(rows),
        passed=passed(rows),
        passed_others=passed(others),
        others=len(others),
    )
    lines = (
        f"| {row.path.with_suffix('')} | {row.verdict} "
        f"| {row.reason if row.verdict != 'passed' else ''} |\n"
        for row in rows
    )
    return header + "".join(lines)


def passed(rows: Sequence[Row]) -> int:
    """Number of rows that passed."""
    return sum(row.verdict == "passed" for row in rows)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="conformance.google", description=__doc__)
    parser.add_argument("--google", type=Path, metavar="DIR", required=True)
    parser.add_argument("--retx", type=Path, metavar="FILE", default=Path("retx"))
    parser.add_argument("--write", action="store_true", help="write the table anew")
    return parser.parse_args()


def main() -> int:
    """Compares or writes the table; 1 for a difference, 2 when something is missing."""
    options = arguments()
    try:
        rows = play(found(options.google), options.retx)
    except (OSError, scripts.MissingError) as error:
        print(f"conformance.google: {error}", file=sys.stderr)
        return 2
    faults = [row.fault for row in rows if row.fault]
    count = passed([row for row in rows if row.is_other])
    if count < MUST_PASS:
        faults.append(f"{count} scripts without Fast Open and zero copy pass, not {MUST_PASS}")
    text = table(rows)
    if options.write:
        TABLE.write_text(text, encoding="utf-8")
    elif TABLE.read_text(encoding="utf-8") != text:
        faults.append(f"{TABLE} is not what comes of the scripts: look, and write it by --write")
    print("\n".join([*faults, f"{passed(rows)} of {len(rows)} passed, {count} of the others"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
