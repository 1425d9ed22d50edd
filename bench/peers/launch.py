"""Runs a command and writes its resource usage as JSON: launch.py REPORT CPU_LIMIT COMMAND...

This is a separate, small process, because the peak memory that Linux reports for a child includes
the memory of the process that started it.
"""

import json
import os
import resource
import sys
import time


def main() -> None:
    """Ends as the command does."""
    report, limit, *command = sys.argv[1:]
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
        os.execvp(command[0], command)
    _, status, usage = os.wait4(child, 0)
    found = {
        "user_s": usage.ru_utime,
        "system_s": usage.ru_stime,
        "wall_s": time.perf_counter() - began,
        "peak_bytes": usage.ru_maxrss * 1024,
    }
    code = os.waitstatus_to_exitcode(status)
    with open(report, "w", encoding="utf-8") as file:  # noqa: PTH123 (one import less)
        json.dump(found, file)
    # Exit code of shells: 128 plus the number of the signal.
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
