//! Memory that Linux charges for packets (`truesize`): the unit in which it limits its buffers.
//!
//! *Reference.* Linux 6.18 on a 64-bit machine: `net/core/skbuff.c` (`__alloc_skb`,
//! `kmalloc_reserve`), `include/linux/skbuff.h` (`SKB_TRUESIZE`, `SKB_SMALL_HEAD_SIZE`),
//! `drivers/net/tun.c` (`tun_alloc_skb`), `net/ipv4/tcp.c` (`tcp_stream_alloc_skb`).
//!
//! *Equations.* A packet of L bytes from a TUN device occupies a descriptor (`sk_buff`) of 256
//! bytes and one block of memory. The block has 64 bytes of headroom, L bytes rounded up to cache
//! lines of 64 bytes, and 320 bytes for `skb_shared_info`. Its size is rounded up to a power of
//! two, and is at least 576 bytes. A packet of 1500 bytes thus takes 2304 bytes.
//!
//! Data in a send buffer occupy pages, of which only the payload is charged. Each `sk_buff`
//! of the send queue costs 832 bytes more (smallest block and descriptor).
//!
//! *Where we differ.* Drivers of real cards use other blocks, and may merge packets before TCP sees
//! them (GRO).

/// IP and TCP headers without options, bytes.
pub(crate) const HEADERS: u64 = 40;
/// Maximum of `tcp_rmem`, bytes of memory.
pub(crate) const LARGEST_RECEIVE_BUFFER: u64 = 32 << 20;
/// Memory of a packet's descriptor (`sk_buff`), bytes.
const DESCRIPTION: u64 = 256;
/// Headroom of a packet (`NET_SKB_PAD`), and size of a cache line, bytes.
const LINE: u64 = 64;
/// Memory that follows a packet's data (`skb_shared_info`), bytes.
const PAGES: u64 = 320;
/// Smallest block (`SKB_SMALL_HEAD_SIZE`), bytes.
const SMALLEST: u64 = 576;
/// Memory of the smallest packet, and overhead of a transmitted burst beyond its payload, bytes.
pub(crate) const SMALLEST_PACKET: u64 = DESCRIPTION + SMALLEST;

/// Memory of a packet; `bytes` is its length including the IP header.
pub(crate) const fn packet_memory(bytes: u64) -> u64 {
    let block = (bytes + LINE).next_multiple_of(LINE) + PAGES;
    DESCRIPTION + if block <= SMALLEST { SMALLEST } else { block.next_power_of_two() }
}

/// Memory that a send buffer provides for a segment of this MSS (`tcp_sndbuf_expand`).
pub(crate) const fn sent_segment_memory(mss: u64) -> u64 {
    (mss + SMALLEST).next_power_of_two() + DESCRIPTION
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of packets is that shown by `ss -tm`.
    #[test]
    fn packets_take_powers_of_two() {
        for (packet, memory) in
            [(40, 832), (193, 1_280), (576, 1_280), (700, 2_304), (1_500, 2_304), (9_000, 16_640)]
        {
            assert_eq!(packet_memory(packet), memory, "{packet}");
        }
    }
}
