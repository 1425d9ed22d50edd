//! Errors of channels, schedules and traces.

use super::*;
use retx_scenario::{ExternalSources, parse_with};
use retx_tcp::NoLoader;

const CHANNEL: &str = "{ model = \"bernoulli\", p = 0.01 }";

/// Asserts that the base scenario with this channel is refused at this key.
fn refuse_channel(channel: &str, message: &str) {
    refuse(CHANNEL, channel, &format!("s.toml:12: link.cloud.channel{message}"));
}

#[test]
fn two_forms_of_a_burst() {
    let both = "contradicts `loss` and `mean_burst`: write one form or the other";
    let ge = |rest: &str| format!("{{ model = \"gilbert_elliott\", {rest} }}");
    refuse_channel(&ge("p = 0.1, loss = 0.1, mean_burst = 3"), &format!(".p: {both}"));
    refuse_channel(&ge("h = 0.1, loss = 0.1, mean_burst = 3"), &format!(".h: {both}"));
    refuse_channel(
        &ge("loss = 0.1"),
        ": `loss` needs `mean_burst`, the mean number of frames lost in a row",
    );
    refuse_channel(&ge("mean_burst = 3"), ": `mean_burst` needs `loss`, the loss rate");
    let needs = ": needs p and r (and may have k and h), or loss and mean_burst";
    refuse_channel(&ge("p = 0.1"), needs);
    refuse_channel("\"gilbert_elliott\"", needs);
    refuse_channel(
        &ge("p = 0, r = 0"),
        ".r: 0 with p = 0: the chain never moves, use \"bernoulli\"",
    );
    refuse_channel(
        &ge("loss = 0.9, mean_burst = 1"),
        ".loss: 0.9 with bursts of 1 frames is impossible: at least one frame survives between two \
         bursts, so at most 0.5 are lost",
    );
    refuse_channel(
        &ge("loss = 0.1, mean_burst = 0.5"),
        ".mean_burst: 0.5 is refused: a burst has at least 1 frame",
    );
    refuse_channel(&ge("p = 1.5, r = 1"), ".p: 1.5 is not a probability: it lies between 0 and 1");
    let time = |rest: &str| format!("{{ model = \"gilbert_elliott_time\", {rest} }}");
    refuse_channel(
        &time("mean_bad = \"1 s\", loss = 0.1, mean_burst = \"1 s\""),
        &format!(".mean_bad: {both}"),
    );
    refuse_channel(
        &time("mean_bad = \"1 s\""),
        ": needs mean_good and mean_bad (and may have k and h), or loss and mean_burst",
    );
    refuse_channel(
        &time("mean_bad = \"0 s\", mean_good = \"1 s\""),
        ".mean_bad: 0 s is refused: write a duration above 0 s",
    );
    refuse_channel(
        &time("loss = 1, mean_burst = \"1 s\""),
        ".loss: 1 is refused: between bursts the channel is good",
    );
}

#[test]
fn repairs() {
    let refuse_with = |keys: &str, message: &str| {
        let with = format!("{CHANNEL}\n{keys}");
        refuse(CHANNEL, &with, &format!("s.toml:13: link.cloud.{message}"));
    };
    let arq = "arq = { mode = \"selective_repeat\", retries = 3 }";
    refuse_with(
        "forward.fec = { k = 4, n = 5, block_time = \"1 ms\" }\n\
         forward.arq = { mode = \"selective_repeat\", retries = 3 }",
        "forward.fec: stands beside `arq`: a link does one or the other; for both, put two links \
         in a row",
    );
    refuse_with(
        "arq = { mode = \"stop_and_wait\", retries = 256 }",
        "arq.retries: 256 lies outside 0 … 255",
    );
    refuse_with(
        "forward.fec = { k = 4, n = 4, block_time = \"1 ms\" }",
        "forward.fec.n: 4 frames leave none for parity beside 4 packets: more than k",
    );
    refuse_with(
        "fec = { k = 0, n = 4, block_time = \"1 ms\" }",
        "fec.k: 0 packets make no block: at least 1",
    );
    refuse_with(
        "fec = { k = 250, n = 256, block_time = \"1 ms\" }",
        "fec.n: 256 lies above 255, the most frames of a block",
    );
    let jitter = "{ model = \"jitter\", law = \"constant\", delay = \"1 ms\" }";
    refuse(
        CHANNEL,
        &format!("{jitter}\n{arq}"),
        "s.toml:13: link.cloud.arq: \"jitter\" does more than lose frames, and what is lost is \
         sent \
         in order here: put it on another link",
    );
    refuse(
        "queue = \"droptail\"",
        &format!("queue = \"red\"\n{arq}"),
        "s.toml:12: link.cloud.arq: goes with the queue \"droptail\" only, and this is \"red\": \
         put that on a link before this one",
    );
}

