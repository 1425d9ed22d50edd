//! Quantities used by every other crate: instants and durations in whole nanoseconds, rates in bits
//! per second, probabilities and distributions, 32-bit sequence numbers, named random streams, and
//! queue lengths over time.
//!
//! Each type is read and written in the notation of scenario files (`"20 ms"`, `"10 Mbit/s"`), so
//! that a unit can be neither forgotten nor mixed up.

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
pub use history::QueueLengthHistory;
pub use law::Law;
pub use probability::Probability;
pub use quantity::QuantityError;
pub use rate::Rate;
pub use seq::SeqNr;
pub use stream::{RandomStream, StreamKey};
pub use time::{Duration, Time};
