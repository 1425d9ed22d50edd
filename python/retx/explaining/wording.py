"""Sentences of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retx.analysis.limits import failure, line, per_cent, ranked
from retx.analysis.ranking import NEARLY, WORTH, easiest_gain
from retx.analysis.remedies import combined_fix, ease_of, gain_in, helps
from retx.explaining.evidence import evidence, standing_queue, waiting_acks
from retx.explaining.phrases import phrase
from retx.scenarios.units import seconds_of
from retx.terminal.quantities import count, rate, seconds

if TYPE_CHECKING:
    from retx.explaining.search import Search
    from retx.explaining.situation import Situation

MOST_ROWS = 12
LEAST_SECOND = 0.1
"""Share below which a second limit is not mentioned."""
LEAST_APART = 0.1
"""Relative difference of two speeds from which on the paragraph explains the difference."""
FROM_NOTHING = 1e6
"""Gain above which no number is given. Only a flow that delivered nothing can exceed it."""


def stopped(search: Search) -> dict[str, Any]:
    """Rule that ended the search, and cost of the search."""
    plan, took = search.plan, search.took_s
    if search.is_separated and not plan.draws and search.untried == 0:
        rule, text = "separated", "the intervals tell the five best apart, or differ by under 2 %"
    elif plan.draws and search.has_all_draws:
        rule, text = "replications", f"{plan.draws} draws of each remedy are made"
    elif search.is_exhausted:
        rule, text = "draws", "more draws would not tell the five best apart"
    else:
        of = seconds(plan.budget_s) if plan.budget_s else f"{count(plan.packets)} packets"
        rule, text = "budget", f"the budget of {of} is spent"
    if search.untried > 0:
        text += (
            f"; {search.untried} of {search.proposed} changes "
            f"{'was' if search.untried == 1 else 'were'} not tried: give it more by --budget"
        )
    return {
        "rule": rule,
        "text": text,
        "took_s": took,
        "runs": search.runs.count,
        "changes": search.proposed,
        "untried": search.untried,
    }


def factor(gain: float | None) -> str:
    """Text of a gain: `×9.2`."""
    if gain is None:
        return "–"
    return f"×{gain:.3g}" if gain < FROM_NOTHING else "from 0"


def interval(row: Mapping[str, Any]) -> str:
    """`9.1 to 9.4`; empty if there is only one draw."""
    if row["gain_low"] is None or row["gain"] >= FROM_NOTHING:
        return ""
    low, high = f"{row['gain_low']:.3g}", f"{row['gain_high']:.3g}"
    return f"{low} to {high}" if low != high else "no spread"


def price(row: Mapping[str, Any]) -> str:
    """Costs of a remedy as numbers, except those that round to zero."""
    prices, paid = [], row["price"]
    if paid["rtt_s"] is not None and abs(paid["rtt_s"]) >= 1e-4:
        prices.append(f"RTT {'+' if paid['rtt_s'] > 0 else '−'}{seconds(abs(paid['rtt_s']))}")
    if abs(paid["needless"]) >= 5e-4:
        sign = "+" if paid["needless"] > 0 else "−"
        prices.append(f"needless {sign}{100 * abs(paid['needless']):.2g} %")
    if paid["others"] is not None and abs(paid["others"] - 1) >= 0.005:
        prices.append(f"others ×{paid['others']:.2f}")
    if row["failures"]:
        prices.append("TCP gives up")
    return ", ".join(prices)


def fix(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Row of the recommended change; None if there is none."""
    return next((row for row in content["remedies"] if row["name"] == content["fix"]), None)


