"""Stored runs and sweeps are read back, drawn and handed to other programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from conftest import LOSSY
from polars.testing import assert_frame_equal

import retx
from retx.cli.entry import command_line
from retx.sweeps.tabulated import is_table_file

TCP, P = "flow.download.tcp", "link.cloud.forward.channel.p"
GRID = {TCP: ["newreno", "cubic"], P: [0.001, 0.02]}
VARY = ["--vary", f"{TCP}=newreno,cubic", "--vary", f"{P}=0.001,0.02", "--replications", "3"]

Call = Callable[..., str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a run, of replications and of a sweep, and files that are none."""
    home = tmp_path_factory.mktemp("stored")
    (home / "lossy.toml").write_text(LOSSY)
    retx.run(LOSSY, out=home / "run")
    retx.replicate(LOSSY, 3, out=home / "draws")
    retx.sweep(LOSSY, GRID, 3, out=home / "sweep")
    retx.run(LOSSY, tables=False, segments=False, overrides={"sample_interval": "1 s"}).save(
        home / "bare"
    )
    (home / "file").write_text("")
    (home / "foreign").mkdir()
    (home / "foreign" / "summary.json").write_text('{"a": 1}')
    (home / "damaged").mkdir()
    (home / "damaged" / "summary.json").write_text("{")
    return home


