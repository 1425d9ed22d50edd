"""Sentences of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retx.explaining.evidence import evidence
from retx.quantities import rate, seconds
from retx.shares import PHRASES, line, per_cent, ranked

if TYPE_CHECKING:
    from retx.explaining.search import Search

WORTH = 1.03
"""A gain below this is not worth a change."""
NEARLY = 0.97
"""Of the best gain: what gains so much and is easier to have is preferred."""
MOST_ROWS = 12


def stopped(search: Search) -> dict[str, Any]:
    """Which rule ended the search."""
    plan, took = search.plan, search.took_s
    if search.is_separated and not plan.draws and search.untried == 0:
        rule, text = "separated", "the intervals tell the five best apart, or differ by under 2 %"
    elif plan.draws and plan.budget_s is None:
        rule, text = "replications", f"{plan.draws} draws of each remedy are made"
    elif search.is_exhausted:
        rule, text = "draws", "more draws would not tell the five best apart"
    else:
        rule, text = "budget", f"the budget of {seconds(plan.budget_s)} is spent"
    if search.untried > 0:
        text += f"; {search.untried} changes were not tried: give more by --budget"
    return {"rule": rule, "text": text, "took_s": took, "runs": search.runs.count}


def factor(gain: float | None) -> str:
    """A gain as people read it: `×9.2`."""
    return "–" if gain is None else f"×{gain:.3g}"


def interval(row: Mapping[str, Any]) -> str:
    """`9.1 to 9.4`; empty where one draw gives none."""
    if row["gain_low"] is None:
        return ""
    low, high = f"{row['gain_low']:.3g}", f"{row['gain_high']:.3g}"
    return f"{low} to {high}" if low != high else "no spread"


def price(row: Mapping[str, Any]) -> str:
    """What a remedy costs, in figures; only those that are no rounding."""
    told, paid = [], row["price"]
    if paid["rtt_s"] is not None and abs(paid["rtt_s"]) >= 1e-4:
        told.append(f"RTT {'+' if paid['rtt_s'] > 0 else '−'}{seconds(abs(paid['rtt_s']))}")
    if abs(paid["needless"]) >= 5e-4:
        sign = "+" if paid["needless"] > 0 else "−"
        told.append(f"needless {sign}{100 * abs(paid['needless']):.2g} %")
    if paid["others"] is not None and abs(paid["others"] - 1) >= 0.005:
        told.append(f"others ×{paid['others']:.2f}")
    return ", ".join(told)


def fix(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The remedy to recommend: about the best gain, and people can have it; None without any."""
    worth = _worth(rows)
    usable = [row for row in worth if row["in_linux"]]
    if not usable:
        return worth[0] if worth else None
    best = usable[0]["gain"]
    near = [row for row in usable if row["gain"] >= NEARLY * best]
    # Of gains that are alike the one with the fewest keys to change.
    return min(near, key=lambda row: (len(row["change"]), -row["gain"]))


def _worth(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["gain"] >= WORTH and (row["gain_low"] or 2) > 1]


def _is_elsewhere(row: Mapping[str, Any], best: Mapping[str, Any]) -> bool:
    """True for what people can have and somebody else could do: other tables of the scenario."""
    tables = [{key.split(".")[0] for key in one["change"]} for one in (row, best)]
    return bool(row["in_linux"]) and not tables[0] & tables[1]


def paragraph(search: Search, content: Mapping[str, Any]) -> str:
    """Cause, evidence, fix and expected gain."""
    return " ".join(part for part in (_cause(search, content), *_cure(content)) if part)


