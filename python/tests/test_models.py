"""Closed forms against computed anchors, known limits, and each other."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from conftest import LOSSY

import retx
from retx.models import (
    bit_errors,
    cardwell,
    dcf,
    ethernet_limit,
    fading,
    fairness,
    gilbert_elliott,
    knee,
    mathis,
    pftk,
    queueing,
    recovery,
    repair,
    window_limit,
)
from retx.models.arguments import ModelError
from retx.models.conditions import conditions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def printed(value: float, digits: int) -> str:
    return f"{float(value):.{digits}f}"


@pytest.mark.parametrize(
    ("p", "b2", "b1", "limited", "square_root"),
    [
        (1e-4, "861.63 864.08", "1219.59 1222.00", "575.99", "1224.74"),
        (1e-3, "265.57 267.83", "376.60 378.78", "265.57", "387.30"),
        (1e-2, "69.52 70.65", "98.83 99.92", "69.52", "122.47"),
        (5e-2, "18.60 17.49", "26.05 24.73", "18.60", "54.77"),
        (0.1, "9.11 6.90", "12.46 9.76", "9.11", "38.73"),
    ],
)
def test_anchors_of_throughput(p: float, b2: str, b1: str, limited: str, square_root: str) -> None:
    """RTT 0.1 s, T₀ 1 s: full and approximate model, packets per second."""
    for b, anchors in ((2, b2), (1, b1)):
        both = (pftk.packets_s(p, 0.1, 1, b), pftk.approximate_packets_s(p, 0.1, 1, b))
        assert " ".join(printed(rate, 2) for rate in both) == anchors
    assert printed(pftk.packets_s(p, 0.1, 1, 2, 64), 2) == limited
    assert printed(mathis.packets_s(p, 0.1), 2) == square_root


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.9])
def test_a_row_of_timeouts_lasts_as_long_as_its_series(p: float) -> None:
    """k timeouts in a row take 2ᵏ − 1 first timeouts, from the seventh on 64 more each."""
    k = np.arange(1, 2000)
    lengths = np.where(k <= 6, 2.0 ** np.minimum(k, 6) - 1, 63 + 64 * (k - 6.0))
    mean = (p ** (k - 1) * (1 - p) * lengths).sum()
    assert pftk.timeouts_s(p, 2.5) == pytest.approx(2.5 * mean, rel=1e-12)


@pytest.mark.parametrize(
    ("window", "stages", "n", "anchors"),
    [
        (32, 3, 5, ("0.1792", "0.04816", "0.8097", "0.8342")),
        (32, 3, 10, ("0.2989", "0.03869", "0.7532", "0.8371")),
        (32, 3, 50, ("0.6094", "0.01900", "0.5529", "0.8270")),
        (32, 5, 10, ("0.2898", "0.03731", "0.7579", "0.8370")),
        (128, 3, 10, ("0.1153", "0.01352", "0.8263", "0.8217")),
    ],
)
def test_anchors_of_bianchi(window: int, stages: int, n: int, anchors: tuple[str, ...]) -> None:
    """The paper's frequency-hopping set: p, τ, and the share of the rate without and with RTS."""
    set_up = {"cw_min": window - 1, "stages": stages}
    tau, p = dcf.contention(n, **set_up)
    shares = (dcf.bit_s(n, 1023, dcf.FHSS, **set_up, rts=rts) / 1e6 for rts in (False, True))
    found = (printed(p, 4), printed(tau, 5), *(printed(share, 4) for share in shares))
    assert found == anchors


def test_anchors_of_80211b() -> None:
    rates = dcf.bit_s([1, 2, 5, 10]) / 1e6
    assert [printed(rate, 2) for rate in rates] == ["6.22", "6.57", "6.51", "6.20"]


