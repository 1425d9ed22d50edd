"""Classes of the user's own that stand in a scenario: each is itself, whatever it is called."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import retx
from retx.errors import UsageError
from retx.plugins.fingerprint import fingerprint
from retx.sweeps.place import StoreError

MINE, OTHER = (f"tcp.{name}.congestion_control" for name in ("mine", "other"))
BASE = {
    "duration": "10 s",
    "seed": 3,
    "tcp": {"mine": {"like": "newreno"}, "other": {"like": "newreno"}},
    "link": [
        {
            "name": "wire",
            "ends": ["server", "client"],
            "rate": "10 Mbit/s",
            "delay": "20 ms",
            "queue": {"discipline": "droptail", "packets": 20},
            "forward": {"channel": {"model": "bernoulli", "p": 0.003}},
        }
    ],
    "flow": [
        {"name": tcp, "from": "server", "to": "client", "tcp": tcp, "app": "bulk"}
        for tcp in ("mine", "other")
    ],
}


class Halving(retx.CongestionControl):
    share = 0.5

    def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
        window.cwnd += min(window.smss, window.smss**2 // window.cwnd)

    def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
        window.cwnd = window.ssthresh = int(self.share * loss.flight_size)

    def on_timeout(self, window: retx.Window, loss: retx.Loss, repeated: bool) -> None:
        window.cwnd = window.smss


def made(share: float) -> type:
    class Cut(Halving):
        def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
            window.cwnd = window.ssthresh = int(share * loss.flight_size)

    return Cut


def run(mine: object, out: Path | None = None, **more: Any) -> retx.Result:
    return retx.run(BASE, overrides={MINE: mine, **more}, out=out)


def sent(found: retx.Result | retx.Replications) -> list[int]:
    return found.flows["segments_sent"].to_list()


def named(cls: type) -> dict[str, str]:
    return run(cls).scenario["tcp"]["mine"]["congestion_control"]


def test_two_classes_of_one_name_in_one_run() -> None:
    low, high = made(0.2), made(0.9)
    first, second = (run(a, **{OTHER: b}) for a, b in ((low, high), (high, low)))
    assert sent(first)[0] < sent(first)[1] / 2
    assert sent(second)[0] > sent(second)[1] * 2


def test_the_same_code_twice_with_lists_of_their_own() -> None:
    def logging_class(log: list[int]) -> type:
        class Told(Halving):
            def on_sent(self, sent: retx.Sent) -> None:
                log.append(sent.bytes)

        return Told

    logs: list[list[int]] = [[], []]
    run(logging_class(logs[0]), **{OTHER: logging_class(logs[1])})
    assert len(logs[0]) > 100
    assert len(logs[1]) > 100


def test_two_classes_of_one_name_in_one_sweep() -> None:
    found = retx.sweep(BASE, {MINE: [made(0.2), made(0.9)]}, 1, progress=False)
    alone = [sent(run(made(share))) for share in (0.2, 0.9)]
    assert alone[0] != alone[1]
    assert sent(found) == [*alone[0], *alone[1]]


def test_a_result_names_the_class_that_ran() -> None:
    first, second = run(made(0.2)), run(made(0.9))
    assert sent(retx.run(first.scenario)) == sent(first) != sent(second)


def test_a_result_names_the_class_that_was_registered_when_it_ran() -> None:
    choice = {"name": "python", "class": retx.congestion_control(made(0.2)).__qualname__}
    first = run(choice)
    retx.congestion_control(made(0.9))
    assert sent(retx.run(first.scenario)) == sent(first) != sent(run(choice))


def test_a_class_made_by_type_is_in_no_file() -> None:
    by_type = type("Made", (Halving,), {"share": 0.7})
    assert by_type.__module__ == "abc"
    assert "file" not in named(by_type)
    assert named(by_type) != named(type("Made", (Halving,), {"share": 0.8}))


def with_default(share: float) -> type:
    class Own(Halving):
        def __init__(self, part: float = share) -> None:
            self.share = part

    return Own


def with_base(share: float) -> type:
    base = made(share)

    class Own(base):  # type: ignore[misc, valid-type]
        pass

    return Own


def with_function(share: float) -> type:
    def cut(size: int) -> int:
        return int(size * share)

    class Own(Halving):
        @staticmethod
        def on_recovery_end(window: retx.Window, now: float) -> None:
            window.cwnd = cut(window.cwnd)

    return Own


def with_global(share: float) -> type:
    code: dict[str, Any] = {"Halving": Halving, "SHARE": share, "__name__": "typed"}
    exec("class Own(Halving):\n def on_undo(self, window): return SHARE\n", code)
    return code["Own"]


def with_object(share: float) -> type:
    class Holder:
        def __init__(self) -> None:
            self.values = {"share": {share, 1.0}, "self": self}

    holder = Holder()

    class Own(Halving):
        @property
        def share(self) -> float:  # type: ignore[override]
            return min(holder.values["share"])

    return Own


@pytest.mark.parametrize(
    "make", [made, with_default, with_base, with_function, with_global, with_object]
)
def test_a_fingerprint_tells_code_apart(make: Callable[[float], type]) -> None:
    assert fingerprint(make(0.2)) == fingerprint(make(0.2)) is not None
    assert fingerprint(make(0.2)) != fingerprint(make(0.9))


def test_a_fingerprint_is_the_same_after_a_run() -> None:
    cls = made(0.2)
    before = fingerprint(cls)
    run(cls)
    assert fingerprint(cls) == before


def test_a_sweep_that_is_kept_knows_when_a_class_without_a_file_has_changed(tmp_path) -> None:
    out = tmp_path / "sweep"

    def swept(*classes: type) -> list[int]:
        return sent(retx.sweep(BASE, {MINE: list(classes)}, 1, out=out, progress=False))

    first = swept(made(0.2))
    parts = sorted((out / "parts").iterdir())
    assert swept(made(0.2)) == first
    assert sorted((out / "parts").iterdir()) == parts, "nothing was run again"
    with pytest.raises(StoreError, match="not part of this sweep"):
        swept(made(0.9))
    assert swept(made(0.2), made(0.9)) == [*first, *sent(run(made(0.9)))]


def test_a_sweep_that_is_kept_knows_when_a_registered_class_has_changed(tmp_path) -> None:
    choice = {"name": "python", "class": retx.congestion_control(made(0.2)).__qualname__}
    retx.sweep(BASE, {MINE: [choice]}, 1, out=tmp_path / "sweep", progress=False)
    retx.congestion_control(made(0.9))
    with pytest.raises(StoreError, match="not part of this sweep"):
        retx.sweep(BASE, {MINE: [choice]}, 1, out=tmp_path / "sweep", progress=False)


def locked() -> type:
    lock = threading.Lock()

    class Locked(Halving):
        def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
            with lock:
                window.cwnd += window.smss

    return Locked


def test_a_sweep_that_is_kept_refuses_code_that_it_cannot_know_again(tmp_path) -> None:
    cls = locked()
    assert fingerprint(cls) is None
    assert named(cls) == named(cls) != named(locked())
    with pytest.raises(UsageError, match=r"out: the class .*Locked#\d+ uses an object that"):
        retx.sweep(BASE, {MINE: [cls]}, 1, out=tmp_path / "sweep", progress=False)
    assert not (tmp_path / "sweep").exists()


def tuned(storage, cls: object = None, **more: Any) -> retx.Tuning:
    vary = {"link.wire.queue.packets": retx.Range(5, 50)}
    overrides = {MINE: cls} if cls else None
    options: dict[str, Any] = {"trials": 1, "replications": 1, "maximise": ["goodput"], **more}
    return retx.tune(BASE, **{"vary": vary, "overrides": overrides, "storage": storage, **options})


def test_a_tuning_that_is_kept_refuses_other_code(tmp_path) -> None:
    kept, of_file, without = (tmp_path / f"{name}.db" for name in ("class", "file", "none"))
    tuned(without)
    tuned(without, trials=2)
    tuned(kept, made(0.2))
    tuned(kept, made(0.2), trials=2)
    with pytest.raises(UsageError, match=r"class\.db: holds another tuning \(.*code.* differ\)"):
        tuned(kept, made(0.9))
    file = tmp_path / "halving.py"
    choice = {"name": "python", "file": str(file), "class": "Halving"}
    text = f"import retx\n\n\n{inspect.getsource(Halving)}"
    file.write_text(text)
    tuned(of_file, choice)
    file.write_text(text.replace("share = 0.5", "share = 0.9"))
    with pytest.raises(UsageError, match=r"file\.db: holds another tuning \(code differ"):
        tuned(of_file, choice)


def test_a_tuning_refuses_code_that_it_cannot_tell_apart(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"storage: the class .*Locked#\d+ uses an object that"):
        tuned(tmp_path / "kept.db", locked())
    classes = [made(0.2), made(0.9), Halving]
    with pytest.raises(UsageError, match=f"{MINE}: two values are called <class"):
        tuned(None, vary={MINE: classes})


SOURCE = """\
import retx

