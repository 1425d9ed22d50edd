//! Conversion of TCP options between bytes and [`Options`].

use crate::{Options, SackBlock, SackBlocks, TCP_OPTIONS_MAX_BYTES, Timestamps, WireError};
use etherparse::{TcpOptionElement, TcpOptionReadError, TcpOptionsIterator, tcp_option};
use retx_units::SeqNr;

/// Encoded options, padded to 32-bit words.
#[derive(Debug, Clone)]
pub struct EncodedOptions {
    bytes: [u8; TCP_OPTIONS_MAX_BYTES as usize],
    len: usize,
}

impl EncodedOptions {
    /// Encoded options, padding included.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn put_pair(&mut self, first: u32, second: u32) {
        self.put(&first.to_be_bytes());
        self.put(&second.to_be_bytes());
    }
}

impl Options {
    /// Encodes the options in the order and with the padding that Linux uses.
    ///
    /// # Panics
    /// If they take more than [`TCP_OPTIONS_MAX_BYTES`].
    pub fn encode(&self) -> EncodedOptions {
        encode(self)
    }

    /// Reads the options of a TCP header. Unknown kinds are skipped; if a kind is repeated, the
    /// last one counts.
    ///
    /// # Errors
    /// An option has an invalid length.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        decode(bytes)
    }
}

