"""Cells and rows of tables that tables.toml cannot say: judged rows, and channels in words."""

from __future__ import annotations

from collections.abc import Iterator

from retx.study import Cell, Measured, Noted, plain
from retx.study.claims import Row
from retx.study.rules import judge

from .values import agrees, test_claims, within


def channel(measured: Measured, experiment: str, test: str) -> str:
    """Parameters of a channel, in words."""
    experiments = measured.study.experiments
    first, *others = experiments[experiment].overrides(test)["wlan.office.channel"]
    if first["model"] == "fading":
        return (
            f"SNR {first['mean_snr_db']:.2f} dB, Doppler {first['doppler_hz']:.3g} Hz, "
            f"K {first['rician_k']:.3g}"
        )
    share, burst = 100 * others[0]["loss"], others[0]["mean_burst"]
    if others[0]["model"] == "gilbert_elliott":
        words = f"bursts {share:.2f} % of the frames, mean {burst:.3g} frames"
    else:
        words = f"outages {share:.2f} % of the time, mean {float(burst.split()[0]):.3g} ms"
    return f"p {first['p']:.4f}; {words}"


def test_rows(measured: Measured, test: str) -> Iterator[tuple[dict[str, Cell], str]]:
    """The numbers of a test in table I, judged, with those on other kinds of channel."""
    beside = [it.key for it in measured.study.declared.lists.items(f"beside_{test}")]
    command = "\n".join(measured.at(f"{name}/{test}").command() for name in ("table_1", *beside))
    for claim in test_claims(measured, test):
        series = measured.study.published.series[claim.rows.published]
        found = measured.at(f"{claim.experiment}/{test}").estimate(claim.rows.quantity)
        row: dict[str, Cell] = {
            "quantity": series.title + (f" ({series.unit})" if series.unit else ""),
            "published": plain(series.values[test]),
            "measured": found,
            "single": found and found.single,
            "verdict": judge(measured.study.criterion(claim), found).verdict,
        }
        others = {name: _marked(measured, claim, f"{name}/{test}") for name in beside}
        yield row | others, command


def _marked(measured: Measured, claim: Row, place: str) -> Cell:
    """The mean with the range of single runs, marked if the range contains the published number."""
    found = measured.at(place).estimate(claim.rows.quantity)
    if found is None:
        return None
    mark = "✓ " if agrees(measured, claim, place) else ""
    low_high = found.single and f"{_short(found.single.low)}\u00a0… {_short(found.single.high)}"
    return Noted(mark + _short(found.mean), low_high or "")


def _short(value: float) -> str:
    """Three significant digits."""
    return plain(float(f"{value:.3g}"))


def count(measured: Measured, experiment: str, test: str) -> str | None:
    """Number of table I's rows that agree on a kind of channel."""
    known = test in measured.study.experiments[experiment].cases
    return f"{within(measured, experiment, test):g}" if known else None


def good_rows(measured: Measured) -> Iterator[tuple[dict[str, Cell], str]]:
    """Tests 3 and 5 with one change, after the published numbers."""
    shown = [it.key for it in measured.study.declared.lists.items("good_rows")]
    published = measured.study.published.series
    before = ""
    for case, what in measured.study.experiments["good"].cases.items():
        test = case[0]
        rows = {it.rows.id: it for it in test_claims(measured, test) if it.rows.id in shown}
        if test != before:
            printed = {
                key: plain(published[row.rows.published].values[test]) for key, row in rows.items()
            }
            yield {"case": f"test {test}: published", **printed}, ""
        before = test
        marks = {key: _marked(measured, row, f"good/{case}") for key, row in rows.items()}
        yield {"case": what.label, **marks}, measured.at(f"good/{case}").command()
