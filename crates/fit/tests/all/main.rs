//! Tests of the crate on series that channels of retx draw.

mod choice;
mod likelihood;
mod series;
