"""The Rust side of retx."""

import os
from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Control",
    "Drilled",
    "RawResult",
    "RunError",
    "Scenario",
    "ScenarioError",
    "__version__",
    "describe",
    "from_json",
    "json_schema",
    "parse",
    "play_drill",
    "run",
    "run_many",
]

__version__: str

_Numbers = NDArray[np.float64] | NDArray[np.uint64] | NDArray[np.bool_]
_Column = _Numbers | tuple[NDArray[np.uint32], list[str]]

class ScenarioError(ValueError): ...
class RunError(RuntimeError): ...

@final
class Scenario:
    def to_json(self) -> str: ...
    def to_toml(self) -> str: ...

@final
class Control:
    def __new__(cls) -> Control: ...
    @property
    def progress(self) -> float: ...
    def cancel(self) -> None: ...

@final
class RawResult:
    def summary(self) -> str: ...
    def scenario_toml(self) -> str: ...
    def recorded(self, name: str) -> bool: ...
    def take(self, name: str) -> dict[str, _Column]: ...
    def write_capture(self, path: str | os.PathLike[str]) -> None: ...

def parse(text: str, name: str, overrides: list[tuple[str, str]] = ...) -> Scenario: ...
def from_json(text: str, overrides: list[tuple[str, str]] = ...) -> Scenario: ...
def json_schema() -> str: ...
def describe() -> str: ...
def run(
    scenario: Scenario,
    control: Control,
    *,
    replication: int = 0,
    tables: bool = True,
    segments: bool = True,
    capture: list[tuple[str, str]] | None = None,
) -> RawResult: ...
def run_many(
    scenario: Scenario,
    control: Control,
    *,
    replications: int,
    threads: int,
    tables: bool = True,
    segments: bool = False,
) -> list[RawResult]: ...

@final
class Drilled:
    @property
    def verdict(self) -> str: ...
    @property
    def line(self) -> int | None: ...
    @property
    def message(self) -> str: ...
    @property
    def expected(self) -> str | None: ...
    @property
    def actual(self) -> str | None: ...
    @property
    def printed(self) -> list[str]: ...
    @property
    def trace(self) -> list[str]: ...
    @property
    def simulated_s(self) -> float: ...

def play_drill(
    text: str, tcp: str, settings: list[tuple[str, str]] = ..., *, trace: bool = False
) -> Drilled: ...
