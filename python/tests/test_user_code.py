"""Code of the user's own: the same as Rust's where it says the same, and stopped where it fails."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import LOSSY, Cli

import retx
from retx.errors import UsageError

RENO = '''\
import retx

ONE_BYTE = 1 << 16


class Reno(retx.CongestionControl):
    """RFC 5681, with the fraction of a byte that the Rust one keeps."""

    def __init__(self, reduction: float = 0.5) -> None:
        self.reduction = reduction
        self.fraction = ONE_BYTE // 2

    def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
        smss = window.smss
        if window.in_slow_start:
            window.cwnd += min(ack.bytes_acked, smss)
            return
        self.fraction += smss * smss * ONE_BYTE // window.cwnd
        window.cwnd += self.fraction // ONE_BYTE
        self.fraction %= ONE_BYTE

    def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
        window.ssthresh = max(int(loss.flight_size * self.reduction), 2 * window.smss)
        window.cwnd = window.ssthresh
        self.fraction = ONE_BYTE // 2

    def on_timeout(self, window: retx.Window, loss: retx.Loss, repeated: bool) -> None:
        if not repeated:
            window.ssthresh = max(int(loss.flight_size * self.reduction), 2 * window.smss)
        window.cwnd = window.smss
        self.fraction = ONE_BYTE // 2
'''

TABLE = """
[tcp.mine]
like = "newreno"
congestion_control = { name = "python", file = "reno.py", class = "Reno" }
"""

LOSSIER = {
    "link.cloud.forward.channel.p": 0.12,
    "link.cloud.reverse.channel": {"model": "bernoulli", "p": 0.05},
}
"""Channel with so many losses that timeouts occur, also repeated ones."""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "reno.py").write_text(RENO)
    path = tmp_path / "mine.toml"
    path.write_text(LOSSY.replace('tcp = "newreno"', 'tcp = "mine"') + TABLE)
    return path


def written(path: Path, body: str) -> Path:
    """A scenario whose congestion control is Reno with other methods; returns its file."""
    (path.parent / "reno.py").write_text(RENO + body)
    return path


BROKEN = """

def half(number):
    return number / 0


class Broken(Reno):
    def on_loss(self, window, loss):
        window.cwnd = half(window.cwnd)