SEGMENTS = 1 << 1
calls = []
made = 0


def least(window):
    return SEGMENTS * window.smss


class Own(retx.CongestionControl):
    share = 0.5

    def __init__(self):
        global made
        made += 1
        calls.append(made)

    def on_ack(self, window, ack):
        window.cwnd += window.smss

    def on_loss(self, window, loss):
        window.cwnd = max(int(self.share * loss.flight_size), least(window))

    def on_timeout(self, window, loss, repeated):
        window.cwnd = window.smss


class Other:
    share = 1
"""


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """The module, and its file."""
    file = tmp_path / "own_of_tests.py"
    file.write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield importlib.import_module("own_of_tests"), file
    del sys.modules["own_of_tests"]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("window.cwnd += window", "window.cwnd += 2 * window", "Own.on_ack"),
        ("return SEGMENTS", "return 1 + SEGMENTS", "least"),
        ("SEGMENTS = 1 << 1", "SEGMENTS = 1 << 2", "SEGMENTS"),
        ("share = 0.5", "share = 0.9", "share"),
        ("import retx", "import retx\nimport os", "Own.__init__"),
        ("import retx", "import retx import", "own_of_tests.py"),
    ],
)
def test_a_class_whose_file_was_edited_since_is_refused(imported, old, new, what) -> None:
    module, file = imported
    sent_before = sent(run(module.Own))
    assert sent(run(module.Own)) == sent_before, "what the code itself changes is no edit"
    file.write_text(SOURCE.replace(old, new))
    with pytest.raises(
        retx.ScenarioError, match=rf"Own differs from the class in .*{what} differs"
    ):
        run(module.Own)
    if what != file.name:
        importlib.reload(module)
        run(module.Own)


def test_a_class_that_is_as_its_file_says_is_taken(imported) -> None:
    module, file = imported
    file.write_text(SOURCE.replace("share = 1", "share = 2") + "\n# The end.\n")
    run(module.Own)
    module.Own.share = 0.7
    with pytest.raises(retx.ScenarioError, match=r"\(share differs\)"):
        run(module.Own)


@pytest.mark.parametrize("save", ["run", "save", "replicate"])
def test_saving_warns_where_the_class_is_in_no_file(tmp_path, capsys, save: str) -> None:
    cls, out = made(0.2), tmp_path / "out"
    if save == "run":
        run(cls, out=out)
    elif save == "save":
        result = run(cls)
        assert capsys.readouterr().err == ""
        result.save(out)
    else:
        retx.replicate(BASE, 2, overrides={MINE: cls, "duration": "1 s"}, out=out, progress=False)
    message = r"warning: made.<locals>.Cut#\w+ is in no file: the scenario that is saved can .*\n"
    assert re.fullmatch(message, capsys.readouterr().err)
    run(Halving, out=tmp_path / "kept")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "method",
    [
        "async def on_ack(self, window, ack): ...",
        "async def on_ack(self, window, ack): yield",
        "def on_ack(self, window, ack): yield",
    ],
)
def test_methods_that_would_do_nothing_are_refused(method: str) -> None:
    methods: dict[str, Any] = {}
    exec(method, methods)
    cls = type("Late", (Halving,), {"on_ack": methods["on_ack"]})
    message = r"Late\.on_ack must be a plain function, without async or yield"
    with pytest.raises(retx.ScenarioError, match=message):
        run(cls)
    with pytest.raises(UsageError, match=message):
        retx.congestion_control(cls)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("def on_ack(self, ack, window): ...", "must take (self, window, ack), in this order"),
        ("def observ(self, ack, smss): ...", "observ is never called; did you mean observe?"),
        ("def onSent(self, sent): ...", "onSent is never called; did you mean on_sent?"),
    ],
)
def test_methods_that_would_be_ignored_are_refused(method: str, said: str) -> None:
    methods: dict[str, Any] = {}
    exec(method, methods)
    name = method[len("def ") : method.index("(")]
    cls = type("Own", (Halving,), {name: methods[name]})
    with pytest.raises(UsageError, match=re.escape(said)):
        retx.congestion_control(cls)


class Returning(Halving):
    def on_ack(self, window, ack):
        return window.cwnd + 1460


class ReturningName(Halving):
    def on_ack(self, window, ack):
        def inner() -> int:
            return 5

        new = inner()
        if ack.rtt is None:
            return None
        return new


class ReturningNothing(Halving):
    def on_ack(self, window, ack):
        def inner() -> int:
            return 5

        window.cwnd = inner()


@pytest.mark.parametrize("cls", [Returning, ReturningName])
def test_returned_values_that_would_be_ignored_are_refused(cls: type) -> None:
    with pytest.raises(UsageError, match="returns a value, which is ignored"):
        retx.congestion_control(cls)
    retx.congestion_control(ReturningNothing)


def test_a_loss_cause_with_swapped_arguments_is_refused() -> None:
    class Swapped(retx.LossCause):
        def on_ack(self, window, ack) -> None: ...

        def cause(self, loss) -> str:
            return "congestion"

    with pytest.raises(UsageError, match=r"must take \(self, ack, window\), in this order"):
        retx.loss_cause(Swapped)


@pytest.mark.parametrize(
    "method",
    [
        "def on_ack(self, window, ack): return",
        "def on_ack(self, window, ack): return print(end='')",
        "def on_ack(self, window, ack): return None if ack.rtt else None",
        "def on_ack(self, w, a): ...",
        "def on_ack(self, *arguments): ...",
        "def _observ(self, ack): return 5",
    ],
)
def test_methods_without_a_value_are_accepted(method: str) -> None:
    methods: dict[str, Any] = {}
    exec(method, methods)
    name = method[len("def ") : method.index("(")]
    retx.congestion_control(type("Own", (Halving,), {name: methods[name]}))


@pytest.mark.parametrize("name", ["Ack", "Loss", "Sent", "UnexplainedLoss", "Window"])
def test_attributes_of_arguments_are_explained(name: str) -> None:
    cls = getattr(retx, name)
    bare = [it for it in dir(cls) if not it.startswith("_") and not getattr(cls, it).__doc__]
    assert bare == []


def test_a_returned_value_is_found_only_with_source() -> None:
    methods: dict[str, Any] = {}
    exec("def on_ack(self, window, ack): return 5", methods)
    retx.congestion_control(type("WithoutSource", (Halving,), {"on_ack": methods["on_ack"]}))