#[test]
fn outages() {
    let outage = |rest: &str| format!("{{ model = \"outage\", {rest} }}");
    refuse_channel("\"outage\"", ": needs times, or count, within and duration");
    refuse_channel(
        &outage("count = 3, within = \"1 s\""),
        ": lacks `duration`: random outages have count, within and duration",
    );
    refuse_channel(
        &outage("count = 3, within = \"1 s\", duration = \"400 ms\""),
        ".duration: 3 outages of 400 ms do not fit into 1 s without overlapping: at most \
         333.333333 ms each",
    );
    let times = "times = [{ start = \"5 s\", duration = \"1 s\" }, { start = \"5.5 s\", duration = \
                 \"1 s\" }]";
    refuse_channel(
        &outage(times),
        ".times.1.start: 5.5 s lies before the end of the outage before, 6 s: write them in order \
         of time",
    );
    refuse_channel(
        &outage("times = [{ start = \"5 s\", duration = \"1 s\" }], every = \"5 s\""),
        ".every: 5 s is too short: the last outage ends after 6 s",
    );
    refuse_channel(
        &outage("times = [{ start = \"5 s\", duration = \"1 s\" }], count = 5"),
        ".count: contradicts `times`: write one form or the other",
    );
}

#[test]
fn laws_of_delays() {
    let delay = |rest: &str| format!("{{ model = \"random_delay\", {rest} }}");
    refuse_channel(&delay("delay = \"1 s\""), ": needs share, or shares and every");
    refuse_channel(&delay("share = 0.1"), ": the law exponential needs `delay`");
    refuse_channel(
        &delay("share = 0.1, law = \"pareto\", delay = \"1 s\""),
        ".delay: the law pareto takes min and shape instead",
    );
    refuse_channel(
        &delay("share = 0.1, law = \"pareto\", min = \"1 s\", shape = 0"),
        ".shape: 0 is refused: write a number above 0",
    );
    refuse_channel(
        &delay("share = 0.1, law = \"gauss\", min = \"1 s\""),
        ".law: unknown name \"gauss\" (expected one of constant, exponential, uniform, pareto)",
    );
    refuse_channel(
        &delay("shares = [0.1, 0.2], delay = \"1 s\""),
        ": `shares` need `every`: how long each of them holds",
    );
    refuse_channel(
        "{ model = \"jitter\", min = \"2 s\", max = \"1 s\" }",
        ".min: 2 s lies above max, 1 s: write the shorter one as min",
    );
    refuse_channel(
        "{ model = \"reorder\", p = 0.1 }",
        ": needs packets (and may have at_most), or delay",
    );
}

#[test]
fn fading() {
    let fading = |rest: &str| format!("{{ model = \"fading\", doppler_hz = 10, {rest} }}");
    refuse_channel(
        &fading("mean_snr_db = 10, rate = \"54 Mbit/s\""),
        ".rate: 54 Mbit/s is none of 802.11b: 1, 2, 5.5 or 11 Mbit/s",
    );
    refuse_channel(&fading("mean_snr_db = 1000"), ".mean_snr_db: 1000 lies outside -100 … 100 dB");
    refuse_channel(
        &fading("mean_snr_db = 10, rician_k = 3, process = \"markov\""),
        ".rician_k: a Markov chain has no direct path here: use process = \"sinusoids\"",
    );
    refuse_channel("{ model = \"fading\", mean_snr_db = 10 }", ": lacks `doppler_hz`");
}

#[test]
fn schedules() {
    let schedule = |changes: &str, message: &str| {
        let text = format!("{CHANNEL}\nschedule = [{changes}]");
        refuse(CHANNEL, &text, &format!("s.toml:13: link.cloud.schedule.{message}"));
    };
    schedule(
        "{ at = \"5 s\", delay = \"1 s\" }, { at = \"5 s\", delay = \"2 s\" }",
        "1.at: 5 s does not come after 5 s, the change before: write changes in order of time",
    );
    schedule("{ at = \"5 s\" }", "0: changes nothing: give it `rate`, `delay` or `channel`");
    schedule(
        "{ at = \"5 s\", rate = \"0 bit/s\" }",
        "0.rate: 0 bit/s sends nothing: use an \"outage\"",
    );
    schedule(
        "{ at = \"5 s\", forward.rate = \"0 bit/s\" }",
        "0.forward.rate: 0 bit/s sends nothing: use an \"outage\"",
    );
    schedule("{ delay = \"5 s\" }", "0: lacks `at`");
    schedule(
        "{ at = \"5 s\", mtu = 3 }",
        "0.mtu: unknown key (keys here: at, rate, delay, channel, forward, reverse)",
    );
    schedule(
        "{ at = \"5 s\", reverse.channel = { model = \"bernoulli\", p = 2 } }",
        "0.reverse.channel.p: 2 is not a probability: it lies between 0 and 1",
    );
    schedule(
        "{ at = \"5 s\", channel = { model = \"trace\", opportunities_ms = [1] } }",
        "0.channel: a trace that gives the rate holds from the beginning: write it as the link's \
         channel",
    );
    refuse(
        "rate = \"10 Mbit/s\"",
        "schedule = [{ at = \"5 s\", rate = \"1 Mbit/s\" }]",
        "s.toml:10: link.cloud.schedule.0.rate: the link has no rate of its own to change",
    );
}