def test_a_retry_limit_that_is_far_away_is_none() -> None:
    near, far, none = (dcf.contention([2, 10, 50], attempts=limit) for limit in (7, 400, None))
    np.testing.assert_allclose(far.tau, none.tau, rtol=1e-9)
    assert np.all(near.tau > none.tau)
    # Wu et al. 2002 solve the chain state by state; the same in their form, for m < R.
    p, w, m, retries = near.p, 32, 5, 6
    numerator = 2 * (1 - 2 * p) * (1 - p)
    first = w * (1 - (2 * p) ** (m + 1)) * (1 - p) + (1 - 2 * p) * (1 - p ** (retries + 1))
    rest = w * 2**m * p ** (m + 1) * (1 - 2 * p) * (1 - p ** (retries - m))
    tau = (1 - p ** (retries + 1)) / (1 - p) * numerator / (first + rest)
    np.testing.assert_allclose(near.tau, tau, rtol=1e-9)
    np.testing.assert_allclose(dcf.given_up([2, 10, 50]), near.p**7)


def test_anchors_of_bit_errors() -> None:
    sizes = [1500, 1040, 40]
    assert [printed(x, 4) for x in bit_errors.packet_error_rate(1e-5, sizes)] == [
        "0.1131",
        "0.0798",
        "0.0032",
    ]
    found = bit_errors.packet_error_rate(1e-6, sizes)
    assert [printed(x, d) for x, d in zip(found, (4, 4, 5), strict=True)] == [
        "0.0119",
        "0.0083",
        "0.00032",
    ]
    # The paper's table 1: ten powers of ten, 1250 bytes.
    np.testing.assert_allclose(
        bit_errors.packet_error_rate_linear(np.logspace(-9, -1, 9), 1250), np.logspace(-5, 3, 9)
    )
    np.testing.assert_allclose(bit_errors.bit_error_rate(found, sizes), 1e-6)
    assert bit_errors.packet_error_rate(1, [0, 1]).tolist() == [0, 1]


def test_anchors_of_gilbert_elliott() -> None:
    chain = gilbert_elliott.from_loss_and_burst([0.01, 0.05], [3, 5])
    assert [printed(p, 6) for p in chain.p] == ["0.003367", "0.010526"]
    assert [printed(r, 4) for r in chain.r] == ["0.3333", "0.2000"]
    np.testing.assert_allclose(gilbert_elliott.loss_rate(*chain), [0.01, 0.05])
    np.testing.assert_allclose(gilbert_elliott.burst_mean_packets(*chain), [3, 5])
    np.testing.assert_allclose(1 - chain.p, [0.996633, 0.989474], atol=5e-7)


def test_moments_of_a_chain_give_it_back() -> None:
    back = gilbert_elliott.from_moments(*gilbert_elliott.moments(0.01, 0.2, 0.3))
    np.testing.assert_allclose(back, (0.01, 0.2, 1, 0.3), rtol=1e-9)
    with pytest.raises(ModelError, match="not Gilbert's"):
        gilbert_elliott.from_moments(0.5, 0.1, 0.9)


def test_a_long_trace_has_the_moments_and_bursts_of_its_chain() -> None:
    p, r, k, h = 0.05, 0.3, 0.99, 0.2
    draw = np.random.default_rng(5)
    moves, losses = draw.random(300_000), draw.random(300_000)
    bad, trace = False, []
    for move, loss in zip(moves, losses, strict=True):
        trace.append(loss > (h if bad else k))
        bad = move < p if not bad else move >= r
    lost = np.array(trace)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], lost, [0]])))
    lengths = edges[1::2] - edges[::2]
    model = gilbert_elliott.burst_lengths(2000, p, r, k, h)
    assert model.sum() == pytest.approx(1)
    mean = float(model @ np.arange(1, 2001))
    assert mean == pytest.approx(float(gilbert_elliott.burst_mean_packets(p, r, k, h)))
    # Four standard errors: of a mean of runs, and of counts of single losses among the runs.
    error = 4 * lengths.std() / np.sqrt(len(lengths))
    assert abs(lengths.mean() - mean) < error
    ones = float(model[0])
    assert abs(np.mean(lengths == 1) - ones) < 4 * np.sqrt(ones * (1 - ones) / len(lengths))
    # Successive losses are correlated: the variance of their mean is that of the chain.
    memory = (1 + (1 - p - r)) / (1 - (1 - p - r))
    loss = float(gilbert_elliott.loss_rate(p, r, k, h))
    assert abs(lost.mean() - loss) < 4 * np.sqrt(loss * (1 - loss) * memory / len(lost))


