//! Diagnosis of captures: reads a file of any common format, and determines the limits of each TCP
//! flow.
//!
//! [`reader`] yields frames with bounded memory, [`layers`] decodes a frame down to its TCP
//! segment, and [`packet`] contains the fields of a segment. [`flow`] follows both directions of
//! each connection, and [`answer`] contains the result.

pub mod answer;
pub mod between;
pub mod flow;
pub mod layers;
pub mod measure;
mod order;
pub mod packet;
pub mod pair;
pub mod reader;
mod run;
pub mod tables;
pub mod time_sequence;

pub use pair::diagnose_pair;
pub use run::{diagnose, diagnose_with_diagram};