#[test]
fn traces_in_the_scenario() {
    let trace = |rest: &str| format!("{{ model = \"trace\", {rest} }}");
    refuse_channel("\"trace\"", ": needs file, points or opportunities_ms");
    refuse_channel(
        &trace("points = [{ at = \"1 s\", loss = 0.1 }]"),
        ".points.0.at: 1 s: the first point is at 0 s",
    );
    refuse_channel(
        &trace("points = [{ at = \"0 s\", loss = 0.1 }, { at = \"1 s\", delay = \"1 s\" }]"),
        ".points.1: `loss` stands in some points only: a gap in the trace",
    );
    refuse_channel(
        &trace("points = [{ at = \"0 s\", loss = 0.1 }, { at = \"0 s\", loss = 0 }]"),
        ".points.1.at: 0 s does not come after 0 s",
    );
    refuse_channel(
        &trace(
            "points = [{ at = \"0 s\", loss = 0.1 }, { at = \"9 s\", loss = 0 }], every = \"9 s\"",
        ),
        ".every: 9 s is too short: the last point is at 9 s",
    );
    refuse_channel(
        &trace("opportunities_ms = [1, 3, 2]"),
        ".opportunities_ms.2: 2 goes back behind 3",
    );
    refuse_channel(
        &trace("opportunities_ms = [1, 31622400001]"),
        ".opportunities_ms.1: 31622400001 lies beyond a year, 31622400000",
    );
    refuse_channel(
        &trace("opportunities_ms = [1, 3]"),
        ": this trace gives the rate, which is given already: only one may, the link's `rate` or \
         one trace",
    );
    refuse_channel(
        &trace("file = \"a.csv\""),
        ".file: a.csv: no files can be read here: write the values into the scenario",
    );
    refuse_channel(
        &trace("file = \"a.csv\", points = []"),
        ".file: contradicts `points`: write one or the other",
    );
    refuse_channel(
        &trace("file = \"a.csv\", format = \"xls\""),
        ".format: \"xls\" is none of \"csv\", \"mahimahi\"",
    );
}

/// Asserts that the base scenario with a trace of this content is refused with this message.
fn refuse_trace(format: &str, content: &str, message: &str) {
    let channel = format!("{{ model = \"trace\", file = \"a.txt\", format = \"{format}\" }}");
    let text = BASE.replacen(CHANNEL, &channel, 1);
    let read = |name: &str| match name {
        "a.txt" => Ok(content.to_owned()),
        other => Err(format!("no {other}")),
    };
    let error = parse_with(
        &Source { name: "s.toml", text: &text, overrides: &[] },
        ExternalSources { files: &read, code: &NoLoader },
    );
    let error = error.expect_err(content).to_string();
    assert_eq!(error, format!("s.toml:12: link.cloud.channel.file: a.txt{message}"));
}

#[test]
fn trace_files() {
    let columns = "(columns: time_s, loss, delay_s, rate_bit_s)";
    for (content, message) in [
        ("", ": empty: expected a header and lines".to_owned()),
        ("# nothing\n\n", ": empty: expected a header and lines".into()),
        ("time_s,loss\n", ": no line after the header".into()),
        ("time_s,lost\n0,1\n", format!(":1: unknown column \"lost\" {columns}")),
        ("time_s,loss,loss\n", ":1: the column loss stands twice".into()),
        (
            "\nloss,delay_s\n0,1\n",
            ":2: needs time_s and at least one more of time_s, loss, delay_s, rate_bit_s".into(),
        ),
        ("time_s,loss\n0,0\n1\n", ":3: 1 values under 2 columns".into()),
        ("time_s,loss\n0,0\n1,\n", ":3: loss is missing: a gap in the trace".into()),
        (
            "time_s,loss\n0.5,0\n",
            ":2: begins at 500 ms: a gap in the trace, which begins at 0 s".into(),
        ),
        ("time_s,loss\n0,0\n2,0\n1,0\n", ":4: 1 s does not come after 2 s".into()),
        (
            "time_s,loss\n0,1.5\n",
            ":2: loss: \"1.5\" is not a probability, a number from 0 to 1".into(),
        ),
        ("time_s,rate_bit_s\n0,fast\n", ":2: rate_bit_s: \"fast\" is no number from 0 on".into()),
        ("time_s,delay_s\n0,-1\n", ":2: delay_s: \"-1\" is no number from 0 on".into()),
    ] {
        refuse_trace("csv", content, &message);
    }
    for (content, message) in [
        ("", ": no opportunity after 0 ms: the trace comes again after its last millisecond"),
        ("0\n0\n", ": no opportunity after 0 ms: the trace comes again after its last millisecond"),
        ("1\n5\n4\n", ":3: 4 ms goes back behind 5 ms"),
        ("1\n2.5\n", ":2: \"2.5\" is no whole number of milliseconds, as Mahimahi's traces have"),
    ] {
        refuse_trace("mahimahi", content, message);
    }
}