@pytest.fixture
def call(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """Runs a command in an empty directory of this process; returns what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> str:
        first, *rest = map(str, words)
        texts = [first, *(str(home / it) if (home / it).exists() else it for it in rest)]
        command_line(texts)(texts, standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_a_run_comes_back_as_it_was(home: Path, tmp_path: Path) -> None:
    found, made = retx.load(home / "run"), retx.run(LOSSY)
    assert isinstance(found, retx.Result)
    assert found.tables.keys() == made.tables.keys()
    for name, table in made.tables.items():
        assert_frame_equal(found.tables[name], table)
    assert found.scenario == made.scenario
    assert found.scenario_toml() == made.scenario_toml()
    assert repr(found) == repr(made)
    assert found.wlans.is_empty()
    drawn = [result.plot.cwnd(span=(0, 1)).data for result in (found, made)]
    assert_frame_equal(*(next(iter(data.values())) for data in drawn))
    found.save(tmp_path / "again")
    names = sorted(path.name for path in (home / "run").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "again").iterdir())
    assert (tmp_path / "again" / "summary.json").read_bytes() == (
        home / "run" / "summary.json"
    ).read_bytes()


def test_replications_come_back(home: Path, tmp_path: Path) -> None:
    found, made = retx.load(home / "draws"), retx.replicate(LOSSY, 3)
    assert isinstance(found, retx.Replications)
    assert len(found) == 3
    assert_frame_equal(found.flows, made.flows)
    assert_frame_equal(found[2].episodes, made[2].episodes)
    assert_frame_equal(found.mean("goodput_bit_s"), made.mean("goodput_bit_s"))
    assert found.wlans.schema == made.wlans.schema
    with pytest.raises(retx.NotRecordedError, match="holds no segments"):
        found.segments  # noqa: B018
    found.save(tmp_path / "again")
    assert_frame_equal(retx.load(tmp_path / "again").links, made.links)


def test_a_sweep_comes_back(home: Path) -> None:
    found = retx.load(home / "sweep")
    assert isinstance(found, retx.Sweep)
    assert len(found) == 12


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("none", FileNotFoundError, "no such directory"),
        ("file", retx.UsageError, "name the directory"),
        ("", retx.UsageError, "there are results in"),
        ("foreign", retx.UsageError, "is not a result of retx"),
        ("damaged", retx.UsageError, "is damaged"),
    ],
)
def test_what_is_no_result_is_named(
    home: Path, place: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        retx.load(home / place)


def test_a_damaged_table_is_named(home: Path, tmp_path: Path) -> None:
    retx.load(home / "run").save(tmp_path / "run")
    (tmp_path / "run" / "samples.parquet").write_bytes(b"PAR1")
    with pytest.raises(retx.UsageError, match=r"samples\.parquet: is damaged"):
        retx.load(tmp_path / "run").plot.cwnd()


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["run", "cwnd"], "cwnd.png"),
        (["run", "queue=q.svg", "--span", "0", "1"], "q.svg"),
        (["draws", "cdf"], "cdf.png"),
        (["draws", "cwnd=w.png", "--replication", "1"], "w.png"),
        (["sweep", "metric"], "metric.png"),
        (["sweep", "heat_map"], "heat_map.png"),
        (["sweep", "contour=c.csv", "--where", f"{TCP}=cubic", "--x", P, "--y", TCP], None),
        (["sweep", "paired=p.pdf", "--paired", "cubic,newreno"], "p.pdf"),
        (["sweep", "cdf", "--by", TCP, "--where", f"{P}=0.02"], "cdf.png"),
        (["sweep", "metric=m.csv", "--metric", "link.cloud.forward.utilisation"], "m.csv"),
    ],
)
def test_stored_results_are_drawn(
    call: Call, tmp_path: Path, words: list[str], file: str | None
) -> None:
    if file is None:
        with pytest.raises(retx.UsageError, match="holds no numbers"):
            call("plot", *words)
        return
    assert call("plot", *words) == f"Written: {file}\n"
    assert (tmp_path / file).stat().st_size > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "metric"], "choose one of cwnd, sequence"),
        (["run", "cwnd", "--by", TCP], "--by is for sweeps"),
        (["bare", "ladder"], "holds no segments"),
        (["draws", "cwnd"], "add --replication N"),
        (["draws", "cwnd", "--replication", "3"], "from 0 on"),
        (["sweep", "cwnd"], "choose one of metric, heat_map"),
        (["sweep", "metric", "--y", P], "--y is for heat_map"),
        (["sweep", "metric", "--span", "0", "1"], "--span is for"),
        (["sweep", "metric", "--where", f"{TCP}=reno"], "is never reno"),
        (["sweep", "metric", "--where", "a=1"], "no key 'a' varies"),
        (["sweep", "paired"], "name the compared values"),
        (["sweep", "paired", "--paired", "cubic,reno"], "no key has both"),
        (["sweep", "metric", "cdf=metric.png"], "two figures would be written there"),
        (["sweep", "cdf"], "vary, too: choose"),
        (["sweep", "cdf", "--by", TCP], f"{P} vary, too: choose"),
        (["foreign", "cwnd"], "is not a result of retx"),
    ],
)
def test_what_cannot_be_drawn_says_what_can(
    call: Call, tmp_path: Path, words: list[str], message: str
) -> None:
    with pytest.raises((ValueError, LookupError), match=re.escape(message)):
        call("plot", *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_figure_that_finds_no_room_says_so(home: Path, tmp_path: Path) -> None:
    code = (
        "import resource, sys; sys.dont_write_bytecode = True;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));"
        "from retx.cli.entry import main; sys.exit(main())"
    )
    words = ["plot", str(home / "sweep"), "metric=m.pdf"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (2, "error: m.pdf: File too large\n")


def test_a_sweep_shows_and_stores_for_everyone(call: Call, tmp_path: Path) -> None:
    words = ["sweep", "lossy.toml", *VARY, "--paired", "cubic,newreno", "--out", "kept"]
    text = call(*words, "--csv", "means.csv", "--plot", "paired", "--plot", "metric=m.svg")
    for word in ("cubic less newreno", "p (Holm)", "Written: means.csv", "m.svg", "kept/tables"):
        assert word in text
    found = retx.load("kept")
    assert pl.read_csv("means.csv")["mean"].to_list() == found.summary()["mean"].to_list()
    for name, table in found.tables.items():
        assert_frame_equal(pl.read_parquet(f"kept/tables/{name}.parquet"), table)
    # A part says which point its rows are of by a key.
    points = pl.read_parquet("kept/tables/points.parquet")
    joined = pl.read_parquet("kept/parts/*/flows.parquet").join(points, on="key")
    assert joined.height == found.flows.height
    printed = json.loads(call(*words, "--json", "--csv", "all"))
    assert (printed["keys"], printed["runs"]) == ([TCP, P], 12)
    assert printed["paired"]["values"] == ["cubic", "newreno"]
    assert printed["paired"]["rows"][0]["n"] == 3
    assert {path.stem for path in Path("all").iterdir()} == {*found.tables, "summary"}
    # Tables of an earlier state are gone as soon as a sweep goes on.
    retx.sweep(LOSSY, GRID, 4, out="kept")
    assert not Path("kept/tables").exists()
    retx.sweep(LOSSY, GRID, 2, out="kept", force=True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--plot", "metric", "--vary", "link.cloud.delay=5 ms,9 ms"], "hold others at a value"),
        (["--plot", "paired"], "name the compared values"),
        (["--plot", "cwnd"], "no plot 'cwnd' of a sweep"),
        (["--paired", "cubic,reno"], "no key has both values"),
        (["--width", "column"], "add --plot KIND"),
        (["--latex", "t.pdf"], "must end in .tex"),
    ],
)
def test_a_sweep_refuses_before_its_first_run(
    call: Call, tmp_path: Path, more: list[str], message: str
) -> None:
    with pytest.raises(retx.UsageError, match=re.escape(message)):
        call("sweep", "lossy.toml", *VARY, "--out", "kept", *more)
    assert list(tmp_path.iterdir()) == []


def test_only_files_of_a_sweep_are_removed(call: Call, tmp_path: Path) -> None:
    call("sweep", "lossy.toml", *VARY, "--out", "kept")
    own = Path("kept/tables/mine.parquet")
    own.write_text("precious")
    with pytest.raises(retx.UsageError, match=r"tables/mine\.parquet, which retx did not write"):
        call("sweep", "lossy.toml", *VARY, "--out", "kept", "--force")
    retx.sweep(LOSSY, GRID, 4, out="kept")
    assert [path.name for path in own.parent.iterdir()] == ["mine.parquet"]
    assert is_table_file(Path(".flows.a1b2c3d4.partial.parquet"))


def test_a_run_writes_its_tables_as_csv(call: Call) -> None:
    assert "f.csv" in call("run", "lossy.toml", "--csv", "f.csv")
    assert pl.read_csv("f.csv")["name"].to_list() == ["download"]
    call("run", "lossy.toml", "--csv", "all", "--no-segments")
    names = {path.stem for path in Path("all").iterdir()}
    assert names == {"flows", "links", "samples", "link_samples", "drops", "episodes", "limits"}
    assert pl.read_csv("all/samples.csv").height == retx.run(LOSSY).samples.height
    call("run", "lossy.toml", "--csv", "draws.csv", "--replications", "2")
    assert pl.read_csv("draws.csv")["replication"].to_list() == [0, 1]
    with pytest.raises(retx.UsageError, match="exists and is not empty"):
        call("run", "lossy.toml", "--csv", "all")
    Path("table.txt").write_text("")
    with pytest.raises(retx.UsageError, match=r"must end in \.csv"):
        call("sweep", "lossy.toml", *VARY, "--csv", "table.txt")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("word", "values"),
    [
        (f"{TCP}=newreno,cubic", ["newreno", "cubic"]),
        (f'{TCP}=["newreno", "cubic"]', ["newreno", "cubic"]),
        ("link.cloud.delay=5 ms, 50 ms", ["5 ms", "50 ms"]),
        (f"{P}=1e-3..0.1:log:3", [0.001, 0.01, 0.1]),
        (f'{P}={{ from = 0.001, to = 0.1, steps = 3, scale = "log" }}', [0.001, 0.01, 0.1]),
        ("link.cloud.delay=10..50 ms:3", ["10 ms", "30 ms", "50 ms"]),
        ("link.cloud.queue.packets=5..8:3", [5, 7, 8]),
        ("seed=4", [4]),
    ],
)
def test_both_commands_read_what_varies_alike(word: str, values: list[object]) -> None:
    from retx.scenarios.varied import plain_value, read_grid_options
    from retx.sweeps.grid import read_grid
    from retx.tuning.space import Choice, parsed

    grid = read_grid(read_grid_options([word]))
    assert [value for (value,) in grid.points] == pytest.approx(values) or values == [
        value for (value,) in grid.points
    ]
    if len(values) > 1:
        key, choice = parsed(word)
        assert isinstance(choice, Choice)
        assert key == grid.keys[0]
        assert [plain_value(value) for value in choice.values] == [it for (it,) in grid.points]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (f"{P}=0.1..0.2", ':5" takes 5'),
        (f"{P}=[]", "the list is empty"),
        (f"{P}=[reno]", "without brackets they need none"),
        (f"{P}=1,,2", "a value is missing"),
        ("p", "write KEY="),
    ],
)
def test_a_sweep_refuses_what_does_not_say_its_values(word: str, message: str) -> None:
    from retx.scenarios.varied import read_grid_options

    with pytest.raises(retx.UsageError, match=re.escape(message)):
        read_grid_options([word])