"""


@pytest.mark.parametrize("recovery", ["newreno", "sack", "rack", "tahoe"])
def test_reno_in_python_sends_what_reno_in_rust_sends(mine: Path, recovery: str) -> None:
    mine.write_text(mine.read_text().replace('like = "newreno"', f'like = "{recovery}"'))
    timeouts = fast_retransmissions = 0
    for seed in range(4):
        in_python = retx.run(mine, seed=seed, overrides=LOSSIER)
        in_rust = retx.run(
            mine, seed=seed, overrides={**LOSSIER, "tcp.mine.congestion_control": "reno"}
        )
        assert in_python.segments.equals(in_rust.segments)
        assert in_python.samples.equals(in_rust.samples)
        timeouts += in_rust.flows["rto_count"][0]
        fast_retransmissions += in_rust.flows["fast_retransmit_count"][0]
    assert min(timeouts, fast_retransmissions) > 10


def test_a_parameter_changes_what_is_sent(mine: Path) -> None:
    gentle = {"tcp.mine.congestion_control.reduction": 0.8}
    assert not retx.run(mine, overrides=gentle).segments.equals(retx.run(mine).segments)


class Threshold(retx.LossCause):
    """The rule `threshold`: corruption less than 40 ms above the base RTT, in ticks of 10 ms."""

    def __init__(self) -> None:
        self.base = self.last = None

    def on_ack(self, ack: retx.Ack, window: retx.Window) -> None:
        if ack.rtt is not None:
            self.last = max((round(ack.rtt * 1e9) + 5_000_000) // 10_000_000, 1)
            self.base = min(self.base or self.last, self.last)

    def cause(self, loss: retx.UnexplainedLoss) -> str:
        low = self.base is not None and self.last - self.base < 4
        return "corruption" if low else "congestion"


def test_a_rule_in_python_says_what_the_rule_in_rust_says(lossy: Path) -> None:
    more = {
        "link.cloud.rate": "3 Mbit/s",
        "link.cloud.queue.packets": 60,
        "flow.download.app.bytes": 4_000_000,
    }
    in_python, in_rust = (
        retx.run(lossy, overrides={**more, "tcp.newreno.loss_cause": rule})
        for rule in (Threshold, "threshold")
    )
    assert in_python.episodes.equals(in_rust.episodes)
    assert in_python.segments.equals(in_rust.segments)
    assert set(in_rust.episodes["inferred_cause"]) == {"congestion", "corruption"}


def test_threads_change_nothing(mine: Path) -> None:
    one, many = (retx.replicate(mine, 6, threads=n, segments=True) for n in (1, 4))
    assert one.segments.equals(many.segments)
    assert one.segments["replication"].n_unique() == 6


def test_an_instance_per_sending_end(lossy: Path) -> None:
    made, called = [], set()

    class Counted(retx.CongestionControl):
        def __init__(self) -> None:
            made.append(self)

        def on_sent(self, sent: retx.Sent) -> None:
            called.add((id(self), threading.get_ident()))

        def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
            window.cwnd += min(ack.bytes_acked, window.smss)

        def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
            window.cwnd = window.ssthresh = loss.flight_size // 2

        def on_timeout(self, window: retx.Window, loss: retx.Loss, repeated: bool) -> None:
            window.cwnd = 0  # held to one segment

    result = retx.run(
        lossy, overrides={"tcp.newreno.congestion_control": Counted, "flow.download.count": 3}
    )
    assert len(made) == 4, "three, and one to see that it can be made"
    assert len({instance for instance, _ in called}) == 3
    assert result.samples["cwnd_bytes"].min() >= 1460
    assert result.flows["response_time_s"].null_count() == 0


def test_what_is_kept_stays_as_it_was(lossy: Path) -> None:
    kept: list[retx.Ack] = []
    windows: list[retx.Window] = []

    @retx.congestion_control
    class Keeper:
        def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
            kept.append(ack)
            windows.append(window)

        def on_loss(self, window: retx.Window, loss: retx.Loss) -> None: ...

        def on_timeout(self, window: retx.Window, loss: retx.Loss, repeated: bool) -> None: ...

    # Named without a file: the decorator has registered it.
    name = Keeper.__qualname__
    choice = {"name": "python", "class": name}
    retx.run(lossy, overrides={"tcp.newreno.congestion_control": choice})
    times = [ack.now for ack in kept]
    assert times == sorted(times)
    assert len(set(times)) > 100
    assert sum(ack.bytes_acked for ack in kept) <= 500_000
    assert min(ack.rtt for ack in kept if ack.rtt) == kept[-1].min_rtt > 0.04
    with pytest.raises(TypeError, match="only in a call"):
        windows[0].cwnd = 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('file="nix.py"', ["congestion_control.file", "nix.py", "No such file"]),
        ('class="Rno"', ["congestion_control.class", '"Rno" is not defined', 'mean "Reno"']),
        ('class="ONE_BYTE"', ["congestion_control.class", "is no class"]),
        ("reductoin=0.7", ["congestion_control.reductoin", 'mean "reduction"']),
        ("reduction=much", ["congestion_control.reduction", '"much" is refused', "a number"]),
    ],
)
def test_code_that_is_refused(cli: Cli, mine: Path, change: str, words: list[str]) -> None:
    done = cli("run", mine, "--set", f"tcp.mine.congestion_control.{change}", "--out", "o")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"error: [^\n]+\n", done.stderr), done.stderr
    for word in words:
        assert word in done.stderr
    assert not (mine.parent / "cwd" / "o").exists()


def test_a_refusal_names_the_line(mine: Path) -> None:
    mine.write_text(mine.read_text().replace('class = "Reno"', 'class = "Rno"'))
    with pytest.raises(
        retx.ScenarioError, match=r"mine\.toml:\d+: tcp\.mine\.congestion_control\."
    ):
        retx.run(mine)
    mine.write_text(mine.read_text().replace(', class = "Rno"', ""))
    with pytest.raises(retx.ScenarioError, match="lacks `class`"):
        retx.run(mine)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    on_loss = None\n", "Reno lacks on_loss: a congestion control has on_ack, on_loss"),
        ("    def on_ack(self, window): ...\n", r"Reno.on_ack must take \(self, window, ack\)"),
        ("    def __init__(self, gain): ...\n", "lacks `gain`, a parameter of Reno"),
        (
            "    def __init__(self):\n        raise ValueError('not today')\n",
            "refuses its parameters: not today",
        ),
    ],
)
def test_classes_that_do_not_fit(mine: Path, body: str, message: str) -> None:
    written(mine, "\n\nReno_ = Reno\n\n\nclass Reno(Reno_):\n" + body)
    with pytest.raises(retx.ScenarioError, match=message):
        retx.run(mine)


def test_a_decorator_checks_at_once() -> None:
    with pytest.raises(UsageError, match="lacks cause"):
        retx.loss_cause(type("Silent", (), {}))


@pytest.mark.parametrize("command", [("run",), ("sweep", "--replications", "2", "--out", "s")])
def test_user_code_prints_beside_json(command: tuple[str, ...], cli: Cli, mine: Path) -> None:
    code = mine.parent / "reno.py"
    code.write_text("print('hello')\n" + code.read_text())
    done = cli(*command, mine, "--json")
    assert json.loads(done.stdout)
    assert "hello\n" in done.stderr


def test_an_exception_stops_the_run_with_the_users_traceback(cli: Cli, mine: Path) -> None:
    written(mine, BROKEN)
    setting = ("--set", "tcp.mine.congestion_control.class=Broken")
    done = cli("run", mine, *setting, "--out", "o", "--pcap", "p.pcapng")
    assert (done.returncode, done.stdout) == (1, "")
    traceback, message = done.stderr.rsplit("\nerror: ", 1)
    files = re.findall(r'File "([^"]+)", line (\d+), in (\w+)', traceback)
    lines = (mine.parent / "reno.py").read_text().splitlines()
    assert [(file, name) for file, _, name in files] == [
        (str(mine.parent / "reno.py"), "on_loss"),
        (str(mine.parent / "reno.py"), "half"),
    ]
    assert lines[int(files[1][1]) - 1] == "    return number / 0"
    assert traceback.endswith("ZeroDivisionError: division by zero")
    assert re.fullmatch(
        r"Broken failed in on_loss, [\d.]+ s into the run: "
        "ZeroDivisionError: division by zero\n",
        message,
    )
    assert list((mine.parent / "cwd").iterdir()) == []


INTERRUPTED = {
    "one": ["run", "--out", "o"],
    "many": ["run", "--out", "o", "--replications", "3"],
    "why": ["why"],
    "sweep": ["sweep", "--out", "o", "--replications", "3"],
}


@pytest.mark.parametrize("command", INTERRUPTED)
@pytest.mark.parametrize("body", ["while True: pass", "time.sleep(0.2)"], ids=["stuck", "slow"])
def test_code_that_does_not_return_can_be_interrupted(
    mine: Path, command: str, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    begun = mine.parent / "begun"
    written(
        mine,
        f"""

