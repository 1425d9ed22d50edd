//! Fits of models to measured series.
//!
//! [`loss`] fits loss models to the fates of packets. It returns every compared model with
//! intervals, and tests and change points.

pub mod loss;
mod numeric;
