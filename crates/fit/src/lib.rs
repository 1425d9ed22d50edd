//! Fits models to measured series.
//!
//! [`loss`] takes the fate of every copy of a packet and returns the laws of loss that it compared,
//! with intervals, tests and change points.

pub mod loss;
mod numeric;