def test_time_and_packets_agree() -> None:
    chain = gilbert_elliott.from_sojourns(0.9, 0.1, [0.001, 0.01, 1.0])
    np.testing.assert_allclose(gilbert_elliott.loss_rate(*chain), 0.1)
    good, bad = gilbert_elliott.sojourns_s(chain.p, chain.r, [0.001, 0.01, 1.0])
    np.testing.assert_allclose(good, 0.9, rtol=1e-3)
    np.testing.assert_allclose(bad, 0.1, rtol=1e-3)
    with pytest.raises(ModelError, match="less than 1"):
        gilbert_elliott.sojourns_s(0.7, 0.5, 0.01)
    assert gilbert_elliott.netem(0.01, 0.25, 0.999, 0.3) == "loss gemodel 1% 25% 70% 0.1%"


def test_the_papers_limits() -> None:
    """Electronics 2022, 11(14), 2254: equations 8 and 10, and the example of rt."""
    assert printed(ethernet_limit.bit_s(10e6) / 8, 2) == "1186605.98"
    assert window_limit.bit_s(8760, 0.04) / 8 == pytest.approx(219_000)
    assert window_limit.window_bytes(219_000 * 8, 0.04) == pytest.approx(8760)
    assert printed(recovery.time_s(11e6, 0.1, 1000), 1) == "6.9"
    assert printed(recovery.time_s(54e6, 0.1, 1000), 0) == "34"


def test_recovery_time_is_the_rounds_of_half_a_pipe() -> None:
    packets = 11e6 * 0.1 / 8000
    assert recovery.time_s(11e6, 0.1, 1000) == pytest.approx(packets / 2 * 0.1)


def test_throughput_at_its_ends() -> None:
    assert pftk.packets_s(0, 0.1, 1, 2, 64) == 640
    assert pftk.packets_s(0, 0.1, 1) == np.inf
    assert mathis.packets_s(0, 0.1) == np.inf
    # No digits are lost as p falls: the full model tends to the square-root law.
    tiny = np.array([1e-8, 1e-10, 1e-12])
    ratio = pftk.packets_s(tiny, 0.1, 1, 2) / mathis.packets_s(tiny, 0.1, 2)
    np.testing.assert_allclose(ratio, 1, atol=2e-3)
    assert np.all(np.diff(pftk.packets_s(np.linspace(0.001, 0.99, 200), 0.1, 1)) < 0)
    assert np.all(pftk.arriving_packets_s(tiny, 0.1, 1) < pftk.packets_s(tiny, 0.1, 1))
    assert mathis.bit_s(0.01, 0.1, mss_bytes=1000) == pytest.approx(8000 * 122.474487)


def test_a_transfer_without_loss_takes_the_rounds_of_slow_start() -> None:
    single = {"b": 1, "initial_window_packets": 1, "delayed_ack_s": 0}
    # γ = 2: windows 1, 2, 4, … make 2^k − 1 segments in k rounds.
    rounds = cardwell.latency_s([1, 3, 7, 127], 0, 0.1, 1, **single) / 0.1
    np.testing.assert_allclose(rounds, [1, 2, 3, 7])
    # Capped at 4: 1 + 2 + 4, then 4 in each round.
    capped = cardwell.latency_s([7 + 40], 0, 0.1, 1, window_packets=4, **single)
    np.testing.assert_allclose(capped / 0.1, 3 + 10)
    assert cardwell.slow_start_segments(100, 0) == 100
    assert cardwell.slow_start_segments(1e9, 0.01) == pytest.approx(100)
    np.testing.assert_allclose(cardwell.slow_start_segments(50, [1e-9, 1e-12]), 50)


def test_a_long_transfer_is_all_congestion_avoidance() -> None:
    rate = float(pftk.arriving_packets_s(0.01, 0.1, 1))
    latency = float(cardwell.latency_s(1e7, 0.01, 0.1, 1))
    assert 1e7 / latency == pytest.approx(rate, rel=1e-4)


