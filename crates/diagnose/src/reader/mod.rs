//! Capture files as a stream of frames: pcap and pcapng, plain or compressed.
//!
//! Memory is bounded by the longest record. A damaged or truncated file yields all frames before
//! the damage. [`Reader::damage`] then returns the position and kind of the damage.

mod bytes;
mod input;
mod pcap;
mod pcapng;

use bytes::ByteOrder;
use input::{Decompressed, Input};
use std::io::{self, Read};

/// Longest valid record; a greater length means that the file is damaged.
const RECORD_MAX_BYTES: u32 = 16 << 20;

/// A frame of a capture.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Number in the file, from 1.
    pub number: u64,
    /// Nanoseconds since 1970-01-01 00:00:00 UTC.
    pub time_ns: i64,
    /// The link type of the interface, as in the registry `LINKTYPE_…` of pcap.
    pub link_type: u16,
    /// Number of the interface in the file, from 0; sections continue the numbering.
    pub interface: u32,
    /// Bytes that the frame had on the wire.
    pub original_bytes: u32,
    /// Bytes that were captured.
    pub data: &'a [u8],
}

/// Reason why a file is not a capture.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// The beginning of the file cannot be decompressed.
    #[error("its compressed data are damaged before the first packet: {0}")]
    Compressed(String),
    /// The file is empty.
    #[error("the file is empty: a capture begins with the header of pcap or pcapng")]
    Empty,
    /// The file is not a capture.
    #[error(
        "the file begins with \"{}\": no capture in the format pcap or pcapng, plain or \
         compressed by gzip or Zstandard",
        first.escape_ascii()
    )]
    Format {
        /// First bytes of the file.
        first: Vec<u8>,
    },
    /// Two captures have equal addresses and sequence numbers, but packets of different runs.
    #[error(
        "these captures do not hold the same run: a round trip of flow {flow} between them would \
         take {round_trip_us} µs, and no packet arrives before it was sent"
    )]
    DifferentRuns {
        /// Number of the flow in the first capture.
        flow: usize,
        /// Minimum round trip between the captures, below zero.
        round_trip_us: i64,
    },
}

/// Position and kind of the damage to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the decompressed file.
    pub offset: u64,
    /// Description of the damage.
    pub reason: String,
}

/// Statistics of the capture, as stored in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of frames that the capturing program or its kernel reports as dropped.
    pub dropped: u64,
    /// Number of frames without a timestamp (simple packet blocks).
    pub without_time: u64,
    /// Number of packet blocks whose interface the file does not describe.
    pub without_interface: u64,
}

/// Reader of the frames of a file, in their order.
pub struct Reader<R: Read> {
    input: Input<Decompressed<R>>,
    format: Format,
    number: u64,
    damage: Option<Damage>,
    statistics: Statistics,
}

enum Format {
    Pcap(pcap::Header),
    Pcapng(pcapng::Section),
}

/// Kind of the next record of a file.
enum Record {
    /// Frame. Its captured bytes are the next bytes of the input, followed by `padding` further
    /// bytes of the record.
    Frame { head: Head, padding: usize },
    /// Other block, which is skipped.
    Other,
    /// No further record.
    End,
    /// The file is damaged here.
    Damaged(String),
}

/// A frame without its bytes.
#[derive(Clone, Copy)]
struct Head {
    time_ns: i64,
    link_type: u16,
    interface: u32,
    original_bytes: u32,
    captured_bytes: u32,
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of a file, and detects its format.
    ///
    /// # Errors
    /// The file is not a capture.
    pub fn new(source: R) -> Result<Self, ReadError> {
        let mut input = Input::new(Decompressed::new(source)?);
        let first = input.peek(4);
        let first = first[..first.len().min(4)].to_vec();
        if let Some(failure) = input.failure() {
            // Only errors of the operating system have a number.
            return Err(match failure.raw_os_error() {
                Some(number) => ReadError::Io(io::Error::from_raw_os_error(number)),
                None => ReadError::Compressed(failure.to_string()),
            });
        }
        if first.is_empty() {
            return Err(ReadError::Empty);
        }
        let format = if first == pcapng::SECTION_HEADER {
            Format::Pcapng(pcapng::Section::default())
        } else {
            let header = pcap::Header::read(&mut input);
            Format::Pcap(header.ok_or(ReadError::Format { first })?)
        };
        Ok(Self { input, format, number: 0, damage: None, statistics: Statistics::default() })
    }

    /// Next frame; none at the end of the file, or if the file is damaged there.
    #[inline]
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        if self.damage.is_some() {
            return None;
        }
        loop {
            let record = match &mut self.format {
                Format::Pcap(header) => header.next_record(&mut self.input),
                Format::Pcapng(section) => {
                    section.next_record(&mut self.input, &mut self.statistics)
                }
            };
            match record {
                Record::Frame { head, padding } => return self.frame(head, padding),
                Record::Other => {}
                Record::End => {
                    if let Some(reason) = self.input.failure().map(ToString::to_string) {
                        self.damaged(format!("cannot be read any further: {reason}"));
                    }
                    return None;
                }
                Record::Damaged(reason) => {
                    self.damaged(reason);
                    return None;
                }
            }
        }
    }

    #[inline]
    fn frame(&mut self, head: Head, padding: usize) -> Option<Frame<'_>> {
        let captured = head.captured_bytes as usize;
        let has = self.input.peek(captured + padding).len();
        if has < captured {
            self.damaged(format!("a frame of {captured} bytes ends after {has}"));
            return None;
        }
        self.number += 1;
        if has < captured + padding {
            self.damaged("the last block is not complete".to_owned());
        }
        let number = self.number;
        let data = self.input.read_prefix(captured, captured + padding.min(has - captured));
        let Head { time_ns, link_type, interface, original_bytes, .. } = head;
        Some(Frame { number, time_ns, link_type, interface, original_bytes, data })
    }

    fn damaged(&mut self, reason: String) {
        let reason = match self.input.failure() {
            Some(failure) => format!("{reason} ({failure})"),
            None => reason,
        };
        self.damage = Some(Damage { offset: self.input.position(), reason });
    }

    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.number
    }

    /// Position and kind of the damage, once [`Self::next_frame`] has reached it.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Statistics reported by the file so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }
}

/// The order of bytes in a file.
const fn order(is_big: bool) -> ByteOrder {
    if is_big { ByteOrder::Big } else { ByteOrder::Little }
}
