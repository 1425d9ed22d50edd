//! Delays, duplicates and reordering that channels demand and pipes carry out.

use retx_link::channel::{self, Channel, Fate, Frame, LawKind, Model};
use retx_link::pipe::{Change, Config, Departure, Entry, Packet, Pipe};
use retx_link::queue;
use retx_units::{Duration, Rate, StreamKey, Time};

fn model(text: &str) -> channel::Config {
    serde_json::from_str(text).expect("a model")
}

fn frame(bytes: u32) -> Frame {
    Frame { bytes, flow: 0, position: 0, payload_bytes: bytes - 40 }
}

fn config(channel: &[&str], delay_ms: u64) -> Config {
    Config {
        rate: Some(Rate::from_bit_s(8_000_000)),
        delay: Duration::from_millis(delay_ms),
        overhead: 0,
        queue: queue::Config::droptail(Default::default()),
        channel: channel.iter().map(|text| model(text)).collect(),
        changes: vec![],
        repair: None,
    }
}

const KEY: StreamKey = StreamKey { seed: 3, replication: 0 };

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Departures from a pipe that one frame enters per millisecond, each of which takes 1 ms to send:
/// time, id, and true for a copy.
fn arrivals(config: &Config, count: u32) -> Vec<(Time, u32, bool)> {
    let mut pipe = Pipe::new(config, KEY, "link");
    let mut out = Vec::new();
    let mut drain = |pipe: &mut Pipe, until: Time| {
        while pipe.poll_timeout() <= until {
            let now = pipe.poll_timeout();
            assert!(pipe.statistics(now).is_conserved());
            match pipe.poll_transmit(now) {
                Some(Departure::Delivered { id }) => out.push((now, id % count, id >= count)),
                Some(_) => {}
                None => panic!("something is due"),
            }
        }
    };
    for id in 0..count {
        drain(&mut pipe, ms(u64::from(id)));
        match pipe.handle_packet(
            ms(u64::from(id)),
            &Packet { id, frame: frame(1000), ecn_capable: false },
        ) {
            Entry::Accepted => {}
            Entry::AcceptedTwice => pipe.add_copy(count + id),
            Entry::QueueFull => panic!("there is room"),
        }
        assert!(pipe.statistics(ms(u64::from(id))).is_conserved());
    }
    drain(&mut pipe, Time::from_nanos(u64::MAX - 1));
    out
}

