//! Contract tests of the crate. They share one binary, because each further binary would be
//! optimised and linked separately.
//!
//! `cargo test -p retx-sim --test all FILE::` runs one file.

mod ahead;
mod bbr;
mod bursty_rto;
mod causes;
mod channels;
mod closed_forms;
mod confusion;
mod datagrams;
mod download;
mod exchanges;
mod external;
mod fall_floyd;
mod flows;
mod histories;
mod kernel_reference;
mod pairs;
mod plans;
mod presets_differ;
mod queues;
mod random;
mod reference;
mod relays;
mod scenarios;
#[path = "../../../record/tests/all/skipping.rs"]
mod skipping;
mod snapshots;
mod split;
mod swarm;
mod table_9;
mod tshark;
mod verdicts;
mod wlan;
