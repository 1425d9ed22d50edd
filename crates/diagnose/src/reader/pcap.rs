//! The classic pcap format (draft-ietf-opsawg-pcap): one header, then records.

use super::input::Input;
use super::{ByteOrder, Head, RECORD_MAX_BYTES, Record, order};
use std::io::Read;

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// Length of a record header in Kuznetzov's modified format, which some old tools wrote.
const MODIFIED_RECORD_HEADER_BYTES: usize = 24;

/// Header of a pcap file.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    order: ByteOrder,
    nanoseconds: bool,
    record_header_bytes: usize,
    link_type: u16,
}

impl Header {
    /// Reads the header of a file; none if the file is not pcap.
    pub fn read(input: &mut Input<impl Read>) -> Option<Self> {
        let bytes = input.peek(FILE_HEADER_BYTES);
        if bytes.len() < FILE_HEADER_BYTES {
            return None;
        }
        let is_big = bytes[0] == 0xa1;
        let order = order(is_big);
        let (nanoseconds, record_header_bytes) = match order.u32(bytes, 0) {
            0xa1b2_c3d4 => (false, RECORD_HEADER_BYTES),
            0xa1b2_3c4d => (true, RECORD_HEADER_BYTES),
            0xa1b2_cd34 => (false, MODIFIED_RECORD_HEADER_BYTES),
            _ => return None,
        };
        // The upper half of the field describes frame check sequences.
        let link_type = order.u32(bytes, 20) as u16;
        input.consume(FILE_HEADER_BYTES);
        Some(Self { order, nanoseconds, record_header_bytes, link_type })
    }

    /// The next record.
    #[inline]
    pub(super) fn next_record(&self, input: &mut Input<impl Read>) -> Record {
        let bytes = input.peek(self.record_header_bytes);
        if bytes.len() < self.record_header_bytes {
            return if bytes.is_empty() {
                Record::End
            } else {
                Record::Damaged("the last record ends within its header".to_owned())
            };
        }
        let seconds = self.order.u32(bytes, 0);
        let fraction = self.order.u32(bytes, 4);
        let captured_bytes = self.order.u32(bytes, 8);
        let original_bytes = self.order.u32(bytes, 12);
        if captured_bytes > RECORD_MAX_BYTES {
            return Record::Damaged(format!("a record says that it has {captured_bytes} bytes"));
        }
        input.consume(self.record_header_bytes);
        let fraction_ns = i64::from(fraction) * if self.nanoseconds { 1 } else { 1_000 };
        let head = Head {
            time_ns: i64::from(seconds) * 1_000_000_000 + fraction_ns,
            link_type: self.link_type,
            interface: 0,
            original_bytes: original_bytes.max(captured_bytes),
            captured_bytes,
        };
        Record::Frame { head, padding: 0 }
    }
}