def test_handshakes_with_losses() -> None:
    assert cardwell.handshake_s(0.1) == pytest.approx(0.1)
    # Waits of T, 3T, 7T, …: Σ pⁱ(1 − p)(2ⁱ − 1)T, here for losses in one direction.
    p = 0.2
    waited = sum(p**i * (1 - p) * (2**i - 1) for i in range(200))
    assert cardwell.handshake_s(0.1, p, 0, 3) == pytest.approx(0.1 + 3 * waited)
    with pytest.raises(ModelError, match=r"p_forward is 0\.5"):
        cardwell.handshake_s(0.1, 0.5)


def test_the_knee_is_where_the_load_is_one() -> None:
    p = knee.loss_rate([1e6, 1e7, 1e8], 0.1)
    np.testing.assert_allclose(knee.load(p, [1e6, 1e7, 1e8], 0.1), 1)
    assert knee.loss_rate(12e6, 0.1) == pytest.approx(1e-4)


def test_residual_loss() -> None:
    assert repair.arq_residual(0.1, [1, 2, 3]).tolist() == pytest.approx([0.1, 0.01, 0.001])
    assert repair.arq_transmissions([0, 0.5, 1], 4).tolist() == pytest.approx([1, 1.875, 4])
    # Counted over all patterns of a block of 4 frames with 2 of data.
    q, lost = 0.3, 0.0
    for pattern in range(16):
        gone = [pattern >> bit & 1 for bit in range(4)]
        chance = np.prod([q if bit else 1 - q for bit in gone])
        lost += chance * (gone[0] if sum(gone) > 2 else 0)
    assert repair.fec_residual(q, 2, 4) == pytest.approx(lost)
    assert repair.fec_residual(q, 4, 4) == pytest.approx(q)
    with pytest.raises(ModelError, match="k exceeds n"):
        repair.fec_residual(q, 5, 4)


def test_fades_and_crossings_share_the_time() -> None:
    rho = np.array([0.05, 0.3, 1.0])
    share = fading.level_crossing_rate_hz(rho, 40) * fading.fade_mean_s(rho, 40)
    np.testing.assert_allclose(share, fading.fade_share(rho))
    # At the mean power: √(2π)/e crossings per period of the largest shift.
    assert fading.level_crossing_rate_hz(1, 1) == pytest.approx(0.9221, abs=5e-5)


def test_fairness_and_queues() -> None:
    assert fairness.jain([[1, 1, 1, 1], [4, 0, 0, 0]]).tolist() == [1, 0.25]
    assert np.isnan(fairness.jain([0, 0]))
    assert queueing.mm1_queue_packets(0.5) == pytest.approx(0.5)
    assert queueing.md1_queue_packets(0.5) == pytest.approx(0.25)
    assert queueing.md1_wait_s(0.8, 0.01) == pytest.approx(0.02)
    # Little: what waits is what comes in a waiting time.
    load, service = 0.7, 0.012
    waiting = queueing.mm1_wait_s(load, service) * load / service
    assert waiting == pytest.approx(float(queueing.mm1_queue_packets(load)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mathis.packets_s(1.5, 0.1), "p is 1.5: it must be from 0 to 1"),
        (lambda: mathis.packets_s([0.1, -1], 0.1), "p is -1: it must be from 0 to 1"),
        (lambda: pftk.packets_s(0.1, 0, 1), "rtt_s is 0: it must be above 0"),
        (lambda: pftk.packets_s(1, 0.1, 1), "p is 1: it must be 0 or above, and less than 1"),
        (lambda: pftk.packets_s("a", 0.1, 1), "p is 'a': it must be a number"),
        (lambda: dcf.contention(0), "stations is 0: it must be a whole number, 1 or above"),
        (lambda: fairness.jain([1, np.nan]), "shares is nan"),
        (lambda: queueing.mm1_wait_s(1, 1), "load is 1"),
    ],
)
def test_arguments_out_of_range_are_named(call, message: str) -> None:
    with pytest.raises(ModelError) as refused:
        call()
    assert message in str(refused.value)


NOISY = """\
duration = "10 s"
[[link]]
name = "near"
ends = ["server", "middle"]
rate = "10 Mbit/s"
delay = "10 ms"
reverse.rate = "1 Mbit/s"
forward.channel = [{ model = "bernoulli", p = 0.01 }, { model = "ber", ber = 1e-6 }]
[[link]]
name = "far"
ends = ["client", "middle"]
rate = "5 Mbit/s"
delay = "20 ms"
overhead = 0
reverse.channel = { model = "gilbert_elliott", p = 0.01, r = 0.25, h = 0.5 }
[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "reno"
app = { kind = "transfer", bytes = 1_000_000 }
"""


