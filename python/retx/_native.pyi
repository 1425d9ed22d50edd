"""Types and functions of retx that are written in Rust."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ENGINE",
    "Ack",
    "Batch",
    "CodeRefusedError",
    "Control",
    "Drilled",
    "EmulationRefusedError",
    "Loss",
    "Pool",
    "RawResult",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Sent",
    "Table",
    "UnexplainedLoss",
    "UserCodeError",
    "Window",
    "__version__",
    "catch_aborts",
    "channel_losses",
    "describe",
    "diagnose",
    "diagnose_pair",
    "emulate",
    "emulate_calibrate",
    "emulate_clean",
    "emulate_worker",
    "expand_topology",
    "fill_hypercube",
    "fit_losses",
    "flow_tables",
    "from_json",
    "joined",
    "json_schema",
    "measure_path",
    "measures",
    "merged",
    "parquet_rows",
    "parse",
    "parse_points",
    "play_drill",
    "read_sweep",
    "run",
    "run_many",
    "stacked",
    "toml_of_json",
]

__version__: str

_Numbers = NDArray[np.float64] | NDArray[np.uint64] | NDArray[np.bool_]
_Column = _Numbers | tuple[NDArray[np.uint32], list[str]]

ENGINE: str

class ScenarioError(ValueError): ...
class RunError(RuntimeError): ...
class UserCodeError(RunError): ...
class CodeRefusedError(ValueError): ...
class EmulationRefusedError(ValueError): ...

@final
class Scenario:
    def to_json(self) -> str: ...
    def to_toml(self) -> str: ...
    def has_user_code(self) -> bool: ...
    def links_with_idle_queue(self) -> list[str]: ...

@final
class Control:
    def __new__(cls) -> Control: ...
    @property
    def progress(self) -> float: ...
    def cancel(self) -> None: ...

@final
class RawResult:
    def summary(self) -> str: ...
    def head(self) -> str: ...
    def row_count(self, table: str) -> int: ...
    def warning(self) -> str | None: ...
    def rows(self, table: str, first: int, count: int) -> str: ...
    def columns(self, name: str) -> dict[str, _Column] | None: ...
    def columns_of_flows(self, first: int, count: int) -> dict[str, _Column] | None: ...
    def write_summary(self, file: TextIO, repeatable: bool, code: dict[str, str]) -> None: ...
    def scenario_json(self, code: dict[str, str] = ...) -> str: ...
    def scenario_toml(self, code: dict[str, str] = ...) -> str: ...
    def recorded(self, name: str) -> bool: ...
    def take(self, name: str) -> dict[str, _Column]: ...
    def write_capture(self, path: str | os.PathLike[str]) -> None: ...

def stacked(results: list[RawResult], name: str, events: bool) -> dict[str, _Column] | None: ...

_Find = Callable[[str, str | None, str, str], tuple[str | None, Callable[[], object], list[str]]]

def parse(
    text: str, name: str, overrides: list[tuple[str, str]] = ..., find: _Find | None = None
) -> Scenario: ...
def from_json(
    text: str, overrides: list[tuple[str, str]] = ..., find: _Find | None = None
) -> Scenario: ...
def expand_topology(text: str) -> str: ...
def json_schema() -> str: ...
def describe() -> str: ...
def diagnose(path: str | os.PathLike[str], pictured: int | None = None) -> str: ...
def diagnose_pair(
    path: str | os.PathLike[str],
    other: str | os.PathLike[str],
    pictured: int | None = None,
) -> str: ...
def flow_tables(path: str | os.PathLike[str], number: int) -> str: ...
def fit_losses(
    times_s: NDArray[np.float64],
    sizes_bytes: NDArray[np.float64],
    lost_probability: NDArray[np.float64],
    *,
    tested: list[str] = ...,
    laws: list[str] = ...,
    drawn_series: int = 199,
) -> str: ...
def channel_losses(
    channels: str,
    times_s: NDArray[np.float64],
    sizes_bytes: NDArray[np.float64],
    *,
    seed: int = 1,
    replication: int = 0,
) -> NDArray[np.bool_]: ...
def measure_path(
    path: str | os.PathLike[str], number: int, other: str | os.PathLike[str] | None = None
) -> str: ...
def run(
    scenario: Scenario,
    control: Control,
    *,
    replication: int = 0,
    tables: bool = True,
    segments: bool = True,
    capture: list[tuple[str, str]] | None = None,
    reference: bool = False,
) -> RawResult: ...
def run_many(
    scenario: Scenario,
    control: Control,
    *,
    replications: int,
    threads: int,
    tables: bool = True,
    segments: bool = False,
    reference: bool = False,
) -> list[RawResult]: ...
def emulate(
    scenario: Scenario,
    control: Control,
    *,
    command: list[str],
    backend: str = "tun",
    programs: list[tuple[str, str | None, bool]] = ...,
    programs_to_error: bool = False,
    lateness_bound_s: float | None = None,
    rate_max_bit_s: float | None = None,
    replication: int = 0,
    tables: bool = True,
    segments: bool = True,
    capture: list[tuple[str, str]] | None = None,
) -> RawResult: ...
def emulate_calibrate(control: Control, *, command: list[str], backend: str = "tun") -> str: ...
def emulate_worker(command: list[str], inner: bool) -> int: ...
def emulate_clean() -> int: ...
def catch_aborts() -> None: ...
def parse_points(
    text: str,
    name: str,
    overrides: list[tuple[str, str]],
    points: list[list[tuple[str, str]]],
    *,
    find: _Find | None = None,
    samples: bool = False,
    threads: int,
) -> list[Scenario]: ...
def toml_of_json(text: str) -> str: ...
def read_sweep(text: str) -> str: ...
def fill_hypercube(text: str, shares: list[list[float]]) -> str: ...
def measures() -> list[tuple[str, list[str]]]: ...

@final
class Batch:
    """Tables of several runs, as returned by a thread or a worker."""

    def __new__(cls, content: bytes) -> Batch: ...
    def to_bytes(self) -> bytes: ...
    def __reduce__(self) -> tuple[type[Batch], tuple[bytes]]: ...
    def names(self) -> list[str]: ...
    def table(self, name: str) -> dict[str, _Column] | None: ...
    def runs(self) -> list[tuple[int, int, int, int]]:
        """Point, number of runs, events of the last run, events of all runs; points may recur."""
    def series(
        self, table: str, measure: str, name: str | None = None, direction: str | None = None
    ) -> list[tuple[int, int, str, float]]:
        """Rows of a measure: point, replication, name, value."""
    def derived(self, without: list[str], values: list[tuple[int, int, str, float]]) -> Batch: ...

@final
class Table:
    """A table of runs in order, whose first columns are `key` and `replication`."""

    def __len__(self) -> int: ...
    def runs(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """Ranges of replications by key, each as its first replication and its length."""
    def arrays(self) -> dict[str, _Column]: ...
    def parquet(self) -> bytes: ...

def joined(batches: Sequence[Batch], keys: Sequence[str], name: str) -> Table | None: ...
def parquet_rows(path: Path) -> int: ...
def merged(
    sources: Sequence[tuple[Path, Sequence[tuple[str, Sequence[tuple[int, int]]]]]],
    keys: Sequence[str],
) -> Table: ...

@final
class Pool:
    def __new__(cls, control: Control, *, threads: int, user_code: bool = False) -> Pool: ...
    def submit(
        self,
        label: int,
        scenario: Scenario,
        first: int,
        count: int,
        *,
        tables: list[str] = ...,
        kind: int = 0,
    ) -> None: ...
    def take(
        self, timeout_s: float
    ) -> tuple[list[Batch], bool, list[tuple[int, int, Exception]]]: ...
    def close(self) -> None: ...

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

@final
class Window:
    """Window of a sender, in bytes; methods that receive it may set `cwnd` and `ssthresh`."""

    cwnd: int
    """Congestion window."""
    ssthresh: int
    """Slow start threshold; 2**64 - 1 until one is set."""
    def __new__(cls, cwnd: int, ssthresh: int, smss: int) -> Window: ...
    @property
    def smss(self) -> int:
        """Sender maximum segment size: the payload of a full segment."""
    @property
    def in_slow_start(self) -> bool:
        """`cwnd < ssthresh` (RFC 5681 §3.1)."""

@final
class Ack:
    """An acknowledgment. User code constructs it only in tests."""

    def __new__(
        cls,
        *,
        now: float = 0.0,
        bytes_acked: int = 0,
        delivered: int = 0,
        flight_size: int = 0,
        rtt: float | None = None,
        srtt: float | None = None,
        min_rtt: float | None = None,
        snd_una: int = 0,
        snd_nxt: int = 0,
        cwnd_limited: bool = True,
        in_recovery: bool = False,
        receiver_time: float | None = None,
    ) -> Ack: ...
    @property
    def now(self) -> float:
        """Arrival time, in seconds since the start of the run."""
    @property
    def bytes_acked(self) -> int:
        """Newly acknowledged bytes; 0 for a duplicate."""
    @property
    def delivered(self) -> int:
        """Bytes that have left the network according to this ACK, including SACKed ones."""
    @property
    def flight_size(self) -> int:
        """Bytes in flight immediately before this ACK."""
    @property
    def rtt(self) -> float | None:
        """RTT sample of this ACK, unsmoothed; None without a sample."""
    @property
    def srtt(self) -> float | None:
        """Smoothed RTT, including the sample of this ACK."""
    @property
    def min_rtt(self) -> float | None:
        """Smallest RTT sample of the connection, including that of this ACK."""
    @property
    def snd_una(self) -> int:
        """First unacknowledged position after this ACK; the first byte of data is 1."""
    @property
    def snd_nxt(self) -> int:
        """Next position to be sent."""
    @property
    def cwnd_limited(self) -> bool:
        """True if the window was full at some time since the last ACK."""
    @property
    def in_recovery(self) -> bool:
        """True in fast recovery, and during the retransmissions after a timeout."""
    @property
    def receiver_time(self) -> float | None:
        """Timestamp of the receiver's clock; None without timestamps."""