/// Frames arrive in the order of transmission under any distribution of delays, and with several
/// delaying models.
#[test]
fn delays_keep_the_order() {
    for channel in [
        &[r#"{"model":"jitter","max":"50 ms"}"#][..],
        &[r#"{"model":"random_delay","share":0.1,"delay":"2 s"}"#],
        &[
            r#"{"model":"jitter","law":"pareto","min":"1 ms","shape":1.1}"#,
            r#"{"model":"random_delay","share":0.5,"law":"uniform","max":"30 ms"}"#,
        ],
    ] {
        let arrivals = arrivals(&config(channel, 10), 2000);
        assert!(arrivals.iter().map(|(_, id, _)| *id).eq(0..2000), "{channel:?}");
        // Some frames arrive late, delayed themselves or by a frame in front.
        assert!(arrivals.iter().any(|(time, id, _)| *time > ms(u64::from(*id) + 11)));
    }
}

/// Channels with `reorder` deliver each frame at its own time, and delays have the configured
/// distribution.
#[test]
fn delays_that_reorder_follow_the_law() {
    let laws = [
        (r#""law":"exponential","delay":"20 ms""#, LawKind::Exponential),
        (r#""law":"uniform","min":"5 ms","max":"40 ms""#, LawKind::Uniform),
        (r#""law":"pareto","min":"5 ms","shape":2.5"#, LawKind::Pareto),
    ];
    for (text, kind) in laws {
        let jitter = format!(r#"{{"model":"jitter","reorder":true,{text}}}"#);
        let count = 20_000;
        let arrivals = arrivals(&config(&[&jitter], 10), count);
        let mut delays: Vec<f64> = arrivals
            .iter()
            .map(|(time, id, _)| time.since(ms(u64::from(*id) + 11)).as_secs_f64())
            .collect();
        delays.sort_by(f64::total_cmp);
        // Distribution functions of the delay in seconds, as in any textbook.
        let law = |t: f64| match kind {
            LawKind::Constant => unreachable!("has no density"),
            LawKind::Exponential => 1.0 - (-t / 0.02).exp(),
            LawKind::Uniform => ((t - 0.005) / 0.035).clamp(0.0, 1.0),
            LawKind::Pareto => 1.0 - (0.005 / t.max(0.005)).powf(2.5),
        };
        // The Kolmogorov–Smirnov test at level 1e-4 allows 2.23/√n.
        let n = f64::from(count);
        let distance = delays.iter().enumerate().map(|(index, delay)| {
            let (below, above) = (index as f64 / n, (index + 1) as f64 / n);
            (law(*delay) - below).abs().max((law(*delay) - above).abs())
        });
        let worst = distance.fold(0.0, f64::max);
        assert!(worst < 2.23 / n.sqrt(), "{text}: {worst}");
        assert!(arrivals.windows(2).any(|pair| pair[0].1 > pair[1].1), "{text}: reorders");
    }
}

/// The shares of delayed frames in the list `shares` apply one after another, and start again at
/// the end.
#[test]
fn shares_change_with_time() {
    let chart = r#"{"model":"random_delay","shares":[0,1,0.5],"every":"2 s","law":"constant",
        "delay":"20 ms","reorder":true}"#;
    let arrivals = arrivals(&config(&[chart], 10), 12_000);
    let delayed = |from: u32| {
        let of = arrivals.iter().filter(|(_, id, _)| (from..from + 1999).contains(id));
        of.filter(|(time, id, _)| *time > ms(u64::from(*id) + 11)).count()
    };
    // A frame's fate is decided when its transmission ends, a millisecond after it begins, so
    // ranges of 1999 frames lie within one period.
    assert_eq!([delayed(0), delayed(2000), delayed(6000), delayed(8000)], [0, 1999, 0, 1999]);
    // Half of 1999 frames, with a standard deviation of 22.
    assert!(delayed(4000).abs_diff(1000) < 90 && delayed(10_000).abs_diff(1000) < 90);
}

#[test]
fn duplicates_come_right_behind_or_later() {
    let count = 20_000;
    let at_once = arrivals(&config(&[r#"{"model":"duplicate","p":0.1}"#], 10), count);
    for pair in at_once.windows(2).filter(|pair| pair[1].2) {
        assert_eq!((pair[0].0, pair[0].1, pair[0].2), (pair[1].0, pair[1].1, false));
    }
    let copies = at_once.iter().filter(|(.., copy)| *copy).count();
    // The standard deviation of the number of copies is 42.
    assert!(copies.abs_diff(2000) < 170, "{copies}");
    let later = [r#"{"model":"duplicate","p":1,"after":"2.5 ms"}"#];
    for (time, id, copy) in arrivals(&config(&later, 10), 100) {
        let own = ms(u64::from(id) + 11);
        let expected = if copy { own + Duration::from_micros(2500) } else { own };
        assert_eq!(time, expected);
    }
    // Frames that are lost have no copy.
    let lost = [r#"{"model":"duplicate","p":1}"#, r#"{"model":"periodic","every":2}"#];
    assert_eq!(arrivals(&config(&lost, 10), 100).len(), 100);
}

/// A copy comes `after` its frame, even if the frame is held back until others have overtaken it.
#[test]
fn copies_come_behind_frames_that_are_held() {
    let reorder = r#"{"model":"reorder","p":0.1,"packets":3,"at_most":"100 ms"}"#;
    let duplicate = r#"{"model":"duplicate","p":1,"after":"0.25 ms"}"#;
    for models in [[reorder, duplicate], [duplicate, reorder]] {
        let all = arrivals(&config(&models, 10), 2000);
        let first = |id: u32, wanted: bool| {
            let found = all.iter().find(|(_, other, copy)| (*other, *copy) == (id, wanted));
            found.expect("both arrive").0
        };
        let behind = |id| first(id, true).since(first(id, false));
        assert!((0..2000).all(|id| behind(id) == Duration::from_micros(250)));
        let late = (0..2000).filter(|id| first(*id, false) > ms(u64::from(*id) + 11)).count();
        // The standard deviation of the number of frames held back is 13.
        assert!(late.abs_diff(200) < 54, "{late}");
    }
}

/// A held frame is overtaken by the configured number of packets, its reordering extent by RFC 4737
/// §4.2.
#[test]
fn a_held_frame_is_overtaken_by_so_many() {
    let held = [r#"{"model":"reorder","p":0.02,"packets":3}"#];
    let count = 20_000;
    let arrivals = arrivals(&config(&held, 10), count);
    let mut late = 0;
    for (place, (time, id, _)) in arrivals.iter().enumerate() {
        let overtaken =
            arrivals[..place].iter().rev().take(20).filter(|other| other.1 > *id).count();
        if overtaken == 0 {
            assert_eq!(*time, ms(u64::from(*id) + 11));
            continue;
        }
        late += 1;
        // Frames that are held back themselves do not count as overtaking.
        let between = arrivals[..place].iter().rev().take(20);
        let held = between.filter(|other| other.1 > *id && other.0 > ms(u64::from(other.1) + 11));
        assert_eq!(overtaken - held.count(), 3, "{id}");
    }
    // The standard deviation of this number is 20; up to three of the last frames may be missing,
    // because too few frames follow them.
    assert!(u32::abs_diff(late, 400) < 80, "{late}");
}

/// A held frame arrives after `at_most` if no frames follow.
#[test]
fn a_held_frame_does_not_wait_for_ever() {
    let held = [r#"{"model":"reorder","p":1,"packets":3,"at_most":"5 ms"}"#];
    let all = arrivals(&config(&held, 10), 3);
    assert_eq!(all, [(ms(16), 0, false), (ms(17), 1, false), (ms(18), 2, false)]);
    let later = arrivals(&config(&[r#"{"model":"reorder","p":1,"delay":"7 ms"}"#], 10), 2);
    assert_eq!(later, [(ms(18), 0, false), (ms(19), 1, false)]);
}

fn change(at: u64) -> Change {
    Change { at: ms(at), rate: None, delay: None, channel: None }
}

/// A transmission in progress continues at the new rate, and a shorter delay does not let later
/// packets overtake earlier ones.
#[test]
fn rate_and_delay_change_at_their_time() {
    let changes = vec![
        Change { rate: Some(Rate::from_bit_s(4_000_000)), ..change(2) },
        Change { delay: Some(Duration::from_millis(1)), ..change(6) },
    ];
    let config = Config { changes, ..config(&[], 10) };
    let mut pipe = Pipe::new(&config, KEY, "link");
    for id in 0..5 {
        // 12,000 bits take 1.5 ms at first, and 3 ms after the change.
        assert_eq!(
            pipe.handle_packet(Time::ZERO, &Packet { id, frame: frame(1500), ecn_capable: false }),
            Entry::Accepted
        );
    }
    let mut times = Vec::new();
    while let Some(Departure::Delivered { .. }) = {
        times.push(pipe.poll_timeout().as_nanos() / 1000);
        pipe.poll_transmit(pipe.poll_timeout())
    } {}
    // Transmissions end at 1.5, 4, 7, 10 and 13 ms; the second one takes 0.5 ms at the old rate and
    // 2 ms at the new one. The second packet arrives at 14 ms, and later ones, whose delay is 1 ms,
    // not before it.
    assert_eq!(times[..5], [11_500, 14_000, 14_000, 14_000, 14_000]);
}

/// A channel whose parameters change keeps its state and its stream of draws; a different model in
/// its place starts with a new state.
#[test]
fn channels_change_at_their_time() {
    let never = model(r#"{"model":"bernoulli","p":0}"#);
    let always = model(r#"{"model":"bernoulli","p":1}"#);
    let every = |n: u32| model(&format!(r#"{{"model":"periodic","every":{n}}}"#));
    let to = |at, channel: &[&channel::Config]| Change {
        channel: Some(channel.iter().map(|model| (*model).clone()).collect()),
        ..change(at)
    };
    let mut config = config(&[r#"{"model":"periodic","every":4}"#], 10);
    config.changes =
        vec![to(11, &[&every(6)]), to(20, &[]), to(30, &[&never, &every(2)]), to(40, &[&always])];
    let arrived: Vec<u32> = arrivals(&config, 50).iter().map(|(_, id, _)| *id).collect();
    let lost: Vec<u32> = (0..50).filter(|id| !arrived.contains(id)).collect();
    // Frame n's transmission ends at n + 1 ms. After the loss of frame 7, frames 8 and 9 had passed
    // when the period changed from 4 to 6, so the sixth is frame 13.
    let mut expected = vec![3, 7, 13];
    expected.extend([30, 32, 34, 36, 38]);
    expected.extend(39..50);
    assert_eq!(lost, expected);
}

/// An outage loses the frames whose transmission ends during it, and its times do not depend on the
/// traffic.
#[test]
fn outages_do_not_depend_on_traffic() {
    let outage = model(r#"{"model":"outage","count":5,"within":"1 s","duration":"20 ms"}"#);
    let down = |step: usize| -> Vec<bool> {
        let mut state = outage.build();
        let mut stream = KEY.stream("outage");
        let instants = (0..30_000u64).step_by(step);
        instants
            .map(|at| state.fate(ms(at), &frame(1500), &mut stream) != channel::DELIVER)
            .collect()
    };
    let all = down(1);
    assert_eq!(down(7), all.iter().copied().step_by(7).collect::<Vec<_>>());
    assert_eq!(down(3700), all.iter().copied().step_by(3700).collect::<Vec<_>>());
    // Each second has five outages of 20 ms, at times of its own.
    for second in all.chunks(1000) {
        assert_eq!(second.iter().filter(|down| **down).count(), 100);
        let starts = second.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        assert!((1..=5).contains(&starts));
    }
    assert_ne!(all[..1000], all[1000..2000]);
}

/// The delays of several models in a list add up to the extra delay of a frame.
#[test]
fn delays_of_a_list_add_up() {
    let constant = r#"{"model":"jitter","law":"constant","delay":"3 ms"}"#;
    let all = arrivals(&config(&[constant, constant], 10), 3);
    assert_eq!(all, [(ms(17), 0, false), (ms(18), 1, false), (ms(19), 2, false)]);
    assert_eq!(
        model(constant).build().fate(Time::ZERO, &frame(100), &mut KEY.stream("x")),
        Fate::Deliver { extra_delay: Duration::from_millis(3) }
    );
}