def test_conditions_are_those_of_the_way() -> None:
    (of,) = conditions(retx.resolve(NOISY))
    near = 1538 * 8 / 10e6 + 0.01 + 78 * 8 / 1e6 + 0.01
    far = 1500 * 8 / 5e6 + 0.02 + 40 * 8 / 5e6 + 0.02
    assert of.rtt_s == pytest.approx(near + far)
    # The link `far` is passed from right to left: the losses of its reverse direction count.
    arrives = 0.99 * (1 - 1e-6) ** 12_000 * (1 - 0.01 / 0.26 * 0.5)
    assert of.p == pytest.approx(1 - arrives)
    assert (of.payload_bytes, of.headers_bytes, of.b, of.rto_s) == (1460, 40, 2, 1.0)
    assert (of.wire_bit_s, of.overhead_bytes, of.transfer_bytes) == (5e6, 0, 1_000_000)


def test_the_window_of_linux_is_the_end_of_its_auto_tuning() -> None:
    (of,) = conditions(retx.resolve(NOISY, overrides={"flow.download.tcp": "linux"}))
    assert of.window_bytes == 4_194_304
    text = f'{NOISY}[tcp.own]\nlike = "linux"\nsend_buffer = 20000\n'
    (of,) = conditions(retx.resolve(text, overrides={"flow.download.tcp": "own"}))
    assert of.window_bytes == 20_000


def test_a_receive_buffer_of_linux_is_memory() -> None:
    """A fixed buffer is doubled, and 1448 of 2304 bytes of each packet are payload."""
    text = (
        f'{NOISY}[tcp.own]\nlike = "linux"\nreceive_autotuning = "none"\nreceive_buffer = 131072\n'
    )
    (of,) = conditions(retx.resolve(text, overrides={"flow.download.tcp": "own"}))
    assert of.window_bytes == 163_840
    link = {"name": "l", "ends": ["server", "client"], "rate": "100 Mbit/s", "delay": "50 ms"}
    long = {**tomllib.loads(text), "link": [link], "duration": "60 s", "warmup": "10 s"}
    long["flow"][0] |= {"tcp": "own", "app": "bulk"}
    simulated = retx.run(long).flows["goodput_bit_s"][0]
    (limit,) = retx.models.calculate(long, "window_limit")["goodput_bit_s"]
    assert 0.97 * limit < simulated < limit


def test_models_of_reno_describe_no_other_congestion_control() -> None:
    (of,) = conditions(retx.resolve(NOISY, overrides={"flow.download.tcp": "linux_reno"}))
    assert of.b == 1
    cubic = {"flow.download.tcp": "linux"}
    table = retx.models.calculate(NOISY, overrides=cubic)
    unknown = table.filter(table["goodput_bit_s"].is_null())["model"].to_list()
    assert unknown == ["mathis", "pftk", "pftk_approximate", "cardwell"]
    with pytest.raises(ModelError, match="pftk describes the congestion control of Reno, not cub"):
        retx.models.calculate(NOISY, "pftk", overrides=cubic)


def test_a_run_of_losses_is_one_event() -> None:
    """As many losses in runs of four are as few events as a fourth of them one by one."""
    clean = {"link.near.forward.channel": [], "link.far.reverse.channel": []}

    def goodput(channel: dict[str, object]) -> float:
        table = retx.models.calculate(
            NOISY, "mathis", overrides=clean | {"link.near.forward.channel": channel}
        )
        (found,) = table["goodput_bit_s"]
        return float(found)

    runs = {"model": "gilbert_elliott", "loss": 0.04, "mean_burst": 4}
    assert goodput(runs) == pytest.approx(goodput({"model": "bernoulli", "p": 0.01}))
    chain = {"model": "gilbert_elliott", "p": 0.01, "r": 0.25}
    assert goodput(chain) == pytest.approx(goodput({"model": "bernoulli", "p": 0.0025 / 0.26}))
    lasting = {"model": "gilbert_elliott_time", "mean_good": "1 s", "mean_bad": "50 ms"}
    with pytest.warns(UserWarning, match="take losses of one window as one event"):
        goodput(lasting)


