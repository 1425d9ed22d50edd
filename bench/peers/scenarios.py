"""Scenarios of the comparison: all their numbers in one place, for all simulators.

Data segments carry 1460 bytes and are 1502 bytes long on every link, acknowledgments 42: IP, TCP
without options, and the two bytes of ns-3's point-to-point links. With timestamps, segments carry
1448 bytes and are as long, and acknowledgments have 54 bytes. Every second segment is
acknowledged, at the latest after 200 ms, or every segment without delayed ACKs. Losses act on data
only, after the queue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = [
    "ALL",
    "SEGMENT",
    "FatTree",
    "Link",
    "Scenario",
    "Sweep",
    "Tcp",
    "Wired",
    "Wlan",
    "named",
]

SEGMENT = 1460
"""Bytes of data in a segment without options."""


@dataclass(frozen=True)
class Link:
    """A link with both directions; losses occur in the forward direction."""

    mbit_s: float
    delay_ms: float
    queue: int
    loss: float = 0.0


@dataclass(frozen=True)
class Tcp:
    """The sender and the receiver: windows in segments.

    Attributes:
        preset: The TCP of retx, used as it is, with its own buffers and timers: peers have no RACK.
    """

    window: int
    initial_window: int = 10
    sack: bool = True
    congestion_control: str = "newreno"
    min_rto_s: float = 0.2
    initial_rto_s: float = 1.0
    delayed_ack: bool = True
    timestamps: bool = False
    preset: str | None = None

    @property
    def segment(self) -> int:
        """Bytes of data in a segment; timestamps take twelve of them."""
        return SEGMENT - 12 * self.timestamps


@dataclass(frozen=True)
class Wired:
    """Bulk flows, or one transfer, over links in a row.

    Attributes:
        path: The links that all flows pass, one or two.
        access: The link of each host to the row's ends; without it the ends are the hosts.
        pairs: Pairs of hosts, over which the flows are spread in turn.
        transfer: Number of segments to transfer; 0 for a flow that never ends.
        stagger_s: The flows start evenly over this time.
        free_acks: Acknowledgments are only delayed: the way back has neither a rate nor a queue.
    """

    name: str
    title: str
    duration_s: float
    tcp: Tcp
    path: tuple[Link, ...]
    access: Link | None = None
    flows: int = 1
    pairs: int = 1
    transfer: int = 0
    stagger_s: float = 0.0
    free_acks: bool = False


@dataclass(frozen=True)
class FatTree:
    """A fat tree of three layers, and transfers that all start at once.

    With `ports` k of each switch there are k pods of k / 2 edge and k / 2 aggregation switches,
    k² / 4 core switches and k³ / 4 hosts. In each round of flows, the hosts send to each other by
    a random permutation; each flow takes a path of its own, drawn at random, on both ways.

    Attributes:
        link: Every link, of hosts and of switches.
        flows: Number of flows; more than there are hosts make several rounds.
        transfer: Number of segments that each flow transfers.
    """

    name: str
    title: str
    duration_s: float
    tcp: Tcp
    link: Link
    ports: int
    flows: int
    transfer: int


@dataclass(frozen=True)
class Wlan:
    """One bulk flow over stations in a row, 802.11b at 11 Mbit/s; each hears all the others."""

    name: str
    title: str
    duration_s: float
    tcp: Tcp
    hops: int = 1
    queue: int = 100


@dataclass(frozen=True)
class Sweep:
    """Short transfers at several loss rates, with several runs at each."""

    name: str
    title: str
    of: Wired
    losses: tuple[float, ...]
    runs: int

    @property
    def duration_s(self) -> float:
        """Maximum duration of a run, in simulated seconds."""
        return self.of.duration_s

    @property
    def points(self) -> list[Wired]:
        """The transfer at each loss rate."""
        *before, last = self.of.path
        return [replace(self.of, path=(*before, replace(last, loss=loss))) for loss in self.losses]


Scenario = Wired | FatTree | Wlan | Sweep


def _dumbbell(flows: int, duration_s: float, pairs: int | None = None) -> Wired:
    """10 Mbit/s of bottleneck for each flow, and a queue of one bandwidth-delay product."""
    shared = pairs is not None and pairs < flows
    return Wired(
        name=f"dumbbell-{flows}" + ("-shared" if shared else ""),
        title=f"dumbbell of {flows:,} flow{'s' if flows > 1 else ''}"
        + (f" on {pairs} pairs of hosts" if shared else ""),
        duration_s=duration_s,
        tcp=Tcp(window=90),
        path=(Link(10.0 * flows, 10, 20 * flows),),
        # Flows that share a host have a link with the sum of their rates.
        access=Link(1000.0 * flows / (pairs or flows), 1, 2000),
        flows=flows,
        pairs=pairs or flows,
        stagger_s=1.0,
    )


_DOWNLOAD = Wired(
    name="download",
    title="download of 5 GB, 1 % loss",
    duration_s=1e6,
    tcp=Tcp(window=6, initial_window=2, sack=False, min_rto_s=1.0, initial_rto_s=3.0),
    path=(Link(10, 10, 100), Link(10, 10, 100, loss=0.01)),
    transfer=3_425_000,
)

_SATELLITE = Wired(
    name="satellite",
    title="satellite, 100 Mbit/s × 600 ms, SACK, 0.1 % loss",
    # The flow then delivers about as many segments as the single flow without loss.
    duration_s=218_000,
    # One and a half times the capacity of the path, so that the window never limits the flow.
    tcp=Tcp(window=7500, min_rto_s=1.0, initial_rto_s=3.0),
    path=(Link(100, 300, 5000, loss=0.001),),
)

# As htsim's TCP: every segment is acknowledged, no SACK, and its fixed limits of the RTO.
_PLAIN = Tcp(window=90, sack=False, delayed_ack=False, min_rto_s=0.25, initial_rto_s=3.0)

# TCP as users compare against it; the window limits no flow.
_LINUX = Tcp(window=1000, congestion_control="cubic", timestamps=True, preset="linux")
_LINUX_BBR = replace(_LINUX, congestion_control="bbr", preset="linux_bbr")


def _of_linux(tcp: Tcp, flows: int, duration_s: float) -> Wired:
    """The dumbbell of these flows with one of the two TCPs of Linux."""
    dumbbell = _dumbbell(flows, duration_s)
    kind = "BBR" if tcp.congestion_control == "bbr" else "CUBIC"
    return replace(
        dumbbell,
        name=f"{tcp.preset}-{flows}",
        title=f"{dumbbell.title}, {kind} with SACK and timestamps (`{tcp.preset}`)",
        tcp=tcp,
    )


ALL: tuple[Scenario, ...] = (
    _of_linux(_LINUX, 10, 600),
    _of_linux(_LINUX, 100, 60),
    _of_linux(_LINUX_BBR, 10, 600),
    _of_linux(_LINUX_BBR, 100, 60),
    Wired(
        name="one-flow",
        title="one flow, 1 Gbit/s × 10 ms",
        duration_s=120,
        # The product of the link and half of its queue, so that nothing is lost.
        tcp=Tcp(window=1250),
        path=(Link(1000, 5, 832),),
    ),
    _dumbbell(1, 6000),
    _dumbbell(10, 600),
    _dumbbell(100, 60),
    _dumbbell(1000, 10),
    _dumbbell(1000, 10, pairs=32),
    _dumbbell(10_000, 3),
    _dumbbell(10_000, 3, pairs=32),
    _DOWNLOAD,
    _SATELLITE,
    replace(
        _SATELLITE,
        name="satellite-bbr",
        title="the same sent by BBR: windows of thousands of segments",
        duration_s=300,
        tcp=replace(_SATELLITE.tcp, congestion_control="bbr"),
    ),
    Wlan("wlan-1", "802.11b, one station", 5000, Tcp(window=40, min_rto_s=1.0)),
    Wlan("wlan-4", "802.11b, a chain of four hops", 5000, Tcp(window=8, min_rto_s=1.0), hops=4),
    Sweep(
        name="sweep",
        title="sweep of 1,000 downloads of 200 kB, 0 to 2 % loss",
        of=replace(_DOWNLOAD, name="short", transfer=137),
        losses=tuple(0.002 * step for step in range(10)),
        runs=100,
    ),
    replace(
        _dumbbell(10, 600), name="plain-10", title="dumbbell of 10 flows, plain TCP", tcp=_PLAIN
    ),
    replace(
        _dumbbell(100, 60), name="plain-100", title="dumbbell of 100 flows, plain TCP", tcp=_PLAIN
    ),
    Wired(
        name="plain-bare",
        title="10 flows over one link, plain TCP, ACKs only delayed",
        duration_s=600,
        tcp=_PLAIN,
        path=(Link(100, 10, 200),),
        flows=10,
        stagger_s=1.0,
        free_acks=True,
    ),
    FatTree(
        name="plain-fat-tree",
        title="fat tree of 1,024 hosts, 8,192 flows of 1 MiB, plain TCP",
        duration_s=20,
        tcp=_PLAIN,
        link=Link(10_000, 0.001, 100),
        ports=16,
        flows=8192,
        transfer=719,
    ),
)
"""Every scenario, in the order in which they are run."""


def named(names: list[str]) -> list[Scenario]:
    """The scenarios with these names, or of these families (`dumbbell`); all if no names are given.

    Raises: LookupError: A name matches no scenario.
    """
    families = {scenario.name: {scenario.name, scenario.name.split("-")[0]} for scenario in ALL}
    for name in names:
        if not any(name in family for family in families.values()):
            raise LookupError(f"--only {name}: there is no such scenario; {', '.join(families)}")
    return [s for s in ALL if not names or families[s.name] & set(names)]