def _second(rows: Sequence[Mapping[str, Any]], best: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Easiest helpful change elsewhere: on the path if the best is at a host, or vice versa.

    If there is none, the easiest change at another place of the same side.
    """
    mine = ("end", "application")
    others = [
        row for row in rows if helps(row) and row["in_linux"] and row["where"] != best["where"]
    ]
    apart = [row for row in others if (row["where"] in mine) != (best["where"] in mine)]
    return easiest_gain(apart or others, gain_in, ease_of)


def paragraph(search: Search, content: Mapping[str, Any]) -> str:
    """Cause, evidence, fix and expected gain."""
    return " ".join(part for part in (_cause(search, content), *_cure(search, content)) if part)


def _cause(search: Search, content: Mapping[str, Any]) -> str:
    where = f"“{content['title']}”: the flow" if content["title"] else "The flow"
    limit = next((it["goodput_bit_s"] for it in content["bounds"] if it["name"] == "link"), None)
    of = f" of at most {rate(limit)}" if limit else ""
    sentence = f"{where} {content['flow']} {_got(content)}{of}."
    failed = search.situation.failed_at_s
    if failed is not None:
        sentence += f" {failure(seconds(failed))}"
        if content["measure"] == "goodput":
            until = search.scenario["duration"]
            sentence += f" The goodput is the mean until the end of the scenario, at {until}."
    if not sum(search.situation.shares.values()):
        return f"{sentence} Nothing of it was measured: {_unmeasured(search.situation)}."
    if content["measure"] == "response time":
        return f"{sentence} {_of_answers(search.situation)}"
    return f"{sentence} {_limits(search.situation, search.situation.shares, 'of its life')}"


def _unmeasured(situation: Situation) -> str:
    """Clause for a flow that was not active between the warm-up and the end of the run."""
    ends = [row["finish_s"] for row in situation.rows]
    warmup = str(situation.scenario.get("warmup", "0 s"))
    if ends and None not in ends and max(ends) <= seconds_of(warmup):
        return f"it had ended after {seconds(max(ends))}, within the warm-up of {warmup}"
    return "it had no life between the warm-up and the end"


def _of_answers(situation: Situation) -> str:
    """Sentences on the limit of response times: a standing queue, or what limits the responses."""
    if situation.has_standing_queue:
        return standing_queue(situation)
    pause = situation.shares.get("application", 0.0)
    if not 0 < pause < 1:
        return _limits(situation, situation.shares, "of its life")
    rest = {key: it / (1 - pause) for key, it in situation.shares.items() if key != "application"}
    return (
        f"For {per_cent(pause)} of its life the server has no response to send. "
        f"{_limits(situation, rest, 'of the rest')}"
    )


def _limits(situation: Situation, of_life: Mapping[str, float], whole: str) -> str:
    """Sentences on the largest limit with its evidence, and on a second one that is large."""
    (first, most), (second, part) = ranked(of_life)[:2]
    sentence = f"For {per_cent(most)} {whole} it is limited {phrase(situation, first)}"
    sentence += _because(evidence(situation, first))
    waiting = waiting_acks(situation, first)
    if waiting:
        sentence += f" {waiting}"
    if part >= LEAST_SECOND:
        # Limits with the same cause have the same evidence, so it is not repeated.
        alike = "." in first and first.rpartition(".")[2] == second.rpartition(".")[2]
        sentence += f" Another {per_cent(part)} is limited {phrase(situation, second)}"
        sentence += _because("" if alike else evidence(situation, second))
    return sentence


def _because(shown: str) -> str:
    return f": {shown}." if shown else "."


def _got(content: Mapping[str, Any]) -> str:
    """Predicate of a sentence about the flow: its goodput or its response time."""
    whole, first = _shown(content, content), _shown(content, content["first_draw"])
    got = f"has a mean response time of {whole}" if _answers(content) else f"gets {whole}"
    if _alike(content, content, content["first_draw"]):
        return got
    return f"{got} (mean of the draws; {first} in the first, to which shares and counts belong)"


def _answers(content: Mapping[str, Any]) -> bool:
    return content["measure"] == "response time" and content["response_s"] is not None


def _shown(content: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Goodput or response time of one row."""
    return seconds(row["response_s"]) if _answers(content) else rate(row["goodput_bit_s"])


def _alike(content: Mapping[str, Any], one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if the difference between two rows is too small to need an explanation."""
    key = "response_s" if _answers(content) else "goodput_bit_s"
    a, b = float(one[key] or 0), float(other[key] or 0)
    return abs(a - b) <= LEAST_APART * max(a, b)


def _cure(search: Search, content: Mapping[str, Any]) -> list[str]:
    best, policer = fix(content), search.situation.path.policer
    if search.flow["app"].get("bytes") == 0:
        return ["It has 0 bytes to send: there is nothing to make faster."]
    if best is None and not sum(content["limited_by"].values()):
        return []
    if best is None:
        more = f"More takes a higher rate of the policer of {policer.name}." if policer else ""
        return [_none(content), more, _delay(search, content)]
    lines = [
        f"Fix: {best['text']}. How: {_steps(best)}.",
        f"Expected: {_expected(content, best)}. Price: {best['price']['note']}",
    ]
    if best["limit_alone"]:
        lines.append(_limit_alone(best))
    together = combined_fix(content)
    if together and (together["gain_low"] or 0) > WORTH * best["gain"]:
        lines.append(f"{_beyond(together, best)}: {_expected(content, together)}.")
    second = _second(content["remedies"], best)
    if second:
        lines.append(f"Or: {second['text']}, {factor(second['gain'])}.")
    first = content["remedies"][0]
    if not (first["in_linux"] or first["failures"]) and first["gain"] > best["gain"] / NEARLY:
        lines.append(
            f"More would bring what no kernel has: {first['text']}, {factor(first['gain'])}."
        )
    return lines


def _limit_alone(best: Mapping[str, Any]) -> str:
    """Sentence on the part of a gain that the longer limit of an active queue brings."""
    alone = best["limit_alone"]
    much = (
        "about as much"
        if NEARLY * best["gain"] <= alone["gain"] <= best["gain"] / NEARLY
        else ("less" if alone["gain"] < best["gain"] else "more")
    )
    paid = price(alone)
    with_price = f"; {paid}" if paid else ""
    return (
        f"Its longer limit alone gains {much}: a drop-tail queue of {count(alone['packets'])} "
        f"packets, without early drops, gives {factor(alone['gain'])}{_within(alone)}{with_price}."
    )


def _steps(row: Mapping[str, Any]) -> str:
    """All instructions for a change."""
    return "; ".join(row["apply"])


def _beyond(row: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    """Changes of a combination beyond the recommended change, or all if it is not a part of it."""
    more = row["text"].removeprefix(f"{best['text']}, and ")
    return f"Together with {more}" if more != row["text"] else f"Instead, {more} together"


def _expected(content: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Result with a change, beside that without it in the same draws, whose ratio is the gain."""
    answers = content["measure"] == "response time"
    got, before, mean = (
        seconds(it["response_s"]) if answers else rate(it["goodput_bit_s"])
        for it in (row, row["without"], content)
    )
    instead = "" if before == mean else f" instead of {before} in the same draws"
    measured = f"a response time of {got}" if answers else got
    fast = f"{factor(row['gain'])}{' as fast' if answers else ''}"
    if answers and row["gain"] >= FROM_NOTHING:
        fast = "instead of no response"
    sentence = f"{measured}{instead}, {fast}{_within(row)}"
    paid = price(row)
    return f"{sentence}; {paid}" if paid else sentence


def _within(row: Mapping[str, Any]) -> str:
    found = interval(row)
    if not found:
        return " (one draw)"
    same = found == "no spread"
    return " (the same in each draw)" if same else f" (95 % interval {found})"


def _none(content: Mapping[str, Any]) -> str:
    if not content["remedies"]:
        return "No remedy of TCP or of the link is for this limit."
    lasting = [row for row in content["remedies"] if not row["failures"]]
    if not lasting:
        return "TCP gives up with every remedy that was tried, too."
    best = lasting[0]
    if not content["goodput_bit_s"] and not best["goodput_bit_s"]:
        return "Nothing arrives, with any remedy that was tried."
    given = f"the best, {best['text']}, gives {factor(best['gain'])}{_within(best)}"
    paid = price(best)
    if helps(best) and paid:
        return (
            "No remedy that was tried makes it clearly faster without slowing the other flows: "
            f"{given}; {paid}."
        )
    return f"No remedy that was tried makes it clearly faster: {given}."


def _delay(search: Search, content: Mapping[str, Any]) -> str:
    """Sentence on the remedy that shortens the round trip most, if none increases the speed."""
    found = search.shortest_delay(search.singles)
    if found is None:
        return ""
    row = next(row for row in content["remedies"] if row["name"] == found.name)
    draws = found.runs.keys() & search.baseline.keys()
    pairs = [(found.runs[draw], search.baseline[draw]) for draw in sorted(draws)]
    times = [(run.rtt_s, base.rtt_s) for run, base in pairs if run.rtt_s and base.rtt_s]
    after, before = (sum(column) / len(times) for column in zip(*times, strict=True))
    others = row["price"]["others"]
    for_others = f" (the others: {factor(others)})" if others is not None else ""
    return (
        f"What can be had is delay: with {row['text']}, a round trip takes {seconds(after)} "
        f"instead of {seconds(before)} in the same draws, at {factor(row['gain'])} of the speed"
        f"{_within(row)}{for_others}. How: {_steps(row)}."
    )


def plain_text(content: Mapping[str, Any]) -> str:
    """The answer as plain text, without a table."""
    lines = [f"{flow['name']}: {limits_line(flow)}" for flow in content["flows"][:MOST_ROWS]]
    lines += [f"{factor(row['gain']):>7}  {row['text']}" for row in content["remedies"][:MOST_ROWS]]
    return "\n".join([*lines, content["summary"]])


def limits_line(flow: Mapping[str, Any]) -> str:
    """Line about a flow: `limited 63 % by …`."""
    return line(flow["limited_by"], flow.get("phrases")) or "no life was measured"