import pathlib, time


class Slow(Reno):
    def on_ack(self, window, ack):
        pathlib.Path({str(begun)!r}).touch()
        {body}
""",
    )
    chosen = ("--set", "tcp.mine.congestion_control.class=Slow")
    run = subprocess.Popen(
        [sys.executable, "-m", "retx", *INTERRUPTED[command], mine, *chosen],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not begun.exists():
        time.sleep(0.05)
        assert run.poll() is None
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=30)
    if command == "sweep":
        # The sweep can be resumed.
        shutil.rmtree("o")
        hint, errors = errors.split("\n", 1)
        assert hint.startswith("0 of 3 runs are in o; go on with: ")
    assert (run.returncode, output, errors) == (130, "", "interrupted\n")
    assert {path.name for path in mine.parent.iterdir()} == {"begun", "mine.toml", "reno.py"}


def test_in_python_the_cause_is_the_users_exception(mine: Path) -> None:
    written(mine, BROKEN)
    change = {"tcp.mine.congestion_control.class": "Broken"}
    for attempt in (
        lambda: retx.run(mine, overrides=change),
        lambda: retx.replicate(mine, 8, threads=3, overrides=change),
    ):
        with pytest.raises(retx.UserCodeError) as caught:
            attempt()
        assert isinstance(caught.value, retx.RunError)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert caught.value.__cause__.__traceback__.tb_frame.f_code.co_name == "on_loss"


@pytest.mark.parametrize("text", ["raise OSError('no luck')", "def on_ack(self:"])
def test_a_file_that_cannot_be_loaded(cli: Cli, mine: Path, text: str) -> None:
    (mine.parent / "reno.py").write_text("import retx\n\n" + text + "\n")
    done = cli("run", mine, "--out", "o")
    assert (done.returncode, done.stdout) == (1, "")
    assert "reno.py" in done.stderr.splitlines()[-1]
    assert re.findall(r'File "(.*?)", line (\d+)', done.stderr) == [
        (str(mine.parent / "reno.py"), "3")
    ]
    assert list((mine.parent / "cwd").iterdir()) == []


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("window.cwnd = 'wide'", TypeError, "cwnd = 'wide': it takes whole bytes"),
        ("window.cwnd = None", TypeError, "cwnd = None"),
        ("window.cwnd *= 1.5", TypeError, r"round a float, as with int\(…\)"),
        ("window.cwnd = True", TypeError, "whole bytes"),
        ("window.cwnd = -1", ValueError, "cwnd = -1: it takes bytes from 0"),
        ("window.ssthresh = 2 ** 64", ValueError, "ssthresh = 18446744073709551616"),
        ("window.smss = 9000", AttributeError, "smss"),
        ("ack.rtt = 1", AttributeError, "rtt"),
    ],
)
def test_values_that_are_refused(
    mine: Path, body: str, error: type[Exception], message: str
) -> None:
    written(mine, f"\n\nclass Bad(Reno):\n    def on_ack(self, window, ack):\n        {body}\n")
    with pytest.raises(retx.UserCodeError) as caught:
        retx.run(mine, overrides={"tcp.mine.congestion_control.class": "Bad"})
    cause = caught.value.__cause__
    assert type(cause) is error
    assert re.search(message, str(cause))
    assert cause.__traceback__.tb_lineno == len((mine.parent / "reno.py").read_text().splitlines())


@pytest.mark.parametrize(("cwnd", "held"), [("0", 1460), ("2 ** 63", 20_000), ("10_000", 10_000)])
def test_windows_are_held_within_their_bounds(mine: Path, cwnd: str, held: int) -> None:
    body = (
        f"\n\nclass Odd(Reno):\n    def on_ack(self, window, ack):\n        window.cwnd = {cwnd}\n"
    )
    written(mine, body)
    change = {
        "tcp.mine.congestion_control.class": "Odd",
        "tcp.mine.max_cwnd": 20_000,
        "link.cloud.forward.channel.p": 0,
    }
    windows = set(retx.run(mine, overrides=change).samples["cwnd_bytes"])
    assert held in windows
    assert windows == {3 * 1460, held}


def test_an_answer_of_the_wrong_kind(lossy: Path) -> None:
    class Unsure(retx.LossCause):
        def cause(self, loss: retx.UnexplainedLoss) -> str:
            return "perhaps"

    with pytest.raises(retx.UserCodeError, match="returned 'perhaps': \"congestion\" or"):
        retx.run(lossy, overrides={"tcp.newreno.loss_cause": Unsure})


def test_a_result_can_be_run_again(cli: Cli, mine: Path, tmp_path: Path) -> None:
    result = retx.run(mine, out=tmp_path / "out")
    again = retx.run(result.scenario)
    assert again.segments.equals(result.segments)
    # The directory has all it needs, wherever it goes, and whatever becomes of the original.
    (tmp_path / "out").rename(tmp_path / "moved")
    (tmp_path / "reno.py").unlink()
    moved = retx.run(tmp_path / "moved" / "scenario.toml", out=tmp_path / "second")
    assert moved.segments.equals(result.segments)
    for name in ("scenario.toml", "summary.json", "user_code/reno.py"):
        first, second = (tmp_path / folder / name for folder in ("moved", "second"))
        assert first.read_bytes() == second.read_bytes()
    assert str(tmp_path) not in (tmp_path / "second" / "summary.json").read_text()
    # A result with code gives way to another as any result does.
    done = cli("run", tmp_path / "moved" / "scenario.toml", "--out", tmp_path / "second", "--force")
    assert done.returncode == 0, done.stderr


def test_a_class_in_the_scenario(mine: Path) -> None:
    code: dict[str, object] = {"__name__": "__main__"}
    exec(RENO, code)
    reno = code["Reno"]
    scenario = retx.resolve(mine)
    for choice in (reno, {"name": "python", "class": reno}):
        scenario["tcp"]["mine"]["congestion_control"] = choice
        assert retx.run(scenario).segments.equals(retx.run(mine).segments)


def test_a_class_of_a_module_is_named_by_its_file(mine: Path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(mine.parent)
    import reno

    try:
        change = {"tcp.mine.congestion_control": reno.Reno}
        named = retx.resolve(mine, overrides=change)["tcp"]["mine"]["congestion_control"]
    finally:
        del sys.modules["reno"]
    assert named == {"name": "python", "class": "Reno", "file": str(mine.parent / "reno.py")}


def test_an_edited_file_is_read_anew(mine: Path) -> None:
    first = retx.run(mine)
    text = RENO.replace("reduction: float = 0.5", "reduction: float = 0.8")
    (mine.parent / "reno.py").write_text(text)
    assert not retx.run(mine).segments.equals(first.segments)
    assert not list(mine.parent.glob("__pycache__"))


def test_a_sweep_that_is_kept_knows_the_modules_that_code_imports(mine: Path, cli: Cli) -> None:
    here = mine.parent
    folder = here / "constants"
    folder.mkdir()
    (folder / "__init__.py").write_text("from .units import ONE_BYTE\n")
    units = folder / "units.py"
    units.write_text("ONE_BYTE = 1 << 16\n")
    text = RENO.replace("ONE_BYTE = 1 << 16", "from constants import ONE_BYTE")
    (here / "reno.py").write_text(text)
    sweep = ("sweep", mine, "--replications", 2, "--set", "flow.download.app.bytes=50000")
    for _ in range(2):
        done = cli(*sweep, "--out", here / "out", cwd=here)
        assert (done.returncode, done.stderr) == (0, "")
    units.write_text("ONE_BYTE = 1 << 3\n")
    done = cli(*sweep, "--out", here / "out", cwd=here)
    assert done.returncode == 2
    assert "with another scenario, code" in done.stderr


def test_a_sweep_names_a_class_in_figures_and_tables(mine: Path) -> None:
    own = {"name": "python", "file": "reno.py", "class": "Reno", "reduction": 0.8}
    key = "tcp.mine.congestion_control"
    found = retx.sweep(mine, {key: [own, "cubic"]}, 1, progress=False)
    rows = [line.split(" & ")[0] for line in found.to_latex().splitlines() if line[-2:] == r"\\"]
    assert rows[1:] == ["Reno, reduction = 0.8", "cubic"]
    drawn = found.plot.metric(key, "goodput_bit_s").axes[0].get_xticklabels()
    assert [label.get_text() for label in drawn] == ["Reno, reduction = 0.8", "cubic"]


def test_drills_have_no_code(tmp_path: Path) -> None:
    choice = {"name": "python", "class": "Reno"}
    script = tmp_path / "any.pkt"
    script.write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    with pytest.raises(UsageError, match="needs an interpreter"):
        list(retx.drill(script, overrides={"congestion_control": choice}))


def test_the_choice_is_listed_and_in_the_schema(cli: Cli) -> None:
    for kind in ("congestion_control", "loss_cause"):
        listed = json.loads(cli("list", kind, "python", "--json").stdout)[kind][0]
        assert [parameter["name"] for parameter in listed["parameters"]] == ["class", "file"]
    forms = retx.schema()["properties"]["tcp"]["additionalProperties"]["properties"]
    (form,) = [
        form for form in forms["congestion_control"]["anyOf"] if form.get("title") == "python"
    ]
    assert form["required"] == ["name"]
    assert form["additionalProperties"] is True


def test_objects_for_tests_of_ones_own() -> None:
    window = retx.Window(cwnd=14_600, ssthresh=2**64 - 1, smss=1460)
    window.cwnd += 1460
    assert (window.cwnd, window.in_slow_start) == (16_060, True)
    ack = retx.Ack(now=1.5, bytes_acked=1460, rtt=0.05)
    assert (ack.now, ack.rtt, ack.srtt) == (1.5, 0.05, None)
    with pytest.raises(ValueError, match="rtt is -1"):
        retx.Ack(rtt=-1)
    assert retx.Loss(flight_size=10).flight_size == 10
    assert retx.Sent(bytes=10).bytes == 10
    assert retx.UnexplainedLoss(window, last_rtt=0.1).window.cwnd == 16_060
