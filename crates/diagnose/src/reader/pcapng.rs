//! The format pcapng (draft-ietf-opsawg-pcapng). A file consists of sections, which consist of
//! blocks. Each interface has its own link type, time resolution and time offset. Comments are
//! never read.

use super::input::Input;
use super::{ByteOrder, Head, RECORD_MAX_BYTES, Record, Statistics, order};
use std::io::Read;

/// The type of a section header block, the same in both byte orders.
pub const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Latest time of a frame, in the year 2116: later than any time that pcap files can express.
/// Differences of times do not overflow.
const TIME_MAX_NS: i64 = 1 << 62;
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Bytes of a block before its body (type and length). The length is repeated after the body.
const BEFORE: usize = 8;
const AFTER: usize = 4;

/// The section that is being read.
#[derive(Debug, Clone, Default)]
pub struct Section {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Number of interfaces in earlier sections.
    earlier_interfaces: u32,
    /// Time of the newest frame, which frames without a time get.
    newest_ns: i64,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: u16,
    snap_bytes: u32,
    resolution: Resolution,
    offset_s: i64,
}

/// The unit of an interface's times.
#[derive(Debug, Clone, Copy)]
enum Resolution {
    /// A unit of time has this number of nanoseconds, at least one.
    Nanoseconds(u64),
    /// A nanosecond has this number of units, for units that are shorter.
    Finer(u64),
    /// The unit is 2^−n s.
    Binary(u32),
}

impl Resolution {
    /// Resolution from the option `if_tsresol`: a negative power of 10, or of 2 if the highest bit
    /// is set.
    fn new(code: u8) -> Self {
        let exponent = u32::from(code & 0x7f);
        if code & 0x80 != 0 {
            Self::Binary(exponent)
        } else if exponent <= 9 {
            Self::Nanoseconds(10_u64.pow(9 - exponent))
        } else {
            Self::Finer(10_u64.checked_pow(exponent - 9).unwrap_or(u64::MAX))
        }
    }

    #[inline]
    fn nanoseconds(self, units: u64) -> i64 {
        match self {
            Self::Nanoseconds(each) => {
                i64::try_from(u128::from(units) * u128::from(each)).unwrap_or(i64::MAX)
            }
            Self::Finer(each) => (units / each) as i64,
            Self::Binary(exponent) => {
                let scaled = (u128::from(units) * 1_000_000_000) >> exponent.min(127);
                i64::try_from(scaled).unwrap_or(i64::MAX)
            }
        }
    }
}

impl Section {
    /// The next block.
    #[inline]
    pub(super) fn next_record(
        &mut self,
        input: &mut Input<impl Read>,
        statistics: &mut Statistics,
    ) -> Record {
        let head = input.peek(BEFORE + 20);
        if head.len() < BEFORE + AFTER {
            return if head.is_empty() {
                Record::End
            } else {
                Record::Damaged("the last block ends within its header".to_owned())
            };
        }
        if head[..4] == SECTION_HEADER {
            return self.begin(input);
        }
        let kind = self.order.u32(head, 0);
        let length = self.order.u32(head, 4);
        if (length as usize) < BEFORE + AFTER || !length.is_multiple_of(4) {
            return Record::Damaged(format!("a block says that it has {length} bytes"));
        }
        let body = length as usize - BEFORE - AFTER;
        match kind {
            ENHANCED_PACKET | PACKET | SIMPLE_PACKET => self.packet(kind, body, input, statistics),
            INTERFACE | INTERFACE_STATISTICS => self.describe(kind, length, input, statistics),
            _ => pass(length, input),
        }
    }

    /// Handles a section header block.
    fn begin(&mut self, input: &mut Input<impl Read>) -> Record {
        let head = input.peek(16);
        if head.len() < 16 {
            return Record::Damaged("a section ends within its header".to_owned());
        }
        let is_big = match head[8..12] {
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            _ => return Record::Damaged("a section without a byte order".to_owned()),
        };
        self.order = order(is_big);
        debug_assert_eq!(self.order.u32(head, 0), SECTION);
        let length = self.order.u32(head, 4);
        if length < 28 || !length.is_multiple_of(4) {
            return Record::Damaged(format!("a section header says that it has {length} bytes"));
        }
        self.earlier_interfaces += self.interfaces.len() as u32;
        self.interfaces.clear();
        pass(length, input)
    }

