//! Packets of a capture per CPU second: read, decoded, and diagnosed.
//!
//! `cargo run --release -p retx-diagnose --example speed CAPTURE [read | decode | diagnose]`

use retx_diagnose::layers::decode;
use retx_diagnose::reader::Reader;
use std::env;
use std::fs::File;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let mut words = env::args().skip(1);
    let path = words.next().expect("the name of a capture");
    let only = words.next();
    let open = || File::open(&path).expect("a file that can be read");
    for step in ["read", "decode", "diagnose"] {
        if only.as_deref().is_some_and(|only| only != step) {
            continue;
        }
        let start = Instant::now();
        let packets = if step == "diagnose" {
            let answer = retx_diagnose::diagnose(open(), &path).expect("a capture");
            black_box(&answer).capture.packets
        } else {
            let mut reader = Reader::new(open()).expect("a capture");
            while let Some(frame) = reader.next_frame() {
                if step == "decode" {
                    let _ = black_box(decode(&frame));
                } else {
                    black_box(frame.data.len());
                }
            }
            reader.frames()
        };
        let seconds = start.elapsed().as_secs_f64();
        println!("{step}: {packets} packets, {:.2} million/s", packets as f64 / seconds * 1e-6);
    }
}
