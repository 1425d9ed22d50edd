//! Reads captures: from a file of any common format to the TCP segments in it.
//!
//! [`reader`] yields frames in memory of bounded size, [`layers`] finds the segment in a frame,
//! through whatever encapsulations, and [`packet`] is what a segment says.

pub mod layers;
pub mod packet;
pub mod reader;