    /// Reads a block that describes an interface, or its statistics.
    fn describe(
        &mut self,
        kind: u32,
        length: u32,
        input: &mut Input<impl Read>,
        statistics: &mut Statistics,
    ) -> Record {
        if length > RECORD_MAX_BYTES {
            return Record::Damaged(format!("a block says that it has {length} bytes"));
        }
        let block = input.peek(length as usize);
        if block.len() < length as usize {
            return Record::Damaged("the last block is not complete".to_owned());
        }
        let body = &block[BEFORE..length as usize - AFTER];
        let fixed = if kind == INTERFACE { 8 } else { 12 };
        if body.len() < fixed {
            return Record::Damaged("a description without a body".to_owned());
        }
        if kind == INTERFACE {
            self.interfaces.push(self.interface(body));
        } else {
            statistics.dropped += self.dropped(&body[fixed..]);
        }
        input.consume(length as usize);
        Record::Other
    }

    fn interface(&self, body: &[u8]) -> Interface {
        let mut interface = Interface {
            link_type: self.order.u16(body, 0),
            snap_bytes: self.order.u32(body, 4),
            resolution: Resolution::Nanoseconds(1_000),
            offset_s: 0,
        };
        for (code, value) in (Options { order: self.order, rest: &body[8..] }) {
            match (code, value) {
                (9, [code, ..]) => interface.resolution = Resolution::new(*code),
                (14, value) if value.len() >= 8 => {
                    interface.offset_s = self.order.u64(value, 0) as i64;
                }
                _ => {}
            }
        }
        interface
    }

    /// Number of dropped packets: the sum of `isb_ifdrop` and `isb_osdrop`.
    fn dropped(&self, options: &[u8]) -> u64 {
        let options = Options { order: self.order, rest: options };
        let counts = options.filter(|(code, value)| matches!(code, 5 | 7) && value.len() >= 8);
        counts.map(|(_, value)| self.order.u64(value, 0)).fold(0, u64::saturating_add)
    }

    #[inline]
    fn packet(
        &mut self,
        kind: u32,
        body: usize,
        input: &mut Input<impl Read>,
        statistics: &mut Statistics,
    ) -> Record {
        let fixed = if kind == SIMPLE_PACKET { 4 } else { 20 };
        let block = input.peek(BEFORE + fixed);
        if body < fixed || block.len() < BEFORE + fixed {
            return Record::Damaged("a packet block without a body".to_owned());
        }
        let bytes = &block[BEFORE..];
        let word = |at| self.order.u32(bytes, at);
        let index = match kind {
            SIMPLE_PACKET => 0,
            PACKET => u32::from(self.order.u16(bytes, 0)),
            _ => word(0),
        };
        let Some(interface) = self.interfaces.get(index as usize).copied() else {
            statistics.without_interface += 1;
            return pass((body + BEFORE + AFTER) as u32, input);
        };
        let room = (body - fixed) as u32;
        let (captured_bytes, original_bytes, time_ns) = if kind == SIMPLE_PACKET {
            statistics.without_time += 1;
            let snap = if interface.snap_bytes == 0 { u32::MAX } else { interface.snap_bytes };
            (word(0).min(snap).min(room), word(0), self.newest_ns)
        } else {
            let units = u64::from(word(4)) << 32 | u64::from(word(8));
            let offset = interface.offset_s.saturating_mul(1_000_000_000);
            let time_ns = interface.resolution.nanoseconds(units).saturating_add(offset);
            (word(12), word(16), time_ns.clamp(0, TIME_MAX_NS))
        };
        if captured_bytes > room || captured_bytes > RECORD_MAX_BYTES || room > RECORD_MAX_BYTES {
            let text = format!("a frame of {captured_bytes} bytes in a block with room for {room}");
            return Record::Damaged(text);
        }
        self.newest_ns = time_ns;
        input.consume(BEFORE + fixed);
        let head = Head {
            time_ns,
            link_type: interface.link_type,
            interface: self.earlier_interfaces + index,
            original_bytes: original_bytes.max(captured_bytes),
            captured_bytes,
        };
        Record::Frame { head, padding: (room - captured_bytes) as usize + AFTER }
    }
}

/// Skips a block.
fn pass(length: u32, input: &mut Input<impl Read>) -> Record {
    if input.skip(length.into()) {
        Record::Other
    } else {
        Record::Damaged("the last block is not complete".to_owned())
    }
}

/// The options of a block.
struct Options<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.len() < 4 {
            return None;
        }
        let code = self.order.u16(self.rest, 0);
        let length = usize::from(self.order.u16(self.rest, 2));
        let value = self.rest.get(4..4 + length)?;
        self.rest = self.rest.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        (code != 0).then_some((code, value))
    }
}