fn encode(options: &Options) -> EncodedOptions {
    use tcp_option::{
        KIND_MAXIMUM_SEGMENT_SIZE, KIND_NOOP, KIND_SELECTIVE_ACK, KIND_SELECTIVE_ACK_PERMITTED,
        KIND_TIMESTAMP, KIND_WINDOW_SCALE, LEN_MAXIMUM_SEGMENT_SIZE, LEN_SELECTIVE_ACK_PERMITTED,
        LEN_TIMESTAMP, LEN_WINDOW_SCALE,
    };
    const SACK_PERMITTED: [u8; 2] = [KIND_SELECTIVE_ACK_PERMITTED, LEN_SELECTIVE_ACK_PERMITTED];

    let bytes = options.encoded_bytes();
    assert!(bytes <= TCP_OPTIONS_MAX_BYTES, "{bytes} bytes of TCP options: {options:?}");
    let nops: &[u8] =
        if options.padded_bytes() <= TCP_OPTIONS_MAX_BYTES { &[KIND_NOOP; 2] } else { &[] };
    let mut out = EncodedOptions { bytes: [0; TCP_OPTIONS_MAX_BYTES as usize], len: 0 };
    if let Some(mss) = options.mss {
        out.put(&[KIND_MAXIMUM_SEGMENT_SIZE, LEN_MAXIMUM_SEGMENT_SIZE]);
        out.put(&mss.to_be_bytes());
    }
    if let Some(timestamps) = options.timestamps {
        out.put(if options.sack_permitted { &SACK_PERMITTED } else { nops });
        out.put(&[KIND_TIMESTAMP, LEN_TIMESTAMP]);
        out.put_pair(timestamps.value, timestamps.echo);
    } else if options.sack_permitted {
        out.put(nops);
        out.put(&SACK_PERMITTED);
    }
    if let Some(shift) = options.window_scale {
        out.put(&nops[..nops.len() / 2]);
        out.put(&[KIND_WINDOW_SCALE, LEN_WINDOW_SCALE, shift]);
    }
    let blocks = options.sack.as_slice();
    if !blocks.is_empty() {
        out.put(nops);
        out.put(&[KIND_SELECTIVE_ACK, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            out.put_pair(block.left.0, block.right.0);
        }
    }
    // The rest of the last word stays zero, which is the kind of the end-of-option-list option.
    out.len = out.len.next_multiple_of(4);
    assert_eq!(out.len as u32, bytes, "{options:?}");
    out
}

fn decode(bytes: &[u8]) -> Result<Options, WireError> {
    let mut options = Options::default();
    let mut rest = bytes;
    loop {
        let mut elements = TcpOptionsIterator::from_slice(rest);
        match elements.next() {
            None => return Ok(options),
            Some(Ok(element)) => {
                apply(&mut options, &element);
                rest = elements.rest();
            }
            Some(Err(TcpOptionReadError::UnknownId(kind))) => rest = after_unknown(kind, rest)?,
            Some(Err(TcpOptionReadError::UnexpectedSize { option_id, size })) => {
                return Err(WireError::OptionLength { kind: option_id, length: size });
            }
            Some(Err(TcpOptionReadError::UnexpectedEndOfSlice { option_id, .. })) => {
                return Err(WireError::OptionTruncated { kind: option_id, has: rest.len() });
            }
        }
    }
}

fn apply(options: &mut Options, element: &TcpOptionElement) {
    match *element {
        TcpOptionElement::Noop => {}
        TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
        TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
        TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
        TcpOptionElement::Timestamp(value, echo) => {
            options.timestamps = Some(Timestamps { value, echo });
        }
        TcpOptionElement::SelectiveAcknowledgement(first, others) => {
            options.sack = SackBlocks::default();
            for (left, right) in std::iter::once(first).chain(others.into_iter().flatten()) {
                options.sack.push(SackBlock { left: SeqNr(left), right: SeqNr(right) });
            }
        }
    }
}

/// Skips an option of unknown kind: every kind except END and NOP has a length (RFC 9293 §3.1),
/// which includes the kind and length bytes.
fn after_unknown(kind: u8, option: &[u8]) -> Result<&[u8], WireError> {
    let truncated = WireError::OptionTruncated { kind, has: option.len() };
    let length = *option.get(1).ok_or(truncated)?;
    if length < 2 {
        return Err(WireError::OptionLength { kind, length });
    }
    option.get(usize::from(length)..).ok_or(truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that Linux puts on its SYNs and ACKs.
    #[test]
    fn layout_of_linux() {
        let mut options = Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 0x0102_0304, echo: 0 }),
            sack: SackBlocks::default(),
        };
        let syn = [2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(encode(&options).as_slice(), syn);
        options.timestamps = None;
        let syn = [2, 4, 5, 0xb4, 1, 1, 4, 2, 1, 3, 3, 7];
        assert_eq!(encode(&options).as_slice(), syn);

        let timestamps = Some(Timestamps { value: 1, echo: 2 });
        let mut options = Options { timestamps, ..Options::default() };
        assert!(options.push_sack(SackBlock { left: SeqNr(0x10), right: SeqNr(0x20) }));
        let ack = [
            1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, // timestamps
            1, 1, 5, 10, 0, 0, 0, 0x10, 0, 0, 0, 0x20, // SACK
        ];
        assert_eq!(encode(&options).as_slice(), ack);
    }

    #[test]
    #[should_panic(expected = "44 bytes of TCP options")]
    fn what_cannot_fit_is_the_callers_mistake() {
        let mut options = Options { timestamps: Some(Timestamps::default()), ..Options::default() };
        for _ in 0..4 {
            options.sack.push(SackBlock::default());
        }
        encode(&options);
    }

    #[test]
    fn unknown_options_are_skipped() {
        // MPTCP (30), timestamps, an experimental kind (254), window scale, end of list, then
        // garbage.
        let bytes = [30, 4, 9, 9, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 254, 2, 3, 3, 9, 1, 0, 77, 99, 1];
        let expected = Options {
            window_scale: Some(9),
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            ..Options::default()
        };
        assert_eq!(decode(&bytes), Ok(expected));
    }

    #[test]
    fn malformed_options_are_refused() {
        let length = |kind, length| Err(WireError::OptionLength { kind, length });
        let truncated = |kind, has| Err(WireError::OptionTruncated { kind, has });
        assert_eq!(decode(&[2, 3, 0, 0]), length(2, 3));
        assert_eq!(decode(&[5, 2, 0, 0]), length(5, 2));
        assert_eq!(decode(&[5, 11, 0, 0]), length(5, 11));
        assert_eq!(decode(&[99, 0, 0, 0]), length(99, 0));
        assert_eq!(decode(&[99, 1, 0, 0]), length(99, 1));
        assert_eq!(decode(&[1, 1, 1, 2]), truncated(2, 1));
        assert_eq!(decode(&[1, 1, 1, 99]), truncated(99, 1));
        assert_eq!(decode(&[99, 5, 0, 0]), truncated(99, 4));
        assert_eq!(decode(&[8, 10, 0, 0, 0, 0, 0, 0]), truncated(8, 8));
    }
}
