//! The engine: hosts, applications and links in virtual time, and the record of what happened.

pub mod event_queue;