def _cause(search: Search, content: Mapping[str, Any]) -> str:
    situation = search.situation
    where = f"“{content['title']}”: the flow" if content["title"] else "The flow"
    limits = ranked(situation.shares)
    first, most = limits[0]
    limit = next((it["goodput_bit_s"] for it in content["bounds"] if it["name"] == "link"), None)
    of = f" of at most {rate(limit)}" if limit else ""
    shown = evidence(situation, first)
    because = f": {shown}" if shown else ""
    cause = (
        f"{where} {content['flow']} gets {_got(content)}{of}. For {per_cent(most)} of its life it "
        f"is limited {PHRASES.get(first, first)}{because}."
    )
    if len(limits) > 1 and limits[1][1] >= 0.1:
        second, part = limits[1]
        # Of one cause the figures are the same.
        more = (
            ""
            if first.rpartition(".")[2] == second.rpartition(".")[2]
            else evidence(situation, second)
        )
        cause += f" Another {per_cent(part)} is limited {PHRASES.get(second, second)}"
        cause += f": {more}." if more else "."
    return cause


def _got(content: Mapping[str, Any]) -> str:
    if content["measure"] == "response time" and content["response_s"] is not None:
        after = seconds(content["response_s"])
        return f"its answers after {after} on average, {rate(content['goodput_bit_s'])}"
    return rate(content["goodput_bit_s"])


def _cure(content: Mapping[str, Any]) -> list[str]:
    best = fix(content["remedies"])
    if best is None:
        return [_none(content), _delay(content)]
    told = [
        f"Fix: {best['text']}. How: {best['apply'][0]}.",
        f"Expected: {_expected(content, best)}.",
    ]
    for row in content["combinations"][:1]:
        if (row["gain_low"] or 0) > best["gain"]:
            told.append(f"Together with {_beyond(row, best)}: {_expected(content, row)}.")
    second = next((row for row in _worth(content["remedies"]) if _is_elsewhere(row, best)), None)
    if second:
        told.append(f"Or: {second['text']}, {factor(second['gain'])}.")
    first = content["remedies"][0]
    if not first["in_linux"] and first["gain"] > best["gain"] / NEARLY:
        told.append(
            f"More would bring what no kernel has: {first['text']}, {factor(first['gain'])}."
        )
    return told


def _beyond(row: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    """What a combination has beside the fix."""
    return str(row["text"].removeprefix(best["text"]).removeprefix(", and "))


def _expected(content: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    within = _within(row)
    if content["measure"] == "response time":
        told = f"response times shorter by a factor of {row['gain']:.3g}{within}"
    else:
        told = f"{rate(row['goodput_bit_s'])}, {factor(row['gain'])}{within}"
    paid = price(row)
    return f"{told}; {paid}" if paid else told


def _within(row: Mapping[str, Any]) -> str:
    found = interval(row)
    if not found:
        return " (one draw)"
    same = found == "no spread"
    return " (the same in each draw)" if same else f" (95 % interval {found})"


def _none(content: Mapping[str, Any]) -> str:
    if not content["remedies"]:
        return "No remedy of TCP or of the link is for this limit: look at the application."
    best = content["remedies"][0]
    return (
        f"No remedy that was tried makes it faster: the best, {best['text']}, gives "
        f"{factor(best['gain'])}."
    )


def _delay(content: Mapping[str, Any]) -> str:
    """The remedy that shortens the round trip most, where nothing is gained in speed."""
    shorter = [
        row
        for row in content["remedies"]
        if row["gain"] >= 0.9 and row["in_linux"] and (row["price"]["rtt_s"] or 0) < -0.005
    ]
    if not shorter:
        return ""
    best = min(shorter, key=lambda row: row["price"]["rtt_s"])
    less = seconds(-best["price"]["rtt_s"])
    return (
        f"What can be had is delay: {best['text']} takes {less} off the round trip at "
        f"{factor(best['gain'])} of the speed. How: {best['apply'][0]}."
    )


def plain_text(content: Mapping[str, Any]) -> str:
    """The answer as plain lines, without a table."""
    lines = [f"{flow['name']}: {limits_line(flow)}" for flow in content["flows"][:MOST_ROWS]]
    lines += [f"{factor(row['gain']):>7}  {row['text']}" for row in content["remedies"][:MOST_ROWS]]
    return "\n".join([*lines, content["summary"]])


def limits_line(flow: Mapping[str, Any]) -> str:
    """`limited 63 % by …` of a flow."""
    return line(flow["limited_by"]) or "no life was measured"