def test_a_scenario_calculated() -> None:
    table = retx.models.calculate(NOISY, ["ethernet_limit", "pftk"])
    assert table["model"].to_list() == ["ethernet_limit", "pftk"]
    (of,) = conditions(retx.resolve(NOISY))
    limit, rate = table["goodput_bit_s"].to_list()
    assert limit == pytest.approx(5e6 * 1460 / 1500)
    window = of.window_bytes / 1460
    assert rate == pytest.approx(8 * 1460 * pftk.packets_s(of.events, of.rtt_s, 1, 2, window))
    assert table["response_time_s"][1] == pytest.approx(8e6 / rate)
    clean = {"link.near.forward.channel": [], "link.far.reverse.channel": []}
    (forms,) = retx.models.calculate(NOISY, overrides=clean).partition_by("flow")
    named = dict(zip(forms["model"], forms["goodput_bit_s"], strict=True))
    assert named["mathis"] == np.inf
    assert named["pftk"] == pytest.approx(named["window_limit"])


@pytest.mark.parametrize("opens", ["to", "from"])
def test_a_clean_transfer_takes_what_cardwell_says(opens: str) -> None:
    """Without losses and delayed ACKs, the rounds of the model are the simulator's."""
    scenario = tomllib.loads(NOISY)
    ends = ["server", "client"]
    scenario["link"] = [{"name": "l", "ends": ends, "rate": "1 Gbit/s", "delay": "50 ms"}]
    each = {"like": "reno", "delayed_ack": {"segments": 1}, "initial_window": 2920}
    scenario["tcp"] = {"each": each}
    app = {"kind": "transfer", "bytes": 254 * 1460}
    scenario["flow"][0] |= {"tcp": "each", "app": app, "initiator": opens}
    simulated = retx.run(scenario).flows["response_time_s"][0]
    (form,) = retx.models.calculate(scenario, ["cardwell"]).rows(named=True)
    # The last window, 128 segments, goes out back to back; the form has it arrive at once.
    assert form["response_time_s"] == pytest.approx(simulated, abs=128 * 1538 * 8 / 1e9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"link.near.arq": {"mode": "stop_and_wait", "retries": 2, "feedback": "1 ms"}}, "`arq`"),
        ({"link.near.forward.channel": {"model": "outage", "times": [["1 s", "2 s"]]}}, "'outage'"),
    ],
)
def test_conditions_that_are_not_constant_are_refused(change: dict, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        retx.models.calculate(NOISY, overrides=change)


def test_unknown_forms_are_refused() -> None:
    with pytest.raises(ModelError, match="no closed form 'ptfk'; did you mean 'pftk'"):
        retx.models.calculate(NOISY, ["ptfk"])


def test_every_closed_form_is_listed_with_its_arguments_and_source() -> None:
    entries = {entry["name"]: entry for entry in retx.models.describe()}
    assert {name.split(".")[0] for name in entries} == set(retx.models.MODELS)
    for name, entry in entries.items():
        assert entry["summary"].endswith("."), name
        assert entry["reference"], name
        assert all(parameter["doc"] for parameter in entry["parameters"]), name
    pftk_entry = entries["pftk.packets_s"]
    assert [p["name"] for p in pftk_entry["parameters"]] == [
        "p",
        "rtt_s",
        "rto_s",
        "b",
        "window_packets",
    ]
    assert pftk_entry["parameters"][3]["default"] == 2
    assert "Padhye" in pftk_entry["reference"]


def test_a_link_without_a_rate_delays_only() -> None:
    text = LOSSY.replace('rate = "10 Mbit/s"\n', "")
    assert text != LOSSY
    text = text.replace('queue = { discipline = "droptail", packets = 20 }\n', "")
    found = retx.models.calculate(text, ["ethernet_limit", "mathis"])
    limit, mathis = found["goodput_bit_s"]
    assert (limit, found["rtt_s"][0]) == (math.inf, 0.04)
    assert math.isfinite(mathis)
