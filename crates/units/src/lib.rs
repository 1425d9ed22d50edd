//! The quantities that every other crate speaks in: instants and durations in whole nanoseconds,
//! rates in bits per second, probabilities and laws, 32-bit sequence numbers, and named random
//! streams; and how many wait at each instant.
//!
//! Each type reads and writes itself as the text that a scenario file holds (`"20 ms"`,
//! `"10 Mbit/s"`), so a unit can be neither forgotten nor mixed up.

pub mod choice;
mod distance;
mod history;
mod law;
mod probability;
mod quantity;
mod rate;
mod seq;
mod stream;
mod time;

pub use choice::Choice;
pub use distance::Distance;
pub use history::History;
pub use law::Law;
pub use probability::Probability;
pub use quantity::QuantityError;
pub use rate::Rate;
pub use seq::SeqNr;
pub use stream::{Stream, StreamKey};
pub use time::{Duration, Time};
