//! Parameters of channels that are refused: the key that an error names, and its reason.

use retx_link::channel;
use retx_units::choice::split_path;

fn refusal(text: &str) -> Option<String> {
    serde_json::from_str::<channel::Config>(text).err().map(|error| error.to_string())
}

/// Model, parameters, the path of the key at fault (empty if something is missing), and a part of
/// the reason.
type Case = (&'static str, &'static str, &'static str, &'static str);

fn each_is_refused(cases: &[Case]) {
    for (model, rest, key, reason) in cases {
        is_refused(&format!(r#"{{"model":"{model}",{rest}}}"#), key, reason);
    }
}

fn is_refused(text: &str, key: &str, reason: &str) {
    let error = refusal(text).unwrap_or_else(|| panic!("{text} was taken"));
    let (path, message) = split_path(&error);
    assert_eq!(path, key, "{text}: {message}");
    assert!(message.contains(reason), "{text}: {message}");
}

fn each_is_taken(model: &str, cases: &[&str]) {
    for rest in cases {
        let text = format!(r#"{{"model":"{model}",{rest}}}"#);
        assert_eq!(refusal(&text), None, "{text}");
    }
}

#[test]
fn laws_of_delays() {
    for model in ["jitter", "random_delay"] {
        let share = if model == "jitter" { "" } else { r#""share":0.5,"# };
        for (rest, key, reason) in [
            (r#""law":"constant""#, "", "the law constant needs `delay`"),
            (r#""law":"exponential""#, "", "the law exponential needs `delay`"),
            (r#""law":"uniform""#, "", "the law uniform needs `max`"),
            (r#""law":"uniform","min":"1 s""#, "", "the law uniform needs `max`"),
            (r#""law":"pareto","shape":2"#, "", "the law pareto needs `min`"),
            (r#""law":"pareto","min":"1 s""#, "", "the law pareto needs `shape`"),
            (r#""law":"constant","delay":"1 s","min":"1 s""#, "min", "takes delay instead"),
            (r#""law":"constant","delay":"1 s","max":"1 s""#, "max", "takes delay instead"),
            (r#""law":"exponential","delay":"1 s","shape":2"#, "shape", "takes delay instead"),
            (r#""law":"uniform","max":"1 s","delay":"1 s""#, "delay", "takes min and max"),
            (r#""law":"uniform","max":"1 s","shape":1"#, "shape", "takes min and max"),
            (r#""law":"pareto","min":"1 s","shape":2,"max":"3 s""#, "max", "min and shape"),
            (r#""law":"uniform","min":"2 s","max":"1 s""#, "min", "2 s lies above max, 1 s"),
            (r#""law":"pareto","min":"1 s","shape":0"#, "shape", "0 is refused"),
            (r#""law":"pareto","min":"1 s","shape":-1"#, "shape", "-1 is refused"),
        ] {
            is_refused(&format!(r#"{{"model":"{model}",{share}{rest}}}"#), key, reason);
        }
        for rest in [
            r#""law":"constant","delay":"0 s""#,
            r#""law":"exponential","delay":"1 s""#,
            r#""law":"uniform","max":"1 s""#,
            r#""law":"uniform","min":"1 s","max":"1 s""#,
            r#""law":"pareto","min":"0 s","shape":1e-9"#,
        ] {
            each_is_taken(model, &[&format!("{share}{rest}")]);
        }
    }
}

#[test]
fn shares_of_delayed_frames() {
    each_is_refused(&[
        ("random_delay", r#""delay":"1 s""#, "", "needs share, or shares and every"),
        ("random_delay", r#""delay":"1 s","every":"1 s""#, "", "needs share"),
        ("random_delay", r#""delay":"1 s","share":1,"shares":[1]"#, "share", "contradicts"),
        (
            "random_delay",
            r#""delay":"1 s","share":1,"shares":[1],"every":"1 s""#,
            "share",
            "contradicts",
        ),
        ("random_delay", r#""delay":"1 s","share":1,"every":"1 s""#, "every", "belongs to"),
        ("random_delay", r#""delay":"1 s","shares":[1]"#, "", "`shares` need `every`"),
        ("random_delay", r#""delay":"1 s","shares":[1],"every":"0 s""#, "every", "0 s is refused"),
    ]);
    each_is_taken(
        "random_delay",
        &[
            r#""delay":"1 s","share":0"#,
            r#""delay":"1 s","shares":[0.1],"every":"1 ns""#,
            r#""delay":"1 s","shares":[0.1,1],"every":"1 s""#,
        ],
    );
}

#[test]
fn frames_held_back() {
    each_is_refused(&[
        ("reorder", r#""p":1"#, "", "needs packets (and may have at_most), or delay"),
        ("reorder", r#""p":1,"at_most":"1 s""#, "", "needs packets"),
        ("reorder", r#""p":1,"packets":1,"delay":"1 s""#, "delay", "contradicts `packets`"),
        ("reorder", r#""p":1,"packets":0,"delay":"1 s""#, "delay", "contradicts `packets`"),
        ("reorder", r#""p":1,"delay":"1 s","at_most":"1 s""#, "at_most", "belongs to `packets`"),
        ("reorder", r#""p":1,"packets":0"#, "packets", "0 is refused"),
        ("reorder", r#""p":1,"packets":0,"at_most":"1 s""#, "packets", "0 is refused"),
    ]);
    each_is_taken(
        "reorder",
        &[r#""p":1,"packets":1"#, r#""p":1,"packets":1,"at_most":"0 s""#, r#""p":1,"delay":"0 s""#],
    );
}

#[test]
fn chains_of_two_states() {
    let two = "gilbert_elliott";
    each_is_refused(&[
        (two, r#""p":0.1"#, "", "needs p and r"),
        (two, r#""r":0.1"#, "", "needs p and r"),
        (two, r#""k":0.1"#, "", "needs p and r"),
        (two, r#""loss":0.1"#, "", "`loss` needs `mean_burst`"),
        (two, r#""mean_burst":2"#, "", "`mean_burst` needs `loss`"),
        (two, r#""p":0.1,"r":0.1,"loss":0.1"#, "p", "contradicts"),
        (two, r#""p":0.1,"r":0.1,"mean_burst":2"#, "p", "contradicts"),
        (two, r#""h":0.1,"loss":0.1,"mean_burst":2"#, "h", "contradicts"),
        (two, r#""p":0,"r":0"#, "r", "the chain never moves"),
        (two, r#""loss":0.1,"mean_burst":0.999"#, "mean_burst", "0.999 is refused"),
        // With bursts of 3 frames, one of four survives at least.
        (two, r#""loss":0.7501,"mean_burst":3"#, "loss", "at most 0.75 are lost"),
    ]);
    each_is_taken(
        two,
        &[
            r#""p":0,"r":0.1"#,
            r#""p":0.1,"r":0"#,
            r#""p":1,"r":1,"k":0,"h":1"#,
            r#""loss":0.75,"mean_burst":3"#,
            r#""loss":0.5,"mean_burst":1"#,
        ],
    );
    let time = "gilbert_elliott_time";
    each_is_refused(&[
        (time, r#""mean_good":"1 s""#, "", "needs mean_good and mean_bad"),
        (time, r#""mean_bad":"1 s""#, "", "needs mean_good and mean_bad"),
        (time, r#""h":1"#, "", "needs mean_good and mean_bad"),
        (time, r#""mean_good":"0 s","mean_bad":"1 s""#, "mean_good", "0 s is refused"),
        (time, r#""mean_good":"1 s","mean_bad":"0 s""#, "mean_bad", "0 s is refused"),
        (time, r#""loss":0.1"#, "", "`loss` needs `mean_burst`, the mean length"),
        (time, r#""mean_burst":"1 s""#, "", "`mean_burst` needs `loss`, the share"),
        (time, r#""mean_good":"1 s","mean_bad":"1 s","loss":0.1"#, "mean_good", "contradicts"),
        (time, r#""mean_bad":"1 s","mean_burst":"1 s""#, "mean_bad", "contradicts"),
        (time, r#""k":1,"loss":0.1,"mean_burst":"1 s""#, "k", "contradicts"),
        (time, r#""loss":0.1,"mean_burst":"0 s""#, "mean_burst", "0 s is refused"),
        (time, r#""loss":1,"mean_burst":"1 s""#, "loss", "1 is refused"),
    ]);
    each_is_taken(
        time,
        &[
            r#""mean_good":"1 ns","mean_bad":"1 ns","k":1,"h":1"#,
            r#""loss":0,"mean_burst":"1 ns""#,
            r#""loss":0.999,"mean_burst":"1 s""#,
        ],
    );
}

#[test]
fn chains_of_any_number_of_states() {
    let markov = "markov";
    each_is_refused(&[
        (markov, r#""transitions":[],"loss":[]"#, "loss", "0 states are refused: write 1 to 64"),
        (markov, r#""transitions":[[1]],"loss":[0,1]"#, "transitions", "1 rows for 2 states"),
        (markov, r#""transitions":[[1],[1]],"loss":[0]"#, "transitions", "2 rows for 1 states"),
        (
            markov,
            r#""transitions":[[0,1],[1]],"loss":[0,1]"#,
            "transitions.1",
            "1 entries for 2 states",
        ),
        (
            markov,
            r#""transitions":[[0.5,0.25],[0.5,0.5]],"loss":[0,1]"#,
            "transitions.0",
            "adds up to 0.75",
        ),
        (
            markov,
            r#""transitions":[[0.5,0.5],[0.5,0.75]],"loss":[0,1]"#,
            "transitions.1",
            "adds up to 1.25",
        ),
        // States 0 and 1 are never left, nor is state 2.
        (
            markov,
            r#""transitions":[[0.5,0.5,0],[1,0,0],[0,0,1]],"loss":[0,1,1]"#,
            "transitions",
            "several sets of states that are never left",
        ),
        (markov, r#""transitions":[[1,0],[0,1]],"loss":[0,1]"#, "transitions", "several sets"),
    ]);
    each_is_taken(
        markov,
        &[
            r#""transitions":[[1]],"loss":[0]"#,
            r#""transitions":[[0.333,0.333,0.333],[0,0,1],[1,0,0]],"loss":[0,1,1]"#,
            // State 0 is left for ever.
            r#""transitions":[[0.5,0.5],[0,1]],"loss":[0,1]"#,
        ],
    );
    let uniform = |count: usize| {
        let transitions = vec![vec![1.0 / count as f64; count]; count];
        let loss = vec![0; count];
        format!(r#"{{"model":"markov","transitions":{transitions:?},"loss":{loss:?}}}"#)
    };
    assert_eq!(refusal(&uniform(64)), None);
    let error = refusal(&uniform(65)).expect("too many states");
    assert!(error.contains("65 states are refused"), "{error}");
}

#[test]
fn outages_in_order_of_time() {
    let twice = |first: &str, second: &str, period: &str| {
        format!(
            r#"{{"model":"outage","times":[{{"start":"1 s","duration":"{first} s"}},
                {{"start":"{second} s","duration":"2 s"}}]{period}}}"#
        )
    };
    assert_eq!(refusal(&twice("1", "2", "")), None, "they may touch");
    assert_eq!(refusal(&twice("1", "2", r#","every":"4 s""#)), None, "up to the end of the period");
    for (text, key, reason) in [
        (twice("1.5", "2", ""), "times.1.start", "2 s lies before the end of the outage before"),
        (twice("1", "2", r#","every":"3.9 s""#), "every", "3.9 s is too short"),
    ] {
        is_refused(&text, key, reason);
    }
}

#[test]
fn outages_of_either_form() {
    let outage = "outage";
    each_is_refused(&[
        (outage, r#""times":[]"#, "", "needs times, or count, within and duration"),
        (outage, r#""every":"1 s""#, "", "needs times"),
        (
            outage,
            r#""times":[{"start":"0 s","duration":"0 s"}],"every":"0 s""#,
            "every",
            "too short",
        ),
        (
            outage,
            r#""times":[{"start":"0 s","duration":"1 s"}],"within":"1 s""#,
            "within",
            "contradicts `times`",
        ),
        (
            outage,
            r#""times":[{"start":"0 s","duration":"1 s"}],
                "count":1,"within":"1 s","duration":"1 s""#,
            "count",
            "contradicts `times`",
        ),
        (outage, r#""within":"1 s","duration":"0 s""#, "", "lacks `count`"),
        (outage, r#""count":1,"duration":"0 s""#, "", "lacks `within`"),
        (outage, r#""count":1,"within":"1 s""#, "", "lacks `duration`"),
        (
            outage,
            r#""count":1,"within":"1 s","duration":"0 s","every":"1 s""#,
            "every",
            "belongs to `times`",
        ),
        (
            outage,
            r#""count":1000001,"within":"1 s","duration":"0 s""#,
            "count",
            "1000001 lies outside 0 … 1000000",
        ),
        (outage, r#""count":0,"within":"0 s","duration":"0 s""#, "within", "0 s is refused"),
        (
            outage,
            r#""count":4,"within":"10 ns","duration":"3 ns""#,
            "duration",
            "do not fit into 10 ns without overlapping: at most 2 ns each",
        ),
    ]);
    each_is_taken(
        outage,
        &[
            r#""count":1000000,"within":"1 s","duration":"1 us""#,
            r#""count":0,"within":"1 ns","duration":"1 ns""#,
            r#""count":4,"within":"10 ns","duration":"2 ns""#,
            r#""times":[{"start":"0 s","duration":"0 s"}],"every":"1 ns""#,
        ],
    );
}

#[test]
fn fading_links() {
    let fading = "fading";
    each_is_refused(&[
        (fading, r#""mean_snr_db":-100.1,"doppler_hz":1"#, "mean_snr_db", "outside -100 … 100 dB"),
        (fading, r#""mean_snr_db":100.1,"doppler_hz":1"#, "mean_snr_db", "outside -100 … 100 dB"),
        (fading, r#""mean_snr_db":1,"doppler_hz":-0.1"#, "doppler_hz", "outside 0 … 1000000 Hz"),
        (fading, r#""mean_snr_db":1,"doppler_hz":1000001"#, "doppler_hz", "outside 0 … 1000000 Hz"),
        (fading, r#""mean_snr_db":1,"doppler_hz":1,"rician_k":-1"#, "rician_k", "outside 0"),
        (fading, r#""mean_snr_db":1,"doppler_hz":1,"rician_k":1e7"#, "rician_k", "outside 0"),
        (fading, r#""mean_snr_db":1,"doppler_hz":1,"rate":"54 Mbit/s""#, "rate", "802.11b"),
        (
            fading,
            r#""mean_snr_db":1,"doppler_hz":1,"rician_k":1,"process":"markov""#,
            "rician_k",
            "no direct path",
        ),
    ]);
    each_is_taken(
        fading,
        &[
            r#""mean_snr_db":-100,"doppler_hz":0"#,
            r#""mean_snr_db":100,"doppler_hz":1e6,"rician_k":1e6"#,
            r#""mean_snr_db":1,"doppler_hz":1,"rate":"5.5 Mbit/s","process":"markov""#,
            r#""mean_snr_db":1,"doppler_hz":1,"rician_k":0,"process":"markov""#,
            r#""mean_snr_db":1,"doppler_hz":1,"rician_k":1,"process":"sinusoids""#,
        ],
    );
}

#[test]
fn traces() {
    let trace = "trace";
    each_is_refused(&[
        (trace, r#""file":"a.csv""#, "file", "\"a.csv\" has not been read"),
        (trace, r#""opportunities_ms":[1],"format":"csv""#, "format", "belongs to `file`"),
        (trace, r#""points":[]"#, "", "needs file, points or opportunities_ms"),
        (trace, r#""every":"1 s""#, "", "needs file, points or opportunities_ms"),
        (
            trace,
            r#""points":[{"at":"0 s","loss":0}],"opportunities_ms":[1]"#,
            "points",
            "contradicts `opportunities_ms`",
        ),
        (trace, r#""opportunities_ms":[1],"every":"1 s""#, "every", "belongs to `points`"),
        (trace, r#""points":[{"at":"0 s"}]"#, "points.0", "says nothing"),
        (
            trace,
            r#""points":[{"at":"1 s","loss":0}]"#,
            "points.0.at",
            "1 s: the first point is at 0 s",
        ),
        (
            trace,
            r#""points":[{"at":"0 s","loss":0},{"at":"1 s","loss":0},{"at":"1 s","loss":0}]"#,
            "points.2.at",
            "1 s does not come after 1 s",
        ),
        (
            trace,
            r#""points":[{"at":"0 s","loss":0},{"at":"1 s","loss":0},{"at":"2 s"}]"#,
            "points.2",
            "`loss` stands in some points only",
        ),
        (
            trace,
            r#""points":[{"at":"0 s","loss":0},{"at":"1 s","loss":0,"delay":"0 s"}]"#,
            "points.1",
            "`delay` stands in some points only",
        ),
        (
            trace,
            r#""points":[{"at":"0 s","loss":0,"rate":"1 bit/s"},{"at":"1 s","loss":0}]"#,
            "points.1",
            "`rate` stands in some points only",
        ),
        (
            trace,
            r#""points":[{"at":"0 s","loss":0},{"at":"1 s","loss":0}],"every":"1 s""#,
            "every",
            "1 s is too short: the last point is at 1 s",
        ),
        (trace, r#""points":[{"at":"0 s","loss":0}],"every":"0 s""#, "every", "too short"),
        (
            trace,
            r#""points":[{"at":"0 s","rate":"0 bit/s"},{"at":"1 s","rate":"0 bit/s"}],
                "every":"2 s""#,
            "points.0.rate",
            "nothing would ever be sent",
        ),
    ]);
}

#[test]
fn traces_that_are_taken() {
    each_is_taken(
        "trace",
        &[
            r#""points":[{"at":"0 s","loss":0}]"#,
            r#""points":[{"at":"0 s","delay":"0 s"}],"every":"1 ns""#,
            r#""points":[{"at":"0 s","loss":0},{"at":"1 s","loss":0}],"every":"1.1 s""#,
            // Without a period nothing is sent after the last point; that may be wanted.
            r#""points":[{"at":"0 s","rate":"0 bit/s"}]"#,
            r#""points":[{"at":"0 s","rate":"0 bit/s"},{"at":"1 s","rate":"1 bit/s"}],
                "every":"2 s""#,
            r#""points":[{"at":"0 s","rate":"1 bit/s"},{"at":"1 s","rate":"0 bit/s"}],
                "every":"2 s""#,
        ],
    );
}
