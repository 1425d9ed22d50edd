//! Payload of captured packets: lines of text that state their own position in the stream. A
//! retransmission therefore has the same bytes as the original, and the stream can be read in
//! Wireshark's *Follow*.

const LINE_BYTES: u64 = 32;

/// Line of the stream: the offset of its first byte in 20 digits, and letters as padding.
fn line(offset: u64) -> [u8; LINE_BYTES as usize] {
    let mut line = *b"00000000000000000000 abcdefghij\n";
    let mut rest = offset;
    for digit in line[..20].iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    line
}

/// Fills `payload` with the bytes of the stream from `offset` on; offset 0 is the first byte of
/// data.
pub(super) fn fill(offset: u64, payload: &mut [u8]) {
    let into_line = (offset % LINE_BYTES) as usize;
    let mut at = offset - into_line as u64;
    let mut skip = into_line;
    let mut rest = payload;
    while !rest.is_empty() {
        let text = &line(at)[skip..];
        let (here, next) = rest.split_at_mut(text.len().min(rest.len()));
        here.copy_from_slice(&text[..here.len()]);
        rest = next;
        skip = 0;
        at = at.wrapping_add(LINE_BYTES);
    }
}

/// Fills the payload of a datagram; each line states the number of the datagram.
pub(super) fn fill_numbered(number: u64, payload: &mut [u8]) {
    let line = line(number);
    for part in payload.chunks_mut(LINE_BYTES as usize) {
        part.copy_from_slice(&line[..part.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_say_where_they_stand() {
        let mut text = [0; 70];
        fill(31, &mut text);
        assert_eq!(
            str::from_utf8(&text),
            Ok("\n00000000000000000032 abcdefghij\n00000000000000000064 abcdefghij\n00000")
        );
    }

    #[test]
    fn datagrams_tell_their_number() {
        let mut text = [0; 40];
        fill_numbered(7, &mut text);
        assert_eq!(str::from_utf8(&text), Ok("00000000000000000007 abcdefghij\n00000000"));
    }

    proptest! {
        /// Each byte depends only on its position, however the stream is divided into segments.
        #[test]
        fn a_byte_depends_on_its_position_alone(
            start in 0..=u64::MAX - 1000, cut in 0usize..200, len in 0usize..300,
        ) {
            let mut whole = vec![0; cut + len];
            fill(start, &mut whole);
            let mut part = vec![0; len];
            fill(start + cut as u64, &mut part);
            prop_assert_eq!(&whole[cut..], part.as_slice());
        }
    }
}
