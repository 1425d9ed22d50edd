//! Memory that Linux counts for packets, which its buffers are measured in (`truesize`).
//!
//! *Reference.* Linux 6.18 on a machine with 64 bits: `net/core/skbuff.c` (`__alloc_skb`,
//! `kmalloc_reserve`), `include/linux/skbuff.h` (`SKB_TRUESIZE`, `SKB_SMALL_HEAD_SIZE`),
//! `drivers/net/tun.c` (`tun_alloc_skb`), `net/ipv4/tcp.c` (`tcp_stream_alloc_skb`).
//!
//! *Equations.* A packet of L bytes that a TUN device hands over lies in one block of memory: 64
//! bytes of room in front, L rounded up to lines of 64 bytes, and 320 bytes for its pages
//! (`skb_shared_info`), together rounded up to a power of two, at least 576; and 256 bytes
//! describe it (`sk_buff`). So a packet of 1500 bytes takes 2304. What a sender keeps lies in
//! pages, whose payload counts as it is, beside a smallest block of 832 bytes for each burst.
//!
//! *Where we differ.* Drivers of real cards take other blocks, and may join packets before TCP
//! sees them (GRO).

/// IP and TCP headers without options, bytes.
pub(crate) const HEADERS: u64 = 40;
/// The largest of `tcp_rmem`, bytes of memory.
pub(crate) const LARGEST_RECEIVE_BUFFER: u64 = 32 << 20;
/// Memory of a packet's descriptor (`sk_buff`), bytes.
const DESCRIPTION: u64 = 256;
/// Room in front of a packet (`NET_SKB_PAD`), and a line of the cache.
const LINE: u64 = 64;
/// Memory that follows a packet's data (`skb_shared_info`), bytes.
const PAGES: u64 = 320;
/// The smallest block (SKB_SMALL_HEAD_SIZE).
const SMALLEST: u64 = 576;
/// The memory of the smallest packet, and what a burst that is sent takes beside its payload.
pub(crate) const SMALLEST_PACKET: u64 = DESCRIPTION + SMALLEST;

/// The memory of a packet of so many bytes, IP header included.
pub(crate) const fn of_packet(bytes: u64) -> u64 {
    let block = (bytes + LINE).next_multiple_of(LINE) + PAGES;
    DESCRIPTION + if block <= SMALLEST { SMALLEST } else { block.next_power_of_two() }
}

/// The memory that a send buffer allows for a segment of this MSS (`tcp_sndbuf_expand`).
pub(crate) const fn of_sent_segment(mss: u64) -> u64 {
    (mss + SMALLEST).next_power_of_two() + DESCRIPTION
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `ss -tm` shows them.
    #[test]
    fn packets_take_powers_of_two() {
        for (packet, memory) in
            [(40, 832), (193, 1_280), (576, 1_280), (700, 2_304), (1_500, 2_304), (9_000, 16_640)]
        {
            assert_eq!(of_packet(packet), memory, "{packet}");
        }
    }
}
