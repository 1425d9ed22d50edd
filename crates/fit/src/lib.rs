//! Fits of models to measured series.
//!
//! [`loss`] fits loss models to the fates of packets. The result contains every compared model with
//! intervals, tests of the best one, and change points.

pub mod loss;
mod numeric;