@final
class Loss:
    """A loss attributed to congestion. User code constructs it only in tests."""

    def __new__(
        cls,
        *,
        now: float = 0.0,
        flight_size: int = 0,
        snd_una: int = 0,
        snd_max: int = 0,
        srtt: float | None = None,
    ) -> Loss: ...
    @property
    def now(self) -> float:
        """Time at which the loss was detected, in seconds since the start of the run."""
    @property
    def flight_size(self) -> int:
        """Bytes in flight when the loss was detected (FlightSize of RFC 5681 §2)."""
    @property
    def snd_una(self) -> int:
        """First unacknowledged position."""
    @property
    def snd_max(self) -> int:
        """Position after the last byte that was ever sent."""
    @property
    def srtt(self) -> float | None:
        """Smoothed RTT; None before the first sample."""

@final
class Sent:
    """Data being sent. User code constructs it only in tests."""

    def __new__(
        cls,
        *,
        now: float = 0.0,
        position: int = 0,
        bytes: int = 0,  # noqa: A002
        flight_size: int = 0,
        retransmission: bool = False,
    ) -> Sent: ...
    @property
    def now(self) -> float:
        """Time of the transmission, in seconds since the start of the run."""
    @property
    def position(self) -> int:
        """Position of the first byte; the first byte of data is 1."""
    @property
    def bytes(self) -> int:
        """Number of payload bytes."""
    @property
    def flight_size(self) -> int:
        """Bytes in flight, including the data being sent."""
    @property
    def retransmission(self) -> bool:
        """True for a retransmission."""

@final
class UnexplainedLoss:
    """A loss whose cause is to be decided. User code constructs it only in tests."""

    def __new__(
        cls,
        window: Window,
        *,
        now: float = 0.0,
        by_timeout: bool = False,
        srtt: float | None = None,
        last_rtt: float | None = None,
        flight_size: int = 0,
        lost_segments: int = 1,
        notified: bool = False,
    ) -> UnexplainedLoss: ...
    @property
    def now(self) -> float:
        """Time at which the loss was detected, in seconds since the start of the run."""
    @property
    def by_timeout(self) -> bool:
        """True if a timeout detected the loss; false if duplicate or selective ACKs did."""
    @property
    def srtt(self) -> float | None:
        """Smoothed RTT; None before the first sample."""
    @property
    def last_rtt(self) -> float | None:
        """Latest RTT sample, unsmoothed; None before the first sample."""
    @property
    def window(self) -> Window:
        """Window before any reaction to the loss."""
    @property
    def flight_size(self) -> int:
        """Bytes in flight."""
    @property
    def lost_segments(self) -> int:
        """Number of segments considered lost at this time, at least 1."""
    @property
    def notified(self) -> bool:
        """True if a relay has notified the sender that the channel lost the first segment."""
