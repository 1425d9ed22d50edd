"""Requirements of tests: with RETX_REQUIRE_ALL a test that skips for want of one fails.

`RETX_REQUIRE_ALL=1` requires everything, `RETX_REQUIRE_ALL=tshark,emulation` these two.
"""

import re

MACHINE = {
    "tshark": r"tshark",
    "emulation": r"does not let|does not allow|/dev/net/tun|iproute2|setpriv|no privileges",
    "unprivileged": r"only root can become somebody else",
    "tracepoints": r"type information of the kernel|loads no program",
    "ns-2": r"ns-2",
    "ns-3": r"ns-3",
    "vsftpd": r"(vsftpd|curl) (is not installed|takes root)",
}
"""Things that a machine may lack, with the reason of a skip that says so."""


def required(environment: str) -> list[str]:
    """Names that the variable requires.

    Raises:
        ValueError: One of them is unknown.
    """
    names = list(MACHINE) if environment == "1" else [it for it in environment.split(",") if it]
    unknown = [name for name in names if name not in MACHINE]
    if unknown:
        raise ValueError(f"RETX_REQUIRE_ALL: no {unknown}; there is 1 or {', '.join(MACHINE)}")
    return names


def missing(reason: str, names: list[str]) -> str | None:
    """Name of what a skipped test wanted, if it is required."""
    return next((name for name in names if re.search(MACHINE[name], reason)), None)
