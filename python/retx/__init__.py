"""retx finds out why TCP is slow over links that lose, corrupt and delay packets.

`run` simulates one scenario, `replicate` many draws of it, `emulate` uses this machine's kernel in
place of the simulated TCP, and `compare` runs both and compares them. All return tables as data
frames. `CongestionControl` and `LossCause` are base classes for your own algorithms. The names
below are imported at their first use, to keep the start short.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retx import models, topology
    from retx._native import (
        Ack,
        EmulationRefusedError,
        Loss,
        RunError,
        ScenarioError,
        Sent,
        UnexplainedLoss,
        UserCodeError,
        Window,
        __version__,
    )
    from retx.comparing.comparison import Comparison, compare
    from retx.comparing.grid import Grid, compare_grid
    from retx.decisions import CongestionControl, LossCause
    from retx.diagnosing.diagnosis import Diagnosis, diagnose
    from retx.errors import IdleQueueWarning, NothingMeasuredWarning, UsageError
    from retx.explaining.answer import Answer
    from retx.explaining.why import why
    from retx.listing import describe, schema
    from retx.plugins.registered import congestion_control, loss_cause
    from retx.results.replications import Replications
    from retx.results.result import NotRecordedError, Result
    from retx.running.drills import Drill, drill
    from retx.running.emulation import emulate
    from retx.running.run import replicate, run
    from retx.scenarios.parsed import resolve
    from retx.sweeps.derive import RunTables
    from retx.sweeps.load import load
    from retx.sweeps.result import Sweep, load_sweep
    from retx.sweeps.running import sweep
    from retx.sweeps.status import sweep_status
    from retx.tuning.search import tune
    from retx.tuning.space import Range

_HOME = {
    "Ack": "retx._native",
    "Answer": "retx.explaining.answer",
    "Comparison": "retx.comparing.comparison",
    "CongestionControl": "retx.decisions",
    "Diagnosis": "retx.diagnosing.diagnosis",
    "Drill": "retx.running.drills",
    "EmulationRefusedError": "retx._native",
    "Grid": "retx.comparing.grid",
    "IdleQueueWarning": "retx.errors",
    "Loss": "retx._native",
    "LossCause": "retx.decisions",
    "NotRecordedError": "retx.results.result",
    "NothingMeasuredWarning": "retx.errors",
    "Range": "retx.tuning.space",
    "Replications": "retx.results.replications",
    "Result": "retx.results.result",
    "RunError": "retx._native",
    "RunTables": "retx.sweeps.derive",
    "ScenarioError": "retx._native",
    "Sweep": "retx.sweeps.result",
    "Sent": "retx._native",
    "UnexplainedLoss": "retx.decisions",
    "UsageError": "retx.errors",
    "UserCodeError": "retx._native",
    "Window": "retx._native",
    "__version__": "retx._native",
    "compare": "retx.comparing.comparison",
    "compare_grid": "retx.comparing.grid",
    "congestion_control": "retx.plugins.registered",
    "describe": "retx.listing",
    "diagnose": "retx.diagnosing.diagnosis",
    "drill": "retx.running.drills",
    "emulate": "retx.running.emulation",
    "load": "retx.sweeps.load",
    "load_sweep": "retx.sweeps.result",
    "loss_cause": "retx.plugins.registered",
    "replicate": "retx.running.run",
    "resolve": "retx.scenarios.parsed",
    "run": "retx.running.run",
    "schema": "retx.listing",
    "sweep": "retx.sweeps.running",
    "sweep_status": "retx.sweeps.status",
    "tune": "retx.tuning.search",
    "why": "retx.explaining.why",
}

__all__ = [
    "Ack",
    "Answer",
    "Comparison",
    "CongestionControl",
    "Diagnosis",
    "Drill",
    "EmulationRefusedError",
    "Grid",
    "IdleQueueWarning",
    "Loss",
    "LossCause",
    "NotRecordedError",
    "NothingMeasuredWarning",
    "Range",
    "Replications",
    "Result",
    "RunError",
    "RunTables",
    "ScenarioError",
    "Sent",
    "Sweep",
    "UnexplainedLoss",
    "UsageError",
    "UserCodeError",
    "Window",
    "__version__",
    "compare",
    "compare_grid",
    "congestion_control",
    "describe",
    "diagnose",
    "drill",
    "emulate",
    "load",
    "load_sweep",
    "loss_cause",
    "models",
    "replicate",
    "resolve",
    "run",
    "schema",
    "sweep",
    "sweep_status",
    "topology",
    "tune",
    "why",
]


def __getattr__(name: str) -> object:
    if name in ("models", "topology"):
        return import_module(f"retx.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'retx' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
